package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestTheTablesNameChecksThatExist keeps a check that is renamed from running beside others.
func TestTheTablesNameChecksThatExist(t *testing.T) {
	t.Parallel()
	times := map[string]int{}
	for _, j := range plan(sections(), "") {
		times[j.promise.name]++
	}
	for _, table := range []map[string]bool{lasting, early} {
		for name := range table {
			if times[name] != 1 {
				t.Errorf("%d checks are called %s, want one", times[name], name)
			}
		}
	}
	for name := range alone {
		if times[name] != 1 {
			t.Errorf("%d checks are called %s, want one", times[name], name)
		}
	}
}

// idle is a suite of a server that no check asks anything.
func idle(t *testing.T, target Target) *suite {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return newSuite(target, base)
}

func TestChecksRunBesideEachOtherAndAreReportedInOrder(t *testing.T) {
	t.Parallel()
	s := idle(t, Target{Parallel: 3})
	var now, most atomic.Int64
	together := make(chan struct{})
	beside := func(*check) {
		if n := now.Add(1); n == 3 {
			most.Store(n)
			close(together)
		}
		<-together
		now.Add(-1)
	}
	single := func(c *check) {
		if n := now.Load(); n != 0 {
			c.broken("%d checks run beside it", n)
		}
	}
	jobs := plan([]section{
		{"1", []promise{{"First", beside}, {"ATiersNumbersAreInForceWithinASecond", single}, {"Second", beside}}},
		{"2", []promise{{"Third", beside}}},
		{releases, []promise{{"Last", single}}},
	}, "")
	var got []string
	err := s.runAll(t.Context(), jobs, ReporterFunc(func(r Result) { got = append(got, fmt.Sprint(r.Name, r.Outcome, r.Found)) }))
	want := []string{"Firstpassed[]", "ATiersNumbersAreInForceWithinASecondpassed[]", "Secondpassed[]", "Thirdpassed[]", "Lastpassed[]"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if most.Load() != 3 {
		t.Error("three checks never ran at once")
	}
}

// TestACheckThatWaitsLetsOthersRun has one check run at a time: the second ends what the first waits for.
func TestACheckThatWaitsLetsOthersRun(t *testing.T) {
	t.Parallel()
	s := idle(t, Target{Parallel: 1})
	var second atomic.Bool
	report := &Report{}
	err := s.runAll(t.Context(), plan([]section{{"1", []promise{
		{"First", func(c *check) {
			for !second.Load() {
				c.wait(time.Millisecond)
			}
		}},
		{"Second", func(*check) { second.Store(true) }},
	}}}, ""), report)
	if err != nil || report.Passed != 2 {
		t.Errorf("%d checks passed, %v; want 2", report.Passed, err)
	}
}

func TestARunThatEndsReportsNoFurtherCheck(t *testing.T) {
	t.Parallel()
	s := idle(t, Target{Parallel: 1})
	ctx, stop := context.WithCancel(t.Context())
	report := &Report{}
	err := s.runAll(ctx, plan([]section{{"1", []promise{
		{"First", func(*check) { stop() }}, {"Second", func(*check) {}},
	}}}, ""), report)
	if err == nil || len(report.Results) != 1 {
		t.Errorf("%d results, %v; want one and an error", len(report.Results), err)
	}
}

// TestTimePassesForAloneChecksOnly shows that a jump of the clock is never seen by a check that runs beside others.
func TestTimePassesForAloneChecksOnly(t *testing.T) {
	t.Parallel()
	var moved time.Duration
	s := idle(t, Target{Parallel: 2, Advance: func(d time.Duration) { moved += d }})
	report := &Report{}
	err := s.runAll(t.Context(), plan([]section{{"1", []promise{
		{"EveryStateHasItsCode", func(c *check) { c.pass(1500 * time.Millisecond) }},
		{"Beside", func(c *check) { c.pass(time.Second) }},
	}}}, ""), report)
	if err != nil || report.Passed != 1 || report.Results[1].Outcome != Failed || moved != 2*time.Second || s.moved() != moved {
		t.Errorf("%+v, %v, moved %s; want the first to pass, and two whole seconds", report.Results, err, moved)
	}
}
