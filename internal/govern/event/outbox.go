package event

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/unit"
)

// Outbox implements Recorder. It is safe for concurrent use.
type Outbox struct{ o OutboxOptions }

// OutboxOptions is what an Outbox needs.
type OutboxOptions struct {
	Store     OutboxStore
	Units     unit.Runner
	Interests *Interests
	Added     func() // called after a commit with deliveries; can be nil
	Random    io.Reader
	Now       func() time.Time
}

// OutboxStore stores deliveries. Its methods join the transaction of ctx.
type OutboxStore interface {
	// Subscribers lists the webhooks of a workspace that are not disabled; those of all workspaces if the ID is empty.
	Subscribers(ctx context.Context, workspaceID string) ([]Subscriber, error)
	// AddDeliveries adds deliveries. Those of one event and workspace have one payload, which is stored once.
	AddDeliveries(ctx context.Context, list []Delivery) error
	// ExtendEvent replaces the payload of an event whose deliveries are all claimed by e.Claim, and makes them due at e.DueAt.
	// Otherwise it changes no payload, makes those that are due now, and reports false.
	ExtendEvent(ctx context.Context, e Extension) (kept bool, err error)
	// ReleaseEvent makes the deliveries of an event due that are claimed by claim.
	ReleaseEvent(ctx context.Context, workspaceID, eventID, claim string, at time.Time) error
	// AddOnce adds the name of an Event.Once, and reports whether it is new.
	AddOnce(ctx context.Context, name string, at time.Time) (first bool, err error)
}

// Extension says how an event becomes longer whose deliveries wait.
type Extension struct {
	WorkspaceID string
	EventID     string
	Payload     string
	Deliveries  int    // how many there are
	Claim       string // that they have
	NextClaim   string // that they get
	DueAt       time.Time
	Now         time.Time
}

// Subscriber is a webhook that gets events.
type Subscriber struct {
	WebhookID   string
	WorkspaceID string
	Types       TypeSet
}

// NewOutbox returns an Outbox.
func NewOutbox(o OutboxOptions) *Outbox { return &Outbox{o} }

// pending are the events of one transaction.
type pending struct {
	list    []recorded
	written bool // the hook has run, so later events are written at once
}

type recorded struct {
	Event
	id string
}

type pendingKey struct{}

// Record implements Recorder.
func (o *Outbox) Record(ctx context.Context, e Event) error {
	if e.part != nil {
		return o.gather(ctx, e.part)
	}
	if e.Once == "" && !o.o.Interests.want(&e) {
		return nil
	}
	return o.record(ctx, e)
}

func (o *Outbox) record(ctx context.Context, e Event) error {
	if !unit.Running(ctx) {
		return o.o.Units.Run(ctx, func(ctx context.Context) error { return o.record(ctx, e) })
	}
	now := o.o.Now()
	if e.At.IsZero() {
		e.At = now
	}
	e.At = e.At.UTC().Truncate(time.Millisecond)
	one := recorded{e, id.At(id.Event, now, o.o.Random)}
	p := unit.Local(ctx, pendingKey{}, func() *pending { return &pending{} })
	if p.written {
		return o.write(ctx, []recorded{one})
	}
	p.list = append(p.list, one)
	unit.BeforeCommit(ctx, "events", func(ctx context.Context) error {
		p.written = true
		return o.write(ctx, p.list)
	})
	return nil
}

// write adds the deliveries of events.
func (o *Outbox) write(ctx context.Context, list []recorded) error {
	list, err := o.first(ctx, list)
	if err != nil {
		return err
	}
	deliveries, err := o.deliveries(ctx, list)
	if err != nil {
		return err
	}
	return o.add(ctx, deliveries)
}

func (o *Outbox) add(ctx context.Context, list []Delivery) error {
	if len(list) == 0 {
		return nil
	}
	if err := o.o.Store.AddDeliveries(ctx, list); err != nil {
		return err
	}
	o.added(ctx)
	return nil
}

func (o *Outbox) added(ctx context.Context) {
	if o.o.Added != nil {
		unit.AfterCommit(ctx, o.o.Added)
	}
}

// deliveries returns the deliveries of events. The webhooks are read in the transaction, so that the memory of Interests decides
// nothing but whether to look.
func (o *Outbox) deliveries(ctx context.Context, list []recorded) (deliveries []Delivery, err error) {
	subscribers := map[string][]Subscriber{}
	for i := range list {
		e := &list[i]
		if !o.o.Interests.want(&e.Event) {
			continue
		}
		wanting, ok := subscribers[e.WorkspaceID]
		if !ok {
			if wanting, err = o.o.Store.Subscribers(ctx, e.WorkspaceID); err != nil {
				return nil, err
			}
			subscribers[e.WorkspaceID] = wanting
		}
		payloads := map[string]string{} // by workspace
		for _, s := range wanting {
			if !s.Types.Has(e.Type) {
				continue
			}
			if payloads[s.WorkspaceID] == "" {
				if payloads[s.WorkspaceID], err = payloadOf(e.id, s.WorkspaceID, &e.Event); err != nil {
					return nil, err
				}
			}
			deliveries = append(deliveries, o.delivery(e, s, payloads[s.WorkspaceID]))
		}
	}
	return deliveries, nil
}

// first removes the events that were recorded before under the same name. Names are added in one order, so that transactions
// cannot deadlock.
func (o *Outbox) first(ctx context.Context, list []recorded) ([]recorded, error) {
	var named, rest []recorded
	for _, e := range list {
		if e.Once == "" {
			rest = append(rest, e)
		} else {
			named = append(named, e)
		}
	}
	if len(named) == 0 {
		return list, nil
	}
	slices.SortStableFunc(named, func(a, b recorded) int { return strings.Compare(a.Once, b.Once) })
	for _, e := range named {
		first, err := o.o.Store.AddOnce(ctx, e.Once, o.o.Now())
		if err != nil {
			return nil, err
		}
		if first {
			rest = append(rest, e)
		}
	}
	return rest, nil
}

func (o *Outbox) delivery(e *recorded, to Subscriber, payload string) Delivery {
	now := o.o.Now().UTC()
	return Delivery{
		ID: id.At(id.Delivery, now, o.o.Random), WebhookID: to.WebhookID, WorkspaceID: to.WorkspaceID,
		EventID: e.id, Type: e.Type, Payload: payload, State: Pending, CreatedAt: now, PendingSince: now, DueAt: &now,
	}
}

// payloadOf is the body of the requests that deliver an event.
func payloadOf(eventID, workspaceID string, e *Event) (string, error) {
	data := make(map[string]any, len(e.Data))
	for name, v := range e.Data {
		if at, ok := v.(time.Time); ok {
			v = formatTime(at)
		}
		data[name] = v
	}
	text, err := json.Marshal(struct {
		ID          string         `json:"id"`
		Type        Type           `json:"type"`
		Timestamp   string         `json:"timestamp"`
		WorkspaceID string         `json:"workspaceId"`
		Data        map[string]any `json:"data"`
	}{eventID, e.Type, formatTime(e.At), workspaceID, data})
	if err != nil {
		return "", fmt.Errorf("encode an event: %w", err)
	}
	return string(text), nil
}

func formatTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
