package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model says the same as Charge in the plainest way: a map from window to count for every budget, for a clock that never
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

func TestChargeAgreesWithThePlainestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := account(drawLimit(t, "key minute"), rapid.SampledFrom([]int64{0, 7, 20}).Draw(t, "key daily"), 30)
		workspace := account(drawLimit(t, "minute"), 40, 60)
		key.Use.Init(rapid.String().Draw(t, "key"))
		workspace.Use.Init(rapid.String().Draw(t, "workspace"))
		limits := [budgetCount]int64{
			key.PerMinute, key.Daily, key.Monthly, workspace.PerMinute, workspace.Daily, workspace.Monthly,
		}
		m := &model{used: map[modelWindow]int64{}, phases: [2]int64{int64(key.Use.phase()), int64(workspace.Use.phase())}}
		now := drawTime(t, "now")
		type paid struct {
			receipt Receipt
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
				v, r := Charge(now, cost, workspace, key)
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
				seconds := rapid.SampledFrom([]int64{1, 20, 61, 3_600, day, 20 * day}).Draw(t, "seconds")
				now = now.Add(time.Duration(seconds) * time.Second)
			},
			"": func(t *rapid.T) {
				w, v := m.windows(now), Peek(now, workspace, key)
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
