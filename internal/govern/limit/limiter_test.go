package limit_test

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// limiters are the implementations of limit.Limiter, and the states in which each of them is exact.
var limiters = map[string]func(t *testing.T) limit.Limiter{
	"Local":                        func(*testing.T) limit.Limiter { return limit.Local{} },
	"SharedAlone":                  func(t *testing.T) limit.Limiter { return newShared(t, 1, true, false) },
	"SharedAloneWithoutStore":      func(t *testing.T) limit.Limiter { return newShared(t, 1, false, false) },
	"SharedAloneAfterLosingStore":  func(t *testing.T) limit.Limiter { return newShared(t, 1, true, true) },
	"SharedBesideAPeerWithoutLoad": func(t *testing.T) limit.Limiter { return newShared(t, 2, true, false) },
}

// TestLimiters runs one suite against every limiter.
func TestLimiters(t *testing.T) {
	t.Parallel()
	for name, create := range limiters {
		for property, test := range properties {
			t.Run(name+"/"+property, func(t *testing.T) {
				t.Parallel()
				test(t, create(t))
			})
		}
	}
}

var properties = map[string]func(t *testing.T, l limit.Limiter){
	"LimitPlusOneIsRefused":         limitPlusOneIsRefused,
	"WaitingRetryAfterIsEnough":     waitingRetryAfterIsEnough,
	"RemainingNeverRises":           remainingNeverRises,
	"RefusalNamesTheLastToEnd":      refusalNamesTheLastToEnd,
	"RefundGoesToItsWindow":         refundGoesToItsWindow,
	"RefundLeavesNoTrace":           refundLeavesNoTrace,
	"SpendingPassesAllQuotas":       spendingPassesAllQuotas,
	"CostIsTakenWholeOrNotAtAll":    costIsTakenWholeOrNotAtAll,
	"NewQuotaIncludesEarlierUse":    newQuotaIncludesEarlierUse,
	"SmallerTierKeepsTheUse":        smallerTierKeepsTheUse,
	"RestoredUseCounts":             restoredUseCounts,
	"UnlimitedBudgetNeverRefuses":   unlimitedBudgetNeverRefuses,
	"AgreesWithAModel":              agreesWithAModel,
	"ConcurrentRequestsGetTheLimit": concurrentRequestsGetTheLimit,
	"KeysShareTheWorkspaceLimit":    keysShareTheWorkspaceLimit,
	"ChargesAndRefundsBalance":      chargesAndRefundsBalance,
	"NewWindowStartsOnce":           newWindowStartsOnce,
	"SmallClockStepReopensNothing":  smallClockStepReopensNothing,
	"LargeClockStepFreezesNothing":  largeClockStepFreezesNothing,
	"DayIsOneForAllBudgets":         dayIsOneForAllBudgets,
}

// atNow is a Shared whose clock shows the time of the request that came last.
type atNow struct {
	*limit.Shared
	t     *testing.T
	peers int64
	clock *atomic.Pointer[time.Time]
}

// bound is by how much a limit can be passed if many requests come at once. A process without peers is exact.
func bound(l limit.Limiter, perWindow int64) int64 {
	if shared, ok := l.(atNow); ok && shared.peers > 1 {
		return max(perWindow/10, shared.peers)
	}
	return 0
}

// set sets the clock. Time does not jump while a sync request is on its way.
func (l atNow) set(now time.Time) {
	if now.Sub(*l.clock.Load()).Abs() >= time.Millisecond {
		await.Until(l.t, "no sync request is on its way", func() bool { return !limit.Syncing(l.Shared) })
	}
	l.clock.Store(&now)
}

func (l atNow) Charge(now time.Time, cost int64, workspace, key limit.Account) (limit.Verdict, limit.Receipt) {
	l.set(now)
	return l.Shared.Charge(now, cost, workspace, key)
}

func (l atNow) Peek(now time.Time, cost int64, workspace, key limit.Account) limit.Verdict {
	l.set(now)
	return l.Shared.Peek(now, cost, workspace, key)
}

