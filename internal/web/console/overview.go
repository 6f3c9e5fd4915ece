package console

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"keepsake/client"
)

// windows are the periods that pages about usage can show.
var windows = []choice{{"1h", "1 hour"}, {"24h", "24 hours"}, {"7d", "7 days"}, {"30d", "30 days"}}

// choice is a value of a form or a link, with its text.
type choice struct {
	Value, Text string
}

// window returns the period that the visitor has chosen.
func (v *visit) window() string {
	chosen := v.URL.Query().Get("window")
	if slices.ContainsFunc(windows, func(c choice) bool { return c.Value == chosen }) {
		return chosen
	}
	return "24h"
}

// overviewData is what the overview shows.
type overviewData struct {
	Window   string
	Summary  *client.UsageSummary
	Requests chart
	Latency  chart
	Quotas   []quota
	Routes   []client.RankedUsage
	Errors   []client.ErrorCount
	Steps    []step // to begin with
}

func overview(v *visit) response {
	data, err := readOverview(v)
	if err != nil {
		return v.fail(err)
	}
	if v.isFragment() {
		return show(overviewNumbers(data))
	}
	if data.Steps, err = v.checklist(); err != nil {
		return v.fail(err)
	}
	return show(overviewPage(data))
}

func readOverview(v *visit) (*overviewData, error) {
	data := &overviewData{Window: v.window()}
	api, ctx := v.api(), v.Context()
	var err error
	if data.Summary, err = api.UsageSummary(ctx, client.UsageQuery{Window: data.Window, Filter: v.counted()}); err != nil {
		return nil, err
	}
	series, err := api.UsageSeries(ctx, client.UsageQuery{Window: data.Window, Filter: v.counted()})
	if err != nil {
		return nil, err
	}
	data.Requests, data.Latency = requestsChart(series), latencyChart(series)
	used, err := api.QuotaUsage(ctx, "")
	if err != nil {
		return nil, err
	}
	data.Quotas = quotas(used, v.At())
	if data.Routes, err = api.TopUsage(ctx, client.UsageQuery{Window: data.Window, GroupBy: []string{"method", "route"}, Filter: v.counted(), Limit: 50}); err != nil {
		return nil, err
	}
	data.Routes = mostUsed(data.Routes, v.countsConsole())
	if data.Errors, err = api.ErrorCounts(ctx, client.UsageQuery{Window: data.Window, Filter: v.counted(errorFilter...), Limit: 6}); err != nil {
		return nil, err
	}
	return data, nil
}

// watching matches the operations that read usage or the state of the server, as the command line does.
var watching = regexp.MustCompile(`^GET (/local/.*|/api/v\d+/(analytics/.*|admin/cache-stats))$`)

// mostUsed returns the first six of the ranked operations. Those that only watch the server are among them if all is wanted.
func mostUsed(ranked []client.RankedUsage, all bool) []client.RankedUsage {
	if !all {
		ranked = slices.DeleteFunc(ranked, func(r client.RankedUsage) bool { return watching.MatchString(operation(r.Group)) })
	}
	return ranked[:min(len(ranked), 6)]
}

// can reports whether the visitor has a scope. It only decides which links are shown: the API decides what is allowed.
func (v *visit) can(scope string) bool { return v.user != nil && slices.Contains(v.user.Scopes, scope) }

// operates reports whether the visitor is an admin of the workspace that operates the instance. Like can, it only decides which
// links are shown.
func (v *visit) operates() bool {
	return v.can("admin") && v.c.o.Operator != nil && v.c.o.Operator() == v.user.Workspace.ID
}

// releases reports whether the visitor can end a version by releasing the next one.
func (v *visit) releases(version string) bool {
	number, err := strconv.Atoi(version)
	return err == nil && number < v.c.o.Newest && v.operates()
}

// requestsChart shows how many requests succeeded, failed and were throttled.
func requestsChart(s *client.UsageSeries) chart {
	c := chart{
		Label: "Requests over time", Names: []string{"Successful", "Errors", "Throttled"}, Classes: []string{"part-good", "part-bad", "part-warn"},
		Step: stepOf(s.Interval),
	}
	for _, group := range s.Series {
		for _, p := range group.Points {
			good := p.Requests - p.Errors - p.Throttled
			c.Columns = append(c.Columns, column{At: p.T, Values: []float64{float64(good), float64(p.Errors), float64(p.Throttled)}, Partial: !p.Complete})
		}
	}
	return c
}

// latencyChart shows percentiles of how long requests took.
func latencyChart(s *client.UsageSeries) chart {
	c := chart{
		Label: "Latency over time", Unit: "ms", Lines: true, Names: []string{"p50", "p90", "p99"},
		Classes: []string{"line-low", "line-mid", "line-high"}, Step: stepOf(s.Interval),
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	for _, group := range s.Series {
		for _, p := range group.Points {
			c.Columns = append(c.Columns, column{At: p.T, Values: []float64{known(p.P50Ms), known(p.P90Ms), known(p.P99Ms)}, Partial: !p.Complete})
		}
	}
	return c
}

// quota is a quota with its use and its likely end.
type quota struct {
	Name     string
	Used     int64
	Limit    int64 // 0: no limit
	ResetsAt time.Time
	EmptyAt  time.Time // when it is used up if use goes on like this; zero: not before the reset
}

// quotas returns the quotas of the day and the month.
func quotas(u *client.QuotaUsage, now time.Time) []quota {
	day := u.Daily.ResetsAt.AddDate(0, 0, -1)
	month := u.Monthly.ResetsAt.AddDate(0, -1, 0)
	return []quota{quotaOf("Accepted today", u.Daily, day, now), quotaOf("Accepted this month", u.Monthly, month, now)}
}

func quotaOf(name string, u client.QuotaUse, since, now time.Time) quota {
	q := quota{Name: name, Used: u.Used, ResetsAt: u.ResetsAt}
	if u.Limit != nil {
		q.Limit = *u.Limit
		q.EmptyAt = emptyAt(u.Used, *u.Limit, since, u.ResetsAt, now)
	}
	return q
}

// emptyAt returns when a quota is used up if its use goes on like since its start; zero if that is not before its reset, or if
// too little is used to say.
func emptyAt(used, limit int64, since, resets, now time.Time) time.Time {
	passed := now.Sub(since)
	if limit <= 0 || passed <= 0 || used*50 < limit { // less than two percent
		return time.Time{}
	}
	if used >= limit {
		return now
	}
	at := since.Add(time.Duration(float64(passed) * float64(limit) / float64(used)))
	if !at.Before(resets) {
		return time.Time{}
	}
	return at
}

// share returns how much of the quota is used, in percent.
func (q quota) share() int {
	if q.Limit <= 0 {
		return 0
	}
	return int(min(100, (q.Used*100+q.Limit-1)/q.Limit))
}

// level is the class of a bar: how close a budget is to its end.
func level(share int) string {
	switch {
	case share >= 90:
		return "level-bad"
	case share >= 70:
		return "level-warn"
	default:
		return "level-good"
	}
}
