package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMinuteWindowsAreSixtySecondsShiftedByPhase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unix := secondOf(drawTime(t, "now"))
		phase := rapid.Uint32Range(0, 59).Draw(t, "phase")
		window, end := minuteOf(unix, phase)
		if end <= unix || end > unix+60 || end%60 != int64(phase) {
			t.Fatalf("at %d with phase %d the window ends at %d", unix, phase, end)
		}
		if last, lastEnd := minuteOf(end-1, phase); last != window || lastEnd != end {
			t.Fatalf("the last second of window %d lies in window %d", window, last)
		}
		if first, _ := minuteOf(end, phase); first != next(window) {
			t.Fatalf("after window %d comes %d", window, first)
		}
	})
}

func TestPhaseIsTheHashOfTheSubject(t *testing.T) {
	t.Parallel()
	// fnv64a("") is the offset basis 14695981039346656037, and fnv64a("a") is 0xaf63dc4c8601ec8c.
	for subject, want := range map[string]uint32{"": 14695981039346656037 % 60, "a": 0xaf63dc4c8601ec8c % 60} {
		var u Use
		u.Init(subject)
		if u.phase() != want {
			t.Errorf("phase of %q: got %d, want %d", subject, u.phase(), want)
		}
	}
}

func TestMonthsEndWithTheirLastDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := drawTime(t, "now")
		d := dayOf(secondOf(now))
		end := time.Unix(monthEnd(d), 0).UTC()
		if end.Day() != 1 || end.Sub(now) <= 0 || end.Sub(now) > 31*24*time.Hour {
			t.Fatalf("the month of %v ends at %v", now, end)
		}
		if last := dayOf(end.Unix() - 1); monthOf(last) != monthOf(d) || monthOf(last+1) != next(monthOf(d)) {
			t.Fatalf("the month of %v does not turn at %v", now, end)
		}
	})
}

func TestClockThatStepsBackALittleReopensNothing(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) // a minute, a day and a month begin
	workspace, key := account(5, 50, 500), account(5, 50, 500)
	for range 5 {
		Charge(midnight, 1, workspace, key)
	}
	for _, back := range []time.Duration{time.Millisecond, time.Second, 59 * time.Second, time.Minute} {
		now := midnight.Add(-back)
		v, _ := Charge(now, 1, workspace, key)
		if v.Allowed || v.DailyRemaining != 45 || v.MonthlyRemaining != 495 {
			t.Errorf("%v back: got %+v; want the window of midnight, exhausted", back, v)
		}
		if want := midnight.Add(time.Minute).Sub(now); v.ResetIn != want {
			t.Errorf("%v back: reset in %v, want %v", back, v.ResetIn, want)
		}
	}
}

func TestClockThatStepsBackFarFreezesNoMinute(t *testing.T) {
	t.Parallel()
	workspace := account(5, 50, 500)
	for _, ahead := range []time.Duration{365 * 24 * time.Hour, 40 * 24 * time.Hour, 2 * time.Hour, 3 * time.Minute} {
		for range 5 {
			Charge(noon.Add(ahead), 1, workspace, Account{}) // while the clock was wrong
		}
		v, r := Charge(noon, 1, workspace, Account{})
		if !v.Allowed || v.Remaining != 4 || v.ResetUnix != noon.Unix()+60 {
			t.Errorf("back from %v ahead: got %+v; want a new window at once", ahead, v)
		}
		if !r.At().Equal(noon) {
			t.Errorf("back from %v ahead: charged at %v, want %v", ahead, r.At(), noon)
		}
		r.Refund()
	}
}

func TestChargeBeforeMidnightOfADayThatHasBegunCountsForThatDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	workspace, ahead, behind := account(9, 50, 500), account(9, 50, 500), account(9, 50, 500)
	before := midnight.Add(-time.Millisecond)
	Charge(before, 2, workspace, behind)
	Charge(midnight, 1, workspace, ahead)

	_, r := Charge(before, 1, workspace, behind)
	if !r.At().Equal(midnight) {
		t.Fatalf("got %v, want %v", r.At(), midnight)
	}
	got := Peek(midnight, workspace, behind)
	if got.DailyRemaining != 48 || got.MonthlyRemaining != 498 {
		t.Errorf("got %d and %d remaining; want both charges on the new day and month", got.DailyRemaining, got.MonthlyRemaining)
	}
	if used := 50 - behind.Use.Daily.left(midnight); used != 1 {
		t.Errorf("the key shows %d used of the new day, want 1", used)
	}
}

func (c *Counter) left(now time.Time) int64 {
	return 50 - used(c.word.Load(), uint32(dayOf(now.Unix())))
}
