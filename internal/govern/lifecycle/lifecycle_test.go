package lifecycle_test

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/govern/lifecycle"
)

func date(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestAVersionPassesThroughItsStates(t *testing.T) {
	t.Parallel()
	v := lifecycle.Version{
		Number: 1, Since: date("2026-07-01"),
		AnnouncedAt: date("2027-01-10"), SunsetAt: date("2027-07-10"), Checked: true,
	}
	for _, c := range []struct {
		at   time.Time
		want lifecycle.State
	}{
		{date("2026-07-01"), lifecycle.Active},
		{date("2027-01-10").Add(-time.Nanosecond), lifecycle.Active},
		{date("2027-01-10"), lifecycle.Deprecated},
		{date("2027-07-10").Add(-time.Nanosecond), lifecycle.Deprecated},
		{date("2027-07-10"), lifecycle.Sunset},
		{date("2028-07-10").Add(-time.Nanosecond), lifecycle.Sunset},
		{date("2028-07-10"), lifecycle.Retired},
		{date("2999-01-01"), lifecycle.Retired},
	} {
		if got := v.At(c.at); got != c.want {
			t.Errorf("at %s: got %s, want %s", c.at, got, c.want)
		}
		if live := c.want == lifecycle.Active || c.want == lifecycle.Deprecated; v.Live(c.at) != live {
			t.Errorf("at %s: live is %v, want %v", c.at, !live, live)
		}
	}
	v.RetiredAt = date("2027-08-01")
	if got := v.At(date("2027-08-01")); got != lifecycle.Retired {
		t.Errorf("retired before its twelve months are over: got %s", got)
	}
	one := lifecycle.First()
	if got := one.At(date("2999-01-01")); got != lifecycle.Active {
		t.Errorf("a version nobody announced the end of: got %s, want active", got)
	}
}

func TestARegistryRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	one := lifecycle.First()
	ending := one
	ending.AnnouncedAt, ending.SunsetAt = date("2027-01-10"), date("2027-07-10")
	two := lifecycle.Version{Number: 2, Since: date("2027-01-10")}
	change := func(f func(v *lifecycle.Version)) lifecycle.Version {
		v := ending
		f(&v)
		return v
	}
	for name, versions := range map[string][]lifecycle.Version{
		"none":                      {},
		"version 0":                 {{}},
		"twice":                     {one, one},
		"an end without successor":  {ending},
		"no announcement":           {change(func(v *lifecycle.Version) { v.AnnouncedAt = time.Time{} }), two},
		"no sunset":                 {change(func(v *lifecycle.Version) { v.SunsetAt = time.Time{} }), two},
		"sunset before":             {change(func(v *lifecycle.Version) { v.SunsetAt = date("2027-01-01") }), two},
		"retired before its sunset": {change(func(v *lifecycle.Version) { v.RetiredAt = date("2027-02-01") }), two},
	} {
		if _, err := lifecycle.New(versions...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	r, err := lifecycle.New(two, ending)
	if err != nil {
		t.Fatal(err)
	}
	before := r.Snapshot()
	if before.Current().Number != 2 || before.Version(1) == nil || before.Version(3) != nil {
		t.Errorf("current is %d of %v", before.Current().Number, before.All())
	}
	if err := r.Replace(nil); err == nil || r.Snapshot() != before {
		t.Error("a refused list replaced the versions")
	}
}

func TestTheReplacementIsTheOldestLiveSuccessor(t *testing.T) {
	t.Parallel()
	ends := func(n int, sunset string) lifecycle.Version {
		return lifecycle.Version{Number: n, AnnouncedAt: date("2027-01-01"), SunsetAt: date(sunset), Checked: true}
	}
	r, err := lifecycle.New(ends(1, "2027-07-01"), ends(2, "2028-07-01"), lifecycle.Version{Number: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Snapshot()
	if got := s.Replacement(1, date("2028-06-30")); got == nil || got.Number != 2 {
		t.Errorf("while 2 is live: got %v, want 2", got)
	}
	if got := s.Replacement(1, date("2028-07-01")); got == nil || got.Number != 3 {
		t.Errorf("after 2 has ended: got %v, want 3", got)
	}
	if got := s.Replacement(3, date("2028-07-01")); got != nil {
		t.Errorf("of the newest: got %v, want none", got)
	}
}

func TestVersionsInPathsAndHeaders(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		number int
		named  bool
	}{
		"/api/v1/health": {1, true}, "/api/v1": {1, true}, "/api/v12/": {12, true}, "/api/v9999/x": {9999, true},
		"/api/v0/x": {0, true}, "/api/v01/x": {0, true}, "/api/v10000/x": {0, true}, "/api/v18446744073709551617/x": {0, true},
		"/api/versions": {0, false}, "/api/v/x": {0, false}, "/api/v1x/y": {0, false}, "/api/V1/x": {0, false}, "/": {0, false}, "": {0, false},
	} {
		if number, named := lifecycle.InPath(path); number != want.number || named != want.named {
			t.Errorf("%q: got %d, %v, want %d, %v", path, number, named, want.number, want.named)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9999).Draw(t, "n")
		for _, text := range []string{strconv.Itoa(n), "v" + strconv.Itoa(n)} {
			if got, ok := lifecycle.ParseAccept(text); !ok || got != n {
				t.Fatalf("Accept-Version %q: got %d, %v", text, got, ok)
			}
		}
	})
}

func TestMonthsAreCalendarMonths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   string
		months int
		want   string
	}{
		{"2026-11-21", 6, "2027-05-21"},
		{"2026-08-31", 6, "2027-02-28"},
		{"2027-08-31", 6, "2028-02-29"},
		{"2026-01-31", 3, "2026-04-30"},
		{"2026-11-30", 3, "2027-02-28"},
		{"2026-03-31", -1, "2026-02-28"},
		{"2026-12-31", 12, "2027-12-31"},
	} {
		if got := lifecycle.AddMonths(date(c.from), c.months); !got.Equal(date(c.want)) {
			t.Errorf("%s and %d months: got %s, want %s", c.from, c.months, got.Format(time.DateOnly), c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "from"), 0).UTC()
		months := rapid.IntRange(0, 60).Draw(t, "months")
		got := lifecycle.AddMonths(from, months)
		if want := (int(from.Month())-1+months)%12 + 1; int(got.Month()) != want || got.Day() > from.Day() {
			t.Fatalf("%s and %d months is %s", from, months, got)
		}
	})
}

func FuzzInPath(f *testing.F) {
	f.Add("/api/v1/health")
	f.Add("/api/versions")
	f.Fuzz(func(t *testing.T, path string) {
		if number, named := lifecycle.InPath(path); number < 0 || number > 9999 || number > 0 && !named {
			t.Errorf("%q: got %d, %v", path, number, named)
		}
	})
}