// newShared returns the limiter of one of so many peers, after its start.
func newShared(t *testing.T, peers int, withStore, lose bool) limit.Limiter {
	l := atNow{t: t, peers: int64(peers), clock: new(atomic.Pointer[time.Time])}
	began := noon
	l.clock.Store(&began)
	now := func() time.Time { return *l.clock.Load() }
	o := limit.SharedOptions{
		Peers: fixed(peers), Secret: []byte("secret"), Wait: time.Minute, Now: now, Log: slog.New(slog.DiscardHandler),
	}
	store := limittest.NewStore(now)
	if withStore {
		o.Store = store.Client(nil)
	}
	l.Shared = limit.NewShared(o)
	l.Start(t.Context())
	settled := began.Add(2 * time.Second)
	l.clock.Store(&settled)
	if lose {
		store.Down(true)
	}
	l.Start(t.Context())
	if l.Degraded() != lose {
		t.Fatalf("degraded is %t", l.Degraded())
	}
	return l
}

// noon is a moment in the middle of a day and a month.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// subjects numbers the subjects of all tests.
var subjects atomic.Int64

// account returns a workspace whose minute windows start on the full minute.
func account(perMinute, daily, monthly int64) limit.Account {
	u := new(limit.Use)
	u.Init(fmt.Sprint("wsp_", subjects.Add(1)))
	limit.SetPhase(u, 0)
	return limit.Account{Use: u, Allowance: limit.Allowance{PerMinute: perMinute, Daily: daily, Monthly: monthly}}
}

// keyOf returns a key of a workspace.
func keyOf(workspace limit.Account, perMinute, daily, monthly int64) limit.Account {
	u, id := new(limit.Use), keyID(fmt.Sprint("key_", subjects.Add(1)))
	u.InitKey(id.ID(), workspace.Use)
	limit.SetPhase(u, 0)
	return limit.Account{Use: u, Key: id, Allowance: limit.Allowance{PerMinute: perMinute, Daily: daily, Monthly: monthly}}
}

// keyID is the ID of an API key.
type keyID string

func (k keyID) ID() string { return string(k) }

func drawLimit(t *rapid.T, label string) int64 { return rapid.Int64Range(1, 25).Draw(t, label) }

func drawPhase(t *rapid.T, label string) int64 { return rapid.Int64Range(0, 59).Draw(t, label) }

func drawTime(t *rapid.T, label string) time.Time {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ms := rapid.Int64Range(0, 3*365*86_400*1000).Draw(t, label)
	return from.Add(time.Duration(ms) * time.Millisecond)
}

// together runs fn in n goroutines that start at once.
func together(n int, fn func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			fn(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// The budgets of a request, and what a refusal by each is called.
const (
	keyMinute = iota
	keyDaily
	keyMonthly
	tierMinute
	tierDaily
	tierMonthly
	budgetCount
)

var policies = [budgetCount]limit.Policy{
	limit.PolicyKeyMinute, limit.PolicyDailyQuota, limit.PolicyMonthlyQuota, limit.PolicyTierMinute, limit.PolicyDailyQuota, limit.PolicyMonthlyQuota,
}

func limitPlusOneIsRefused(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 200).Draw(t, "limit")
		which := rapid.IntRange(0, budgetCount-1).Draw(t, "binding budget")
		now := drawTime(t, "now")
		workspace := account(1_000, 1_000, 1_000)
		key := keyOf(workspace, 1_000, 0, 0)
		limit.SetPhase(workspace.Use, drawPhase(t, "workspace"))
		limit.SetPhase(key.Use, drawPhase(t, "key"))
		bound := map[int]*int64{
			keyMinute: &key.PerMinute, keyDaily: &key.Daily, keyMonthly: &key.Monthly,
			tierMinute: &workspace.PerMinute, tierDaily: &workspace.Daily, tierMonthly: &workspace.Monthly,
		}
		*bound[which] = most

		for n := range most {
			if v, _ := l.Charge(now, 1, workspace, key); !v.Allowed {
				t.Fatalf("request %d of %d was refused by %s", n+1, most, v.Policy)
			}
		}
		v, receipt := l.Charge(now, 1, workspace, key)
		if v.Allowed || v.Policy != policies[which] {
			t.Fatalf("request %d: got allowed %v, policy %q; want a refusal by %q", most+1, v.Allowed, v.Policy, policies[which])
		}
		before := l.Peek(now, 1, workspace, key)
		receipt.Refund()
		if after := l.Peek(now, 1, workspace, key); after != before {
			t.Fatalf("the refund of a refused charge changed %+v to %+v", before, after)
		}
	})
}

