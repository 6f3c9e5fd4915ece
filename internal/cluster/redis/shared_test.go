package redis

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/enginetest"
	"keepsake/internal/limit"
)

// company is four members that know each other.
type company struct{}

func (company) Count() int              { return 4 }
func (company) MostSince(time.Time) int { return 4 }
func (company) Settled() bool           { return true }
func (company) Apart() int              { return 0 }
func (company) Payer() limit.Subject    { return limit.Subject{Workspace: "wsp_1"} }

// Four members with a real server, and many requests at once: in no window does more pass than the bound, and nobody is
// refused while units are left.
func TestManyRequestsAtOnceKeepTheLimit(t *testing.T) {
	t.Parallel()
	const perMinute, each, workers = 8_000, 6_000, 16
	url := enginetest.Redis(t)
	var all, running sync.WaitGroup
	var mu sync.Mutex
	admitted, refunded, refused := map[int64]int{}, map[int64]int{}, map[int64]int{} // by the second at which the window ends
	var waits, slowest atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	members := make([]*limit.Shared, 4)
	for i := range members {
		s := limit.NewShared(limit.SharedOptions{
			Ledger: open(t, url), Members: company{}, Secret: []byte("secret"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		s.Join(ctx)
		running.Go(func() { s.Run(ctx) })
		members[i] = s
	}
	time.Sleep(1500 * time.Millisecond) // until they count as settled
	for _, s := range members {
		use := new(limit.Use)
		use.Init("wsp_1")
		account := limit.Account{Use: use, Allowance: limit.Allowance{PerMinute: perMinute, Daily: 1_000_000, Monthly: 10_000_000}}
		for range workers {
			all.Go(func() {
				for range each / workers {
					began := time.Now()
					v, r := s.Charge(began, 1, account, limit.Account{}, company{})
					took := int64(time.Since(began))
					for old := slowest.Load(); took > old && !slowest.CompareAndSwap(old, took); old = slowest.Load() {
					}
					mu.Lock()
					if v.Allowed {
						admitted[v.ResetUnix]++
					} else {
						refused[v.ResetUnix]++
					}
					mu.Unlock()
					if v.Allowed && took%7 == 0 { // as an answer of 5xx
						r.Refund()
						mu.Lock()
						admitted[v.ResetUnix]--
						refunded[v.ResetUnix]++
						mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
	outages := int64(0)
	for _, s := range members {
		waits.Add(s.Stats().Waits)
		outages += s.Stats().Outages
	}
	stop()
	running.Wait()
	ended := time.Now().Unix()
	for end, n := range admitted {
		// Nobody has used again what came back in the last moment of a window.
		most := n
		if end <= ended {
			most += refunded[end]
		}
		if n > perMinute*11/10 || most < perMinute && refused[end] > 0 && outages == 0 {
			t.Errorf("%d passed of %d, %d came back, and %d were refused", n, perMinute, refunded[end], refused[end])
		}
	}
	t.Logf("%v passed and %v were refused of %d, %d waited, the slowest %v, %d outages",
		admitted, refused, perMinute, waits.Load(), time.Duration(slowest.Load()), outages)
}
