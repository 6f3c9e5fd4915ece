package limit

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// since is our time since the start. It goes on evenly, also when somebody sets the clock.
func (s *Shared) since() time.Duration { return s.o.Now().Sub(s.began) }

// ledgerUnix is the ledger's Unix second at one of our times.
func (s *Shared) ledgerUnix(since time.Duration) int64 {
	return (int64(since) + s.offset.Load()) / int64(time.Second)
}

// hear takes in the ledger's clock.
func (s *Shared) hear(sent, got time.Duration, at time.Time) {
	s.clockMu.Lock()
	defer s.clockMu.Unlock()
	s.clock = s.clock.heard(sent, got, time.Duration(at.UnixNano()))
	s.offset.Store(int64(s.clock.offset))
}

// Join hears from the ledger for the first time, so that the first request need not do without.
func (s *Shared) Join(ctx context.Context) {
	if s != nil {
		s.beat(ctx)
	}
}

// Run keeps what members know of each other fresh until ctx ends. Then it tells what is untold.
func (s *Shared) Run(ctx context.Context) {
	defer s.flights.Wait()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { each(ctx, beatEvery, func() { s.beat(ctx) }) })
	if s.o.Ledger == nil {
		return
	}
	if s.o.Durable != nil {
		beside.Go(func() { s.findMissing(ctx) })
	}
	sweeps := time.NewTicker(sweepEvery)
	defer sweeps.Stop()
	for {
		select {
		case <-ctx.Done():
			s.reportAll(context.WithoutCancel(ctx), (*book).untold)
			return
		case g := <-s.urgent:
			s.report(s.gather(g))
		case <-sweeps.C:
			s.sweep()
		}
	}
}

func each(ctx context.Context, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// hurry has a book reported soon.
func (s *Shared) hurry(b *book) {
	if s.outage.Load() != nil || !b.urgent.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.urgent <- b.group:
	default:
		b.urgent.Store(false) // the next sweep finds it
	}
}

// gather is a group with those that are as urgent.
func (s *Shared) gather(first *group) []*group {
	groups := []*group{first}
	for len(groups) < batch {
		select {
		case g := <-s.urgent:
			groups = append(groups, g)
		default:
			return groups
		}
	}
	return groups
}

const (
	batch         = 64 // contacts that go together
	booksAContact = 16
	budgetsMost   = 1000 // that a sweep tells of: what requests wait for must not wait behind them
	visitsMost    = 5000 // books that a sweep looks at
	batchTime     = 500 * time.Millisecond
)

// trip is contacts that are on their way together.
type trip struct {
	groups  []*group
	flights []*flight
}

// budgets is of how many it tells.
func (t *trip) budgets() int {
	n := 0
	for _, f := range t.flights {
		n += len(f.of)
	}
	return n
}

// report tells of groups what is urgent.
func (s *Shared) report(groups []*group) {
	var t trip
	for _, g := range groups {
		s.load(&t, g, func(b *book) bool { return b.urgent.Load() || b.untold() })
	}
	s.send(&t)
}

// load takes the books of a group that are wanted into a trip. A group that is on its way already goes again afterwards.
func (s *Shared) load(t *trip, g *group, wanted func(*book) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying {
		for _, b := range g.books {
			if wanted(b) {
				b.urgent.Store(true)
				g.again = true
			}
		}
		return
	}
	unix := s.ledgerUnix(s.since())
	var f *flight
	books := booksAContact
	for _, b := range g.books {
		if !wanted(b) {
			continue
		}
		if books == booksAContact {
			f, books = &flight{group: g, contact: Contact{Tag: g.tag, Number: s.number.Add(1)}}, 0
			t.flights = append(t.flights, f)
		}
		f.add(b, unix)
		books++
	}
	if f != nil {
		g.flying = true
		t.groups = append(t.groups, g)
	}
}

// untold reports whether the ledger has another number of what this member admitted. The caller holds the group's lock.
func (b *book) untold() bool {
	for k := range Kind(kinds) {
		if t := &b.tallies[k]; t.limit.Load() > 0 && t.own(b.counter(k).word.Load()) != t.acked {
			return true
		}
	}
	return false
}

