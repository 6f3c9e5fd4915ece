package limit

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	tickEvery      = 100 * time.Millisecond
	heartbeatEvery = 250 * time.Millisecond
	idleAfter      = 75 * time.Second // how long a bucket is synced that no request comes for
	minRefresh     = heartbeatEvery   // how old the sum of a bucket becomes while requests come for it
	maxRefresh     = 4 * time.Second  // how old it becomes while there are none
	budgetsPerTick = 1000             // that are reported: what requests wait for must not queue behind them
	settleTime     = time.Second      // from when all others count this process until they have reported what they admitted before
	maxUnreported  = tickEvery        // how long what was admitted stays unreported
	storedPause    = 250 * time.Millisecond
	atOnce         = 64 // groups that are synced together when everything is reported
)

// countedFor is how long a process that the others no longer see takes its share. They keep it in their count for a minute
// (updatePeers); five seconds are for clocks that differ and for heartbeats that are late.
const countedFor = 55 * time.Second

// elapsed is the time since the limiter began. It advances evenly even if the clock is set.
func (s *Shared) elapsed() time.Duration { return s.o.Now().Sub(s.began) }

// storeTime is the counter store's time at now. Until the store has answered it is now.
func (s *Shared) storeTime(now time.Time) time.Time {
	if offset := s.clock.Load(); offset != 0 {
		return time.Unix(0, int64(now.Sub(s.began))+offset).UTC()
	}
	return now
}

// ClockOffset returns the clock of this process minus the counter store's; false until the store has answered.
func (s *Shared) ClockOffset() (ahead time.Duration, known bool) {
	now := s.o.Now()
	return now.Sub(s.storeTime(now)), s.clock.Load() != 0
}

// observe takes in the counter store's time, from a response to a request that was sent at sent.
func (s *Shared) observe(sent time.Duration, at time.Time) {
	s.clock.Store(at.UnixNano() - int64(sent+s.elapsed())/2)
}

// Start asks the counter store for the first time, so that the first requests do not go without it.
func (s *Shared) Start(ctx context.Context) { s.heartbeat(ctx) }

// Run keeps the sums fresh until ctx ends. Then it reports what is unreported.
func (s *Shared) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { every(ctx, heartbeatEvery, func() { s.heartbeat(ctx) }) })
	if s.o.Store != nil {
		loops.Go(func() { every(ctx, tickEvery, s.tick) })
	}
	if s.o.Store != nil && s.o.Stored != nil {
		loops.Go(func() { s.readStored(ctx) })
	}
	loops.Wait()
	if s.o.Store != nil {
		s.syncAll((*bucket).unreported)
	}
	s.syncs.Wait()
}

func every(ctx context.Context, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fn()
		}
	}
}

// tick syncs the buckets that need it, and forgets those that no request came for. If more buckets are in use than can be
// synced in time, each has its turn, because the order of a map differs each time.
func (s *Shared) tick() {
	now, left := s.elapsed(), budgetsPerTick
	for _, g := range s.activeGroups() {
		left -= s.visit(g, now, left > 0)
	}
}

func (s *Shared) activeGroups() []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*group, 0, len(s.active))
	for g := range s.active {
		list = append(list, g)
	}
	return list
}

// visit is a tick for one group. It returns how many budgets are synced.
func (s *Shared) visit(g *group, now time.Duration, room bool) (budgets int) {
	g.owner.mu.Lock()
	defer g.owner.mu.Unlock()
	out := s.outage.Load()
	kept := g.buckets[:0]
	for _, b := range g.buckets {
		if b.idle(now, out != nil) {
			b.active = false
			continue
		}
		kept = append(kept, b)
		if room && out == nil && b.needsSync(now) {
			b.due = true
			budgets += kinds
		}
	}
	clear(g.buckets[len(kept):])
	g.buckets = kept
	if len(kept) == 0 {
		s.mu.Lock()
		delete(s.active, g)
		s.mu.Unlock()
	}
	if budgets > 0 {
		s.wake(g)
	}
	return budgets
}

