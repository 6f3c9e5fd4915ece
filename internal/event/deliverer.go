package event

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Deliverer sends deliveries that are due. Several processes share the work: each claims deliveries in the database for a time
// that is longer than a request takes. If a process dies, another one sends what it had claimed, so a receiver can get an event
// twice.
type Deliverer struct {
	o    DelivererOptions
	wake chan struct{}

	mu      sync.Mutex
	lanes   map[string]*lane
	running int
	ended   *sync.Cond

	stats deliveryStats
}

// DelivererOptions is what a Deliverer needs.
type DelivererOptions struct {
	Store     Store
	Units     unit.Runner
	Interests *Interests
	Audit     audit.Recorder
	Sealer    Sealer
	Sender    Sender
	LogDays   int            // how long deliveries are kept
	Jitter    func() float64 // from 0 to 1; random if nil
	Now       func() time.Time
	Log       *slog.Logger
}

// Sender sends requests. The error of a Result is never empty if ctx ended before a response.
type Sender interface {
	Send(ctx context.Context, r *Request) Result
}

const (
	maxRunning = 32 // requests of this process
	dueAtOnce  = 64 // webhooks that one round looks at
	pollEvery  = time.Second
	// claimFor is longer than a request and the storing of its result take.
	claimFor = 2 * time.Minute
	// stopGrace is how long requests have to finish when the program stops.
	stopGrace  = 5 * time.Second
	pruneEvery = 10 * time.Minute
	pruneChunk = 500
)

// NewDeliverer returns a Deliverer.
func NewDeliverer(o DelivererOptions) *Deliverer {
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	d := &Deliverer{o: o, wake: make(chan struct{}, 1), lanes: map[string]*lane{}}
	d.ended = sync.NewCond(&d.mu)
	return d
}

// Wake makes Run look for deliveries now.
func (d *Deliverer) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run sends deliveries until ctx ends. Requests that run then have stopGrace to finish; what is not finished stays due.
func (d *Deliverer) Run(ctx context.Context) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	poll, prune := time.NewTicker(pollEvery), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer prune.Stop()
	failing := false
	for ctx.Err() == nil {
		err := d.Round(ctx, sending)
		if ctx.Err() == nil && (err != nil) != failing {
			failing = err != nil
			d.logFailing(err)
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-poll.C:
		case <-prune.C:
			if err := d.Prune(ctx); err != nil && ctx.Err() == nil {
				d.o.Log.Warn("pruning webhook deliveries failed", "error", err.Error())
			}
		}
	}
	grace := time.AfterFunc(stopGrace, cancel)
	defer grace.Stop()
	d.Wait()
}

func (d *Deliverer) logFailing(err error) {
	if err != nil {
		d.o.Log.Warn("reading webhook deliveries failed; retrying", "error", err.Error())
		return
	}
	d.o.Log.Info("read webhook deliveries again")
}

// Wait waits until no request is being sent.
func (d *Deliverer) Wait() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.running > 0 {
		d.ended.Wait()
	}
}

// Round claims due deliveries and begins to send them, with the context sending. Run does so each second.
func (d *Deliverer) Round(ctx, sending context.Context) error {
	if !d.o.Interests.Any() {
		return nil
	}
	due, err := d.o.Store.DueWebhooks(ctx, d.o.Now(), dueAtOnce)
	if err != nil {
		return err
	}
	for _, webhookID := range due {
		n := d.reserve(webhookID)
		if n == 0 {
			continue
		}
		begun, err := d.claim(ctx, sending, webhookID, n)
		d.release(webhookID, n-begun)
		if err != nil {
			return err
		}
	}
	return nil
}

// reserve takes room for requests to a webhook.
func (d *Deliverer) reserve(webhookID string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[webhookID]
	if l == nil {
		l = &lane{}
		d.lanes[webhookID] = l
	}
	n := min(l.room(d.o.Now()), maxRunning-d.running)
	l.running += n
	d.running += n
	return n
}

