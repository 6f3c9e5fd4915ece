package limit

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// noon is a moment in the middle of a day and a month.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// account makes an account whose minute windows start on the full minute.
func account(perMinute, daily, monthly int64) Account {
	return Account{Use: &Use{}, Allowance: Allowance{perMinute, daily, monthly}}
}

func TestNthRequestPassesAndTheNextIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 200).Draw(t, "limit")
		which := rapid.IntRange(0, budgetCount-1).Draw(t, "binding budget")
		now := drawTime(t, "now")
		workspace, key := account(1_000, 1_000, 1_000), account(1_000, 0, 0)
		workspace.Use.Init(rapid.String().Draw(t, "workspace"))
		key.Use.Init(rapid.String().Draw(t, "key"))
		bound := map[int]*int64{
			keyMinute: &key.PerMinute, keyDaily: &key.Daily, keyMonthly: &key.Monthly,
			tierMinute: &workspace.PerMinute, tierDaily: &workspace.Daily, tierMonthly: &workspace.Monthly,
		}
		*bound[which] = limit

		for n := range limit {
			if v, _ := Charge(now, 1, workspace, key); !v.Allowed {
				t.Fatalf("request %d of %d was refused by %s", n+1, limit, v.Policy)
			}
		}
		v, receipt := Charge(now, 1, workspace, key)
		if v.Allowed || v.Policy != policies[which] {
			t.Fatalf("request %d: got allowed %v, policy %q; want a refusal by %q", limit+1, v.Allowed, v.Policy, policies[which])
		}
		before := Peek(now, workspace, key)
		receipt.Refund()
		if after := Peek(now, workspace, key); after != before {
			t.Fatalf("the refund of a refused charge changed %+v to %+v", before, after)
		}
	})
}

func TestWhoWaitsRetryAfterIsAdmitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(drawLimit(t, "minute"), drawLimit(t, "daily"), drawLimit(t, "monthly"))
		key := account(drawLimit(t, "key minute"), drawLimit(t, "key daily"), drawLimit(t, "key monthly"))
		workspace.Use.Init(rapid.String().Draw(t, "workspace"))
		key.Use.Init(rapid.String().Draw(t, "key"))
		now := drawTime(t, "now")
		for {
			v, _ := Charge(now, 1, workspace, key)
			if !v.Allowed {
				wait := time.Duration(v.RetryAfterSeconds()) * time.Second
				if wait < v.ResetIn || wait > v.ResetIn+time.Second+time.Millisecond {
					t.Fatalf("Retry-After is %v, the window ends in %v", wait, v.ResetIn)
				}
				byBody := time.Duration(v.ResetTimeMs()) * time.Millisecond
				if again := Peek(now.Add(byBody), workspace, key); !again.Allowed {
					t.Fatalf("after resetTimeMs %v it is refused again: %+v", byBody, again)
				}
				if again, _ := Charge(now.Add(wait), 1, workspace, key); !again.Allowed {
					t.Fatalf("after Retry-After %v it is refused again: %+v", wait, again)
				}
				return
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 5_000).Draw(t, "step")) * time.Millisecond)
		}
	})
}

func TestRemainingNeverRisesWithinAWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workspace, key := account(30, 60, 90), account(drawLimit(t, "key minute"), 0, 0)
		workspace.Use.Init(rapid.String().Draw(t, "workspace"))
		key.Use.Init(rapid.String().Draw(t, "key"))
		now := drawTime(t, "now")
		last := Peek(now, workspace, key)
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(-500, 3_000).Draw(t, "step")) * time.Millisecond)
			v, _ := Charge(now, rapid.Int64Range(0, 3).Draw(t, "cost"), workspace, key)
			if v.ResetUnix == last.ResetUnix && v.Remaining > last.Remaining {
				t.Fatalf("remaining rose from %d to %d within the window that ends at %d", last.Remaining, v.Remaining, v.ResetUnix)
			}
			if v.Remaining < 0 || v.KeyRemaining < 0 || v.DailyRemaining < 0 || v.MonthlyRemaining < 0 {
				t.Fatalf("a negative number: %+v", v)
			}
			if v.ResetUnix <= now.Unix() || v.ResetUnix > now.Unix()+2*minute {
				t.Fatalf("at %d the window is said to end at %d", now.Unix(), v.ResetUnix)
			}
			last = v
		}
	})
}

