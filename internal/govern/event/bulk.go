package event

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/unit"
)

// MaxIDs is how many IDs an event about many records lists.
const MaxIDs = 1000

// Item is a record that an event about many is about.
type Item struct {
	ID       string
	Revision int64 // 0: not known
}

// gathered is what an event about many records says: how many there are, and the first of them.
type gathered struct {
	count int
	items []Item
}

func (g *gathered) add(items []Item) {
	g.count += len(items)
	g.items = append(g.items, items[:min(len(items), MaxIDs-len(g.items))]...)
}

// data is the data of the event. Like an event about one record, that about a single one has its ID and revision.
func (g *gathered) data(what Type) map[string]any {
	noun, _, _ := strings.Cut(string(what), ".")
	ids := make([]string, len(g.items))
	for i, item := range g.items {
		ids[i] = item.ID
	}
	data := map[string]any{"count": g.count, noun + "Ids": ids}
	if g.count == 1 {
		data[noun+"Id"] = ids[0]
		if g.items[0].Revision > 0 {
			data["revision"] = g.items[0].Revision
		}
	}
	return data
}

// Many is the event about what one transaction does with records of a workspace.
func Many(what Type, workspaceID string, items []Item) Event {
	var g gathered
	g.add(items)
	return Event{Type: what, WorkspaceID: workspaceID, Data: g.data(what)}
}

// Bulk is one event about what several transactions do with records of a workspace, such as an import. Each transaction writes
// what the event says so far; until End, its deliveries wait for the next one. If the process dies, they are sent after
// bulkPause as they are. It is not for concurrent use.
type Bulk struct {
	what        Type
	workspaceID string
	to          Recorder
	claim       string
	state       bulkState // as committed
	end         func(ctx context.Context)
}

// bulkPause is how long the deliveries of a Bulk wait for its next transaction. If one comes later, it begins another event.
const bulkPause = 10 * time.Minute

// bulkState is what is known of a Bulk in a transaction.
type bulkState struct {
	all  gathered // of the event
	here gathered // of this transaction
	last bool     // nothing follows

	eventID    string // empty: it has no deliveries yet
	deliveries int
}

// NewBulk begins an event that is recorded by to.
func NewBulk(to Recorder, what Type, workspaceID string) *Bulk {
	return &Bulk{what: what, workspaceID: workspaceID, to: to}
}

// Add adds items in the transaction of ctx. last says that they are the last ones, so that End has nothing to do.
func (b *Bulk) Add(ctx context.Context, items []Item, last bool) error {
	e := Many(b.what, b.workspaceID, items)
	e.part = &part{b, items, last}
	return b.to.Record(ctx, e)
}

// End lets the event be delivered. It must be called, also after an error, because what was committed stays. If it fails, the
// event is delivered later, so there is nothing that the caller has to do.
func (b *Bulk) End(ctx context.Context) {
	if b.end != nil && b.state.eventID != "" && !b.state.last {
		b.end(context.WithoutCancel(ctx))
	}
}

// part is what a transaction adds to a Bulk.
type part struct {
	bulk  *Bulk
	items []Item
	last  bool
}

// held is an event whose deliveries a Bulk keeps from being sent.
type held struct {
	bulk *Bulk
}

// gather adds a part to its Bulk, in the transaction of ctx.
func (o *Outbox) gather(ctx context.Context, p *part) error {
	if !unit.Running(ctx) {
		return o.o.Units.Run(ctx, func(ctx context.Context) error { return o.gather(ctx, p) })
	}
	b := p.bulk
	state := unit.Local(ctx, held{b}, func() *bulkState {
		s := b.state
		s.all.items, s.here = slices.Clone(s.all.items), gathered{}
		unit.BeforeCommit(ctx, fmt.Sprintf("event %p", b), func(ctx context.Context) error { return o.writePart(ctx, b, &s) })
		unit.AfterCommit(ctx, func() { b.state = s })
		return &s
	})
	state.all.add(p.items)
	state.here.add(p.items)
	state.last = p.last
	return nil
}

// writePart writes what a Bulk says after a transaction.
func (o *Outbox) writePart(ctx context.Context, b *Bulk, s *bulkState) error {
	if s.all.count == 0 {
		return nil
	}
	if b.claim == "" {
		b.claim = "bulk " + id.At(id.Event, o.o.Now(), o.o.Random)
		b.end = func(ctx context.Context) {
			if o.o.Store.ReleaseEvent(ctx, b.workspaceID, b.state.eventID, b.claim, o.o.Now()) == nil {
				o.added(ctx)
			}
		}
	}
	if s.eventID != "" {
		kept, err := o.extend(ctx, b, s)
		if kept || err != nil {
			return err
		}
		s.all, s.eventID = s.here, "" // what was said before is on its way
		if s.all.count == 0 {
			return nil
		}
	}
	return o.begin(ctx, b, s)
}

// extend writes that the event says more. kept is false if it is on its way, because its deliveries waited for too long.
func (o *Outbox) extend(ctx context.Context, b *Bulk, s *bulkState) (kept bool, err error) {
	now, claim := o.o.Now(), b.claim
	due := now.Add(bulkPause)
	if s.last {
		due, claim = now, ""
		o.added(ctx)
	}
	payload, err := payloadOf(s.eventID, b.workspaceID, b.event(s, now))
	if err != nil {
		return false, err
	}
	return o.o.Store.ExtendEvent(ctx, Extension{
		WorkspaceID: b.workspaceID, EventID: s.eventID, Payload: payload, Deliveries: s.deliveries, Claim: b.claim,
		NextClaim: claim, DueAt: due, Now: now,
	})
}

// begin adds the deliveries of the event, if a webhook wants it.
func (o *Outbox) begin(ctx context.Context, b *Bulk, s *bulkState) error {
	now := o.o.Now()
	e := recorded{*b.event(s, now), id.At(id.Event, now, o.o.Random)}
	if !o.o.Interests.want(&e.Event) {
		return nil
	}
	list, err := o.deliveries(ctx, []recorded{e})
	if err != nil || len(list) == 0 {
		return err
	}
	s.eventID, s.deliveries = e.id, len(list)
	if !s.last {
		due := now.Add(bulkPause)
		for i := range list {
			list[i].DueAt, list[i].Claim = &due, b.claim
		}
	}
	return o.add(ctx, list)
}

func (b *Bulk) event(s *bulkState, now time.Time) *Event {
	return &Event{Type: b.what, WorkspaceID: b.workspaceID, At: now.UTC().Truncate(time.Millisecond), Data: s.all.data(b.what)}
}
