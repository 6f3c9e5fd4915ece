package limit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What Shared knows has the shape of the counters: an owner (a workspace or an address) has a group, each Use of it a
// bucket, and each window of a Use a state. All of it is guarded by the lock of the owner.

// group is the buckets of a workspace and its keys, or that of an address. They are synced together, one request at a time.
type group struct {
	owner   *owner
	name    string    // in the counter store
	buckets []*bucket // in use
	waiters []*waiter
	syncing chan struct{} // closed when the sync that is under way ends; nil if there is none
}

// bucket is a Use as the counter store knows it: a subject, of which this process is one reporter.
type bucket struct {
	use      *Use
	group    *group
	subject  string // in the counter store
	reporter string
	limits   [kinds]int64 // as last charged against; 0: there is none, and nothing to report
	states   [kinds]state
	usedAt   time.Duration // when a request last charged it or looked at it
	syncedAt time.Duration // when the last sync request was sent that was answered
	active   bool          // it is in group.buckets
	due      bool          // it is to be in the next sync request
}

// state is what is known of a window of a Use. What the counter shows is others plus own: own was admitted here, others is
// what the last response said of the other peers. base was used by all as of that response, so the counter less base is
// what was admitted here since.
type state struct {
	window   int32
	others   int64
	reported int64 // of own, what the counter store has
	stored   int64 // what the database has as used by all
	base     int64
	heardAt  time.Duration // when the sync request of that response was sent
}

func newID() string { return strings.ToLower(rand.Text()[:13]) }

// bucketOf finds or creates the bucket of an account.
func (s *Shared) bucketOf(a *Account) *bucket {
	u := a.Use
	if u.bucket != nil {
		return u.bucket
	}
	if u.owner.group == nil {
		u.owner.group = &group{owner: u.owner, name: u.owner.id}
		if a.Anonymous {
			u.owner.group.name = s.hash(u.owner.id)
		}
	}
	b := &bucket{
		use: u, group: u.owner.group, subject: u.owner.group.name,
		reporter: s.id + "." + strconv.FormatUint(s.buckets.Add(1), 36), syncedAt: never,
	}
	if a.Key != nil {
		b.subject = a.Key.ID()
	}
	for k, used := range u.used { // what was used before the program started
		b.states[k] = state{window: u.windows[k], others: used, stored: used, base: used, heardAt: never}
	}
	u.bucket = b
	if !a.Anonymous {
		s.mu.Lock()
		s.bySubject[b.subject] = b
		s.mu.Unlock()
	}
	return b
}

