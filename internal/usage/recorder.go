package usage

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
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
	store   Store
	now     func() time.Time
	log     *slog.Logger
	flushed func([]Quota) // nil: nobody wants to know

	owners  *owners
	routes  *routes
	stripes *stripes
	uses    *lastUses

	flushing sync.Mutex
	name     string       // tells this recorder's flushes from those of any other, also from an earlier one in its place
	number   int64        // of the last flush that was sent
	unsure   []Cell       // sent under that number, and not known to be stored: to be sent again as it was
	pending  map[cell]sum // drained from the stripes and not sent yet
	degraded atomic.Bool
	began    atomic.Pointer[time.Time] // when the flush under way did; nil between flushes
}

// NewRecorder makes a recorder. Run flushes it; Close flushes what is left.
func NewRecorder(store Store, now func() time.Time, log *slog.Logger) *Recorder {
	return &Recorder{
		store: store, now: now, log: log, name: rand.Text(),
		owners:  newOwners(),
		routes:  &routes{list: []template{{}}}, // handle 0: no route
		stripes: newStripes(),
		uses:    newLastUses(),
		pending: map[cell]sum{},
	}
}

// OnFlushed has fn called after each flush with the quotas of the owners it counted for, as they stand in the store with
// what every process has added. fn runs before the next flush begins, so it only touches memory. To be called before Run.
func (r *Recorder) OnFlushed(fn func([]Quota)) { r.flushed = fn }

// Owner gives the handle of a workspace with one of its keys, or with none when keyID is empty. Each call makes a new
// one, which is never given back: it is for whoever keeps it as long as the key is known.
func (r *Recorder) Owner(workspaceID, keyID string) Owner { return r.owners.add(workspaceID, keyID) }

// Secret gives the handle of one secret of the key that an owner stands for. Like an Owner it is never given back.
func (r *Recorder) Secret(o Owner, hint string) Secret { return r.uses.add(o, hint) }

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

// slow is how long a flush may take before it counts as one that fails.
const slow = 3 * time.Second

// Degraded reports whether the last flush failed, or the one under way does not end. Its numbers are kept and tried again
// with each flush.
func (r *Recorder) Degraded() bool {
	began := r.began.Load()
	return r.degraded.Load() || began != nil && time.Since(*began) > slow
}

// Flush adds what was counted since the last flush to the store, in one transaction.
//
// A flush that fails may have been stored all the same, if the connection was lost at the wrong moment. So it is sent
// again as it was, under its number, by which the store knows it; what was counted since then goes after it.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	began := time.Now()
	r.began.Store(&began)
	defer r.began.Store(nil)
	err := r.flush(ctx)
	if was := r.degraded.Swap(err != nil); was != (err != nil) {
		r.tell(err)
	}
	if err != nil {
		r.stripes.drain(r.pending)
		r.coarsen()
		return fmt.Errorf("add usage: %w", err)
	}
	return nil
}

func (r *Recorder) flush(ctx context.Context) error {
	if r.unsure != nil {
		if err := r.send(ctx, nil); err != nil {
			return err
		}
	}
	r.stripes.drain(r.pending)
	uses, saved := r.uses.unsaved(r.owners)
	if len(r.pending) == 0 && len(uses) == 0 {
		return nil
	}
	r.number++
	r.unsure = r.cells()
	r.forgetPending()
	if err := r.send(ctx, uses); err != nil {
		return err
	}
	saved()
	return nil
}

// send sends the cells of the present number. Last uses need none: the store takes them as often as they come.
func (r *Recorder) send(ctx context.Context, uses []LastUse) error {
	quotas, err := r.store.AddUsage(ctx, Delta{
		Recorder: r.name, Number: r.number, At: r.now(), Totals: r.flushed != nil, Cells: r.unsure, LastUses: uses,
	})
	if err != nil {
		return err
	}
	r.unsure = nil
	if r.flushed != nil && len(quotas) > 0 {
		r.flushed(quotas)
	}
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

// cells shapes what is pending for the store.
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
	return list
}

func (r *Recorder) forgetPending() {
	if len(r.pending) > most {
		r.pending = map[cell]sum{}
		return
	}
	clear(r.pending)
}

// tooMany is how many cells may wait behind a flush that fails before minutes are merged into their hours.
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
