package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/lifecycle"
)

// fleet is two processes on one store, with a calendar.
type fleet struct {
	t         *testing.T
	store     *cupboard
	processes []*lifecycle.Service
	now       time.Time
}

func newFleet(t *testing.T, start string) *fleet {
	f := &fleet{t: t, store: &cupboard{}, now: date(start)}
	for range 2 {
		f.processes = append(f.processes, newService(t, f.store, func() time.Time { return f.now }, false))
	}
	return f
}

// run moves the calendar day by day, with requests of some API keys to version 1 and one to version 2 each day.
func (f *fleet) run(until string, keys int) {
	f.t.Helper()
	for ; !f.now.After(date(until)); f.now = f.now.AddDate(0, 0, 1) {
		at := f.now.Add(-time.Hour)
		f.store.uses = append(f.store.uses, lifecycle.Use{At: at, KeyID: "key_new", Version: 2, Route: "/api/v2/search", Requests: 1_000_000})
		for k := range keys {
			f.store.uses = append(f.store.uses, lifecycle.Use{At: at, KeyID: fmt.Sprint("key_", k), Version: 1, Route: "/api/v1/search", Requests: 5})
		}
		f.advance()
	}
	f.now = f.now.AddDate(0, 0, -1)
}

func (f *fleet) advance() {
	f.t.Helper()
	for _, s := range f.processes {
		if err := s.Advance(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// wants compares what is known of version 1 in each process.
func (f *fleet) wants(state lifecycle.State, sunset string) {
	f.t.Helper()
	for i, s := range f.processes {
		v := s.Registry.Snapshot().Version(1)
		if v.At(f.now) != state || !v.SunsetAt.Equal(date(sunset)) {
			f.t.Errorf("%s: in process %d it is %s until %s, want %s until %s", f.now, i, v.At(f.now), v.SunsetAt, state, sunset)
		}
	}
}

// happened lists the events and the actions in the audit logs.
func (f *fleet) happened() (events, actions []string) {
	for _, e := range f.store.events {
		text := e.At.Format(time.DateOnly) + " " + string(e.Type)
		if e.WorkspaceID != "" {
			text += fmt.Sprint(" ", e.WorkspaceID, " ", e.Data["daysLeft"])
		}
		events = append(events, text)
	}
	for _, s := range f.processes {
		for _, e := range s.Audit.(*audittest.Recorder).Entries() {
			actions = append(actions, string(e.Action))
		}
	}
	slices.Sort(actions)
	return events, actions
}

func TestTwoProcessesEndAVersionOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "2026-08-31")
	if _, err := f.processes[0].Release(t.Context(), &auth.Principal{Kind: auth.Local}, lifecycle.Release{Number: 2}); err != nil {
		t.Fatal(err)
	}
	f.store.callers = []lifecycle.Caller{
		{Version: 1, WorkspaceID: "wsp_b", CallerID: "usr_b", LastAt: date("2027-03-01")},
		{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_01kakakakafkhvayayayayayay", LastAt: date("2027-05-20")},
		{Version: 2, WorkspaceID: "wsp_c", CallerID: "usr_c", LastAt: date("2027-05-20")},
	}
	f.run("2027-01-28", 5) // the check is due the day after
	f.wants(lifecycle.Deprecated, "2027-02-28")
	f.run("2027-04-10", 5)
	f.wants(lifecycle.Deprecated, "2027-05-28")
	f.run("2027-05-27", 0) // the check of the new date
	f.wants(lifecycle.Deprecated, "2027-05-28")
	f.run("2027-05-28", 0)
	f.wants(lifecycle.Sunset, "2027-05-28")
	f.now = date("2028-06-01")
	f.advance()
	f.wants(lifecycle.Retired, "2027-05-28")

	events, actions := f.happened()
	wantEvents := []string{
		"2026-08-31 version.deprecated",
		"2026-11-30 version.deprecated wsp_a 90", "2026-11-30 version.deprecated wsp_b 90",
		"2027-01-29 version.sunset_extended",
		"2027-02-27 version.deprecated wsp_a 90", "2027-02-27 version.deprecated wsp_b 90",
		"2027-04-28 version.deprecated wsp_a 30",
		"2027-05-14 version.deprecated wsp_a 14", "2027-05-21 version.deprecated wsp_a 7",
		"2027-05-27 version.deprecated wsp_a 1",
		"2027-05-28 version.sunset", "2028-06-01 version.retired",
	}
	if diff := cmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantActions := []string{
		"version.deprecated", "version.released", "version.retired", "version.sunset", "version.traffic_checked", "version.traffic_checked",
	}
	if diff := cmp.Diff(wantActions, actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	first := f.store.checks[0]
	if len(f.store.checks) != 2 || first.Verdict != lifecycle.Extended || f.store.checks[1].Verdict != lifecycle.Kept {
		t.Errorf("the checks are %+v", f.store.checks)
	}
	if first.Traffic.Keys != 5 || first.Traffic.ActiveKeys != 6 || first.Traffic.Requests != 14*5*5 || first.Traffic.Days != 14 {
		t.Errorf("the traffic of the first check is %+v", first.Traffic)
	}
	data := f.store.events[1].Data
	if diff := cmp.Diff([]string{"key_01kakakakafkhvayayayayayay"}, data["keyIds"]); diff != "" || data["replacementVersion"] != "2" {
		t.Errorf("the notice says %v", data)
	}
}

func TestAMissedCheckRunsBeforeTheSunset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys   int
		back   string
		want   string
		checks []lifecycle.Verdict
	}{
		"NoTraffic": {0, "2027-03-10", "2027-04-09", []lifecycle.Verdict{lifecycle.Postponed, lifecycle.Kept}},
		"Traffic":   {5, "2027-03-10", "2027-05-28", []lifecycle.Verdict{lifecycle.Extended}},
		// Three months after the date would be less than thirty days ahead; then the next check is due at once.
		"TrafficLongAgo": {5, "2027-05-15", "2027-09-14", []lifecycle.Verdict{lifecycle.Extended, lifecycle.Extended}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "2026-08-31")
			if _, err := f.processes[0].Release(t.Context(), &auth.Principal{Kind: auth.Local}, lifecycle.Release{Number: 2}); err != nil {
				t.Fatal(err)
			}
			f.run("2027-01-20", c.keys)
			f.now = date(c.back) // the service did not run until then
			f.advance()
			f.wants(lifecycle.Deprecated, c.want)
			var verdicts []lifecycle.Verdict
			for _, check := range f.store.checks {
				verdicts = append(verdicts, check.Verdict)
			}
			if diff := cmp.Diff(c.checks, verdicts); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			f.now = date(c.want).Add(-time.Second)
			f.wants(lifecycle.Deprecated, c.want)
			for _, e := range f.store.events {
				if e.Type == event.VersionSunset {
					t.Errorf("it was sunset at %s", e.At)
				}
			}
		})
	}
}