func TestDenialNamesTheExhaustedBudgetThatEndsLast(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name                    string
		minute, daily, monthly  int64
		keyMinute, keyDaily     int64
		anonymous               bool
		want                    Policy
		wantReset               time.Duration
		wantMinute, wantKeyLeft int64
	}{
		{"MinuteOfTheTier", 1, 9, 9, 9, 0, false, TierMinute, 30 * time.Second, 0, 8},
		{"MinuteOfTheKey", 9, 9, 9, 1, 0, false, KeyMinute, 30 * time.Second, 0, 0},
		{"DayAndMinute", 1, 1, 9, 9, 0, false, DailyQuota, 12*time.Hour - 30*time.Second, 0, 8},
		{"DayOfTheKey", 9, 9, 9, 9, 1, false, DailyQuota, 12*time.Hour - 30*time.Second, 8, 8},
		{"MonthAndEverythingElse", 1, 1, 1, 1, 1, false, MonthlyQuota, (9*24+12)*time.Hour - 30*time.Second, 0, 0},
		{"AnonymousDay", 9, 1, 9, 9, 0, true, Anonymous, 12*time.Hour - 30*time.Second, 8, 8},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := noon.Add(30 * time.Second)
			workspace, key := account(c.minute, c.daily, c.monthly), account(c.keyMinute, c.keyDaily, 0)
			workspace.Anonymous = c.anonymous
			Charge(now, 1, workspace, key)
			v, _ := Charge(now, 1, workspace, key)
			if v.Allowed || v.Policy != c.want || v.ResetIn != c.wantReset {
				t.Errorf("got allowed %v, policy %q, reset in %v; want %q, %v", v.Allowed, v.Policy, v.ResetIn, c.want, c.wantReset)
			}
			if v.Remaining != c.wantMinute || v.KeyRemaining != c.wantKeyLeft {
				t.Errorf("got remaining %d, of the key %d; want %d, %d", v.Remaining, v.KeyRemaining, c.wantMinute, c.wantKeyLeft)
			}
		})
	}
}

func TestRefundGoesBackToItsOwnWindow(t *testing.T) {
	t.Parallel()
	workspace, key := account(5, 10, 20), account(5, 10, 20)
	_, first := Charge(noon, 3, workspace, key)
	later := noon.Add(time.Minute)
	Charge(later, 1, workspace, key)
	first.Refund()
	got := Peek(later, workspace, key)
	if got.Remaining != 4 || got.DailyRemaining != 9 || got.MonthlyRemaining != 19 {
		t.Errorf("got %d, %d, %d remaining; want 4 of the new minute, 9 of the day, 19 of the month",
			got.Remaining, got.DailyRemaining, got.MonthlyRemaining)
	}
}

func TestRefundedChargeLeavesNoTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workspace, key := account(50, 60, 70), account(40, 0, 65)
		now := drawTime(t, "now")
		Charge(now, rapid.Int64Range(0, 20).Draw(t, "before"), workspace, key)
		before := Peek(now, workspace, key)
		_, receipt := Charge(now, rapid.Int64Range(0, 100).Draw(t, "cost"), workspace, key)
		receipt.Refund()
		if after := Peek(now, workspace, key); after != before {
			t.Fatalf("got %+v, want %+v", after, before)
		}
	})
}