// send lets a trip go, in a goroutine of its own: what is urgent next does not wait for it.
func (s *Shared) send(t *trip) {
	if len(t.groups) > 0 {
		s.flights.Go(func() { s.travel(context.Background(), t) })
	}
}

func (s *Shared) travel(ctx context.Context, t *trip) {
	for flights := range slices.Chunk(t.flights, batch) {
		ctx, cancel := context.WithTimeout(ctx, max(batchTime, s.o.Wait))
		s.exchange(ctx, flights)
		cancel()
	}
	for _, g := range t.groups {
		g.mu.Lock()
		s.land(g)
		g.mu.Unlock()
	}
}

// sweep looks after the groups that requests came for: it tells what is untold, and keeps fresh what is known of the
// others. Of more groups than can be looked after at once each has its turn.
func (s *Shared) sweep() {
	now := s.since()
	s.mu.RLock()
	active, from := s.active, s.cursor
	s.mu.RUnlock()
	out := s.outage.Load()
	var t trip
	var idle []*group
	first := from
	for visits := 0; visits < visitsMost && first < from+len(active) && t.budgets() < budgetsMost; first++ {
		g := active[first%len(active)]
		books, is := s.isIdle(g, now)
		if is {
			idle = append(idle, g)
		} else if out == nil {
			s.load(&t, g, func(b *book) bool { return b.due(now) })
		}
		visits += books
	}
	s.send(&t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor = first % max(1, len(s.active))
	if len(idle) > 0 {
		s.dropIdle(idle)
	}
}

// dropIdle takes groups from the list of those that are looked after. The caller holds s.mu.
func (s *Shared) dropIdle(idle []*group) {
	for _, g := range idle {
		g.active.Store(false)
	}
	kept := make([]*group, 0, len(s.active))
	for _, g := range s.active {
		if g.active.Load() {
			kept = append(kept, g)
		}
	}
	s.active = kept
}

// isIdle notes which books of a group were used since the last look, and reports whether none was for long, and how many
// books there are.
func (s *Shared) isIdle(g *group, now time.Duration) (books int, idle bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	idle = true
	for _, b := range g.books {
		for k := range Kind(kinds) {
			if word := b.counter(k).word.Load(); word != b.seen[k] {
				b.seen[k], b.busyAt = word, now
			}
		}
		idle = idle && (now-b.busyAt > busyFor || b.evicted) && !b.untold()
	}
	return len(g.books), idle && !g.flying
}

// due reports whether the ledger should be asked about a book: soon for what is untold, less and less often where nothing
// happens. The caller holds the group's lock.
func (b *book) due(now time.Duration) bool {
	age, idle := now-b.heardAt, now-b.busyAt
	if age >= reportAfter && b.untold() {
		return true
	}
	return idle <= busyFor && age >= min(max(beatEvery, idle/4), refreshMost)
}

// muster asks who counts. It reports whether there are more than before.
func (s *Shared) muster() (more bool) {
	now := s.o.Now()
	n := int64(max(1, s.o.Members.Count(), s.o.Members.MostSince(now.Add(-time.Minute))))
	more = n > s.members.Swap(n)
	at := s.since()
	switch others, known := int64(s.o.Members.Apart()), s.apart.Load(); {
	case others == 0:
		s.apart.Store(nil)
	case known == nil:
		s.apart.Store(&apart{others, s.ledgerUnix(at)})
	case known.members != others:
		s.apart.Store(&apart{others, known.unix})
	}
	switch {
	case !s.o.Members.Settled():
		s.joined = 0
		s.settled.Store(false)
	case s.joined == 0:
		s.joined = max(1, at)
		s.settled.Store(n == 1)
	case at-s.joined >= settleAfter:
		s.settled.Store(true)
	}
	if s.settled.Load() {
		s.counted.Store(int64(at + missedFor))
	}
	return more
}

// beat hears whether the ledger lives, which is also how it is noticed that it lives again.
func (s *Shared) beat(ctx context.Context) {
	s.beatMu.Lock()
	defer s.beatMu.Unlock()
	more := s.muster()
	if s.o.Ledger == nil {
		if more { // what may be admitted was divided among fewer
			s.outage.Store(&outage{id: s.outages.Add(1), blind: true})
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, max(batchTime, s.o.Wait))
	defer cancel()
	sent := s.since()
	life, at, err := s.o.Ledger.Life(ctx)
	if ctx.Err() == context.Canceled {
		return
	}
	if err != nil {
		s.lose(err)
		return
	}
	got := s.since()
	s.hear(sent, got, at)
	changed := life != s.life && s.life != ""
	s.life = life
	if out := s.outage.Load(); out != nil {
		if got-sent > s.o.Wait {
			return // requests would wait for it, and in vain
		}
		s.recover(context.WithoutCancel(ctx), out)
		return
	}
	if changed {
		s.o.Log.Warn("the ledger of limits was emptied or started anew; what this process has admitted is told again")
	}
	if changed || more {
		s.reportAll(context.WithoutCancel(ctx), everything)
	}
}

func everything(*book) bool { return true }

// reportAll tells all there is to tell of the books that are wanted.
func (s *Shared) reportAll(ctx context.Context, wanted func(*book) bool) {
	s.mu.RLock()
	active := s.active
	s.mu.RUnlock()
	var t trip
	for _, g := range active {
		s.load(&t, g, wanted)
	}
	s.travel(ctx, &t)
}

// lose takes note that the ledger does not answer. From now on no request waits for it.
func (s *Shared) lose(err error) {
	out := s.outage.Load()
	worse := &outage{latest: s.since()}
	switch {
	case out == nil:
		worse.unix = s.ledgerUnix(worse.latest)
	case out.better.Load():
		worse.blind, worse.unix = out.blind, out.unix
	default:
		return
	}
	worse.id = s.outages.Add(1)
	if !s.outage.CompareAndSwap(out, worse) || out != nil {
		return
	}
	s.counts.outages.Add(1)
	s.o.Log.Warn("limits cannot be shared at the moment; each process admits its share", slog.String("error", err.Error()))
}

// recover ends an outage, once all was told that was admitted meanwhile.
func (s *Shared) recover(ctx context.Context, out *outage) {
	out.better.Store(true)
	s.reportAll(ctx, everything)
	s.reportAll(ctx, (*book).untold) // also a book that had forgotten what it had said before
	if s.outage.CompareAndSwap(out, nil) {
		s.o.Log.Info("limits are shared", slog.Int64("members", s.members.Load()))
	}
}

// findMissing reads what is stored as used when the ledger has lost it.
func (s *Shared) findMissing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.missing:
		}
		began := s.since()
		list, err := s.o.Durable(ctx)
		if err == nil {
			s.Durable(list)
			s.reportAll(ctx, everything)
		} else if ctx.Err() == nil {
			s.o.Log.Warn("quotas cannot be read; what was used is counted from what processes know", slog.String("error", err.Error()))
		}
		pause := time.NewTimer(max(2*time.Second, 20*(s.since()-began)))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// Durable takes in what is stored as used.
func (s *Shared) Durable(list []Durable) {
	if s == nil {
		return
	}
	members, split, now := s.members.Load(), s.outage.Load() != nil, s.since()
	for _, d := range list {
		s.mu.RLock()
		b := s.subjects[d.Subject]
		s.mu.RUnlock()
		if b == nil {
			continue
		}
		if k, window, ok := periodOf(d.Period); ok {
			b.stored(k, window, d.Used, members, split, now)
		}
	}
}

// stored takes in what is stored as used of one quota.
func (b *book) stored(k Kind, window uint32, used, members int64, split bool, now time.Duration) {
	b.group.mu.Lock()
	defer b.group.mu.Unlock()
	t := &b.tallies[k]
	t.durable, t.durableWindow = used, window
	if limit := t.limit.Load(); split && limit > 0 && t.window == window {
		b.byDurable(k, window, limit, members, shareOfRest)
		b.quotasUntil.Store(int64(now + storedFor))
	}
}

// periodOf is the kind and the window of a period.
func periodOf(period string) (Kind, uint32, bool) {
	if at, err := time.Parse(time.DateOnly, period); err == nil {
		return Day, uint32(dayOf(at.Unix())) & windowMask, true
	}
	if at, err := time.Parse("2006-01", period); err == nil {
		return Month, monthOf(dayOf(at.Unix())), true
	}
	return 0, 0, false
}