// idle reports whether a bucket needs no more syncing. An address that was evicted needs it only until it is reported, and
// in an outage not at all, so that no number of addresses fills the memory.
func (b *bucket) idle(now time.Duration, outage bool) bool {
	if b.use.owner.evicted && outage {
		return true
	}
	return (b.use.owner.evicted || now-b.usedAt > idleAfter) && !b.unreported()
}

// needsSync reports whether a bucket has something to report, or its sum is old. The longer no request came, the older it
// may be.
func (b *bucket) needsSync(now time.Duration) bool {
	age := now - b.syncedAt
	return age >= maxUnreported && b.unreported() || age >= min(max(minRefresh, (now-b.usedAt)/4), maxRefresh)
}

// syncAll syncs all buckets that are wanted, and waits for that.
func (s *Shared) syncAll(wanted func(*bucket) bool) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, g := range s.activeGroups() {
		start, ended := s.markDue(g, wanted)
		if start {
			slots <- struct{}{}
			all.Go(func() { s.sync(g); <-slots })
		} else if ended != nil {
			all.Go(func() { <-ended })
		}
	}
	all.Wait()
}

// markDue marks the wanted buckets of a group. The caller has to sync them if start is true. Otherwise a sync that is under
// way takes them along and closes ended; nil if there are none.
func (s *Shared) markDue(g *group, wanted func(*bucket) bool) (start bool, ended <-chan struct{}) {
	g.owner.mu.Lock()
	defer g.owner.mu.Unlock()
	found := false
	for _, b := range g.buckets {
		if wanted(b) {
			b.due, found = true, true
		}
	}
	if !found {
		return false, nil
	}
	if g.syncing != nil {
		return false, g.syncing
	}
	g.syncing = make(chan struct{})
	return true, g.syncing
}

func everything(*bucket) bool { return true }

// heartbeat updates the peers, and checks whether the counter store answers and still has what was reported.
func (s *Shared) heartbeat(ctx context.Context) {
	s.checking.Lock()
	defer s.checking.Unlock()
	grew := s.updatePeers()
	if s.o.Store == nil {
		return
	}
	asking, cancel := context.WithTimeout(ctx, max(syncTime, s.o.Wait))
	defer cancel()
	sent := s.elapsed()
	generation, at, err := s.o.Store.Ping(asking)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.degrade(err)
		return
	}
	took := s.elapsed() - sent
	s.observe(sent, at)
	lost := s.generation != "" && generation != s.generation
	s.generation = generation
	switch out := s.outage.Load(); {
	case out == nil && lost:
		s.o.Log.Warn("redis lost rate-limit state; reporting local counts again")
		s.syncAll(everything)
	case out == nil && grew: // the new peer can only admit by itself when it knows what was used
		s.syncAll(everything)
	case out != nil && took <= s.o.Wait: // else requests would wait for it in vain
		s.recover(out)
	}
}

// updatePeers takes in the membership. It reports whether there are more peers than before.
func (s *Shared) updatePeers() (grew bool) {
	now, moment := s.elapsed(), s.o.Now()
	old := s.peers.Load()
	if old == nil {
		old = &peers{}
	}
	p := &peers{
		count:            int64(max(1, s.o.Peers.Count(), s.o.Peers.CountSince(moment.Add(-time.Minute)))),
		partitioned:      int64(s.o.Peers.Partitioned()),
		partitionedSince: old.partitionedSince,
	}
	if old.partitioned == 0 {
		p.partitionedSince = secondOf(s.storeTime(moment))
	}
	if !s.o.Peers.Settled() {
		s.settledAt = never
	} else if s.settledAt == never {
		s.settledAt = now
	}
	p.settled = s.settledAt != never && (p.alone() || old.settled || now-s.settledAt >= settleTime)
	if p.settled {
		s.countedAt = now
	}
	p.stillCounted = now-s.countedAt <= countedFor
	s.peers.Store(p)
	return p.count > old.count
}

