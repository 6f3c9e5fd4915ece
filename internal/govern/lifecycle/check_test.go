package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/govern/lifecycle"
)

// thresholds are the defaults of the settings.
var thresholds = lifecycle.Thresholds{Days: 14, Percent: 1, Keys: 5, KeysPercent: 2, KeyRequests: 10, KeyDays: 3}

func TestSignificantTraffic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		traffic lifecycle.Traffic
		want    bool
	}{
		"none at all":                    {lifecycle.Traffic{}, false},
		"none of the version":            {lifecycle.Traffic{AllRequests: 5, ActiveKeys: 1}, false},
		"one in a hundred requests":      {lifecycle.Traffic{Requests: 1, AllRequests: 100}, true},
		"fewer than one in a hundred":    {lifecycle.Traffic{Requests: 9_999, AllRequests: 1_000_000}, false},
		"four keys of few":               {lifecycle.Traffic{Requests: 40, AllRequests: 1_000_000, Keys: 4, ActiveKeys: 10}, false},
		"five keys of few":               {lifecycle.Traffic{Requests: 50, AllRequests: 1_000_000, Keys: 5, ActiveKeys: 250}, true},
		"fewer than two in a hundred":    {lifecycle.Traffic{Requests: 50, AllRequests: 1_000_000, Keys: 5, ActiveKeys: 251}, false},
		"two in a hundred of many":       {lifecycle.Traffic{Requests: 60, AllRequests: 1_000_000, Keys: 6, ActiveKeys: 300}, true},
		"both":                           {lifecycle.Traffic{Requests: 100, AllRequests: 100, Keys: 6, ActiveKeys: 6}, true},
		"only users without an API key":  {lifecycle.Traffic{Requests: 3, AllRequests: 200}, true},
		"all requests but very few keys": {lifecycle.Traffic{Requests: 7, AllRequests: 7, Keys: 0, ActiveKeys: 1}, true},
	} {
		if got := thresholds.Significant(c.traffic); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// A deprecated version as it can be when its check runs, with traffic and the time of the check.
func drawCheck(t *rapid.T) (v lifecycle.Version, u lifecycle.Traffic, now time.Time) {
	day := func(name string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from*24*60, to*24*60).Draw(t, name)) * time.Minute
	}
	v = lifecycle.Version{Number: 1, AnnouncedAt: date("2027-01-31"), DatedAt: date("2027-01-31")}
	v.SunsetAt = lifecycle.AddMonths(v.AnnouncedAt, 6).Add(day("notice", 0, 700))
	now = v.CheckAt().Add(day("late", 0, 400))
	if rapid.Bool().Draw(t, "moved") {
		v.DatedAt = now.Add(-day("since", 0, 60))
	}
	v.Backdated = rapid.Bool().Draw(t, "backdated")
	u = lifecycle.Traffic{Requests: rapid.Int64Range(0, 50).Draw(t, "requests"), AllRequests: 2_000, ActiveKeys: 100}
	return v, u, now
}

func TestTheSunsetMovesOnlyForAReason(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, u, now := drawCheck(t)
		c := v.Decide(u, thresholds, now)
		if c.Traffic != u || c.Thresholds != thresholds || !c.At.Equal(now) || !c.SunsetAt.Equal(v.SunsetAt) {
			t.Fatalf("the check %+v does not have its inputs", c)
		}
		significant := thresholds.Significant(u)
		missed := now.Sub(v.CheckAt()) > 2*time.Minute && now.Sub(v.DatedAt) > 2*time.Minute && !v.Backdated
		if (c.Verdict == lifecycle.Extended) != significant {
			t.Fatalf("traffic %+v: %s", u, c.Verdict)
		}
		if significant && c.NewSunsetAt.Before(lifecycle.AddMonths(v.SunsetAt, 3)) {
			t.Fatalf("extended from %s to %s", v.SunsetAt, c.NewSunsetAt)
		}
		if missed && c.NewSunsetAt.Before(now.AddDate(0, 0, 30)) {
			t.Fatalf("a check missed until %s leaves the sunset at %s", now, c.NewSunsetAt)
		}
		if !missed && !significant && (c.Verdict != lifecycle.Kept || !c.NewSunsetAt.Equal(v.SunsetAt)) {
			t.Fatalf("no reason, but %s moved to %s: %s", v.SunsetAt, c.NewSunsetAt, c.Verdict)
		}
		if (c.Verdict == lifecycle.Kept) != c.NewSunsetAt.Equal(v.SunsetAt) {
			t.Fatalf("%s from %s to %s", c.Verdict, v.SunsetAt, c.NewSunsetAt)
		}
	})
}

func TestExtensionsEndWithTheMonth(t *testing.T) {
	t.Parallel()
	busy := lifecycle.Traffic{Requests: 1, AllRequests: 1}
	v := lifecycle.Version{Number: 1, AnnouncedAt: date("2027-02-28"), SunsetAt: date("2027-08-31")}
	for _, want := range []string{"2027-11-30", "2028-02-29", "2028-05-29"} {
		c := v.Decide(busy, thresholds, v.CheckAt())
		if v.SunsetAt = c.NewSunsetAt; !v.SunsetAt.Equal(date(want)) {
			t.Errorf("extended to %s, want %s", v.SunsetAt, want)
		}
	}
}