func spendingPassesAllQuotas(t *testing.T, l limit.Limiter) {
	workspace := account(10, 5, 9)
	key := keyOf(workspace, 10, 3, 0)
	now := time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	before := l.Peek(now, 1, workspace, key)
	_, receipt := l.Charge(now, 0, workspace, key)
	receipt.Spend(100)
	if v := l.Peek(now, 1, workspace, key); v.Allowed || v.Policy != limit.PolicyMonthlyQuota || v.Remaining != 10 || v.DailyRemaining != 0 {
		t.Errorf("after 100 were spent: %+v, want no quota left and a whole minute", v)
	}
	_, more := l.Charge(now, 0, workspace, key) // nothing is left, and nothing is charged
	more.Spend(1)
	if today, month := workspace.Use.Used(now); today != 101 || month != 101 {
		t.Errorf("the workspace has used %d and %d, want 101", today, month)
	}
	more.Spend(-1)
	receipt.Spend(-100)
	if after := l.Peek(now, 1, workspace, key); after != before {
		t.Errorf("taken back: got %+v, want %+v", after, before)
	}
}

func waitingRetryAfterIsEnough(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(drawLimit(t, "minute"), drawLimit(t, "daily"), drawLimit(t, "monthly"))
		key := keyOf(workspace, drawLimit(t, "key minute"), drawLimit(t, "key daily"), drawLimit(t, "key monthly"))
		limit.SetPhase(workspace.Use, drawPhase(t, "workspace"))
		limit.SetPhase(key.Use, drawPhase(t, "key"))
		now := drawTime(t, "now")
		for {
			v, _ := l.Charge(now, 1, workspace, key)
			if !v.Allowed {
				wait := time.Duration(v.RetryAfterSeconds()) * time.Second
				if wait < v.ResetIn || wait > v.ResetIn+time.Second+time.Millisecond {
					t.Fatalf("Retry-After is %v, the window ends in %v", wait, v.ResetIn)
				}
				byBody := time.Duration(v.ResetTimeMs()) * time.Millisecond
				if again := l.Peek(now.Add(byBody), 1, workspace, key); !again.Allowed {
					t.Fatalf("after resetTimeMs %v it is refused again: %+v", byBody, again)
				}
				if again, _ := l.Charge(now.Add(wait), 1, workspace, key); !again.Allowed {
					t.Fatalf("after Retry-After %v it is refused again: %+v", wait, again)
				}
				return
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 5_000).Draw(t, "step")) * time.Millisecond)
		}
	})
}

func remainingNeverRises(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(30, 60, 90)
		key := keyOf(workspace, drawLimit(t, "key minute"), 0, 0)
		limit.SetPhase(workspace.Use, drawPhase(t, "workspace"))
		limit.SetPhase(key.Use, drawPhase(t, "key"))
		now := drawTime(t, "now")
		last := l.Peek(now, 1, workspace, key)
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(-500, 3_000).Draw(t, "step")) * time.Millisecond)
			v, _ := l.Charge(now, rapid.Int64Range(0, 3).Draw(t, "cost"), workspace, key)
			if v.ResetUnix == last.ResetUnix && v.Remaining > last.Remaining {
				t.Fatalf("remaining rose from %d to %d within the window that ends at %d", last.Remaining, v.Remaining, v.ResetUnix)
			}
			if v.Remaining < 0 || v.KeyRemaining < 0 || v.DailyRemaining < 0 || v.MonthlyRemaining < 0 {
				t.Fatalf("a negative number: %+v", v)
			}
			if v.ResetUnix <= now.Unix() || v.ResetUnix > now.Unix()+2*60 {
				t.Fatalf("at %d the window is said to end at %d", now.Unix(), v.ResetUnix)
			}
			last = v
		}
	})
}

