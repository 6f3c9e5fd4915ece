package analytics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
)

// now is a Saturday afternoon.
var now = time.Date(2026, 11, 21, 14, 13, 5, 0, time.UTC)

func at(text string) *time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &t
}

func TestPeriodsAreAlignedWithIntervals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params   Params
		interval Interval
		from, to string
		buckets  int64
		complete bool
	}{
		"nothing":            {Params{}, Hour, "2026-11-20T14:00:00Z", "2026-11-21T14:13:05Z", 25, false},
		"an hour":            {Params{Window: "1h"}, Minute, "2026-11-21T13:13:00Z", "2026-11-21T14:13:05Z", 61, false},
		"a day":              {Params{Window: "24h", Interval: "auto"}, Hour, "2026-11-20T14:00:00Z", "2026-11-21T14:13:05Z", 25, false},
		"a day by minute":    {Params{Window: "24h", Interval: "minute"}, Minute, "2026-11-20T14:13:00Z", "2026-11-21T14:13:05Z", 1441, false},
		"a week":             {Params{Window: "7d"}, Hour, "2026-11-14T14:00:00Z", "2026-11-21T14:13:05Z", 169, false},
		"thirty days":        {Params{Window: "30d"}, Day, "2026-10-22T00:00:00Z", "2026-11-21T14:13:05Z", 31, false},
		"full hours":         {Params{From: at("2026-11-21T10:00:00Z"), To: at("2026-11-21T12:00:00Z")}, Minute, "2026-11-21T10:00:00Z", "2026-11-21T12:00:00Z", 120, true},
		"an offset":          {Params{From: at("2026-11-21T11:00:00+01:00"), To: at("2026-11-21T12:00:00Z"), Interval: "hour"}, Hour, "2026-11-21T10:00:00Z", "2026-11-21T12:00:00Z", 2, true},
		"parts of hours":     {Params{From: at("2026-11-21T10:15:00Z"), To: at("2026-11-21T11:45:00Z"), Interval: "hour"}, Hour, "2026-11-21T10:00:00Z", "2026-11-21T12:00:00Z", 2, true},
		"minutes long gone":  {Params{From: at("2026-11-01T10:15:00Z"), To: at("2026-11-01T10:45:00Z")}, Hour, "2026-11-01T10:00:00Z", "2026-11-01T11:00:00Z", 1, true},
		"hours long gone":    {Params{From: at("2026-06-01T10:15:00Z"), To: at("2026-06-01T10:45:00Z")}, Day, "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", 1, true},
		"the future":         {Params{From: at("2026-11-21T14:00:00Z"), To: at("2026-11-21T20:00:00Z")}, Minute, "2026-11-21T14:00:00Z", "2026-11-21T20:00:00Z", 360, false},
		"before 1970":        {Params{From: at("1969-12-31T23:59:59Z"), To: at("1970-01-01T00:00:01Z")}, Day, "1969-12-31T00:00:00Z", "1970-01-02T00:00:00Z", 2, true},
		"only from":          {Params{From: at("2026-11-21T14:10:00Z")}, Minute, "2026-11-21T14:10:00Z", "2026-11-21T14:13:05Z", 4, false},
		"only to":            {Params{To: at("2026-11-21T00:00:00Z")}, Hour, "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", 24, true},
		"just ended":         {Params{From: at("2026-11-21T14:12:00Z"), To: at("2026-11-21T14:13:00Z")}, Minute, "2026-11-21T14:12:00Z", "2026-11-21T14:13:00Z", 1, true},
		"two years by day":   {Params{From: at("2024-11-21T00:00:00Z"), Interval: "day"}, Day, "2024-11-21T00:00:00Z", "2026-11-21T14:13:05Z", 731, false},
		"a moment of a day":  {Params{From: at("2026-11-21T14:13:04.999Z"), Interval: "day"}, Day, "2026-11-21T00:00:00Z", "2026-11-21T14:13:05Z", 1, false},
		"a fraction at last": {Params{From: at("2026-11-21T14:12:00Z"), To: at("2026-11-21T14:13:00.001Z")}, Minute, "2026-11-21T14:12:00Z", "2026-11-21T14:13:00.001Z", 2, false},
	} {
		q, err := Parse(c.params, now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if q.Interval != c.interval || !q.From.Equal(*at(c.from)) || !q.To.Equal(*at(c.to)) || q.buckets() != c.buckets || q.Complete() != c.complete {
			t.Errorf("%s: got %s from %s to %s, %d buckets, complete %v", name, q.Interval, q.From, q.To, q.buckets(), q.Complete())
		}
	}
}

