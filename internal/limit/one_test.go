package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What chargeOne does is what chargeAny would do, and where it does nothing it leaves nothing behind.
func TestOneUnitIsChargedAsAnyCostIs(t *testing.T) {
	t.Parallel()
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.SampledFrom([]int64{0, 3, 8, 50})
		draw := func(label string) Account {
			a := account(budget.Draw(t, label+" minute"), budget.Draw(t, label+" day"), budget.Draw(t, label+" month"))
			a.Use.Init(rapid.String().Draw(t, label))
			return a
		}
		workspace, key := draw("workspace"), draw("key")
		if rapid.Bool().Draw(t, "no key") {
			key = Account{}
		}
		twin := func(a Account) Account {
			if a.Use != nil {
				u := &Use{}
				u.home.Store(a.Use.home.Load())
				a.Use = u
			}
			return a
		}
		workspaceTwin, keyTwin := twin(workspace), twin(key)
		words := func(accounts ...Account) (list []uint64) {
			for _, a := range accounts {
				if a.Use != nil {
					list = append(list, a.Use.Minute.word.Load(), a.Use.Daily.word.Load(), a.Use.Monthly.word.Load())
				}
			}
			return list
		}
		same := func(a, b []uint64) bool {
			for i := range a {
				if a[i] != b[i] {
					return false
				}
			}
			return true
		}
		now := drawTime(t, "now")
		for range 40 {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second, 7 * time.Hour, -time.Second, -20 * time.Hour}).Draw(t, "step"))
			before := words(workspace, key)
			var v Verdict
			var r Receipt
			one := chargeOne(&v, &r, secondOf(now), &workspace, &key)
			if !one {
				if !same(before, words(workspace, key)) {
					t.Fatal("nothing was charged, and the counters changed")
				}
				v, r = chargeAny(now, secondOf(now), 1, &workspace, &key)
			} else {
				done++
			}
			wantV, wantR := chargeAny(now, secondOf(now), 1, &workspaceTwin, &keyTwin)
			wantR.workspace.use = r.workspace.use
			wantR.key.use = r.key.use
			if v != wantV || r != wantR || !same(words(workspace, key), words(workspaceTwin, keyTwin)) {
				t.Fatalf("at once %v: got %+v %+v, want %+v %+v", one, v, r, wantV, wantR)
			}
		}
	})
	if done == 0 {
		t.Error("nothing was charged at once")
	}
}

func TestAMonthIsNumberedWhateverWasAskedBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			d := rapid.SampledFrom([]int64{0, 1, 30, 31, 58, 59, 20_000, 20_001, 20_800}).Draw(t, "day") + rapid.Int64Range(0, 2).Draw(t, "more")
			year, month, _ := time.Unix(d*day, 0).UTC().Date()
			if got, want := monthOf(d), uint32(year*12+int(month)); got != want {
				t.Fatalf("day %d is of month %d, want %d", d, got, want)
			}
		}
	})
}