func refusalNamesTheLastToEnd(t *testing.T, l limit.Limiter) {
	cases := []struct {
		name                    string
		minute, daily, monthly  int64
		keyMinute, keyDaily     int64
		anonymous               bool
		want                    limit.Policy
		wantReset               time.Duration
		wantMinute, wantKeyLeft int64
	}{
		{"MinuteOfTheTier", 1, 9, 9, 9, 0, false, limit.PolicyTierMinute, 30 * time.Second, 0, 8},
		{"MinuteOfTheKey", 9, 9, 9, 1, 0, false, limit.PolicyKeyMinute, 30 * time.Second, 0, 0},
		{"DayAndMinute", 1, 1, 9, 9, 0, false, limit.PolicyDailyQuota, 12*time.Hour - 30*time.Second, 0, 8},
		{"DayOfTheKey", 9, 9, 9, 9, 1, false, limit.PolicyDailyQuota, 12*time.Hour - 30*time.Second, 8, 8},
		{"MonthAndEverythingElse", 1, 1, 1, 1, 1, false, limit.PolicyMonthlyQuota, (9*24+12)*time.Hour - 30*time.Second, 0, 0},
		{"AnonymousDay", 9, 1, 9, 9, 0, true, limit.PolicyAnonymous, 12*time.Hour - 30*time.Second, 8, 8},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := noon.Add(30 * time.Second)
			workspace := account(c.minute, c.daily, c.monthly)
			key := keyOf(workspace, c.keyMinute, c.keyDaily, 0)
			workspace.Anonymous = c.anonymous
			l.Charge(now, 1, workspace, key)
			v, _ := l.Charge(now, 1, workspace, key)
			if v.Allowed || v.Policy != c.want || v.ResetIn != c.wantReset {
				t.Errorf("got allowed %v, policy %q, reset in %v; want %q, %v", v.Allowed, v.Policy, v.ResetIn, c.want, c.wantReset)
			}
			if v.Remaining != c.wantMinute || v.KeyRemaining != c.wantKeyLeft {
				t.Errorf("got remaining %d, of the key %d; want %d, %d", v.Remaining, v.KeyRemaining, c.wantMinute, c.wantKeyLeft)
			}
		})
	}
}

func refundGoesToItsWindow(t *testing.T, l limit.Limiter) {
	workspace := account(5, 10, 20)
	key := keyOf(workspace, 5, 10, 20)
	_, first := l.Charge(noon, 3, workspace, key)
	later := noon.Add(time.Minute)
	l.Charge(later, 1, workspace, key)
	first.Refund()
	got := l.Peek(later, 1, workspace, key)
	if got.Remaining != 4 || got.DailyRemaining != 9 || got.MonthlyRemaining != 19 {
		t.Errorf("got %d, %d, %d remaining; want 4 of the new minute, 9 of the day, 19 of the month",
			got.Remaining, got.DailyRemaining, got.MonthlyRemaining)
	}
}

func refundLeavesNoTrace(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(50, 60, 70)
		key := keyOf(workspace, 40, 0, 65)
		now := drawTime(t, "now")
		l.Charge(now, rapid.Int64Range(0, 20).Draw(t, "before"), workspace, key)
		before := l.Peek(now, 1, workspace, key)
		_, receipt := l.Charge(now, rapid.Int64Range(0, 100).Draw(t, "cost"), workspace, key)
		receipt.Refund()
		if after := l.Peek(now, 1, workspace, key); after != before {
			t.Fatalf("got %+v, want %+v", after, before)
		}
	})
}

