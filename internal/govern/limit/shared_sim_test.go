package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
	"keepsake/internal/testing/testtier"
)

// party is peers with one counter store, on a fake clock: its time passes only when all of them wait.
type party struct {
	t       *testing.T
	store   *limittest.Store
	members []*member
	count   atomic.Int64

	mu       sync.Mutex
	admitted map[int64]int64 // by the second at which the workspace's minute ends
	denied   map[int64]int64
	usedUp   map[int64]bool // a refusal said that the minute's limit is used up
	slowest  time.Duration
	odd      []string
	requests sync.WaitGroup
}

// member is one of them, with its counters of a workspace.
type member struct {
	*limit.Shared
	now     func() time.Time
	use     limit.Use
	settled atomic.Bool
	cut     atomic.Bool
	split   atomic.Bool // as the others know it
	dead    atomic.Bool
	stop    func()
	weight  float64
	party   *party
}

func (m *member) Count() int               { return int(m.party.count.Load()) }
func (m *member) CountSince(time.Time) int { return int(m.party.count.Load()) }
func (m *member) Settled() bool            { return m.settled.Load() }

// Partitioned is what the others' heartbeats said, a second ago.
func (m *member) Partitioned() int {
	if m.party == nil {
		return 0
	}
	m.party.mu.Lock()
	defer m.party.mu.Unlock()
	n := 0
	for _, other := range m.party.members {
		if other != m && other.split.Load() && !other.dead.Load() {
			n++
		}
	}
	return n
}

func newParty(t *testing.T, weights []float64, skew time.Duration) *party {
	p := &party{t: t, admitted: map[int64]int64{}, denied: map[int64]int64{}, usedUp: map[int64]bool{}}
	p.store = limittest.NewStore(time.Now)
	p.store.Slow(time.Millisecond)
	p.count.Store(int64(len(weights)))
	for i, w := range weights {
		m := p.join(w, time.Duration(i%3-1)*skew)
		m.settled.Store(true)
	}
	time.Sleep(2 * time.Second)
	return p
}

// join adds a member that is not settled yet.
func (p *party) join(weight float64, skew time.Duration) *member {
	m := &member{party: p, weight: weight, now: func() time.Time { return time.Now().Add(skew) }}
	m.use.Init("wsp_1")
	ctx, stop := context.WithCancel(p.t.Context())
	m.Shared = limit.NewShared(limit.SharedOptions{
		Store: p.store.Client(m.cut.Load), Peers: m,
		Now: m.now, Log: slog.New(slog.DiscardHandler),
	})
	m.Start(ctx)
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			m.split.Store(m.Shared.Partitioned())
			time.Sleep(time.Second)
		}
	})
	m.stop = func() { stop(); running.Wait() }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = append(p.members, m)
	return m
}

// pick draws a member by weight.
func (p *party) pick(random *rand.Rand) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0.0
	for _, m := range p.members {
		total += m.weight
	}
	at := random.Float64() * total
	for _, m := range p.members {
		if at -= m.weight; at < 0 {
			return m
		}
	}
	return p.members[0]
}

// weigh changes what a member gets of the load.
func (p *party) weigh(m *member, weight float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.weight = weight
}

// later does something during a load.
func (p *party) later(after time.Duration, fn func()) {
	p.requests.Go(func() {
		time.Sleep(after)
		fn()
	})
}

func (p *party) end() {
	p.requests.Wait()
	for _, m := range p.members {
		m.stop()
	}
}

