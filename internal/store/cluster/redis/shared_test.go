package redis

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// company is four peers that know each other.
type company struct{}

func (company) Count() int               { return 4 }
func (company) CountSince(time.Time) int { return 4 }
func (company) Settled() bool            { return true }
func (company) Partitioned() int         { return 0 }

// Four members share a real server and send many concurrent requests. No window admits more than the limit, and no
// request is refused while units are left. Requests wait for Redis as long as necessary, so that no member falls back
// to its share.
func TestManyRequestsAtOnceKeepTheLimit(t *testing.T) {
	t.Parallel()
	const workers = 16
	each := testtier.Rounds(100, 375) // requests of a worker
	perMinute := int64(testtier.Rounds(2_000, 8_000))
	url := patient(enginetest.Redis(t))
	var all, running sync.WaitGroup
	var mu sync.Mutex
	admitted, refunded, refused := map[int64]int64{}, map[int64]int64{}, map[int64]int64{} // by the second at which the window ends
	ctx, stop := context.WithCancel(t.Context())
	members := make([]*limit.Shared, 4)
	for i := range members {
		s := limit.NewShared(limit.SharedOptions{
			Store: open(t, url), Peers: company{}, Secret: []byte("secret"), Wait: 2 * time.Minute,
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		s.Start(ctx)
		running.Go(func() { s.Run(ctx) })
		members[i] = s
	}
	for _, s := range members {
		await.Until(t, "a member may admit by itself", s.Counted)
	}
	for _, s := range members {
		use := new(limit.Use)
		use.Init("wsp_1")
		account := limit.Account{Use: use, Allowance: limit.Allowance{PerMinute: perMinute, Daily: 1_000_000, Monthly: 10_000_000}}
		for range workers {
			all.Go(func() {
				for i := range each {
					v, r := s.Charge(time.Now(), 1, account, limit.Account{})
					mu.Lock()
					if v.Allowed {
						admitted[v.ResetUnix]++
					} else {
						refused[v.ResetUnix]++
					}
					mu.Unlock()
					if v.Allowed && i%7 == 0 { // as a response of 5xx
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
	for i, s := range members {
		if n := s.Stats().Outages; n != 0 {
			t.Errorf("member %d lost Redis %d times", i, n)
		}
	}
	stop()
	running.Wait()
	for end, n := range admitted {
		// A unit that is refunded after the last request of a window stays unused.
		if n > perMinute*11/10 || n+refunded[end] < perMinute && refused[end] > 0 {
			t.Errorf("%d passed of %d, %d came back, and %d were refused", n, perMinute, refunded[end], refused[end])
		}
	}
	t.Logf("%v passed and %v were refused of %d", admitted, refused, perMinute)
}
