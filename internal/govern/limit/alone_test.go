package limit_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/limit"
)

// growing is a number of peers that grows.
type growing struct{ n atomic.Int64 }

func (g *growing) Count() int               { return int(g.n.Load()) }
func (g *growing) CountSince(time.Time) int { return int(g.n.Load()) }
func (g *growing) Settled() bool            { return true }
func (g *growing) Partitioned() int         { return 0 }

// A process without peers and without a counter store uses all of a quota, exactly; when another one joins, it keeps to its
// share from the next heartbeat on.
func TestAloneWithoutStoreUsesAllOfAQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const daily = 10
		members := &growing{}
		members.n.Store(1)
		p := &payer{}
		p.use.Init("wsp_1")
		p.Shared = limit.NewShared(limit.SharedOptions{Peers: members, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		allowed := limit.Allowance{PerMinute: 1_000_000, Daily: daily, Monthly: 1_000_000}
		charge := func(cost int64) limit.Verdict {
			v, _ := p.Charge(time.Now(), cost, limit.Account{Use: &p.use, Allowance: allowed}, limit.Account{})
			return v
		}
		if v := charge(7); !v.Allowed || v.DailyRemaining != daily-7 {
			t.Errorf("the first 7: %+v", v)
		}
		if v := charge(4); v.Allowed || v.DailyRemaining != daily-7 {
			t.Errorf("4 of 3: %+v", v)
		}
		members.n.Store(2)
		p.Start(t.Context()) // a heartbeat
		passed := 0
		for charge(1).Allowed {
			passed++
		}
		if passed != 1 {
			t.Errorf("%d passed of the 3 that were left when another joined, want the one of its allowance", passed)
		}
	})
}