func TestIntervalIsCompleteAfterTheLastFlush(t *testing.T) {
	t.Parallel()
	q := &Query{Now: now}
	for end, want := range map[time.Time]bool{now: false, now.Add(-1999 * time.Millisecond): false, now.Add(-2 * time.Second): true} {
		if got := q.complete(end); got != want {
			t.Errorf("an interval that ends at %s: got %v", end, got)
		}
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, maxFilters+1)
	for i := range many {
		many[i] = "method:GET"
	}
	for name, c := range map[string]struct {
		params Params
		field  string
		issue  problem.Issue
	}{
		"reversed":             {Params{From: at("2026-11-21T12:00:00Z"), To: at("2026-11-21T11:00:00Z")}, "to", problem.InvalidVal},
		"empty":                {Params{From: at("2026-11-21T12:00:00Z"), To: at("2026-11-21T12:00:00Z")}, "to", problem.InvalidVal},
		"from the future":      {Params{From: at("2026-11-21T15:00:00Z")}, "from", problem.InvalidVal},
		"two periods":          {Params{Window: "1h", From: at("2026-11-21T12:00:00Z")}, "window", problem.Conflicting},
		"a window":             {Params{Window: "2h"}, "window", problem.NotAllowed},
		"an interval":          {Params{Interval: "week"}, "interval", problem.NotAllowed},
		"a million minutes":    {Params{From: at("2025-01-01T00:00:00Z"), Interval: "minute"}, "interval", problem.TooSmall},
		"all of history":       {Params{From: at("0001-01-01T00:00:00Z"), To: at("9999-12-31T23:59:59Z")}, "from", problem.TooSmall},
		"minutes of last week": {Params{From: at("2026-11-14T10:00:00Z"), To: at("2026-11-14T11:00:00Z"), Interval: "minute"}, "interval", problem.TooSmall},
		"hours of last year":   {Params{From: at("2025-11-14T10:00:00Z"), To: at("2025-11-14T11:00:00Z"), Interval: "hour"}, "interval", problem.TooSmall},
		"a dimension":          {Params{GroupBy: []string{"country"}}, "groupBy", problem.NotAllowed},
		"no dimension":         {Params{GroupBy: []string{"key,"}}, "groupBy", problem.NotAllowed},
		"three dimensions":     {Params{GroupBy: []string{"key,route", "method"}}, "groupBy", problem.TooLong},
		"one twice":            {Params{GroupBy: []string{"key", "key"}}, "groupBy", problem.Duplicate},
		"a filter":             {Params{Filters: []string{"country:de"}}, "filter", problem.NotAllowed},
		"no value":             {Params{Filters: []string{"key:"}}, "filter", problem.Format},
		"no colon":             {Params{Filters: []string{"key"}}, "filter", problem.Format},
		"a status":             {Params{Filters: []string{"status:040"}}, "filter", problem.Format},
		"a high status":        {Params{Filters: []string{"status:999999999999999999999"}}, "filter", problem.Format},
		"a class":              {Params{Filters: []string{"statusClass:6xx"}}, "filter", problem.Format},
		"a method":             {Params{Filters: []string{"method:get"}}, "filter", problem.Format},
		"a version":            {Params{Filters: []string{"version:v1"}}, "filter", problem.Format},
		"a surface":            {Params{Filters: []string{"surface:web"}}, "filter", problem.Format},
		"a long key":           {Params{Filters: []string{"key:" + strings.Repeat("x", 1000)}}, "filter", problem.Format},
		"many filters":         {Params{Filters: many}, "filter", problem.TooLong},
	} {
		_, err := Parse(c.params, now)
		p, ok := problem.As(err)
		if !ok || p.Kind != problem.Invalid || p.Details.Field != c.field || p.Details.Issue != c.issue {
			t.Errorf("%s: got %v, want %s of %s", name, err, c.issue, c.field)
		}
	}
}

