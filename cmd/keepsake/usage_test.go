package main

import (
	"bytes"
	"testing"

	"keepsake/client"
)

func points(requests ...int64) (list []client.SeriesPoint) {
	for _, n := range requests {
		list = append(list, client.SeriesPoint{Sums: client.Sums{Requests: n}})
	}
	return list
}

func TestSparklineShowsRequestsOverTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		requests []int64
		width    int
		want     string
	}{
		{nil, 10, ""},
		{[]int64{0, 0}, 10, ""},
		{[]int64{1}, 10, "█"},
		{[]int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 10, " ▁▂▃▄▅▆▇█"},
		{[]int64{1_000_000, 1, 0, 500_000, 0}, 10, "█▁ ▄"},
		{[]int64{1, 1, 4, 4, 8, 8, 0}, 4, "▁▄█"},
	} {
		if got := sparkline(points(c.requests...), c.width); got != c.want {
			t.Errorf("%v in %d: got %q, want %q", c.requests, c.width, got, c.want)
		}
	}
}

func TestUsageIsPrintedAsATable(t *testing.T) {
	t.Parallel()
	route, p50, p99, limit := "/api/v1/search", 1.25, 20.0, int64(5000)
	group := client.UsageGroup{Route: &route}
	var out bytes.Buffer
	st := &stage{out: &out}
	st.printUsageReport(&usageReport{
		Summary: &client.UsageSummary{Sums: client.Sums{Requests: 3, Errors: 1, P50Ms: &p50, P99Ms: &p99}, ActiveKeys: 1},
		Quotas:  &client.QuotaUsage{Daily: client.QuotaUse{Limit: &limit, Used: 7}, Monthly: client.QuotaUse{Used: 9}},
		Top:     []client.RankedUsage{{Group: group, Requests: 3, Errors: 1, P99Ms: &p99}},
		Series:  &client.UsageSeries{Interval: "hour", Series: []client.GroupSeries{{Group: group, Points: points(1, 0, 2)}}},
	})
	const want = `0001-01-01 00:00 UTC to 0001-01-01 00:00 UTC, by hour
3 requests by 1 key: 1 error, 0 requests over a limit
Half of them took at most 1.2 ms, 99 % of them at most 20.0 ms.
Quotas: 7 of 5000 used today, 9 used this month

route           requests  errors  over limit  p99 ms  over time
/api/v1/search         3       1           0  20.0    ▄ █
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUsageNamesKeys(t *testing.T) {
	t.Parallel()
	group := func(id string) client.UsageGroup { return client.UsageGroup{Key: &id} }
	r := &usageReport{
		Top:    []client.RankedUsage{{Group: group("key_a")}, {Group: group("key_b")}},
		Series: &client.UsageSeries{Series: []client.GroupSeries{{Group: group("key_a")}}},
	}
	r.nameKeys(map[string]string{"key_a": "website"})
	if a, b, series := *r.Top[0].Group.Key, *r.Top[1].Group.Key, *r.Series.Series[0].Group.Key; a != "website" || b != "key_b" || series != "website" {
		t.Errorf("got %s, %s, %s", a, b, series)
	}
}