func costIsTakenWholeOrNotAtAll(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(drawLimit(t, "minute"), drawLimit(t, "daily"), drawLimit(t, "monthly"))
		key := keyOf(workspace, drawLimit(t, "key minute"), drawLimit(t, "key daily"), drawLimit(t, "key monthly"))
		before := l.Peek(noon, 1, workspace, key)
		least := min(before.Remaining, before.DailyRemaining, before.MonthlyRemaining)
		v, _ := l.Charge(noon, least+1, workspace, key)
		if v.Allowed {
			t.Fatalf("%d units were admitted where %d are left", least+1, least)
		}
		if after := l.Peek(noon, 1, workspace, key); after != before {
			t.Fatalf("the denial changed %+v to %+v", before, after)
		}
		if v, _ := l.Charge(noon, least, workspace, key); !v.Allowed {
			t.Fatalf("%d units that are left were refused", least)
		}
	})
}

func newQuotaIncludesEarlierUse(t *testing.T, l limit.Limiter) {
	workspace := account(100, 100, 100)
	key := keyOf(workspace, 100, 0, 0)
	for range 7 {
		l.Charge(noon, 1, workspace, key)
	}
	key.Daily = 10
	if got := l.Peek(noon, 1, workspace, key).DailyRemaining; got != 3 {
		t.Errorf("got %d remaining of the new quota, want 3", got)
	}
}

func smallerTierKeepsTheUse(t *testing.T, l limit.Limiter) {
	workspace := account(100, 100, 100)
	l.Charge(noon, 40, workspace, limit.Account{})
	workspace.Daily = 30
	v, _ := l.Charge(noon, 1, workspace, limit.Account{})
	if v.Allowed || v.Policy != limit.PolicyDailyQuota || v.DailyRemaining != 0 {
		t.Errorf("got %+v, want a refusal by %s with 0 remaining", v, limit.PolicyDailyQuota)
	}
}

func restoredUseCounts(t *testing.T, l limit.Limiter) {
	workspace := account(100, 10, 20)
	limit.SetPhase(workspace.Use, 17)
	workspace.Use.Restore(noon, 4, 12)
	v, _ := l.Charge(noon, 1, workspace, limit.Account{})
	if v.DailyRemaining != 5 || v.MonthlyRemaining != 7 || v.Remaining != 99 {
		t.Errorf("got %+v, want 5 of the day, 7 of the month, 99 of the minute", v)
	}
}

func unlimitedBudgetNeverRefuses(t *testing.T, l limit.Limiter) {
	workspace := account(10, 0, 0)
	workspace.Use.Restore(noon, limit.MaxCount-1, limit.MaxCount-1)
	for range 3 {
		if v, _ := l.Charge(noon, 1, workspace, limit.Account{}); !v.Allowed {
			t.Fatalf("refused by %s, which has no number", v.Policy)
		}
	}
	if v := l.Peek(noon.AddDate(0, 1, 0), 1, workspace, limit.Account{}); v.MonthlyRemaining != limit.MaxCount {
		t.Errorf("the next month starts with %d left, want %d", v.MonthlyRemaining, int64(limit.MaxCount))
	}
}

