package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
	"keepsake/internal/testing/testtier"
)

// payer is a peer that stores each second what it has admitted, and then reads what all have stored.
type payer struct {
	*limit.Shared
	use    limit.Use
	unsold atomic.Int64 // admitted and not stored
}

// payers are peers with one daily quota.
type payers struct {
	store    *limittest.Store
	list     []*payer
	stored   atomic.Int64
	admitted atomic.Int64
	refused  atomic.Int64
	usedUp   atomic.Bool // a refusal said that the quota is used up
	odd      atomic.Pointer[limit.Verdict]
	daily    int64
	stop     func()
}

func newPayers(t *testing.T, n int, daily int64, withStore bool) *payers {
	all := &payers{store: limittest.NewStore(time.Now), daily: daily}
	all.store.Slow(time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range n {
		p := &payer{}
		p.use.Init("wsp_1")
		o := limit.SharedOptions{Peers: fixed(n), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		if withStore {
			o.Store = all.store.Client(nil)
		}
		p.Shared = limit.NewShared(o)
		p.Start(ctx)
		running.Go(func() { p.Run(ctx) })
		running.Go(func() {
			time.Sleep(time.Second * time.Duration(i) / time.Duration(n)) // not all at once
			for ctx.Err() == nil {
				if more := p.unsold.Swap(0); more > 0 {
					p.SetStored([]limit.Stored{{Subject: "wsp_1", Period: time.Now().UTC().Format(time.DateOnly), Used: all.stored.Add(more)}})
				}
				time.Sleep(time.Second)
			}
		})
		all.list = append(all.list, p)
	}
	all.stop = func() { stop(); running.Wait() }
	time.Sleep(3 * time.Second)
	return all
}

// load sends so many requests a second to the members by their weights, for a while.
func (a *payers) load(weights []float64, perSecond float64, lasts time.Duration, random *rand.Rand) {
	var requests sync.WaitGroup
	total := 0.0
	for _, w := range weights {
		total += w
	}
	allowed := limit.Allowance{PerMinute: 10_000_000, Daily: a.daily, Monthly: 1_000_000_000}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		at, i := random.Float64()*total, 0
		for at -= weights[0]; at > 0 && i < len(weights)-1; at -= weights[i] {
			i++
		}
		p := a.list[i]
		requests.Go(func() {
			v, _ := p.Charge(time.Now(), 1, limit.Account{Use: &p.use, Allowance: allowed}, limit.Account{})
			if v.Allowed {
				a.admitted.Add(1)
				p.unsold.Add(1)
			} else {
				a.refused.Add(1)
				switch {
				case !v.Unknown:
					a.usedUp.Store(true)
				case v.RetryAfterSeconds() > 2 || v.ResetTimeMs() > 2000 || v.ResetIn <= 0:
					a.odd.Store(&v)
				}
			}
		})
		time.Sleep(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
	}
	requests.Wait()
}

func (a *payers) check(t *testing.T) {
	t.Helper()
	over := a.admitted.Load() - a.daily
	if bound := max(a.daily/10, int64(len(a.list))); over > bound {
		t.Errorf("%d over a quota of %d at %d members, want at most %d", over, a.daily, len(a.list), bound)
	}
	if a.usedUp.Load() && a.admitted.Load() < a.daily {
		t.Errorf("a refusal says that the quota of %d is used up, but %d were admitted", a.daily, a.admitted.Load())
	}
	if v := a.odd.Load(); v != nil {
		t.Errorf("a refusal for want of knowledge: %+v", *v)
	}
	t.Logf("%d members: over by %d of %d", len(a.list), over, a.daily)
}

// The counter store is lost when half of a quota is used, so that peers hear of each other from the database only. All use the
// rest at once; or one uses it, and then the clients move to another one that has not heard of that.
func TestQuotaWithoutStoreKeepsItsBound(t *testing.T) {
	t.Parallel()
	members, quotas := []int{2, 4}, []int64{10, 300}
	if testtier.All() {
		members, quotas = []int{2, 3, 4, 8}, []int64{10, 300, 5_000}
	}
	for _, n := range members {
		for _, daily := range quotas {
			for _, withStore := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d members, %d a day, store %t", n, daily, withStore), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						random := rand.New(rand.NewPCG(uint64(n), uint64(daily)))
						a := newPayers(t, n, daily, withStore)
						even := make([]float64, n)
						for i := range even {
							even[i] = 1
						}
						rate := float64(daily) / 3 // a second
						a.load(even, rate, 1500*time.Millisecond, random)
						a.store.Silence(true)
						a.load(even, rate, 5*time.Second, random)
						time.Sleep(20 * time.Second)
						a.load(even, rate, 5*time.Second, random)
						a.check(t)
						if a.admitted.Load() < daily {
							t.Errorf("%d of %d were admitted, though they were asked for again and again", a.admitted.Load(), daily)
						}
						a.stop()
					})
				})
				t.Run(fmt.Sprintf("%d members in turn, %d a day, store %t", n, daily, withStore), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						random := rand.New(rand.NewPCG(uint64(n), uint64(daily)))
						a := newPayers(t, n, daily, withStore)
						rate := float64(daily) / 20
						for turn := range 2 * n {
							weights := make([]float64, n)
							weights[turn%n] = 1
							a.load(weights, rate, 10*time.Second, random)
							if turn == 0 {
								a.store.Silence(true)
							}
						}
						a.check(t)
						a.stop()
					})
				})
			}
		}
	}
}

