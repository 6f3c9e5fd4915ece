package analytics

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/usage"
)

// cell is a cell of some requests that each took some milliseconds.
func cell(start time.Time, keyID, route string, status int, requests, ms int64) usage.Cell {
	c := usage.Cell{
		Start: start, WorkspaceID: "wsp_a", KeyID: keyID, Route: route, Method: "GET", Status: status, Version: 1, Surface: "primary",
		Requests: requests, Charged: requests, BytesIn: 10 * requests, BytesOut: 100 * requests,
	}
	for range requests {
		c.Latency.Add(time.Duration(ms) * time.Millisecond)
	}
	return c
}

func cellsOf(list []usage.Cell) Cells {
	return func(fn func(c *usage.Cell) error) error {
		for i := range list {
			if err := fn(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func parse(t *testing.T, p Params) *Query {
	t.Helper()
	q, err := Parse(p, now)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

var (
	one  = now.Truncate(time.Minute).Add(-3 * time.Minute)
	some = []usage.Cell{
		cell(one, "key_a", "/search", 200, 90, 10),
		cell(one, "key_a", "/search", 404, 5, 20),
		cell(one.Add(time.Minute), "key_a", "/search", 429, 3, 1),
		cell(one.Add(time.Minute), "key_b", "/search", 500, 2, 1000),
		cell(one.Add(2*time.Minute), "key_b", "/documents", 201, 50, 30),
		cell(one.Add(2*time.Minute), "", "", 404, 1, 1),
		{Start: one, KeyID: "key_c", Charged: 7}, // a charge without requests
	}
)

func TestSummaryAddsUpThePeriod(t *testing.T) {
	t.Parallel()
	s, err := parse(t, Params{Window: "1h"}).Summarize(cellsOf(some))
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{s.Requests, s.Errors, s.Throttled, s.BytesIn, s.BytesOut, int64(s.ActiveKeys)}
	if diff := cmp.Diff([]int64{151, 8, 3, 1510, 15100, 2}, got); diff != "" {
		t.Error(diff)
	}
	for fraction, want := range map[float64]time.Duration{0.5: 10 * time.Millisecond, 0.9: 30 * time.Millisecond, 0.99: time.Second} {
		d, ok := s.Percentile(fraction)
		if !ok || d < want*98/100 || d > want*102/100 {
			t.Errorf("the percentile %v is %v, want about %v", fraction, d, want)
		}
	}
}

func TestNoRequestsHaveNoPercentiles(t *testing.T) {
	t.Parallel()
	s, err := parse(t, Params{}).Summarize(cellsOf(nil))
	if _, ok := s.Percentile(0.5); ok || err != nil || s.Requests != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestTopRanksGroupsByRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		groupBy string
		filters []string
		limit   int
		want    []string
	}{
		{"route", nil, 10, []string{"/search 100", "/documents 50", "none 1"}},
		{"route", nil, 2, []string{"/search 100", "/documents 50"}},
		{"key", nil, 10, []string{"key_a 98", "key_b 52", "none 1"}},
		{"status", nil, 10, []string{"200 90", "201 50", "404 6", "429 3", "500 2"}},
		{"statusClass", nil, 10, []string{"2xx 140", "4xx 9", "5xx 2"}},
		{"key,route", nil, 2, []string{"key_a /search 98", "key_b /documents 50"}},
		{"version", nil, 10, []string{"1 151"}},
		{"method", []string{"key:key_b"}, 10, []string{"GET 52"}},
		{"surface", []string{"key:key_of_another_workspace"}, 10, nil},
	} {
		q := parse(t, Params{Window: "1h", GroupBy: []string{c.groupBy}, Filters: c.filters})
		list, err := q.Top(cellsOf(some), c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			text := r.Group[0]
			if r.Group[1] != "" {
				text += " " + r.Group[1]
			}
			got = append(got, fmt.Sprint(text, " ", r.Requests))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %v: %s", c.groupBy, c.filters, diff)
		}
	}
}

func TestSeriesHaveAPointForEachInterval(t *testing.T) {
	t.Parallel()
	q := parse(t, Params{From: &one})
	list, err := q.Series(cellsOf(some), 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	var got []string
	for _, p := range list[0].Points {
		got = append(got, fmt.Sprintf("%s %d %d %d %v", p.Start.Format("15:04"), p.Requests, p.Errors, p.Throttled, p.Complete))
	}
	if diff := cmp.Diff([]string{"14:10 95 5 0 true", "14:11 5 2 3 true", "14:12 51 1 0 true", "14:13 0 0 0 false"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSeriesAreOfTheLargestGroups(t *testing.T) {
	t.Parallel()
	q := parse(t, Params{From: &one, GroupBy: []string{"key"}})
	list, err := q.Series(cellsOf(some), 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int64{}
	for _, s := range list {
		for _, p := range s.Points {
			got[s.Group[0]] = append(got[s.Group[0]], p.Requests)
		}
	}
	if diff := cmp.Diff(map[string][]int64{"key_a": {95, 3, 0, 0}, "key_b": {0, 2, 50, 0}}, got); diff != "" {
		t.Error(diff)
	}
	if list, err := q.Series(cellsOf(nil), 2); err != nil || len(list) != 0 {
		t.Errorf("without requests: got %v, %v", list, err)
	}
}

func TestTooManyPointsAreRefused(t *testing.T) {
	t.Parallel()
	var many []usage.Cell
	for i := range 100 {
		many = append(many, cell(one, fmt.Sprint("key_", i), "/search", 200, 1, 1))
	}
	q := parse(t, Params{Window: "24h", Interval: "minute", GroupBy: []string{"key"}})
	if list, err := q.Series(cellsOf(many), 30); err != nil || len(list) != 30 {
		t.Errorf("30 series: got %d, %v", len(list), err)
	}
	_, err := q.Series(cellsOf(many), 100)
	if p, ok := problem.As(err); !ok || p.Details.Field != "limit" || p.Details.Issue != problem.TooLargeVal {
		t.Errorf("100 series: got %v", err)
	}
}

// TestSeriesAndSummaryAgree compares all questions about random cells with sums over the same cells.
func TestSeriesAndSummaryAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(14, 6))
	for range 50 {
		var cells []usage.Cell
		var total int64
		for range random.IntN(200) {
			start := now.Truncate(time.Minute).Add(-time.Duration(random.IntN(60)) * time.Minute)
			c := cell(start, fmt.Sprint("key_", random.IntN(5)), fmt.Sprint("/", random.IntN(5)), 200+100*random.IntN(4), int64(random.IntN(5)), 1)
			cells, total = append(cells, c), total+c.Requests
		}
		for _, interval := range []string{"minute", "hour", "day"} {
			q := parse(t, Params{Window: "1h", Interval: interval, GroupBy: []string{"route,status"}})
			summary, err := q.Summarize(cellsOf(cells))
			if err != nil {
				t.Fatal(err)
			}
			var inSeries, inTop, measured int64
			series, err := q.Series(cellsOf(cells), 200)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range series {
				for _, p := range s.Points {
					inSeries, measured = inSeries+p.Requests, measured+p.Latency.Count()
				}
			}
			top, err := q.Top(cellsOf(cells), 200)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range top {
				inTop += r.Requests
			}
			if summary.Requests != total || inSeries != total || inTop != total || measured != total {
				t.Fatalf("by %s: %d in the summary, %d in series, %d in the ranking, %d measured, want %d", interval, summary.Requests, inSeries, inTop, measured, total)
			}
		}
	}
}

func TestManyGroupsAreCountedInBoundedMemory(t *testing.T) {
	t.Parallel()
	counts := map[Group]int64{}
	for i := range 1000 {
		counts[Group{fmt.Sprint(i)}] = int64(i % 10)
	}
	forgetSmallest(counts)
	if len(counts) > 500 {
		t.Errorf("%d of 1000 groups are left", len(counts))
	}
	for g, n := range counts {
		if n < 5 {
			t.Errorf("the small group %v is left", g)
		}
	}
}

func TestLargestOfManyGroupsAreExact(t *testing.T) {
	t.Parallel()
	var many []usage.Cell
	for i := range 3 * maxRanked {
		many = append(many, cell(one, fmt.Sprint("key_", i), "/search", 200, int64(1+i%5), 1), cell(one.Add(time.Minute), fmt.Sprint("key_", i), "/search", 404, 1, 1))
	}
	many = append(many, cell(one, "key_7", "/search", 200, 100, 1), cell(one, "key_3", "/search", 200, 50, 1))
	q := parse(t, Params{Window: "1h", GroupBy: []string{"key"}})
	top, err := q.Top(cellsOf(many), 3)
	if err != nil {
		t.Fatal(err)
	}
	series, err := q.Series(cellsOf(many), 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		key      string
		requests int64
	}{{"key_7", 104}, {"key_3", 55}, {"key_1004", 6}} {
		var inSeries int64
		for _, p := range series[i].Points {
			inSeries += p.Requests
		}
		if top[i].Group[0] != want.key || top[i].Requests != want.requests || top[i].Latency.Count() != want.requests || series[i].Group[0] != want.key || inSeries != want.requests {
			t.Errorf("place %d: %s with %d, and a series of %s with %d; want %s with %d", i, top[i].Group[0], top[i].Requests, series[i].Group[0], inSeries, want.key, want.requests)
		}
	}
}

func TestSeriesWithTooManyDurationsAreRefused(t *testing.T) {
	t.Parallel()
	var all, point usage.Histogram
	for d := time.Microsecond; d < time.Hour; d += d/100 + 1 {
		all.Add(d)
	}
	point.Merge(&all)
	minutes, routes := 60, maxDurations/point.Size()/60+1
	var cells []usage.Cell
	for i := range routes * minutes {
		cells = append(cells, usage.Cell{
			Start: one.Add(-time.Duration(i%minutes) * time.Minute), Route: fmt.Sprint("/", i/minutes), Status: 200, Requests: 1, Latency: all,
		})
	}
	q := parse(t, Params{From: new(one.Add(-time.Hour)), Interval: "minute", GroupBy: []string{"route"}})
	if list, err := q.Series(cellsOf(cells), routes/2); err != nil || len(list) != routes/2 {
		t.Errorf("half of the series: %d, %v", len(list), err)
	}
	_, err := q.Series(cellsOf(cells), routes)
	var p *problem.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Error(), "limit") {
		t.Errorf("all series: %v", err)
	}
}

func TestVersionsCountTheirKeys(t *testing.T) {
	t.Parallel()
	old := cell(one, "key_a", "/search", 200, 4, 1)
	old.Version = 2
	none := cell(one, "key_a", "", 404, 4, 1)
	none.Version = 0
	got, err := parse(t, Params{Window: "1h"}).Versions(cellsOf(append(slices.Clone(some), old, none)))
	if err != nil {
		t.Fatal(err)
	}
	want := []VersionUse{{1, 151, 2, one.Add(2 * time.Minute)}, {2, 4, 1, one}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChargesAreThoseOfKeys(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	got, err := charges(cellsOf(append(slices.Clone(some), cell(today.Add(-time.Minute), "key_a", "/search", 200, 1000, 1))), today)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]KeyCharge{"key_a": {"key_a", 98, 1098}, "key_b": {"key_b", 52, 52}, "key_c": {"key_c", 7, 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorOfTheStoreIsReturned(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cells := func(func(c *usage.Cell) error) error { return broken }
	q := parse(t, Params{GroupBy: []string{"key"}})
	_, inSummary := q.Summarize(cells)
	_, inTop := q.Top(cells, 1)
	_, inSeries := q.Series(cells, 1)
	_, inVersions := q.Versions(cells)
	for i, err := range []error{inSummary, inTop, inSeries, inVersions} {
		if !errors.Is(err, broken) {
			t.Errorf("question %d: got %v", i, err)
		}
	}
}
