package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
)

// wantUnknown checks a refusal by a process that does not know what is left.
func wantUnknown(t *testing.T, v limit.Verdict, policy limit.Policy) {
	t.Helper()
	wait := v.RetryAfterSeconds()
	if v.Allowed || !v.Unknown || v.Policy != policy || wait < 1 || wait > 2 || v.ResetTimeMs() > 2000 || v.ResetIn <= 0 {
		t.Errorf("got %+v, Retry-After %d; want a refusal by %s that names at most 2 s", v, wait, policy)
	}
}

// A budget of each kind refuses while the counter store is away, first in the running minute and then in a later one. Then the
// store is back and another peer has used up the budget, so the refusal names the end of the window.
func TestRefusalWithoutTheStoreNamesNoWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workspace, key limit.Allowance
		anonymous      bool
		want           limit.Policy
	}{
		"TierMinute": {limit.Allowance{PerMinute: 20, Daily: 1_000_000, Monthly: 1_000_000}, limit.Allowance{}, false, limit.PolicyTierMinute},
		"KeyMinute":  {roomy, limit.Allowance{PerMinute: 20}, false, limit.PolicyKeyMinute},
		"Daily":      {limit.Allowance{PerMinute: 1000, Daily: 20, Monthly: 1_000_000}, limit.Allowance{}, false, limit.PolicyDailyQuota},
		"KeyDaily":   {roomy, limit.Allowance{Daily: 20}, false, limit.PolicyDailyQuota},
		"Monthly":    {limit.Allowance{PerMinute: 1000, Daily: 1000, Monthly: 20}, limit.Allowance{}, false, limit.PolicyMonthlyQuota},
		"Anonymous":  {limit.Allowance{PerMinute: 20, Daily: 1000, Monthly: 1000}, limit.Allowance{}, true, limit.PolicyAnonymous},
	} {
		for when, wait := range map[string]time.Duration{"AtOnce": 0, "Later": 90 * time.Second} {
			t.Run(name+when, func(t *testing.T) {
				t.Parallel()
				inTime(t, func(t *testing.T, store *limittest.Store) {
					two := wallets(t, 2, of(store), func(o *limit.SharedOptions) { o.Secret = []byte("s") })
					defer stop(two)
					charge := func(w *wallet, cost int64) limit.Verdict {
						key := limit.Account{}
						if !c.anonymous {
							key = limit.Account{Use: &w.key, Key: keyID("key_1"), Allowance: c.key}
						}
						v, _ := w.Charge(time.Now(), cost, limit.Account{Use: &w.workspace, Allowance: c.workspace, Anonymous: c.anonymous}, key)
						return v
					}
					charge(two[0], 1)
					store.Silence(true)
					time.Sleep(time.Second + wait)
					var v limit.Verdict
					admitted := 0
					for v = charge(two[0], 1); v.Allowed; v = charge(two[0], 1) {
						admitted++
					}
					if admitted == 0 || admitted > 12 {
						t.Errorf("%d of 20 were admitted by one of two", admitted)
					}
					wantUnknown(t, v, c.want)
					store.Silence(false)
					time.Sleep(2 * time.Second)
					for v = charge(two[1], 1); v.Allowed; v = charge(two[1], 1) {
					}
					if v.Unknown || v.Policy != c.want {
						t.Errorf("used up: got %+v, want a refusal by %s", v, c.want)
					}
				})
			})
		}
	}
}

// Two processes on one database, without a counter store: a key with 100 requests a day makes 40 on each of them, and waits as long
// as it is asked to. Every one is admitted.
func TestQuotaWithoutStoreAdmitsWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newPayers(t, 2, 100, false)
		defer a.stop()
		allowed := limit.Allowance{PerMinute: 1000, Daily: 100, Monthly: 1_000_000}
		for i := range 80 {
			p := a.list[i%2]
			for tries := 0; ; tries++ {
				v, _ := p.Charge(time.Now(), 1, limit.Account{Use: &p.use, Allowance: allowed}, limit.Account{})
				if v.Allowed {
					p.unsold.Add(1)
					break
				}
				wantUnknown(t, v, limit.PolicyDailyQuota)
				if tries > 3 {
					t.Fatalf("request %d was refused %d times: %+v", i, tries, v)
				}
				time.Sleep(time.Duration(v.RetryAfterSeconds()) * time.Second)
			}
		}
	})
}

// noStore never answers in time.
type noStore struct{ limit.CounterStore }

func (noStore) Sync(ctx context.Context, _ *limit.SyncRequest) (*limit.SyncResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (noStore) Ping(ctx context.Context) (string, time.Time, error) {
	<-ctx.Done()
	return "", time.Time{}, ctx.Err()
}

// A process that has never reached its store does not know what a minute or a day has left either.
func TestProcessThatNeverReachedTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		two := wallets(t, 2, func(int) limit.CounterStore { return noStore{} }, nil)
		defer stop(two)
		two[0].ofKey = limit.Allowance{PerMinute: 10}
		v, _ := two[0].charge(1)
		for v.Allowed {
			v, _ = two[0].charge(1)
		}
		wantUnknown(t, v, limit.PolicyKeyMinute)
	})
}
