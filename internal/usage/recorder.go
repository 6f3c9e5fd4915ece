package usage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder counts events in memory and adds them to the store each second. What a crash loses is what came after the
// last flush.
//
// Its methods are safe for concurrent use. Record and Touch are made for the way of every request: they take no lock
// that cores share and allocate nothing once a combination of dimensions has been seen.
type Recorder struct {
	store Store
	now   func() time.Time
	log   *slog.Logger

	owners  *owners
	routes  *routes
	stripes *stripes
	uses    *lastUses

	flushing sync.Mutex
	pending  map[cell]sum // drained from the stripes and not in the store yet
	degraded atomic.Bool
}

// NewRecorder makes a recorder. Run flushes it; Close flushes what is left.
func NewRecorder(store Store, now func() time.Time, log *slog.Logger) *Recorder {
	return &Recorder{
		store: store, now: now, log: log,
		owners:  newOwners(),
		routes:  &routes{list: []template{{}}}, // handle 0: no route
		stripes: newStripes(),
		uses:    newLastUses(),
		pending: map[cell]sum{},
	}
}

// Owner gives the handle of a workspace with one of its keys, or with none when keyID is empty. Each call makes a new
// one, which is never given back: it is for whoever keeps it as long as the key is known.
func (r *Recorder) Owner(workspaceID, keyID string) Owner { return r.owners.add(workspaceID, keyID) }

// Secret gives the handle of one secret of a key. Like an Owner it is never given back.
func (r *Recorder) Secret(keyID, hint string) Secret { return r.uses.add(keyID, hint) }

// Route gives the handle of a route template, the same for the same method and template.
func (r *Recorder) Route(method, path string) Route { return r.routes.add(template{method, path}) }

// Record counts e.
func (r *Recorder) Record(e Event) {
	r.stripes.add(
		cell{uint32(e.At.Unix() / 60), e.Owner, e.Route, e.Status, e.Version, e.Surface},
		sum{1, e.Charged, e.BytesIn, e.BytesOut},
	)
}

// Charge counts what an owner pays beside its own requests: the cost of a key that was verified for somebody else's
// service. at is the moment of the charge (limit.Receipt.At). It lies in a cell without a route.
func (r *Recorder) Charge(o Owner, at time.Time, cost int64) {
	r.stripes.add(cell{minute: uint32(at.Unix() / 60), owner: o}, sum{charged: cost})
}

// Touch notes that a secret was used at a moment. An older moment than the one known changes nothing.
func (r *Recorder) Touch(s Secret, at time.Time) { r.uses.touch(s, at) }

// LastUsed is the last use of a secret since the program started, to the millisecond; the zero time when there was none.
func (r *Recorder) LastUsed(s Secret) time.Time { return r.uses.last(s) }

// Degraded reports whether the last flush failed. Its numbers are kept and tried again with each flush.
func (r *Recorder) Degraded() bool { return r.degraded.Load() }

// Flush adds what was counted since the last flush to the store, in one transaction.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	r.stripes.drain(r.pending)
	uses, saved := r.uses.unsaved()
	if len(r.pending) == 0 && len(uses) == 0 {
		return nil
	}
	err := r.store.AddUsage(ctx, Delta{Cells: r.cells(), LastUses: uses})
	if was := r.degraded.Swap(err != nil); was != (err != nil) {
		r.tell(err)
	}
	if err != nil {
		r.coarsen()
		return fmt.Errorf("add usage: %w", err)
	}
	saved()
	r.forgetPending()
	return nil
}

// tell logs that flushes have begun to fail, or to succeed again: once, not each second.
func (r *Recorder) tell(err error) {
	if err != nil {
		r.log.Error("usage cannot be stored; it is kept in memory and tried again each second", "error", err)
		return
	}
	r.log.Info("usage is stored again")
}

// cells shapes what is pending for the store, in an order that does not depend on chance.
func (r *Recorder) cells() []Cell {
	list := make([]Cell, 0, len(r.pending))
	for c, s := range r.pending {
		route := r.routes.name(c.route)
		workspaceID, keyID := r.owners.name(c.owner)
		list = append(list, Cell{
			Minute: int64(c.minute), WorkspaceID: workspaceID, KeyID: keyID,
			Route: route.path, Method: route.method,
			Status: int(c.status), Version: int(c.version), Surface: c.surface.String(),
			Requests: s.requests, Charged: s.charged, BytesIn: s.bytesIn, BytesOut: s.bytesOut,
		})
	}
	slices.SortFunc(list, func(a, b Cell) int {
		return cmp.Or(
			cmp.Compare(a.WorkspaceID, b.WorkspaceID), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Minute, b.Minute),
			cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Surface, b.Surface),
		)
	})
	return list
}

func (r *Recorder) forgetPending() {
	if len(r.pending) > most {
		r.pending = map[cell]sum{}
		return
	}
	clear(r.pending)
}

// tooMany is how many cells may wait for a store that takes none before minutes are merged into their hours.
const tooMany = 100_000

// coarsen keeps what is pending bounded while the store stays away: beyond tooMany cells an hour's minutes become one,
// its first, as a roll-up would make them. No sum and no quota changes by it.
func (r *Recorder) coarsen() {
	if len(r.pending) <= tooMany {
		return
	}
	merged := make(map[cell]sum, len(r.pending)/2)
	for c, s := range r.pending {
		c.minute -= c.minute % 60
		total := merged[c]
		total.add(s)
		merged[c] = total
	}
	r.pending = merged
}