// request charges one unit at a member.
func (p *party) request(m *member, a limit.Allowance) {
	p.requests.Go(func() {
		began := time.Now()
		v, _ := m.Charge(m.now(), 1, limit.Account{Use: &m.use, Allowance: a}, limit.Account{})
		took := time.Since(began)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.slowest = max(p.slowest, took)
		if v.Allowed {
			p.admitted[v.ResetUnix]++
		} else {
			p.denied[v.ResetUnix]++
			p.usedUp[v.ResetUnix] = p.usedUp[v.ResetUnix] || !v.Unknown
		}
		if wait := v.RetryAfterSeconds(); v.Unknown && (v.Allowed || wait > 2 || v.ResetTimeMs() > 2000 || v.ResetIn <= 0) {
			p.odd = append(p.odd, fmt.Sprintf("%+v", v))
		}
		if v.Remaining < 0 || v.Remaining > a.PerMinute || (!v.Allowed && v.Policy == "") {
			p.odd = append(p.odd, fmt.Sprintf("%+v", v))
		}
	})
}

// load sends requests for a while, so many a second, to the members by their weight.
func (p *party) load(a limit.Allowance, perSecond float64, lasts time.Duration, random *rand.Rand) {
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		p.request(p.pick(random), a)
		time.Sleep(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
	}
	p.requests.Wait()
}

// over is the most by which a window passed the limit.
func (p *party) over(limit int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	worst := int64(0)
	for _, n := range p.admitted {
		worst = max(worst, n-limit)
	}
	return worst
}

// check wants the bound of H kept, nothing odd, and no request to have waited longer than once, on the fake clock.
func (p *party) check(limit int64) {
	p.t.Helper()
	bound := max(limit/10, int64(len(p.members)))
	if over := p.over(limit); over > bound {
		p.t.Errorf("%d over the limit of %d, want at most %d: %v", over, limit, bound, p.admitted)
	}
	if len(p.odd) > 0 {
		p.t.Errorf("odd answers: %v", p.odd[:min(3, len(p.odd))])
	}
	for end := range p.usedUp {
		if p.usedUp[end] && p.admitted[end] < limit {
			p.t.Errorf("a refusal says that the window that ends at %d is used up, but it admitted %d of %d", end, p.admitted[end], limit)
		}
	}
	if p.slowest > 55*time.Millisecond {
		p.t.Errorf("a request took %v", p.slowest)
	}
}

// full wants the windows that lie in the middle of a load to be used up.
func (p *party) full(limit int64) {
	p.t.Helper()
	ends := slices.Sorted(maps.Keys(p.admitted))
	for _, end := range ends[1 : len(ends)-1] {
		if p.admitted[end] < limit && p.denied[end] > 0 {
			p.t.Errorf("the window that ends at %d admitted %d of %d and refused %d", end, p.admitted[end], limit, p.denied[end])
		}
	}
}

// shapes are how load is spread over 2, 4 and 8 members.
var shapes = map[string][]float64{
	"2Even":   {1, 1},
	"2Uneven": {9, 1},
	"4Even":   {1, 1, 1, 1},
	"4Uneven": {20, 5, 1, 1},
	"8Even":   {1, 1, 1, 1, 1, 1, 1, 1},
	"8Uneven": {90, 2, 2, 2, 1, 1, 1, 1},
}

// eachShape runs fn for every shape and limit. The quick tier has two of the shapes, each with one of the limits. The limit is
// the seed of the load.
func eachShape(t *testing.T, limits []int64, fn func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand)) {
	names := []string{"2Uneven", "4Even"}
	if testtier.All() {
		names = slices.Sorted(maps.Keys(shapes))
	}
	for i, name := range names {
		for at, l := range limits {
			if !testtier.All() && at != i%len(limits) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, l), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fn(t, shapes[name], limit.Allowance{PerMinute: l, Daily: 1_000_000, Monthly: 10_000_000}, rand.New(rand.NewPCG(uint64(l), 7)))
				})
			})
		}
	}
}

func perSecond(a limit.Allowance, times float64) float64 { return float64(a.PerMinute) / 60 * times }

