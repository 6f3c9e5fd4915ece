package limit

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Peers tells who counts together. All its counts include this process.
type Peers interface {
	// Count is the number of peers.
	Count() int
	// CountSince is the number of peers there have been since a moment: one that left after it still counts, because it can
	// have used its share.
	CountSince(time.Time) int
	// Settled reports whether all others count this process.
	Settled() bool
	// Partitioned is the number of others that do not reach the counter store, so that each of them admits its share.
	Partitioned() int
}

// SharedOptions is what Shared needs.
type SharedOptions struct {
	Store  CounterStore // nil: there is none, and every process admits its share
	Peers  Peers
	Secret []byte // with it addresses are hashed, so that the counter store sees none
	// Stored reads from the database what some subjects have used of the present day and month. It may be nil.
	Stored func(ctx context.Context, subjects []string) ([]Stored, error)
	Wait   time.Duration // how long a request waits for the counter store; 0: 50 ms
	Now    func() time.Time
	Log    *slog.Logger
}

// Stored is what the database has as used by a subject in a period: "2026-11-21" or "2026-11".
type Stored struct {
	Subject string
	Period  string
	Used    int64
}

// Shared is the Limiter of a process that has peers. It charges in memory, reports to the counter store what it has
// admitted, and reads the sums. In between it admits up to a ceiling (ceiling.go). A request that does not fit below the
// ceiling, but fits the limit, waits for the counter store. No unit is set aside for later, so none lies idle, and a process
// that dies takes nothing with it.
//
// A process without peers admits exactly what the limits say, and never waits. A process with peers that does not reach
// the counter store admits its share of every limit.
type Shared struct {
	o     SharedOptions
	began time.Time
	id    string // of this run of the process

	peers   atomic.Pointer[peers]
	outage  atomic.Pointer[outage] // nil while the counter store answers
	clock   atomic.Int64           // the counter store's Unix time less our time since began; 0 until it has answered
	number  atomic.Uint64          // of the last sync request
	buckets atomic.Uint64          // how many were created; they number the reporters
	syncs   sync.WaitGroup
	readNow chan struct{} // wakes readStored

	mu        sync.Mutex         // guards what follows; it is locked after the lock of a workspace
	bySubject map[string]*bucket // of workspaces and keys
	active    map[*group]bool    // with buckets in use
	missing   map[string]bool    // subjects whose quotas have to be read

	checking   sync.Mutex    // guards what follows
	generation string        // of the counter store
	settledAt  time.Duration // since when all others have counted this process; never: they do not
	countedAt  time.Duration // when they last did

	stats struct{ waits, syncs, outages atomic.Int64 }
}

const (
	defaultWait = 50 * time.Millisecond
	maxTries    = 4               // how often a request waits if others take the units first
	freshFor    = 5 * time.Second // how old a sum can be before a request waits for a new one
)

// NewShared creates a Shared. Run keeps it going.
func NewShared(o SharedOptions) *Shared {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	s := &Shared{
		o: o, began: o.Now(), id: newID(), readNow: make(chan struct{}, 1),
		bySubject: map[string]*bucket{}, active: map[*group]bool{}, missing: map[string]bool{},
		settledAt: never, countedAt: never,
	}
	s.outage.Store(beforeFirstAnswer())
	s.updatePeers()
	return s
}

// Mode implements Limiter.
func (s *Shared) Mode() Mode {
	if s.o.Store == nil {
		return ModeSplit
	}
	return ModeShared
}

// Degraded implements Limiter.
func (s *Shared) Degraded() bool { return s.o.Store != nil && s.outage.Load() != nil }

// Partitioned reports whether this process reaches no counter store, so that it admits its share of every limit.
func (s *Shared) Partitioned() bool { return s.outage.Load() != nil }

// Counted reports whether all others count this process, so that it can admit requests by itself. Until then every request
// waits for the counter store.
func (s *Shared) Counted() bool { return s.peers.Load().settled || s.o.Peers.Count() == 1 }

// SharedStats counts what Shared has done.
type SharedStats struct {
	Waits   int64 // requests that waited for the counter store
	Syncs   int64
	Outages int64
}

// Stats returns the counts of now.
func (s *Shared) Stats() SharedStats {
	return SharedStats{s.stats.waits.Load(), s.stats.syncs.Load(), s.stats.outages.Load()}
}

// Charge implements Limiter.
func (s *Shared) Charge(now time.Time, cost int64, workspace, key Account) (Verdict, Receipt) {
	var c sharedCharge
	for tries := 0; ; tries++ {
		v, r, w := s.try(&c, now, cost, workspace, key, tries == maxTries)
		if w == nil {
			return v, r
		}
		if s.await(w) { // granted, so the verdict is only for the numbers of now
			v, _ := s.look(&c, now, cost, workspace, key)
			v.Allowed, v.Unknown, v.Policy, v.ResetIn = true, false, "", 0
			return v, w.receipt
		}
	}
}

