package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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

func TestTenThousandGoroutinesOnOneKeyAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const callers = 10_000
	for name, limits := range map[string][2]Allowance{
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
			workspace := Account{Use: &Use{}, Allowance: limits[0]}
			key := Account{Use: &Use{}, Allowance: limits[1]}
			want := int64(callers)
			for _, l := range limits {
				for _, n := range []int64{l.PerMinute, l.Daily, l.Monthly} {
					if n > 0 {
						want = min(want, n)
					}
				}
			}
			var admitted atomic.Int64
			seen := make([]atomic.Bool, callers+1)
			together(callers, func(int) {
				v, _ := Charge(noon, 1, workspace, key)
				if !v.Allowed {
					return
				}
				admitted.Add(1)
				// Where the key's minute binds, nobody gives anything back, so each remaining number is told once.
				if limits[1].PerMinute == want && seen[v.KeyRemaining].Swap(true) {
					t.Errorf("two callers were told that %d remain", v.KeyRemaining)
				}
			})
			if got := admitted.Load(); got != want {
				t.Errorf("%d were admitted, want %d", got, want)
			}
			if got := used(workspace.Use.Monthly.word.Load(), monthOf(dayOf(noon.Unix()))); got != want {
				t.Errorf("the workspace's month counts %d, want %d", got, want)
			}
		})
	}
}

func TestKeysOfOneWorkspaceShareItsLimitExactly(t *testing.T) {
	t.Parallel()
	const callers, keys = 10_000, 20
	workspace := account(1_000, 700, 5_000)
	var own [keys]Account
	for i := range own {
		own[i] = account(60, 0, 0) // 20 × 60 is more than 700
	}
	var admitted [keys]atomic.Int64
	together(callers, func(i int) {
		if v, _ := Charge(noon, 1, workspace, own[i%keys]); v.Allowed {
			admitted[i%keys].Add(1)
		}
	})
	total := int64(0)
	for i := range admitted {
		n := admitted[i].Load()
		total += n
		if n > 60 {
			t.Errorf("key %d was admitted %d times, over its 60", i, n)
		}
		if left := Peek(noon, workspace, own[i]).KeyRemaining; left != 60-n {
			t.Errorf("key %d shows %d left after %d of 60", i, left, n)
		}
	}
	if total != 700 {
		t.Errorf("%d were admitted, want 700", total)
	}
}

func TestChargesAndRefundsBalance(t *testing.T) {
	t.Parallel()
	workspace, key := account(500, 500, 500), account(400, 0, 0)
	var kept atomic.Int64
	together(4_000, func(i int) {
		cost := int64(i%3 + 1)
		v, r := Charge(noon, cost, workspace, key)
		switch {
		case !v.Allowed:
		case i%2 == 0:
			r.Refund()
		default:
			kept.Add(cost)
		}
	})
	v := Peek(noon, workspace, key)
	if used := 400 - v.KeyRemaining; used != kept.Load() {
		t.Errorf("the key shows %d used, %d were kept", used, kept.Load())
	}
	if used := 500 - v.DailyRemaining; used != kept.Load() {
		t.Errorf("the workspace shows %d used, %d were kept", used, kept.Load())
	}
}

func TestWindowTurnsOnceForAll(t *testing.T) {
	t.Parallel()
	const callers, limit = 4_000, 300
	border := noon.Add(time.Minute)
	workspace := account(limit, 1_000_000, 1_000_000)
	var before, after atomic.Int64
	together(callers, func(i int) {
		now := border.Add(-time.Nanosecond)
		if i%2 == 1 {
			now = border
		}
		v, _ := Charge(now, 1, workspace, Account{})
		switch {
		case !v.Allowed:
		case v.ResetUnix == border.Unix():
			before.Add(1)
		default:
			after.Add(1)
		}
	})
	if before.Load() > limit || after.Load() != limit {
		t.Errorf("%d passed in the old window and %d in the new one; want at most and exactly %d", before.Load(), after.Load(), limit)
	}
}

// A charge of 5 has taken the minute's units and is about to find too few of the day's; a charge of 1, which both
// budgets have room for, waits for that instead of being refused. The test is not parallel, because it replaces giveWay for the
// whole package.
func TestSmallChargeIsNotRefusedForALargeOneThatFails(t *testing.T) {
	workspace := account(5, 3, 100)
	var large budgets
	large.look(noon.Unix(), &workspace, &Account{})
	minute := &large.list[tierMinute]
	workspace.Use.mark()
	if _, taken := minute.counter.take(minute.window, 0, 5, minute.limit); !taken {
		t.Fatal("the large charge finds no minute")
	}

	defer func(wait func(int) bool) { giveWay = wait }(giveWay)
	waited := 0
	giveWay = func(int) bool {
		if waited++; waited == 3 {
			minute.counter.giveBack(minute.window, 5)
			workspace.Use.unmark()
		}
		return waited < 10
	}
	if v, _ := Charge(noon, 1, workspace, Account{}); !v.Allowed || waited != 3 {
		t.Errorf("after %d waits it was refused by %q", waited, v.Policy)
	}
}

func TestWaitingForALargeChargeEnds(t *testing.T) {
	t.Parallel()
	workspace := account(5, 3, 100)
	workspace.Use.mark() // whose thread does not come back
	for range 5 {
		Charge(noon, 1, workspace, Account{})
	}
	if v, _ := Charge(noon, 1, workspace, Account{}); v.Allowed {
		t.Error("it is admitted beyond the limit")
	}
}