func TestChargeThatFitsOneBudgetOnlyTakesFromNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workspace := account(drawLimit(t, "minute"), drawLimit(t, "daily"), drawLimit(t, "monthly"))
		key := account(drawLimit(t, "key minute"), drawLimit(t, "key daily"), drawLimit(t, "key monthly"))
		before := Peek(noon, workspace, key)
		least := min(before.Remaining, before.DailyRemaining, before.MonthlyRemaining)
		v, _ := Charge(noon, least+1, workspace, key)
		if v.Allowed {
			t.Fatalf("%d units were admitted where %d are left", least+1, least)
		}
		if after := Peek(noon, workspace, key); after != before {
			t.Fatalf("the denial changed %+v to %+v", before, after)
		}
		if v, _ := Charge(noon, least, workspace, key); !v.Allowed {
			t.Fatalf("%d units that are left were refused", least)
		}
	})
}

func TestQuotaGivenAtNoonKnowsOfTheMorning(t *testing.T) {
	t.Parallel()
	workspace, key := account(100, 100, 100), account(100, 0, 0)
	for range 7 {
		Charge(noon, 1, workspace, key)
	}
	key.Daily = 10
	if got := Peek(noon, workspace, key).DailyRemaining; got != 3 {
		t.Errorf("got %d remaining of the new quota, want 3", got)
	}
}

func TestSmallerTierKeepsTheUse(t *testing.T) {
	t.Parallel()
	workspace := account(100, 100, 100)
	Charge(noon, 40, workspace, Account{})
	workspace.Daily = 30
	v, _ := Charge(noon, 1, workspace, Account{})
	if v.Allowed || v.Policy != DailyQuota || v.DailyRemaining != 0 {
		t.Errorf("got %+v, want a refusal by %s with 0 remaining", v, DailyQuota)
	}
}

func TestRestoredUseCounts(t *testing.T) {
	t.Parallel()
	workspace := account(100, 10, 20)
	workspace.Use.Init("wsp_a")
	workspace.Use.Restore(noon, 4, 12)
	v, _ := Charge(noon, 1, workspace, Account{})
	if v.DailyRemaining != 5 || v.MonthlyRemaining != 7 || v.Remaining != 99 {
		t.Errorf("got %+v, want 5 of the day, 7 of the month, 99 of the minute", v)
	}
}

func TestLargestTierHasRoom(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		a := tier.Allowance()
		for _, n := range []int64{a.PerMinute, a.Daily, a.Monthly} {
			if n <= 0 || n >= maxCount {
				t.Errorf("tier %s: %d does not fit a counter, whose most is %d", tier.Name, n, int64(maxCount))
			}
		}
	}
}

func TestUnlimitedBudgetCountsToItsEndAndStays(t *testing.T) {
	t.Parallel()
	workspace := account(10, 0, 0)
	workspace.Use.Restore(noon, maxCount-1, maxCount-1)
	for range 3 {
		if v, _ := Charge(noon, 1, workspace, Account{}); !v.Allowed {
			t.Fatalf("refused by %s, which has no number", v.Policy)
		}
	}
	if v := Peek(noon.AddDate(0, 1, 0), workspace, Account{}); v.MonthlyRemaining != maxCount {
		t.Errorf("the next month starts with %d left, want %d", v.MonthlyRemaining, int64(maxCount))
	}
}

func drawLimit(t *rapid.T, label string) int64 { return rapid.Int64Range(1, 25).Draw(t, label) }

func drawTime(t *rapid.T, label string) time.Time {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ms := rapid.Int64Range(0, 3*365*day*1000).Draw(t, label)
	return from.Add(time.Duration(ms) * time.Millisecond)
}

func ExampleCharge() {
	var workspace, key Use
	workspace.Init("wsp_01")
	key.Init("key_01")
	tier := Tier{RequestsPerMinute: 2, Daily: 100, Monthly: 1_000}

	now := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC)
	for range 3 {
		v, _ := Charge(now, 1, Account{Use: &workspace, Allowance: tier.Allowance()},
			Account{Use: &key, Allowance: Allowance{PerMinute: 60}})
		fmt.Printf("%t %d %d %q\n", v.Allowed, v.Remaining, v.DailyRemaining, v.Policy)
	}
	// Output:
	// true 1 99 ""
	// true 0 98 ""
	// false 0 98 "tier_minute"
}