// hash is what the counter store sees of an address.
func (s *Shared) hash(address string) string {
	mac := hmac.New(sha256.New, s.o.Secret)
	mac.Write([]byte("limits of an address\x00" + address))
	return "adr_" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// touch notes that a request came for a bucket.
func (s *Shared) touch(b *bucket, now time.Duration) {
	b.usedAt = now
	if b.active {
		return
	}
	b.active = true
	b.group.buckets = append(b.group.buckets, b)
	s.mu.Lock()
	s.active[b.group] = true
	s.mu.Unlock()
}

// state is what is known of the window that a counter shows.
func (b *bucket) state(k Kind) *state {
	st := &b.states[k]
	if window := b.use.windows[k]; st.window != window {
		*st = state{window: window, heardAt: never}
	}
	return st
}

// own is what this process has admitted in the window that the counter shows.
func (b *bucket) own(k Kind) int64 { return max(0, b.use.used[k]-b.state(k).others) }

// unreported reports whether the counter store has another number for what was admitted here.
func (b *bucket) unreported() bool {
	for k := range Kind(kinds) {
		if b.limits[k] > 0 && b.own(k) != b.state(k).reported {
			return true
		}
	}
	return false
}

// afterTake starts a sync if half of what this process can admit unreported is used, so that few requests have to wait.
func (c *sharedCharge) afterTake() {
	if c.final() {
		return
	}
	for i := c.first; i < budgetCount; i++ {
		b, bucket := &c.budgets[i], c.buckets[i/kinds]
		if base := bucket.states[i%kinds].base; b.limit < maxCount && b.used()-base >= (b.ceiling-base+1)/2 && !bucket.due {
			bucket.due = true
			c.s.wake(bucket.group)
		}
	}
}

// wake starts a sync of a group, unless one is under way: that one goes on until nothing is due. The caller holds the
// group's lock.
func (s *Shared) wake(g *group) {
	if g.syncing == nil {
		g.syncing = make(chan struct{})
		s.syncs.Go(func() { s.sync(g) })
	}
}

// sync sends requests for a group until no waiter is left and nothing is due.
func (s *Shared) sync(g *group) {
	for {
		b := s.nextBatch(g)
		if b == nil {
			return
		}
		timeout := max(syncTime, s.o.Wait)
		if len(b.waiters) > 0 {
			timeout = s.o.Wait
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		s.stats.syncs.Add(1)
		sent := s.elapsed()
		response, err := s.o.Store.Sync(ctx, &b.request)
		cancel()
		if err == nil {
			s.observe(sent, response.At)
		} else if !errors.Is(err, ErrOutdated) {
			s.degrade(err)
		}
		s.finish(g, b, response, sent)
	}
}

const (
	maxWaiters = 64 // in a request
	maxBuckets = 16 // that are reported with a request
	syncTime   = 500 * time.Millisecond
)

// batch is a sync request with what it is for.
type batch struct {
	request SyncRequest
	buckets []*bucket
	entries []*bucket // of each entry
	placeOf map[place]int
	waiters []*waiter
	wants   []*waiter // of each want
}

// place is a window of a bucket among the entries.
type place struct {
	bucket *bucket
	kind   Kind
}

// nextBatch makes the next request of a group. It returns nil, and the sync is over, if there is nothing to do or no counter
// store to ask.
func (s *Shared) nextBatch(g *group) *batch {
	g.owner.mu.Lock()
	defer g.owner.mu.Unlock()
	if out := s.outage.Load(); out != nil && !out.recovering {
		for _, w := range g.waiters {
			w.end()
		}
		for _, b := range g.buckets {
			b.due = false
		}
		g.waiters = nil
		g.endSync()
		return nil
	}
	n := min(len(g.waiters), maxWaiters)
	b := &batch{
		waiters: g.waiters[:n:n], placeOf: map[place]int{},
		request: SyncRequest{Group: g.name, Number: s.number.Add(1)},
	}
	g.waiters = g.waiters[n:]
	unix := secondOf(s.storeTime(s.o.Now()))
	for _, w := range b.waiters {
		for _, bucket := range w.buckets {
			b.report(bucket, unix)
		}
	}
	for _, bucket := range g.buckets {
		if len(b.buckets) >= maxBuckets {
			break
		}
		if bucket.due {
			b.report(bucket, unix)
		}
	}
	if len(b.buckets) == 0 {
		g.endSync()
		return nil
	}
	for _, w := range b.waiters {
		b.want(w)
	}
	return b
}

// endSync notes that the group's sync is over.
func (g *group) endSync() {
	close(g.syncing)
	g.syncing = nil
}

// report adds a bucket to the request, once: the present windows of its limits. Windows that have ended start again first.
func (b *batch) report(bucket *bucket, unix int64) {
	if bucket == nil || slices.Contains(b.buckets, bucket) {
		return
	}
	b.buckets, bucket.due = append(b.buckets, bucket), false
	u := bucket.use
	today := u.dayAt(unix)
	ends := [kinds]int64{u.advance(unix, today), (today + 1) * day, monthEnd(today)}
	for k := range Kind(kinds) {
		if bucket.limits[k] == 0 {
			continue
		}
		st := bucket.state(k)
		b.placeOf[place{bucket, k}] = len(b.entries)
		b.entries = append(b.entries, bucket)
		b.request.Entries = append(b.request.Entries, SyncEntry{
			Subject: bucket.subject, Kind: k, Window: st.window, End: time.Unix(ends[k], 0), Limit: bucket.limits[k],
			Reporter: bucket.reporter, Own: bucket.own(k), Known: u.used[k], Stored: st.stored,
		})
	}
}

// want adds what a waiter wants to the request, unless a window has ended since it came.
func (b *batch) want(w *waiter) {
	if w.cost == 0 || w.gone {
		return
	}
	var of []int
	for i, limited := range w.limited {
		if !limited {
			continue
		}
		at, reported := b.placeOf[place{w.buckets[i/kinds], Kind(i % kinds)}]
		if !reported || b.request.Entries[at].Window != w.windowOf(i) {
			return
		}
		of = append(of, at)
	}
	b.request.Wants = append(b.request.Wants, Want{Cost: w.cost, Of: of})
	b.wants = append(b.wants, w)
}

// windowOf is the window of budget i that a waiter came for.
func (w *waiter) windowOf(i int) int32 {
	t := &w.receipt.workspace
	if i < workspaceMinute {
		t = &w.receipt.key
	}
	return t.windows[i%kinds]
}

// finish takes in the response to a batch, nil if there is none, and ends the waits. A response that comes after the counter
// store was given up is ignored: with another base, what was left of the minute would be divided a second time. Everything
// is reported again when the store is back. Only during that report it is divided again.
func (s *Shared) finish(g *group, b *batch, response *SyncResponse, sent time.Duration) {
	g.owner.mu.Lock()
	defer g.owner.mu.Unlock()
	if out := s.outage.Load(); response != nil && (out == nil || out.recovering) {
		for i, w := range b.wants {
			if response.Granted[i] && !w.gone {
				w.granted = true
				w.receipt.add(w.cost)
			}
		}
		for _, bucket := range b.buckets {
			bucket.syncedAt = sent
		}
		for i, bucket := range b.entries {
			bucket.learn(&b.request.Entries[i], &response.Sums[i], sent)
			if response.Sums[i].New && b.request.Entries[i].Kind != Minute {
				s.readLater(bucket)
			}
		}
	}
	for _, w := range b.waiters {
		w.end()
	}
}

// learn takes in the sum of a budget.
func (b *bucket) learn(e *SyncEntry, sum *Sum, sent time.Duration) {
	st := b.state(e.Kind)
	if st.window != e.Window {
		return
	}
	others := max(0, sum.Total-sum.Own)
	b.use.add(e.Kind, e.Window, others-st.others)
	st.others, st.reported, st.base, st.heardAt = others, sum.Own, sum.Total, sent
}

// end tells a waiter that the decision is made.
func (w *waiter) end() {
	if !w.gone {
		close(w.done)
	}
}