func agreesWithAModel(t *testing.T, l limit.Limiter) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(drawLimit(t, "minute"), 40, 60)
		key := keyOf(workspace, drawLimit(t, "key minute"), rapid.SampledFrom([]int64{0, 7, 20}).Draw(t, "key daily"), 30)
		limit.SetPhase(key.Use, drawPhase(t, "key"))
		limit.SetPhase(workspace.Use, drawPhase(t, "workspace"))
		limits := [budgetCount]int64{
			key.PerMinute, key.Daily, key.Monthly, workspace.PerMinute, workspace.Daily, workspace.Monthly,
		}
		m := &model{used: map[modelWindow]int64{}, phases: [2]int64{limit.PhaseOf(key.Use), limit.PhaseOf(workspace.Use)}}
		now := drawTime(t, "now")
		type paid struct {
			receipt limit.Receipt
			windows [budgetCount]modelWindow
			cost    int64
		}
		var receipts []paid

		t.Repeat(map[string]func(*rapid.T){
			"charge": func(t *rapid.T) {
				cost := rapid.Int64Range(0, 4).Draw(t, "cost")
				windows := m.windows(now)
				want := true
				for i, w := range windows {
					want = want && (limits[i] == 0 || m.used[w]+cost <= limits[i])
				}
				v, r := l.Charge(now, cost, workspace, key)
				if v.Allowed != want {
					t.Fatalf("charge %d at %v: got allowed %v (%s), want %v", cost, now, v.Allowed, v.Policy, want)
				}
				if want {
					for _, w := range windows {
						m.used[w] += cost
					}
					receipts = append(receipts, paid{r, windows, cost})
				}
			},
			"refund": func(t *rapid.T) {
				if len(receipts) == 0 {
					return
				}
				i := rapid.IntRange(0, len(receipts)-1).Draw(t, "receipt")
				receipts[i].receipt.Refund()
				for _, w := range receipts[i].windows {
					m.used[w] -= receipts[i].cost
				}
				receipts = append(receipts[:i], receipts[i+1:]...)
			},
			"wait": func(t *rapid.T) {
				seconds := rapid.SampledFrom([]int64{1, 20, 61, 3_600, 86_400, 20 * 86_400}).Draw(t, "seconds")
				now = now.Add(time.Duration(seconds) * time.Second)
			},
			"": func(t *rapid.T) {
				w, v := m.windows(now), l.Peek(now, 1, workspace, key)
				tier, own := limits[tierMinute]-m.used[w[tierMinute]], limits[keyMinute]-m.used[w[keyMinute]]
				daily := limits[tierDaily] - m.used[w[tierDaily]]
				if limits[keyDaily] > 0 {
					daily = min(daily, limits[keyDaily]-m.used[w[keyDaily]])
				}
				monthly := min(limits[tierMonthly]-m.used[w[tierMonthly]], limits[keyMonthly]-m.used[w[keyMonthly]])
				if v.Remaining != min(tier, own) || v.KeyRemaining != own || v.DailyRemaining != daily || v.MonthlyRemaining != monthly {
					t.Fatalf("at %v: got %+v; want remaining %d, key %d, daily %d, monthly %d",
						now, v, min(tier, own), own, daily, monthly)
				}
				reset := w[tierMinute].start
				if own < tier || own == tier && w[keyMinute].start.After(reset) {
					reset = w[keyMinute].start
				}
				if v.ResetUnix != reset.Unix()+60 {
					t.Fatalf("at %v: reset %d, want %d", now, v.ResetUnix, reset.Unix()+60)
				}
			},
		})
	})
}

