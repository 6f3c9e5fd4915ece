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

// Recorder counts events in memory and adds them to the store each second. A crash loses the events after the last
// flush.
//
// Its methods are safe for concurrent use. Record and Touch are on the path of every request: they take no lock that
// cores share, and allocate nothing once a combination of dimensions exists.
type Recorder struct {
	store   Store
	now     func() time.Time
	log     *slog.Logger
	flushed func([]Quota) // can be nil

	owners  *owners
	routes  *routes
	stripes *stripes
	uses    *lastUses

	flushing sync.Mutex
	name     string    // a random name that identifies this recorder's flushes
	number   int64     // of the last flush that was sent
	unsure   []Cell    // sent under that number, with an unknown outcome; sent again unchanged
	warned   time.Time // when requests under Other were last logged
	degraded atomic.Bool
	began    atomic.Pointer[time.Time] // when the current flush began; nil between flushes
	stats    flushStats

	counting sync.Mutex // guards what follows; no flush holds it while the store works
	pending  *pending   // drained from the stripes and not sent yet
	totals   totals
}

// NewRecorder creates a Recorder. Run flushes it each second, Close one last time.
func NewRecorder(store Store, now func() time.Time, log *slog.Logger) *Recorder {
	r := &Recorder{
		store: store, now: now, log: log, name: rand.Text(),
		owners:  newOwners(),
		routes:  newRoutes(),
		stripes: newStripes(),
		uses:    newLastUses(),
		pending: newPending(),
	}
	r.stats.storedAt.Store(now().UnixNano())
	return r
}

// OnFlushed sets a function that is called after each flush, with the stored quotas of the owners that the flush
// counted. They include what other processes added. The next flush waits for fn, so it must only change memory.
// OnFlushed must be called before Run.
func (r *Recorder) OnFlushed(fn func([]Quota)) { r.flushed = fn }

// Owner returns a new handle for a workspace with one of its keys, or without a key if keyID is empty. Handles are
// never released, so callers should keep one per known key.
func (r *Recorder) Owner(workspaceID, keyID string) Owner { return r.owners.add(workspaceID, keyID) }

// Secret returns a new handle for one secret of an owner's key. It is never released.
func (r *Recorder) Secret(o Owner, hint string) Secret { return r.uses.add(o, hint) }

// Route returns the handle of a method and a route template. It is the same for each call.
func (r *Recorder) Route(method, path string) Route { return r.routes.add(template{method, path}) }

// Record counts e.
func (r *Recorder) Record(e Event) {
	r.stripes.add(
		cell{uint32(e.At.Unix() / 60), e.Owner, e.Route, e.Status, e.Version, e.Surface, uint16(bucketOf(e.Took) + 1)}.key(),
		sum{1, e.Charged, e.BytesIn, e.BytesOut},
	)
}

// Charge counts a cost in addition to the owner's own requests, when its key was verified for another service. at is
// the time of the charge (limit.Receipt.At). The cell has no route.
func (r *Recorder) Charge(o Owner, at time.Time, cost int64) {
	r.stripes.add(cell{minute: uint32(at.Unix() / 60), owner: o}.key(), sum{charged: cost})
}

// Touch records a use of a secret. It ignores times older than the recorded one.
func (r *Recorder) Touch(s Secret, at time.Time) { r.uses.touch(s, at) }

// LastUsed is the last use of a secret since the program started, in milliseconds. It is the zero time if there was
// none.
func (r *Recorder) LastUsed(s Secret) time.Time { return r.uses.last(s) }

// slow is the time after which a running flush counts as failed.
const slow = 3 * time.Second

// Degraded reports whether the last flush failed or the current one takes too long. Its counts are kept and sent again
// with each flush.
func (r *Recorder) Degraded() bool {
	began := r.began.Load()
	return r.degraded.Load() || began != nil && time.Since(*began) > slow
}

// Flush adds everything counted since the last flush to the store, in one transaction.
//
// A failed flush can have been committed nevertheless. So it is sent again unchanged under its number, which the store
// recognizes. Newer counts are sent after it.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	began := time.Now()
	r.began.Store(&began)
	defer r.began.Store(nil)
	err := r.flush(ctx)
	r.stats.count(r.now(), err)
	if was := r.degraded.Swap(err != nil); was != (err != nil) {
		r.tell(err)
	}
	r.tellOthers()
	if err != nil {
		r.counting.Lock()
		defer r.counting.Unlock()
		r.drain()
		r.pending.coarsen()
		return fmt.Errorf("add usage: %w", err)
	}
	return nil
}

// drain moves what was counted in the stripes to pending and totals. The caller holds counting.
func (r *Recorder) drain() {
	r.stripes.drain(func(c cell, amount *sum) {
		r.totals.add(c, amount)
		r.pending.add(c, amount)
	})
}

// take drains the stripes and returns everything that is pending. The result is never nil, so that a flush of last uses alone
// counts as sent, too.
func (r *Recorder) take() []Cell {
	r.counting.Lock()
	defer r.counting.Unlock()
	r.drain()
	cells := r.pending.list(r.owners, r.routes)
	r.pending.reset()
	return cells
}

func (r *Recorder) flush(ctx context.Context) error {
	if r.unsure != nil {
		if err := r.send(ctx, nil); err != nil {
			return err
		}
	}
	cells := r.take()
	uses, saved := r.uses.unsaved(r.owners)
	if len(cells) == 0 && len(uses) == 0 {
		return nil
	}
	r.number++
	r.unsure = cells
	r.stats.sent.Store(int64(len(cells)))
	if err := r.send(ctx, uses); err != nil {
		return err
	}
	saved()
	return nil
}

// send sends the cells under the current number. Last uses need no number, because storing them is idempotent.
func (r *Recorder) send(ctx context.Context, uses []LastUse) error {
	quotas, err := r.store.AddUsage(ctx, Delta{
		Recorder: r.name, Number: r.number, At: r.now(), Totals: r.flushed != nil, Cells: r.unsure, LastUses: uses,
	})
	if err != nil {
		return err
	}
	r.unsure = nil
	r.stats.sent.Store(0)
	if r.flushed != nil && len(quotas) > 0 {
		r.flushed(quotas)
	}
	return nil
}

// tell logs the first failed flush, and the first successful one after failures.
func (r *Recorder) tell(err error) {
	if err != nil {
		r.log.Error("storing usage failed; retrying each second", "error", err)
		return
	}
	r.log.Info("stored usage again")
}

// tellEvery is how often a recorder logs that it counted requests under Other.
const tellEvery = time.Hour

// tellOthers logs that requests were counted under Other.
func (r *Recorder) tellOthers() {
	r.counting.Lock()
	defer r.counting.Unlock()
	if r.pending.others == 0 {
		return
	}
	if now := r.now(); r.warned.IsZero() || now.Sub(r.warned) >= tellEvery {
		r.log.Warn("counted requests without their key and route, because a minute had too many combinations",
			"requests", r.pending.others, "combinations", MaxPairs)
		r.warned, r.pending.others = now, 0
	}
}
