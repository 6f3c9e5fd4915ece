package limit

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// ask is a request that waits for the ledger: for units, or only for how its budgets stand.
type ask struct {
	b     budgets
	books [2]*book
	cost  int64
	state atomic.Int32
	done  chan struct{}
	told  bool // done is closed; only the flight that carries the ask looks at it
}

const (
	waiting = iota
	granted
	answered // but not granted
	gone     // it waits no more
)

// ask waits for the ledger: for cost units of all budgets, or for none to learn how they stand. It is false where nothing
// was granted, and whoever looks again knows more, or knows that the ledger is lost.
func (c *charging) ask(cost int64) (Receipt, bool) {
	s := c.s
	if s.o.Ledger == nil {
		return Receipt{}, false
	}
	s.counts.waits.Add(1)
	a := &ask{b: c.b, books: c.books, cost: cost, done: make(chan struct{})}
	g := c.books[1].group
	g.mu.Lock()
	g.waiting = append(g.waiting, a)
	if !g.flying {
		g.flying = true
		s.flights.Go(func() { s.fly(g) })
	}
	g.mu.Unlock()

	timer := time.NewTimer(s.o.Wait)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
		if a.state.CompareAndSwap(waiting, gone) {
			s.lose(context.DeadlineExceeded)
			return Receipt{}, false
		}
		<-a.done
	}
	if a.state.Load() != granted {
		return Receipt{}, false
	}
	return a.b.receipt(c.unix, cost, &c.workspace, &c.key), true
}

// fly makes contacts for a group until nobody waits.
func (s *Shared) fly(g *group) {
	for {
		g.mu.Lock()
		asks := g.waiting
		g.waiting = nil
		if len(asks) == 0 {
			s.land(g)
			g.mu.Unlock()
			return
		}
		f := s.flightFor(g, asks)
		g.mu.Unlock()
		if out := s.outage.Load(); out != nil && !out.better.Load() {
			f.fail()
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.o.Wait)
		s.exchange(ctx, []*flight{f})
		cancel()
		f.fail() // whoever has no answer by now
	}
}

// land ends a group's flight. The caller holds its lock.
func (s *Shared) land(g *group) {
	g.flying = false
	if len(g.waiting) > 0 {
		g.flying = true
		s.flights.Go(func() { s.fly(g) })
		return
	}
	if g.again {
		g.again = false
		select {
		case s.urgent <- g:
		default:
		}
	}
}

// flight is one contact on its way.
type flight struct {
	group   *group
	contact Contact
	of      []*book  // of each entry
	asks    [][]*ask // of each want
	rest    []*ask   // those that want to know only
	sent    time.Duration
}

// flightFor makes the contact for requests that wait. The caller holds the group's lock.
func (s *Shared) flightFor(g *group, asks []*ask) *flight {
	f := &flight{group: g, contact: Contact{Tag: g.tag, Number: s.number.Add(1)}}
	unix := s.ledgerUnix(s.since())
	places := map[*book]int{} // where the entries of a book begin
	for _, a := range asks {
		for _, b := range a.books {
			if _, there := places[b]; b != nil && !there {
				places[b] = len(f.of)
				f.add(b, unix)
			}
		}
	}
	for _, a := range asks {
		of, same := f.placesOf(a)
		if a.cost == 0 || !same {
			f.rest = append(f.rest, a)
			continue
		}
		at := slices.IndexFunc(f.contact.Wants, func(w Want) bool { return w.Cost == a.cost && slices.Equal(w.Of, of) })
		if at < 0 {
			at = len(f.contact.Wants)
			f.contact.Wants = append(f.contact.Wants, Want{Cost: a.cost, Of: of})
			f.asks = append(f.asks, nil)
		}
		f.contact.Wants[at].Callers++
		f.asks[at] = append(f.asks[at], a)
	}
	return f
}