func TestUnknownDimensionSuggestsAName(t *testing.T) {
	t.Parallel()
	_, err := Parse(Params{GroupBy: []string{"StatusClas"}}, now)
	if err == nil || !strings.Contains(err.Error(), "Did you mean statusClass?") {
		t.Error(err)
	}
}

func TestGroupsAreNamedInOneOrTwoParameters(t *testing.T) {
	t.Parallel()
	for _, groupBy := range [][]string{{"route,statusClass"}, {"route", "statusClass"}} {
		q, err := Parse(Params{GroupBy: groupBy}, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Dimension{Route, StatusClass}, q.GroupBy); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFiltersMatch(t *testing.T) {
	t.Parallel()
	search := Traits{KeyID: "key_a", Route: "/api/v1/documents/{id}", Method: "GET", Status: 404, Version: 1, Surface: "primary"}
	unknown := Traits{Method: "other", Status: 404, Surface: "ai"}
	for _, c := range []struct {
		filters         []string
		search, unknown bool
	}{
		{nil, true, true},
		{[]string{"key:key_a"}, true, false},
		{[]string{"key:key_b"}, false, false},
		{[]string{"key:key_b", "key:key_a"}, true, false},
		{[]string{"key:none"}, false, true},
		{[]string{"route:/api/v1/documents/{id}"}, true, false},
		{[]string{"route:none"}, false, true},
		{[]string{"status:404"}, true, true},
		{[]string{"status:404", "method:GET"}, true, false},
		{[]string{"status:200", "method:GET"}, false, false},
		{[]string{"statusClass:4xx", "surface:ai"}, false, true},
		{[]string{"version:1"}, true, false},
		{[]string{"version:none", "version:2"}, false, true},
		{[]string{"key:none", "key:key_a"}, true, true},
		{[]string{"-surface:ai"}, true, false},
		{[]string{"-surface:console"}, true, true},
		{[]string{"-key:none", "-key:key_b"}, true, false},
		{[]string{"status:404", "-status:404"}, false, false},
	} {
		q, err := Parse(Params{Filters: c.filters}, now)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := q.Filter.Match(&search), q.Filter.Match(&unknown); a != c.search || b != c.unknown {
			t.Errorf("%v: got %v and %v", c.filters, a, b)
		}
	}
}

func TestFilterCanBeNarrowedToOneKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filters []string
		want    []string
		nothing bool
	}{
		{nil, []string{"key_a"}, false},
		{[]string{"key:key_a", "key:key_b"}, []string{"key_a"}, false},
		{[]string{"key:key_b", "status:200"}, []string{"key_a"}, true},
	} {
		q, err := Parse(Params{Filters: c.filters}, now)
		if err != nil {
			t.Fatal(err)
		}
		q.Filter.Only("key_a")
		if diff := cmp.Diff(c.want, q.Filter.Keys()); diff != "" || q.Filter.Nothing() != c.nothing {
			t.Errorf("%v: %s, nothing: %v", c.filters, diff, q.Filter.Nothing())
		}
		if q.Filter.Match(&Traits{KeyID: "key_b", Status: 200}) || q.Filter.Match(&Traits{}) {
			t.Errorf("%v: another key matches", c.filters)
		}
	}
}
