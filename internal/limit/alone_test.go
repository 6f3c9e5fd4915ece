package limit_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/limit"
)

// growing is members of which there are more later.
type growing struct{ n atomic.Int64 }

func (g *growing) Count() int              { return int(g.n.Load()) }
func (g *growing) MostSince(time.Time) int { return int(g.n.Load()) }
func (g *growing) Settled() bool           { return true }
func (g *growing) Apart() int              { return 0 }

// A member that is alone without a ledger uses all of a quota, exactly; when another joins it keeps its share from the
// next beat on.
func TestWhoIsAloneWithoutALedgerHasAllOfAQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const daily = 10
		members := &growing{}
		members.n.Store(1)
		p := &payer{}
		p.use.Init("wsp_1")
		p.Shared = limit.NewShared(limit.SharedOptions{Members: members, Addresses: 100, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		allowed := limit.Allowance{PerMinute: 1_000_000, Daily: daily, Monthly: 1_000_000}
		charge := func(cost int64) limit.Verdict {
			v, _ := p.Charge(time.Now(), cost, limit.Account{Use: &p.use, Allowance: allowed}, limit.Account{}, p)
			return v
		}
		if v := charge(7); !v.Allowed || v.DailyRemaining != daily-7 {
			t.Errorf("the first 7: %+v", v)
		}
		if v := charge(4); v.Allowed || v.DailyRemaining != daily-7 {
			t.Errorf("4 of 3: %+v", v)
		}
		members.n.Store(2)
		p.Join(t.Context()) // a beat
		passed := 0
		for charge(1).Allowed {
			passed++
		}
		if passed != 1 {
			t.Errorf("%d passed of the 3 that were left when another joined, want the one that nobody need hear of", passed)
		}
	})
}