// The database is lost for all peers, so that none knows whether the others count it, and then the counter store, too: each
// has its share of what is left.
func TestCountedPeerKeepsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParty(t, []float64{1, 1}, 0)
		defer p.end()
		a := limit.Allowance{PerMinute: 600, Daily: 1_000_000, Monthly: 1_000_000}
		admitted := 0
		charge := func() (v limit.Verdict) {
			for _, m := range p.members {
				v, _ = m.Charge(m.now(), 1, limit.Account{Use: &m.use, Allowance: a}, limit.Account{})
				if v.Allowed {
					admitted++
				}
			}
			return v
		}
		time.Sleep(time.Until(time.Unix(charge().ResetUnix, 0)) + time.Second) // a new minute
		admitted = 0
		for i := range 2_000 {
			switch i {
			case 50:
				for _, m := range p.members {
					m.settled.Store(false)
				}
			case 100:
				p.store.Silence(true)
			}
			charge()
			time.Sleep(20 * time.Millisecond)
		}
		if admitted < 580 || admitted > 660 {
			t.Errorf("%d of 600 were admitted", admitted)
		}
	})
}

// A response arrives after a request has given up waiting and the process has taken its share of what was left: it keeps
// that.
func TestLateResponseTakesNoShareAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParty(t, []float64{1, 1}, 0)
		defer p.end()
		m, a := p.members[0], limit.Allowance{PerMinute: 600, Daily: 1_000_000, Monthly: 1_000_000}
		admitted := 0
		charge := func() (ends int64) {
			v, _ := m.Charge(m.now(), 1, limit.Account{Use: &m.use, Allowance: a}, limit.Account{})
			if v.Allowed {
				admitted++
			}
			return v.ResetUnix
		}
		time.Sleep(time.Until(time.Unix(charge(), 0)) + time.Second) // a new minute
		admitted = 0
		for range 60 {
			charge()
			time.Sleep(20 * time.Millisecond)
		}
		p.store.Slow(200 * time.Millisecond) // more than a request waits, and less than a report
		for !m.Degraded() {
			charge()
			time.Sleep(time.Millisecond)
		}
		for range 600 {
			charge()
			time.Sleep(time.Millisecond)
		}
		for range 500 {
			charge()
			time.Sleep(10 * time.Millisecond)
		}
		if n := m.Stats().Outages; n != 1 {
			t.Errorf("requests were made to wait %d times for a store that is too slow for them", n)
		}
		// The other one admitted nothing, and half of what was left is this one's.
		if admitted < 280 || admitted > 360 {
			t.Errorf("%d of 600 were admitted", admitted)
		}
	})
}