// add takes the budgets of a book into the contact. The caller holds the group's lock.
func (f *flight) add(b *book, unix int64) {
	b.urgent.Store(false)
	for k := range Kind(kinds) {
		if b.tallies[k].limit.Load() > 0 {
			f.contact.Budget = append(f.contact.Budget, b.entry(k, unix))
			f.of = append(f.of, b)
		}
	}
}

// placesOf finds the entries of what a request is charged to. It is false where a window has turned since.
func (f *flight) placesOf(a *ask) (of []int, same bool) {
	for i := a.b.first; i < budgetCount; i++ {
		if a.b.list[i].limit == maxCount {
			continue
		}
		b, k := a.books[i/kinds], Kind(i%kinds)
		at := slices.IndexFunc(f.contact.Budget, func(e Entry) bool { return e.Kind == k && e.Subject == b.subject })
		if at < 0 || f.contact.Budget[at].Window != a.b.list[i].window {
			return nil, false
		}
		of = append(of, at)
	}
	return of, true
}

// exchange makes the contacts of flights, and takes in what the ledger answers.
func (s *Shared) exchange(ctx context.Context, flights []*flight) {
	contacts := make([]Contact, len(flights))
	sent := s.since()
	for i, f := range flights {
		contacts[i], f.sent = f.contact, sent
	}
	s.counts.contacts.Add(int64(len(contacts)))
	replies := s.o.Ledger.Exchange(ctx, contacts)
	got := s.since()
	for i, f := range flights {
		r := &replies[i]
		if r.Err != nil {
			if r.Err != ErrOvertaken { //nolint:errorlint // the ledger answers it as it is
				s.lose(r.Err)
			}
			continue
		}
		s.hear(sent, got, r.At)
		s.take(f, r)
	}
}

// take makes what a reply says known.
func (s *Shared) take(f *flight, r *Reply) {
	members, settled := s.members.Load(), s.settled.Load()
	unix := s.ledgerUnix(f.sent)
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	out := s.outage.Load() // under the lock, so that whoever falls for a later one does so after this
	units := make([]int64, len(f.of))
	for n, w := range f.contact.Wants {
		for _, at := range w.Of {
			units[at] += r.Granted[n] * w.Cost
		}
		f.grant(f.asks[n], r.Granted[n])
	}
	heals := out != nil && out.better.Load() && f.sent > out.latest
	for i := range f.contact.Budget {
		e, b := &f.contact.Budget[i], f.of[i]
		fallen := out != nil && !heals && b.outage.Load() == out.id && b.recovered.Load() != out.id
		b.learn(e, &r.Budget[i], units[i], members, settled, fallen, f.sent, unix)
		b.heardAt = f.sent
		b.freshUntil.Store(int64(f.sent + goodFor))
		if heals {
			b.recovered.Store(out.id)
		}
		if r.Budget[i].New && e.Kind != Minute {
			select {
			case s.missing <- struct{}{}:
			default:
			}
		}
	}
	for _, asks := range f.asks {
		for _, a := range asks {
			a.end()
		}
	}
}

// grant gives units to the first callers that still wait. What those had who do not is told to the ledger as not used
// with the next contact. It comes before the ceilings rise, so that nobody takes the same units by themselves.
func (f *flight) grant(asks []*ask, callers int64) {
	for _, a := range asks {
		if callers == 0 {
			return
		}
		if !a.state.CompareAndSwap(waiting, granted) {
			continue
		}
		callers--
		for i := a.b.first; i < budgetCount; i++ {
			a.b.list[i].counter.put(a.b.list[i].window, a.cost)
		}
	}
}

// end tells a request that it need not wait any more.
func (a *ask) end() {
	if !a.told {
		a.told = true
		a.state.CompareAndSwap(waiting, answered)
		close(a.done)
	}
}

// fail answers all who have no answer.
func (f *flight) fail() {
	for _, asks := range append(f.asks, f.rest) {
		for _, a := range asks {
			a.end()
		}
	}
}