// Requests of monitoring, of operators and without a credential say nothing about clients that must migrate.
func TestOnlyClientsCountAsTraffic(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "2026-08-31")
	if _, err := f.processes[0].Release(t.Context(), &auth.Principal{Kind: auth.Local}, lifecycle.Release{Number: 2}); err != nil {
		t.Fatal(err)
	}
	f.now = date("2027-01-29").Add(time.Minute)
	add := func(key string, version int, route string, requests int64, days ...int) {
		for _, day := range days {
			f.store.uses = append(f.store.uses, lifecycle.Use{
				At: f.now.AddDate(0, 0, -day), KeyID: key, Version: version, Route: route, Requests: requests,
			})
		}
	}
	add("key_monitoring", 1, "/api/v1/health", 1000, 1, 2, 3, 4)
	add("key_operator", 1, "/api/v1/admin/versions", 1000, 1, 2, 3, 4)
	add("key_operator", 1, "/api/v1/admin/versions/{n}/usage", 1000, 1, 2, 3, 4)
	add("key_health", 2, "/api/v2/health", 1000, 1)
	add("key_regular", 1, "/api/v1/healthcare", 4, 1, 2, 13)
	add("key_twice", 1, "/api/v1/search", 100, 1, 2)
	add("key_seldom", 1, "/api/v1/search", 3, 1, 2, 3)
	add("", 1, "/api/v1/profile", 7, 5)
	add("key_new", 2, "/api/v2/search", 1_000_000, 1, 2)
	add("key_old", 1, "/api/v1/search", 1000, 14, 15, 16) // before the window
	add("key_lost", 1, "", 1000, 1, 2, 3)
	f.advance()
	want := lifecycle.Traffic{From: date("2027-01-16"), Days: 14, Requests: 12 + 200 + 9 + 7, AllRequests: 12 + 200 + 9 + 7 + 2_000_000, Keys: 1, ActiveKeys: 4}
	if len(f.store.checks) != 1 {
		t.Fatalf("the checks are %+v", f.store.checks)
	}
	if diff := cmp.Diff(want, f.store.checks[0].Traffic); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