func TestPeersKeepALimitAndUseItUp(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{10, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.load(a, perSecond(a, 1.5), 3*time.Minute, random)
		p.end()
		p.check(a.PerMinute)
		p.full(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

func TestABurstKeepsTheLimit(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{60, 3000}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		for range 3 {
			p.load(a, perSecond(a, 120), time.Second, random) // twice the limit in a second
			time.Sleep(75 * time.Second)
		}
		p.end()
		p.check(a.PerMinute)
		for end, n := range p.admitted {
			if n < a.PerMinute {
				t.Errorf("the window that ends at %d admitted %d of %d and refused %d", end, n, a.PerMinute, p.denied[end])
			}
		}
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

func TestWrongClocksChangeNothing(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{60, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 30*time.Second)
		p.load(a, perSecond(a, 1.5), 3*time.Minute, random)
		p.end()
		p.check(a.PerMinute)
		p.full(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

// loadWith is a load of one and a half times the limit, in which something happens at nine tenths of the third window.
func (p *party) loadWith(a limit.Allowance, random *rand.Rand, happens func()) {
	const windows = 5
	var once sync.Once
	ends := map[int64]bool{}
	for end := time.Now().Add(windows * time.Minute); time.Now().Before(end); {
		p.request(p.pick(random), a)
		time.Sleep(time.Duration(random.ExpFloat64() / perSecond(a, 1.5) * float64(time.Second)))
		now := false
		p.mu.Lock()
		for e, n := range p.admitted {
			ends[e] = true
			now = now || len(ends) == 3 && e == slices.Max(slices.Collect(maps.Keys(ends))) && n >= a.PerMinute*9/10
		}
		p.mu.Unlock()
		if now {
			once.Do(happens)
		}
	}
	p.requests.Wait()
}

// degraded wants all members to report it, or none.
func (p *party) degraded(want bool) {
	p.t.Helper()
	for _, m := range p.members {
		if got := m.Degraded(); got != want || m.Mode() != limit.ModeShared {
			p.t.Errorf("a member is %s, degraded %t, want %t", m.Mode(), got, want)
		}
	}
}

func TestLosingTheStoreKeepsTheLimit(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(p *party, lost bool){
		"Refuses":  func(p *party, lost bool) { p.store.Down(lost) },
		"IsSilent": func(p *party, lost bool) { p.store.Silence(lost) },
		"IsSlow": func(p *party, lost bool) {
			p.store.Slow(time.Millisecond)
			if lost {
				p.store.Slow(2 * time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachShape(t, []int64{10, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
				p := newParty(t, weights, 0)
				p.loadWith(a, random, func() {
					lose(p, true)
					p.later(90*time.Second, func() {
						p.degraded(true)
						lose(p, false)
						time.Sleep(time.Second)
						p.degraded(false)
					})
				})
				p.end()
				p.check(a.PerMinute)
				p.served(a.PerMinute)
				t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
			})
		})
	}
}

// served wants every window in the middle of a load to admit a good part, whatever happened.
func (p *party) served(limit int64) {
	p.t.Helper()
	ends := slices.Sorted(maps.Keys(p.admitted))
	for _, end := range ends[1 : len(ends)-1] {
		if p.admitted[end] < limit/5 { // nine tenths of the load may meet one member of eight
			p.t.Errorf("the window that ends at %d admitted %d of %d", end, p.admitted[end], limit)
		}
	}
}

func TestEmptyingTheStoreKeepsTheLimit(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{10, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.loadWith(a, random, p.store.Empty)
		p.end()
		p.check(a.PerMinute)
		p.full(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

func TestDyingPeerTakesNoUnitsWithIt(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{10, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.loadWith(a, random, func() {
			dead := p.members[0]
			p.weigh(dead, 0)
			dead.cut.Store(true) // it tells nothing any more
			dead.dead.Store(true)
			p.later(time.Minute, func() { p.count.Add(-1) })
		})
		p.end()
		p.check(a.PerMinute)
		p.full(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

func TestJoiningPeerKeepsTheLimit(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{10, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.loadWith(a, random, func() {
			p.later(0, func() {
				m := p.join(1, 0) // others do not know of it yet
				time.Sleep(time.Second)
				p.count.Add(1)
				time.Sleep(time.Second)
				m.settled.Store(true)
			})
		})
		p.end()
		p.check(a.PerMinute)
		p.full(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}

// Any number of peers, any load, and random faults of the counter store, of peers and of clocks.
func TestRandomFaultsKeepTheLimit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testtier.Rounds(10, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { whatever(t, rand.New(rand.NewPCG(seed, 4))) })
		})
	}
}

func whatever(t *testing.T, random *rand.Rand) {
	weights := make([]float64, 2+random.IntN(7))
	for i := range weights {
		weights[i] = random.ExpFloat64() * random.ExpFloat64()
	}
	l := []int64{7, 30, 60, 600, 1200, 3000}[random.IntN(6)]
	a := limit.Allowance{PerMinute: l, Daily: 1_000_000, Monthly: 10_000_000}
	p := newParty(t, weights, time.Duration(random.IntN(31))*time.Second)
	p.store.Slow(time.Duration(random.IntN(5)) * time.Millisecond)
	story, died := []string{}, 0
	for range 4 {
		rate := perSecond(a, []float64{0.5, 1.2, 3, 12}[random.IntN(4)])
		lasts := time.Duration(random.IntN(40_000)) * time.Millisecond
		var after func()
		what := random.IntN(7)
		switch at := time.Duration(random.IntN(int(lasts) + 1)); what {
		case 0:
			p.later(at, func() { p.store.Down(true) })
			after = func() { p.store.Down(false) }
		case 1:
			p.later(at, func() { p.store.Silence(true) })
			after = func() { p.store.Silence(false) }
		case 2:
			p.later(at, p.store.Empty)
		case 3:
			if m := p.members[random.IntN(len(p.members))]; died < len(weights)-1 {
				died++
				p.later(at, func() {
					p.weigh(m, 0)
					m.cut.Store(true)
					m.dead.Store(true)
				})
			}
		case 4:
			p.later(at, func() {
				m := p.join(0, 0)
				p.count.Add(1)
				time.Sleep(time.Second)
				m.settled.Store(true)
				p.weigh(m, 1)
			})
		}
		story = append(story, fmt.Sprintf("%d for %v at %.1f", what, lasts, rate))
		p.load(a, rate, lasts, random)
		if after != nil {
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
			after()
			if random.IntN(2) == 0 {
				time.Sleep(time.Second)
			}
		}
	}
	p.end()
	p.check(l)
	t.Logf("over by %d of %d, %d members: %q", p.over(l), l, len(p.members), story)
}

// At half of its use a limit of 600 and more makes one request in fifty wait, at most.
func TestFewRequestsWaitAtHalfLoad(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.load(a, perSecond(a, 0.5), 3*time.Minute, random)
		p.end()
		requests, waits, contacts := int64(0), int64(0), int64(0)
		for _, n := range p.admitted {
			requests += n
		}
		for _, m := range p.members {
			stats := m.Stats()
			waits, contacts = waits+stats.Waits, contacts+stats.Syncs
		}
		if ratio := float64(waits) / float64(requests); ratio > 0.02 {
			t.Errorf("%d of %d requests waited: %.3f", waits, requests, ratio)
		}
		t.Logf("%d of %d requests waited, %.2f contacts a request", waits, requests, float64(contacts)/float64(requests))
	})
}

// One peer alone loses the counter store. It admits its share, which the others leave to it from the next minute on.
func TestPartitionedPeerKeepsTheLimit(t *testing.T) {
	t.Parallel()
	eachShape(t, []int64{60, 600}, func(t *testing.T, weights []float64, a limit.Allowance, random *rand.Rand) {
		p := newParty(t, weights, 0)
		p.loadWith(a, random, func() {
			cut := p.members[len(p.members)-1]
			p.weigh(cut, 2) // it is asked for more than its share
			cut.cut.Store(true)
			p.later(80*time.Second, func() { cut.cut.Store(false) })
		})
		p.end()
		p.check(a.PerMinute)
		p.served(a.PerMinute)
		t.Logf("over by %d of %d", p.over(a.PerMinute), a.PerMinute)
	})
}