func TestAVersionIsNotSunsetBeforeItsCheck(t *testing.T) {
	t.Parallel()
	v := lifecycle.Version{Number: 1, AnnouncedAt: date("2027-01-10"), SunsetAt: date("2027-07-10")}
	due := date("2027-06-10")
	if v.CheckDue(due.Add(-time.Millisecond)) || !v.CheckDue(due) {
		t.Error("the check is not due thirty days before the sunset")
	}
	later := date("2027-08-01")
	if v.At(later) != lifecycle.Deprecated || !v.Live(later) || !v.CheckDue(later) {
		t.Errorf("after a missed check it is %s", v.At(later))
	}
	checked := v
	checked.Checked = true
	if checked.At(later) != lifecycle.Sunset || checked.Live(later) || checked.CheckDue(due) {
		t.Errorf("after its check it is %s", checked.At(later))
	}
	backdated := v
	backdated.Backdated = true
	if backdated.At(later) != lifecycle.Sunset || backdated.CheckDue(later) || backdated.CheckDue(date("2027-07-09").Add(time.Minute)) {
		t.Error("a backdated sunset waits for a check")
	}
	if !backdated.CheckDue(date("2027-07-09")) {
		t.Error("a backdated sunset that is days away has no check")
	}
}

func TestTheWindowHasTheLastDaysOfService(t *testing.T) {
	t.Parallel()
	days := func(list ...string) (found []time.Time) {
		for _, text := range list {
			found = append(found, date(text))
		}
		return found
	}
	now := date("2027-06-10").Add(15 * time.Hour)
	for name, c := range map[string]struct{ ran, want []time.Time }{
		"every day":           {days("2027-06-10", "2027-06-09", "2027-06-08", "2027-06-07", "2027-06-06"), days("2027-06-07", "2027-06-08", "2027-06-09", "2027-06-10")},
		"a month without":     {days("2027-06-10", "2027-05-09", "2027-05-08", "2027-05-07"), days("2027-05-07", "2027-05-08", "2027-05-09", "2027-06-10")},
		"not yet stored":      {days("2027-06-08", "2027-06-07", "2027-06-06"), days("2027-06-06", "2027-06-07", "2027-06-08", "2027-06-10")},
		"recorded since then": {days("2027-06-09"), days("2027-06-07", "2027-06-08", "2027-06-09", "2027-06-10")},
		"never recorded":      {nil, days("2027-06-07", "2027-06-08", "2027-06-09", "2027-06-10")},
	} {
		if diff := cmp.Diff(c.want, lifecycle.Window(now, c.ran, 4)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatesFollowEachOtherInTheRecord(t *testing.T) {
	t.Parallel()
	v := lifecycle.Version{Number: 1, AnnouncedAt: date("2027-01-10"), SunsetAt: date("2027-07-10"), Checked: true}
	all := []lifecycle.Transition{
		{Version: 1, State: lifecycle.Deprecated, At: v.AnnouncedAt},
		{Version: 1, State: lifecycle.Sunset, At: v.SunsetAt},
		{Version: 1, State: lifecycle.Retired, At: date("2028-07-10")},
	}
	for at, want := range map[string][]lifecycle.Transition{
		"2027-01-09": nil, "2027-01-10": all[:1], "2027-07-09": all[:1], "2027-07-10": all[:2], "2028-07-10": all,
	} {
		if diff := cmp.Diff(want, v.Transitions(date(at))); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", at, diff)
		}
	}
}

func TestNoticesComeOnceEach(t *testing.T) {
	t.Parallel()
	walk := func(v lifecycle.Version, from string, step int) (sent []int) {
		for at := date(from); at.Before(v.SunsetAt.AddDate(0, 0, 5)); at = at.AddDate(0, 0, step) {
			if days := v.NoticeDue(at); days != 0 {
				sent = append(sent, days)
				v.NoticeDays = days
			}
		}
		return sent
	}
	v := lifecycle.Version{Number: 1, AnnouncedAt: date("2027-01-10"), DatedAt: date("2027-01-10"), SunsetAt: date("2027-07-10"), Checked: true}
	soon := v
	soon.DatedAt = date("2027-06-20") // the date was set twenty days before it
	for _, c := range []struct {
		v    lifecycle.Version
		from string
		step int
		want []int
	}{
		{v, "2027-01-10", 1, []int{90, 30, 14, 7, 1}},
		{v, "2027-06-29", 1, []int{14, 7, 1}}, // after downtime only the last one of those that were missed
		{v, "2027-02-10", 70, []int{90, 14}},
		{soon, "2027-06-20", 1, []int{14, 7, 1}},
	} {
		if got := walk(c.v, c.from, c.step); !slices.Equal(got, c.want) {
			t.Errorf("from %s in steps of %d days: got %v, want %v", c.from, c.step, got, c.want)
		}
	}
	active := lifecycle.First()
	if got := active.NoticeDue(date("2027-07-09")); got != 0 {
		t.Errorf("a notice of %d days about an active version", got)
	}
}