// Peek implements Limiter. It waits for the counter store if what is known of the budgets is old.
func (s *Shared) Peek(now time.Time, cost int64, workspace, key Account) Verdict {
	var c sharedCharge
	v, w := s.look(&c, now, cost, workspace, key)
	if w != nil {
		s.await(w)
		v, _ = s.look(&c, now, cost, workspace, key)
	}
	return v
}

// sharedCharge is a charge with what Shared knows of its budgets. Its methods need the lock of the workspace.
type sharedCharge struct {
	charge
	s       *Shared
	at      time.Duration // now, since the limiter began
	peers   *peers
	outage  *outage
	buckets [2]*bucket // of each account; the key's is nil if there is none
	stale   bool       // what is known of a budget is old
}

// try charges without waiting if this process can decide. Otherwise it returns a waiter for the counter store's decision.
// The last try is always decided here.
func (s *Shared) try(c *sharedCharge, now time.Time, cost int64, workspace, key Account, last bool) (Verdict, Receipt, *waiter) {
	defer workspace.Use.lock().Unlock()
	c.open(s, now, cost, workspace, key)
	switch {
	case c.stale && !last:
		return Verdict{}, Receipt{}, c.enqueue(c.cost)
	case c.fits():
		r := c.take()
		c.afterTake()
		return c.verdict(), r, nil
	case c.final():
	case c.exhausted():
		c.raiseCeilings() // the refusal names an exhausted limit, not a ceiling
	case !last:
		return Verdict{}, Receipt{}, c.enqueue(c.cost)
	}
	return c.refuse(), Receipt{}, nil
}

// look gives the verdict as of now, and a waiter if what is known is old. A charge that would have to wait counts as one
// that is admitted.
func (s *Shared) look(c *sharedCharge, now time.Time, cost int64, workspace, key Account) (Verdict, *waiter) {
	defer workspace.Use.lock().Unlock()
	c.open(s, now, cost, workspace, key)
	if !c.final() {
		c.raiseCeilings()
	}
	v := c.peek()
	if c.stale {
		return v, c.enqueue(0)
	}
	return v, nil
}

// open prepares a charge by the counter store's clock.
func (c *sharedCharge) open(s *Shared, now time.Time, cost int64, workspace, key Account) {
	c.s, c.at, c.stale = s, now.Sub(s.began), false
	c.peers, c.outage = s.peers.Load(), s.outage.Load()
	c.charge.open(s.storeTime(now), cost, workspace, key)
	c.buckets = [2]*bucket{nil, s.bucketOf(&workspace)}
	if key.Use != nil {
		c.buckets[0] = s.bucketOf(&key)
	}
	for i := c.first; i < budgetCount; i++ {
		if c.budgets[i].limit < maxCount {
			c.setCeiling(i)
			c.stale = c.stale || !c.final() && c.at-c.buckets[i/kinds].syncedAt > freshFor
		}
	}
	for _, b := range c.buckets {
		if b != nil {
			s.touch(b, c.at)
		}
	}
}

// final reports whether the ceilings are final, because this process has no peer, or no counter store to ask for more.
func (c *sharedCharge) final() bool { return c.outage != nil || c.peers.alone() }

// exhausted reports whether a limit, not only a ceiling, has too little left for the charge.
func (c *sharedCharge) exhausted() bool {
	for i := c.first; i < budgetCount; i++ {
		if b := &c.budgets[i]; b.limit < maxCount && b.left() < c.cost {
			return true
		}
	}
	return false
}

// raiseCeilings makes the limits the ceilings.
func (c *sharedCharge) raiseCeilings() {
	for i := range c.budgets {
		c.budgets[i].ceiling = c.budgets[i].limit
	}
}

// waiter is a request that waits for the counter store: for units, or with a cost of 0 only for the sums.
type waiter struct {
	use     *Use // the workspace's
	cost    int64
	buckets [2]*bucket
	limited [budgetCount]bool
	receipt Receipt
	granted bool
	gone    bool          // it waits no longer
	done    chan struct{} // closed when the decision is made
}

// enqueue adds a waiter to the group's next sync request.
func (c *sharedCharge) enqueue(cost int64) *waiter {
	w := &waiter{use: c.workspace.Use, cost: cost, buckets: c.buckets, receipt: c.receipt(), done: make(chan struct{})}
	for i := c.first; i < budgetCount; i++ {
		w.limited[i] = c.budgets[i].limit < maxCount
	}
	g := c.buckets[workspaceMinute/kinds].group
	g.waiters = append(g.waiters, w)
	c.s.wake(g)
	return w
}

// await waits for a decision, and reports whether the units were granted. If the counter store does not answer in time,
// this process counts without it until a heartbeat finds that it answers in time again, so that not every request waits in
// vain.
func (s *Shared) await(w *waiter) bool {
	s.stats.waits.Add(1)
	timer := time.NewTimer(s.o.Wait)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		if w.leave() {
			s.degrade(context.DeadlineExceeded)
		}
	}
	return w.granted
}

// leave ends the wait without a decision. It returns false if there is one.
func (w *waiter) leave() bool {
	defer w.use.lock().Unlock()
	select {
	case <-w.done:
		return false
	default:
		w.gone = true
		return true
	}
}