func concurrentRequestsGetTheLimit(t *testing.T, l limit.Limiter) {
	callers := int64(testtier.Rounds(2_000, 10_000))
	_, local := l.(limit.Local)
	for name, limits := range map[string][2]limit.Allowance{
		"KeyMinute":    {{9_000, 9_000, 9_000}, {1_234, 0, 0}},
		"TierMinute":   {{1_234, 9_000, 9_000}, {9_000, 9_000, 9_000}},
		"Daily":        {{9_000, 1_234, 9_000}, {9_000, 1_234, 0}},
		"Monthly":      {{1_300, 1_250, 1_234}, {1_400, 1_300, 1_240}},
		"AllTheSame":   {{1_234, 1_234, 1_234}, {1_234, 1_234, 1_234}},
		"RoomForAll":   {{callers, callers, callers}, {callers, callers, callers}},
		"OneLeft":      {{1, 1, 1}, {1, 1, 1}},
		"NoneOfTheKey": {{9_000, 9_000, 9_000}, {9_000, 0, 1_234}},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := account(limits[0].PerMinute, limits[0].Daily, limits[0].Monthly)
			key := keyOf(workspace, limits[1].PerMinute, limits[1].Daily, limits[1].Monthly)
			want := callers
			for _, a := range limits {
				for _, n := range []int64{a.PerMinute, a.Daily, a.Monthly} {
					if n > 0 {
						want = min(want, n)
					}
				}
			}
			var admitted atomic.Int64
			seen := make([]atomic.Bool, callers+1)
			together(int(callers), func(int) {
				v, _ := l.Charge(noon, 1, workspace, key)
				if !v.Allowed {
					return
				}
				admitted.Add(1)
				// If the key's minute is the smallest budget, each number is reported once.
				if local && limits[1].PerMinute == want && seen[v.KeyRemaining].Swap(true) {
					t.Errorf("two callers were told that %d remain", v.KeyRemaining)
				}
			})
			got := admitted.Load()
			if got < want || got > want+bound(l, want) {
				t.Errorf("%d were admitted, want %d", got, want)
			}
			if left := l.Peek(noon, 1, workspace, limit.Account{}).MonthlyRemaining; left != max(0, workspace.Monthly-got) {
				t.Errorf("%d are left of the workspace's month after %d of %d", left, got, workspace.Monthly)
			}
		})
	}
}

func keysShareTheWorkspaceLimit(t *testing.T, l limit.Limiter) {
	const callers, keys = 10_000, 20
	workspace := account(1_000, 700, 5_000)
	var own [keys]limit.Account
	for i := range own {
		own[i] = keyOf(workspace, 60, 0, 0) // 20 × 60 is more than 700
	}
	var admitted [keys]atomic.Int64
	together(callers, func(i int) {
		if v, _ := l.Charge(noon, 1, workspace, own[i%keys]); v.Allowed {
			admitted[i%keys].Add(1)
		}
	})
	total := int64(0)
	for i := range admitted {
		n := admitted[i].Load()
		total += n
		if n > 60+bound(l, 60) {
			t.Errorf("key %d was admitted %d times, over its 60", i, n)
		}
		if left := l.Peek(noon, 1, workspace, own[i]).KeyRemaining; left != max(0, 60-n) {
			t.Errorf("key %d shows %d left after %d of 60", i, left, n)
		}
	}
	if total < 700 || total > 700+bound(l, 700) {
		t.Errorf("%d were admitted, want 700", total)
	}
}

func chargesAndRefundsBalance(t *testing.T, l limit.Limiter) {
	workspace := account(500, 500, 500)
	key := keyOf(workspace, 400, 0, 0)
	var kept atomic.Int64
	together(4_000, func(i int) {
		cost := int64(i%3 + 1)
		v, r := l.Charge(noon, cost, workspace, key)
		switch {
		case !v.Allowed:
		case i%2 == 0:
			r.Refund()
		default:
			kept.Add(cost)
		}
	})
	v := l.Peek(noon, 1, workspace, key)
	if used := 400 - v.KeyRemaining; used != kept.Load() {
		t.Errorf("the key shows %d used, %d were kept", used, kept.Load())
	}
	if used := 500 - v.DailyRemaining; used != kept.Load() {
		t.Errorf("the workspace shows %d used, %d were kept", used, kept.Load())
	}
}

func newWindowStartsOnce(t *testing.T, l limit.Limiter) {
	const callers, perMinute = 4_000, 300
	border := noon.Add(time.Minute)
	workspace := account(perMinute, 1_000_000, 1_000_000)
	var before, after atomic.Int64
	together(callers, func(i int) {
		now := border.Add(-time.Nanosecond)
		if i%2 == 1 {
			now = border
		}
		v, _ := l.Charge(now, 1, workspace, limit.Account{})
		switch {
		case !v.Allowed:
		case v.ResetUnix == border.Unix():
			before.Add(1)
		default:
			after.Add(1)
		}
	})
	over := bound(l, perMinute)
	if before.Load() > perMinute+over || after.Load() < perMinute || after.Load() > perMinute+over {
		t.Errorf("%d passed in the old window and %d in the new one; want at most and exactly %d", before.Load(), after.Load(), perMinute)
	}
}

