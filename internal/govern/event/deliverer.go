package event

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
)

// Deliverer sends deliveries that are due. Several processes share the work: each claims deliveries in the database for a time
// that is longer than a request takes. If a process dies, another one sends what it had claimed, so a receiver can get an event
// twice.
type Deliverer struct {
	o    DelivererOptions
	wake chan struct{}

	mu      sync.Mutex
	running []*slot
	turns   map[string]int64 // the last turns of workspaces that are sent to
	ended   *sync.Cond

	stats deliveryStats
}

// DelivererOptions is what a Deliverer needs.
type DelivererOptions struct {
	Store     Store
	Units     unit.Runner
	Interests *Interests
	Audit     audit.Recorder
	Events    Recorder
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
	pollEvery = time.Second
	// claimFor is longer than a request and the storing of its result take.
	claimFor = 2 * time.Minute
	// stopGrace is how long requests have to finish when the program stops.
	stopGrace    = 5 * time.Second
	relieveEvery = time.Minute
	pruneEvery   = 10 * time.Minute
	pruneChunk   = 500
)

// NewDeliverer returns a Deliverer.
func NewDeliverer(o DelivererOptions) *Deliverer {
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	d := &Deliverer{o: o, wake: make(chan struct{}, 1), turns: map[string]int64{}}
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
	poll, relieve, prune := time.NewTicker(pollEvery), time.NewTicker(relieveEvery), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer relieve.Stop()
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
		case <-relieve.C:
			if err := d.Relieve(ctx); err != nil && ctx.Err() == nil {
				d.o.Log.Warn("looking for overloaded webhooks failed", "error", err.Error())
			}
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
	for len(d.running) > 0 {
		d.ended.Wait()
	}
}

// Round claims due deliveries and begins to send them, with the context sending. Run does so each second.
func (d *Deliverer) Round(ctx, sending context.Context) error {
	if !d.o.Interests.Any() || d.full() {
		return nil
	}
	due, err := d.o.Store.DueWebhooks(ctx, d.o.Now(), dueOfOneKind)
	if err != nil {
		return err
	}
	reserved := d.reserve(due)
	for len(reserved) > 0 {
		var mine, others []*slot // of the next webhook, and the rest
		for _, s := range reserved {
			if s.webhookID == reserved[0].webhookID {
				mine = append(mine, s)
			} else {
				others = append(others, s)
			}
		}
		unused, err := d.claim(ctx, sending, mine)
		d.release(unused...)
		if err != nil {
			d.release(others...)
			return err
		}
		reserved = others
	}
	return nil
}

// full reports whether all senders are taken.
func (d *Deliverer) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running) >= maxRunning
}

// reserve gives free senders to webhooks that are due, in the order in which they get them.
func (d *Deliverer) reserve(due []Due) []*slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.turns, func(workspaceID string, _ int64) bool {
		return !slices.ContainsFunc(due, func(w Due) bool { return w.WorkspaceID == workspaceID }) &&
			!slices.ContainsFunc(d.running, func(s *slot) bool { return s.workspaceID == workspaceID })
	})
	list := assign(d.o.Now(), d.running, d.turns, due)
	d.running = append(d.running, list...)
	return list
}

// release frees senders.
func (d *Deliverer) release(list ...*slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = slices.DeleteFunc(d.running, func(s *slot) bool { return slices.Contains(list, s) })
	d.ended.Broadcast()
}

// claim claims a delivery for each slot of a webhook and begins to send them. It returns the slots that it did not need.
func (d *Deliverer) claim(ctx, sending context.Context, slots []*slot) (unused []*slot, err error) {
	now, claim := d.o.Now(), rand.Text()
	w, list, err := d.o.Store.ClaimDeliveries(ctx, slots[0].webhookID, claim, now, now.Add(claimFor), len(slots))
	if err != nil || w == nil {
		return slots, err
	}
	target, err := w.open(d.o.Sealer)
	if err != nil {
		return slots, err
	}
	for i := range list {
		go d.deliver(sending, w, target, &list[i], slots[i])
	}
	return slots[len(list):], nil
}

// deliver sends one delivery and stores the result.
func (d *Deliverer) deliver(ctx context.Context, w *Webhook, target *Target, one *Delivery, in *slot) {
	defer func() {
		d.release(in)
		d.Wake()
	}()
	request, err := target.request(one, d.o.Now())
	if err != nil {
		d.o.Log.Error("signing a webhook delivery failed", "delivery", one.ID, "error", err.Error())
		return
	}
	result := d.o.Sender.Send(ctx, request)
	stopped := ctx.Err() != nil && result.Error != ""
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
		if wasEnabled && current.DisabledAt != nil {
			return d.disable(ctx, current)
		}
		return d.o.Store.SaveHealth(ctx, current)
	})
}

// disable stores that a webhook is disabled for a reason that its owner did not choose.
func (d *Deliverer) disable(ctx context.Context, w *Webhook) error {
	if err := d.o.Store.SaveHealth(ctx, w); err != nil {
		return err
	}
	unit.AfterCommit(ctx, func() {
		d.o.Log.Warn("disabled a webhook", "webhook", w.ID, "workspace", w.WorkspaceID, "reason", string(w.DisabledReason))
	})
	if err := d.o.Events.Record(ctx, w.disabled()); err != nil {
		return err
	}
	return d.o.Audit.Record(ctx, audit.Entry{
		Action: audit.WebhookDisabled, WorkspaceID: w.WorkspaceID, Target: w.ID,
		Details: map[string]string{"reason": string(w.DisabledReason)},
	})
}

// disabled is the event that a webhook is disabled. Only the others of its workspace get it.
func (w *Webhook) disabled() Event {
	return Event{
		Type: WebhookDisabled, WorkspaceID: w.WorkspaceID,
		Data: map[string]any{"webhookId": w.ID, "reason": string(w.DisabledReason)},
	}
}

// A webhook is overloaded with more than MaxPending deliveries that wait, or with more than MaxLatePending if the first of them
// waits for longer than MaxLate.
const (
	MaxPending     = 100_000
	MaxLatePending = 10_000
	MaxLate        = time.Hour
)

// Relieve disables webhooks that are overloaded.
func (d *Deliverer) Relieve(ctx context.Context) error {
	if !d.o.Interests.Any() {
		return nil
	}
	list, err := d.o.Store.OverloadedWebhooks(ctx, MaxPending, MaxLatePending, d.o.Now().Add(-MaxLate))
	if err != nil {
		return err
	}
	for _, webhookID := range list {
		err := d.o.Units.Run(ctx, func(ctx context.Context) error {
			w, err := d.o.Store.HoldWebhook(ctx, webhookID)
			if p, ok := problem.As(err); ok && p.Kind == problem.NotFound || err == nil && w.DisabledAt != nil {
				return nil
			}
			if err != nil {
				return err
			}
			now := d.o.Now().UTC()
			w.DisabledAt, w.DisabledReason = &now, DisabledOverloaded
			return d.disable(ctx, w)
		})
		if err != nil {
			return fmt.Errorf("disable an overloaded webhook: %w", err)
		}
	}
	return nil
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