// release gives back room that was not used.
func (d *Deliverer) release(webhookID string, n int) {
	if n == 0 {
		return // all requests can have ended, and the lane with them
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[webhookID]
	l.running -= n
	d.running -= n
	if l.idle() {
		delete(d.lanes, webhookID)
	}
	d.ended.Broadcast()
}

// finish counts the end of a request, and looks for the next one.
func (d *Deliverer) finish(webhookID string, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[webhookID]
	l.ended(failed, d.o.Now())
	d.running--
	if l.idle() {
		delete(d.lanes, webhookID)
	}
	d.ended.Broadcast()
	d.Wake()
}

// claim claims at most n deliveries and begins to send them. It returns how many.
func (d *Deliverer) claim(ctx, sending context.Context, webhookID string, n int) (begun int, err error) {
	now, claim := d.o.Now(), rand.Text()
	w, list, err := d.o.Store.ClaimDeliveries(ctx, webhookID, claim, now, now.Add(claimFor), n)
	if err != nil || w == nil {
		return 0, err
	}
	target, err := w.open(d.o.Sealer)
	if err != nil {
		return 0, err
	}
	for i := range list {
		go d.deliver(sending, w, target, &list[i])
	}
	return len(list), nil
}

// deliver sends one delivery and stores the result.
func (d *Deliverer) deliver(ctx context.Context, w *Webhook, target *Target, one *Delivery) {
	failed := true
	defer func() { d.finish(w.ID, failed) }()
	request, err := target.request(one, d.o.Now())
	if err != nil {
		d.o.Log.Error("signing a webhook delivery failed", "delivery", one.ID, "error", err.Error())
		return
	}
	result := d.o.Sender.Send(ctx, request)
	stopped := ctx.Err() != nil && result.Error != ""
	failed = result.Error != "" && !stopped
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimFor/4)
	defer cancel()
	if stopped {
		err = d.giveBack(storing, one)
	} else {
		err = d.store(storing, w, one, result)
	}
	if err != nil { // the delivery is due again when its claim ends
		d.o.Log.Warn("storing the result of a webhook delivery failed", "delivery", one.ID, "error", err.Error())
	}
}

// giveBack makes a delivery due again whose request was cut off by the end of the program.
func (d *Deliverer) giveBack(ctx context.Context, one *Delivery) error {
	now, back := d.o.Now(), *one
	back.DueAt, back.Claim = &now, ""
	_, err := d.o.Store.SaveDelivery(ctx, &back, one.Claim)
	return err
}

// store stores the result of an attempt, and the health of the webhook if it changed.
func (d *Deliverer) store(ctx context.Context, w *Webhook, one *Delivery, result Result) error {
	now, jitter := d.o.Now().UTC(), d.o.Jitter()
	next, after := *one, *w
	health := next.apply(&after, result, now, jitter)
	d.stats.count(next.State)
	if !health && result.Error == "" {
		_, err := d.o.Store.SaveDelivery(ctx, &next, one.Claim)
		return err
	}
	return d.o.Units.Run(ctx, func(ctx context.Context) error {
		current, err := d.o.Store.HoldWebhook(ctx, w.ID)
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
			return nil // it was deleted, and its deliveries with it
		}
		if err != nil {
			return err
		}
		next, wasEnabled := *one, current.DisabledAt == nil
		health := next.apply(current, result, now, jitter)
		saved, err := d.o.Store.SaveDelivery(ctx, &next, one.Claim)
		if err != nil || !saved || !health {
			return err
		}
		if err := d.o.Store.SaveHealth(ctx, current); err != nil {
			return err
		}
		if !wasEnabled || current.DisabledAt == nil {
			return nil
		}
		reason := current.DisabledReason
		unit.AfterCommit(ctx, func() {
			d.o.Log.Warn("disabled a webhook", "webhook", w.ID, "workspace", w.WorkspaceID, "reason", string(reason))
		})
		return d.o.Audit.Record(ctx, audit.Entry{
			Action: audit.WebhookDisabled, WorkspaceID: w.WorkspaceID, Target: w.ID, Details: map[string]string{"reason": string(reason)},
		})
	})
}

// Prune removes old deliveries and names, and interests that no webhook has any more.
func (d *Deliverer) Prune(ctx context.Context) error {
	now := d.o.Now()
	before := now.Add(-time.Duration(d.o.LogDays) * 24 * time.Hour)
	for {
		n, err := d.o.Store.PruneDeliveries(ctx, before, pruneChunk)
		if err != nil {
			return err
		}
		if n < pruneChunk || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(d.o.Store.PruneOnce(ctx, now.Add(-OnceKept)), d.narrow(ctx, now))
}

// narrow removes types from interests that no webhook has wanted for a while.
func (d *Deliverer) narrow(ctx context.Context, now time.Time) error {
	for workspaceID, types := range d.o.Interests.all.Load().byWorkspace {
		err := d.o.Units.Run(ctx, func(ctx context.Context) error {
			held, at, err := d.o.Store.HoldInterest(ctx, workspaceID)
			if err != nil {
				return err
			}
			subscribers, err := d.o.Store.Subscribers(ctx, workspaceID)
			if err != nil {
				return err
			}
			var wanted TypeSet
			for _, s := range subscribers {
				wanted |= s.Types
			}
			// A webhook that was prepared is not stored yet.
			if wanted &= types; wanted == held || now.Sub(at).Abs() < pruneEvery {
				return nil
			}
			if err := d.o.Store.SetInterest(ctx, workspaceID, wanted&held, now); err != nil {
				return err
			}
			unit.AfterCommit(ctx, func() { d.o.Interests.set(workspaceID, wanted&held) })
			return nil
		})
		if err != nil {
			return fmt.Errorf("narrow which events are wanted: %w", err)
		}
	}
	return nil
}