func smallClockStepReopensNothing(t *testing.T, l limit.Limiter) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) // a minute, a day and a month begin
	workspace := account(5, 50, 500)
	key := keyOf(workspace, 5, 50, 500)
	for range 5 {
		l.Charge(midnight, 1, workspace, key)
	}
	for _, back := range []time.Duration{time.Millisecond, time.Second, 59 * time.Second, time.Minute} {
		now := midnight.Add(-back)
		v, _ := l.Charge(now, 1, workspace, key)
		if v.Allowed || v.DailyRemaining != 45 || v.MonthlyRemaining != 495 {
			t.Errorf("%v back: got %+v; want the window of midnight, exhausted", back, v)
		}
		if want := midnight.Add(time.Minute).Sub(now); v.ResetIn != want {
			t.Errorf("%v back: reset in %v, want %v", back, v.ResetIn, want)
		}
	}
}

func largeClockStepFreezesNothing(t *testing.T, l limit.Limiter) {
	workspace := account(5, 50, 500)
	for _, ahead := range []time.Duration{365 * 24 * time.Hour, 40 * 24 * time.Hour, 2 * time.Hour, 3 * time.Minute} {
		for range 5 {
			l.Charge(noon.Add(ahead), 1, workspace, limit.Account{}) // while the clock was wrong
		}
		v, r := l.Charge(noon, 1, workspace, limit.Account{})
		if !v.Allowed || v.Remaining != 4 || v.ResetUnix != noon.Unix()+60 {
			t.Errorf("back from %v ahead: got %+v; want a new window at once", ahead, v)
		}
		if !r.At().Equal(noon) {
			t.Errorf("back from %v ahead: charged at %v, want %v", ahead, r.At(), noon)
		}
		r.Refund()
	}
}

func dayIsOneForAllBudgets(t *testing.T, l limit.Limiter) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	workspace := account(9, 50, 500)
	ahead, behind := keyOf(workspace, 9, 50, 500), keyOf(workspace, 9, 50, 500)
	before := midnight.Add(-time.Millisecond)
	l.Charge(before, 2, workspace, behind)
	l.Charge(midnight, 1, workspace, ahead)

	_, r := l.Charge(before, 1, workspace, behind)
	if !r.At().Equal(midnight) {
		t.Fatalf("got %v, want %v", r.At(), midnight)
	}
	got := l.Peek(midnight, 1, workspace, behind)
	if got.DailyRemaining != 48 || got.MonthlyRemaining != 498 {
		t.Errorf("got %d and %d remaining; want both charges on the new day and month", got.DailyRemaining, got.MonthlyRemaining)
	}
	if left := l.Peek(midnight, 1, behind, limit.Account{}).DailyRemaining; left != 49 {
		t.Errorf("the key shows %d left of the new day, want 49", left)
	}
}

// model says the same as a limiter in the plainest way: a map from window to count for every budget, for a clock that never
// steps back.
type model struct {
	used   map[modelWindow]int64
	phases [2]int64
}

type modelWindow struct {
	budget int
	start  time.Time
}

func (m *model) windows(now time.Time) [budgetCount]modelWindow {
	var w [budgetCount]modelWindow
	for i, phase := range m.phases {
		second := now.Truncate(time.Second)
		for (second.Unix()-phase)%60 != 0 {
			second = second.Add(-time.Second)
		}
		y, mo, d := now.Date()
		w[i*3] = modelWindow{i * 3, second}
		w[i*3+1] = modelWindow{i*3 + 1, time.Date(y, mo, d, 0, 0, 0, 0, time.UTC)}
		w[i*3+2] = modelWindow{i*3 + 2, time.Date(y, mo, 1, 0, 0, 0, 0, time.UTC)}
	}
	return w
}
