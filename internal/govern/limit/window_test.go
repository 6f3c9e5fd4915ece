package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// noon is a moment in the middle of a day and a month.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func drawTime(t *rapid.T) time.Time {
	return noon.Add(time.Duration(rapid.Int64Range(0, 3*365*day*1000).Draw(t, "now")) * time.Millisecond)
}

func TestMinuteWindowsAreShiftedByPhase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unix := secondOf(drawTime(t))
		phase := rapid.Uint8Range(0, 59).Draw(t, "phase")
		window, end := minuteOf(unix, phase)
		if end <= unix || end > unix+60 || end%60 != int64(phase) {
			t.Fatalf("at %d with phase %d the window ends at %d", unix, phase, end)
		}
		if last, lastEnd := minuteOf(end-1, phase); last != window || lastEnd != end {
			t.Fatalf("the last second of window %d lies in window %d", window, last)
		}
		if first, _ := minuteOf(end, phase); first != window+1 {
			t.Fatalf("after window %d comes %d", window, first)
		}
	})
}

func TestPhaseIsTheHashOfTheSubject(t *testing.T) {
	t.Parallel()
	// fnv64a("") is the offset basis 14695981039346656037, and fnv64a("a") is 0xaf63dc4c8601ec8c.
	for subject, want := range map[string]uint8{"": 14695981039346656037 % 60, "a": 0xaf63dc4c8601ec8c % 60} {
		var u Use
		u.Init(subject)
		if u.phase != want {
			t.Errorf("phase of %q: got %d, want %d", subject, u.phase, want)
		}
	}
}

func TestMonthsEndWithTheirLastDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := drawTime(t)
		d := dayOf(secondOf(now))
		end := time.Unix(monthEnd(d), 0).UTC()
		if end.Day() != 1 || end.Sub(now) <= 0 || end.Sub(now) > 31*24*time.Hour {
			t.Fatalf("the month of %v ends at %v", now, end)
		}
		if last := dayOf(end.Unix() - 1); monthOf(last) != monthOf(d) || monthOf(last+1) != monthOf(d)+1 {
			t.Fatalf("the month of %v does not turn at %v", now, end)
		}
	})
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