// degrade starts an outage: from now on no request waits for the counter store.
func (s *Shared) degrade(err error) {
	for {
		out := s.outage.Load()
		if out != nil && !out.recovering {
			return
		}
		next := &outage{lostAt: s.elapsed(), start: secondOf(s.storeTime(s.o.Now()))}
		if out != nil { // it was recovering, so the outage goes on
			next.start = out.start
		}
		if !s.outage.CompareAndSwap(out, next) {
			continue
		}
		if out == nil {
			s.stats.outages.Add(1)
			s.o.Log.Warn("redis unavailable; applying a share of each rate limit", slog.String("error", err.Error()))
		}
		return
	}
}

// recover ends an outage after everything was reported that was admitted meanwhile.
func (s *Shared) recover(out *outage) {
	recovering := &outage{start: out.start, lostAt: out.lostAt, recovering: true}
	if !s.outage.CompareAndSwap(out, recovering) {
		return
	}
	s.syncAll(everything)
	if s.outage.CompareAndSwap(recovering, nil) {
		s.o.Log.Info("sharing rate limits", slog.Int64("peers", s.peers.Load().count))
	}
}

// readLater has the quotas of a bucket read from the database, because the counter store did not know them. The caller
// holds the group's lock.
func (s *Shared) readLater(b *bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySubject[b.subject] != b {
		return // it is an address, which has no stored quotas
	}
	s.missing[b.subject] = true
	s.askForStored()
}

// readStored reads the quotas that the counter store did not know, and reports them.
func (s *Shared) readStored(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.readNow:
		}
		s.mu.Lock()
		subjects := slices.Collect(maps.Keys(s.missing))
		s.mu.Unlock()
		if len(subjects) == 0 {
			continue
		}
		list, err := s.o.Stored(ctx, subjects)
		if err == nil {
			s.SetStored(list)
			s.reread(subjects)
		} else if ctx.Err() == nil {
			s.o.Log.Warn("reading quotas failed; trying again", slog.String("error", err.Error()))
			s.askForStored()
		}
		pause := time.NewTimer(storedPause)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// askForStored wakes readStored.
func (s *Shared) askForStored() {
	select {
	case s.readNow <- struct{}{}:
	default:
	}
}

// reread reports the buckets of subjects whose quotas were read.
func (s *Shared) reread(subjects []string) {
	s.mu.Lock()
	wanted := map[*bucket]bool{}
	for _, subject := range subjects {
		delete(s.missing, subject)
		wanted[s.bySubject[subject]] = true
	}
	s.mu.Unlock()
	s.syncAll(func(b *bucket) bool { return wanted[b] })
}

// SetStored takes in what the database has as used. internal/govern/usage calls it after each flush, about once a second; without
// the counter store that is all a process hears of what the others have used of a quota.
func (s *Shared) SetStored(list []Stored) {
	for _, row := range list {
		k, window, ok := periodOf(row.Period)
		if !ok {
			continue
		}
		s.mu.Lock()
		b := s.bySubject[row.Subject]
		s.mu.Unlock()
		if b != nil {
			s.setStored(b, k, window, row.Used)
		}
	}
}

// setStored takes in what the database has of one quota. While the counter store answers, it is reported there; else it is
// all that is known of the others.
func (s *Shared) setStored(b *bucket, k Kind, window int32, used int64) {
	defer b.use.lock().Unlock()
	st := b.state(k)
	if st.window != window {
		return
	}
	st.stored = max(st.stored, used)
	if s.outage.Load() == nil {
		return
	}
	if more := used - b.use.used[k]; more > 0 {
		st.others += more
		b.use.add(k, window, more)
	}
	st.base, st.heardAt = b.use.used[k], s.elapsed()
}

// periodOf is the kind and the window of a period.
func periodOf(period string) (Kind, int32, bool) {
	if at, err := time.Parse(time.DateOnly, period); err == nil {
		return Day, int32(dayOf(at.Unix())), true
	}
	if at, err := time.Parse("2006-01", period); err == nil {
		return Month, monthOf(dayOf(at.Unix())), true
	}
	return 0, 0, false
}
