package v1

import (
	"context"
	"strconv"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAnalytics declares the operations of analytics.
func AddAnalytics(r *endpoint.Registry, s *analytics.Service, cursors *page.Sealer) {
	op := func(id, path, summary, description string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: "GET", Path: "/analytics/" + path, Since: 1, Tag: "analytics", Summary: summary, Description: description + " " + aboutAnalytics,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.AnalyticsRead, Status: 200,
			Errors: []string{problem.CodeNotFound}, // an operator's workspace that does not exist
		}
	}

	summary := op("getUsageSummary", "summary", "Get the usage of a period", "The operation accepts groupBy and limit, but they change nothing.")
	endpoint.Add(r, summary, func(ctx context.Context, in *usageQuery) (*usageSummary, error) { return in.summary(ctx, s) })

	series := op("getUsageSeries", "timeseries", "Get the usage over time",
		"Without groupBy, the response has one series of all requests. With groupBy, it has those with the most requests, at most limit. "+
			"A series has a point for each interval. A response has at most 50,000 points.")
	endpoint.Add(r, series, func(ctx context.Context, in *usageQuery) (*usageSeries, error) { return in.series(ctx, s) })

	top := op("getTopUsage", "top", "List the groups with the most requests", "The default of groupBy is route.")
	endpoint.Add(r, top, func(ctx context.Context, in *usageQuery) (*topUsage, error) { return in.top(ctx, s) })

	quotas := op("getQuotaUsage", "usage", "Get the use of the quotas",
		"The numbers are those of the counters that enforce the quotas, and include this request. Of the parameters, only workspace, filter=key:, "+
			"limit and format have an effect.")
	endpoint.Add(r, quotas, func(ctx context.Context, in *usageQuery) (*quotaUsage, error) { return in.quotas(ctx, s) })

	versions := op("getVersionUsage", "versions", "Get the usage of each version of the API", "The operation accepts groupBy and limit, but they change nothing.")
	endpoint.Add(r, versions, func(ctx context.Context, in *usageQuery) (*versionUsage, error) { return in.versions(ctx, s) })

	errors := op("listErrors", "errors", "List the most frequent errors",
		"The errors are responses with a status of 400 or more except 429, by route, status and code. They are kept for 90 days. "+
			"The operation accepts groupBy, but it changes nothing.")
	endpoint.Add(r, errors, func(ctx context.Context, in *usageQuery) (*errorList, error) { return in.errors(ctx, s) })

	requests := op("listRequests", "requests", "List single requests, newest first",
		"The log has at most 200 requests of each second and process, errors first, and keeps them for the number of days in the setting "+
			"analytics.requestLogDays. A page can have fewer items than limit although nextCursor is not null. As CSV, the cursor is in the "+
			"header X-Next-Cursor. The operation accepts groupBy and interval, but they change nothing.")
	endpoint.Add(r, requests, func(ctx context.Context, in *requestQuery) (*requestList, error) { return in.list(ctx, s, cursors) })
}

const aboutAnalytics = "With Accept: " + endpoint.MediaCSV + " or format=csv, the response is a table."

// analyticsQuery contains the parameters that all operations of analytics have in common.
type analyticsQuery struct {
	Accept    endpoint.Accept `header:"Accept"`
	Format    string          `query:"format" enum:"json,csv" doc:"The format of the response, whatever Accept says."`
	Workspace string          `query:"workspace" maxLength:"64" doc:"The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one."`
	Window    string          `query:"window" enum:"1h,24h,7d,30d" doc:"The period that ends now. The default is 24h."`
	From      *wire.Time      `query:"from" doc:"The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to."`
	To        *wire.Time      `query:"to" doc:"The end of the period, which is moved to the end of an interval that has ended. The default is now."`
	Interval  string          `query:"interval" enum:"minute,hour,day,auto" default:"auto" doc:"The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals."`
	GroupBy   []string        `query:"groupBy" maxItems:"2" doc:"Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface." example:"route"`
	Filter    []string        `query:"filter" maxItems:"50" doc:"A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route." example:"status:404"`
}

func (in *analyticsQuery) params() analytics.Params {
	return analytics.Params{
		Window: in.Window, From: in.From.Moment(), To: in.To.Moment(), Interval: in.Interval, GroupBy: in.GroupBy, Filters: in.Filter,
	}
}

// table reports whether the client asks for CSV.
func (in *analyticsQuery) table() bool {
	return in.Format == "csv" || in.Format == "" && in.Accept.CSV()
}

type usageQuery struct {
	analyticsQuery
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"200"`
}

// query returns the caller's question.
func (in *usageQuery) query(ctx context.Context, s *analytics.Service) (*analytics.Query, error) {
	return s.Query(auth.From(ctx), in.Workspace, in.params())
}

// sumsView are the numbers of some requests.
type sumsView struct {
	Requests  int64    `json:"requests" doc:"The number of requests, including refused ones."`
	Errors    int64    `json:"errors" doc:"The number of responses with a status of 400 or more, except 429."`
	Throttled int64    `json:"throttled" doc:"The number of responses with status 429."`
	P50Ms     *float64 `json:"p50Ms" doc:"The milliseconds that half of the requests did not exceed. They are null if there were no requests."`
	P90Ms     *float64 `json:"p90Ms" doc:"The milliseconds that nine tenths of the requests did not exceed. They are null if there were no requests."`
	P99Ms     *float64 `json:"p99Ms" doc:"The milliseconds that 99 of 100 requests did not exceed. They are null if there were no requests."`
	BytesIn   int64    `json:"bytesIn" doc:"The number of bytes in the bodies of the requests."`
	BytesOut  int64    `json:"bytesOut" doc:"The number of bytes in the bodies of the responses."`
}

func viewOfSums(s *analytics.Sums) sumsView {
	return sumsView{
		Requests: s.Requests, Errors: s.Errors, Throttled: s.Throttled,
		P50Ms: percentile(s, 0.5), P90Ms: percentile(s, 0.9), P99Ms: percentile(s, 0.99), BytesIn: s.BytesIn, BytesOut: s.BytesOut,
	}
}

func percentile(s *analytics.Sums, fraction float64) *float64 {
	d, ok := s.Percentile(fraction)
	if !ok {
		return nil
	}
	ms := milliseconds(d)
	return &ms
}

// milliseconds returns a duration in milliseconds with three digits after the point.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// groupView contains the dimensions that requests are grouped by, and no others.
type groupView struct {
	Key         *string `json:"key,omitzero" doc:"The ID of the API key, none for requests without one, or \x60__other__\x60 for requests that were counted together."`
	Route       *string `json:"route,omitzero" doc:"The template of the path, none for paths that do not exist, or \x60__other__\x60 for requests that were counted together."`
	Method      *string `json:"method,omitzero" doc:"The HTTP method of the requests."`
	Status      *int    `json:"status,omitzero" doc:"The HTTP status of the responses."`
	StatusClass *string `json:"statusClass,omitzero" doc:"The first digit of the status, followed by xx." example:"4xx"`
	Version     *string `json:"version,omitzero" doc:"The number of the version of the API, or none for requests without one."`
	Surface     *string `json:"surface,omitzero" enum:"primary,ai,backend,console" doc:"The surface that got the requests: the API, the AI services, the backend service, or the API for the console."`
}

func viewOfGroup(dimensions []analytics.Dimension, g analytics.Group) (v groupView) {
	for i, d := range dimensions {
		value := g[i]
		switch d {
		case analytics.Key:
			v.Key = &value
		case analytics.Route:
			v.Route = &value
		case analytics.Method:
			v.Method = &value
		case analytics.Status:
			status, _ := strconv.Atoi(value) // it was formatted from a number
			v.Status = &status
		case analytics.StatusClass:
			v.StatusClass = &value
		case analytics.Version:
			v.Version = &value
		case analytics.Surface:
			v.Surface = &value
		}
	}
	return v
}

type usageSummary struct {
	Body struct {
		From wire.Time `json:"from" doc:"The start of the period."`
		To   wire.Time `json:"to" doc:"The end of the period."`
		sumsView
		ActiveKeys int `json:"activeKeys" doc:"The number of API keys with at least one request."`
	}
	CSV []byte
}

func (in *usageQuery) summary(ctx context.Context, s *analytics.Service) (*usageSummary, error) {
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Summary(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &usageSummary{}
	b := &out.Body
	b.From, b.To, b.sumsView, b.ActiveKeys = wire.At(q.From), wire.At(q.To), viewOfSums(&found.Sums), found.ActiveKeys
	if in.table() {
		t := newTable("from", "to")
		t.head(sumsColumns...)
		t.head("activeKeys")
		t.row(t.time(q.From), t.time(q.To)).sums(&b.sumsView).numbers(int64(b.ActiveKeys))
		out.CSV = t.bytes()
	}
	return out, nil
}

type usageSeries struct {
	Body struct {
		Interval string       `json:"interval" enum:"minute,hour,day" doc:"The length of an interval."`
		From     wire.Time    `json:"from" doc:"The start of the period."`
		To       wire.Time    `json:"to" doc:"The end of the period."`
		Complete bool         `json:"complete" doc:"Whether no more requests can be added to the period. It is false as long as its last interval has not ended."`
		Series   []seriesView `json:"series" doc:"The series, with those with the most requests first."`
	}
	CSV []byte
}

type seriesView struct {
	Group  groupView   `json:"group" doc:"The values of groupBy that the requests of the series share. Other dimensions are absent."`
	Points []pointView `json:"points" doc:"The points of the series, one for each interval, oldest first."`
}

type pointView struct {
	T        wire.Time `json:"t" doc:"The start of the interval."`
	Complete bool      `json:"complete" doc:"Whether no more requests can be added to the interval."`
	sumsView
}

func (in *usageQuery) series(ctx context.Context, s *analytics.Service) (*usageSeries, error) {
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Series(ctx, q, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &usageSeries{}
	if in.table() {
		out.CSV = seriesTable(q, found)
		return out, nil
	}
	b := &out.Body
	b.Interval, b.From, b.To, b.Complete = string(q.Interval), wire.At(q.From), wire.At(q.To), q.Complete()
	b.Series = viewsOf(found, func(one *analytics.Series) seriesView {
		return seriesView{viewOfGroup(q.GroupBy, one.Group), viewsOf(one.Points, func(p *analytics.Point) pointView {
			return pointView{wire.At(p.Start), p.Complete, viewOfSums(&p.Sums)}
		})}
	})
	return out, nil
}

func seriesTable(q *analytics.Query, list []analytics.Series) []byte {
	t := newTable("t")
	t.dimensions(q.GroupBy)
	t.head("complete")
	t.head(sumsColumns...)
	for i := range list {
		for j := range list[i].Points {
			p := &list[i].Points[j]
			view := viewOfSums(&p.Sums)
			t.row(t.time(p.Start)).group(q.GroupBy, list[i].Group).texts(strconv.FormatBool(p.Complete)).sums(&view)
		}
	}
	return t.bytes()
}

type topUsage struct {
	Body struct {
		Items []rankedView `json:"items" doc:"The groups, with those with the most requests first, at most limit."`
	}
	CSV []byte
}

type rankedView struct {
	Group     groupView `json:"group" doc:"The values of groupBy that the requests of the group share. Other dimensions are absent."`
	Requests  int64     `json:"requests" doc:"The number of requests, including refused ones."`
	Errors    int64     `json:"errors" doc:"The number of responses with a status of 400 or more, except 429."`
	Throttled int64     `json:"throttled" doc:"The number of responses with status 429."`
	P99Ms     *float64  `json:"p99Ms" doc:"The milliseconds that 99 of 100 requests did not exceed. They are null if there were no requests."`
}

func (in *usageQuery) top(ctx context.Context, s *analytics.Service) (*topUsage, error) {
	if len(in.GroupBy) == 0 {
		in.GroupBy = []string{analytics.Route.String()}
	}
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Top(ctx, q, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &topUsage{}
	out.Body.Items = viewsOf(found, func(one *analytics.Ranked) rankedView {
		return rankedView{viewOfGroup(q.GroupBy, one.Group), one.Requests, one.Errors, one.Throttled, percentile(&one.Sums, 0.99)}
	})
	if in.table() {
		t := newTable()
		t.dimensions(q.GroupBy)
		t.head("requests", "errors", "throttled", "p99Ms")
		for i, v := range out.Body.Items {
			t.row().group(q.GroupBy, found[i].Group).numbers(v.Requests, v.Errors, v.Throttled).decimals(v.P99Ms)
		}
		out.CSV = t.bytes()
	}
	return out, nil
}

type quotaUsage struct {
	Body struct {
		Daily   quotaUseView `json:"daily" doc:"The quota of the workspace for the current UTC day."`
		Monthly quotaUseView `json:"monthly" doc:"The quota of the workspace for the current UTC month."`
		Keys    []keyUseView `json:"keys" doc:"The API keys that were charged this month, those that were charged most first."`
	}
	CSV []byte
}

type quotaUseView struct {
	Limit     *int64    `json:"limit" doc:"The quota of the workspace. It is null if there is none."`
	Used      int64     `json:"used" doc:"The number of requests that were charged since the last reset."`
	Remaining *int64    `json:"remaining" doc:"What is left of the quota. It is null if there is none."`
	ResetsAt  wire.Time `json:"resetsAt" doc:"The time at which the quota starts again from 0."`
}

type keyUseView struct {
	KeyID   string `json:"keyId" doc:"The ID of the API key."`
	Daily   int64  `json:"daily" doc:"What the key was charged in the current UTC day."`
	Monthly int64  `json:"monthly" doc:"What the key was charged in the current UTC month."`
}

func (in *usageQuery) quotas(ctx context.Context, s *analytics.Service) (*quotaUsage, error) {
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Quotas(ctx, q, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &quotaUsage{}
	b := &out.Body
	b.Daily, b.Monthly = viewOfQuotaUse(&found.Daily), viewOfQuotaUse(&found.Monthly)
	b.Keys = viewsOf(found.Keys, func(k *analytics.KeyCharge) keyUseView { return keyUseView{k.KeyID, k.Daily, k.Monthly} })
	if in.table() {
		t := newTable("key", "daily", "dailyLimit", "dailyRemaining", "monthly", "monthlyLimit", "monthlyRemaining")
		t.row("").numbers(b.Daily.Used).maybe(b.Daily.Limit, b.Daily.Remaining).numbers(b.Monthly.Used).maybe(b.Monthly.Limit, b.Monthly.Remaining)
		for _, k := range b.Keys {
			t.row(k.KeyID).numbers(k.Daily).maybe(nil, nil).numbers(k.Monthly).maybe(nil, nil)
		}
		out.CSV = t.bytes()
	}
	return out, nil
}

func viewOfQuotaUse(q *analytics.Quota) quotaUseView {
	v := quotaUseView{Used: q.Used, ResetsAt: wire.At(q.ResetsAt)}
	if q.Limit > 0 {
		limit, remaining := q.Limit, q.Remaining()
		v.Limit, v.Remaining = &limit, &remaining
	}
	return v
}

type versionUsage struct {
	Body struct {
		Items []versionUseView `json:"items" doc:"The versions with at least one request."`
	}
	CSV []byte
}

type versionUseView struct {
	Version  string    `json:"version" doc:"The number of the version of the API."`
	Requests int64     `json:"requests" doc:"The number of requests to the version, including refused ones."`
	Keys     int       `json:"keys" doc:"The number of API keys with at least one request."`
	LastAt   wire.Time `json:"lastAt" doc:"The time of the last request. With a filter, and for requests of long ago, it is the start of the minute, hour or day."`
}

func (in *usageQuery) versions(ctx context.Context, s *analytics.Service) (*versionUsage, error) {
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Versions(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &versionUsage{}
	out.Body.Items = viewsOf(found, func(u *analytics.VersionUse) versionUseView {
		return versionUseView{strconv.Itoa(u.Version), u.Requests, u.Keys, wire.At(u.LastAt)}
	})
	if in.table() {
		t := newTable("version", "requests", "keys", "lastAt")
		for i, v := range out.Body.Items {
			t.row(v.Version).numbers(v.Requests, int64(v.Keys)).texts(t.time(found[i].LastAt))
		}
		out.CSV = t.bytes()
	}
	return out, nil
}

type errorList struct {
	Body struct {
		Items []errorCountView `json:"items" doc:"The kinds of errors, with the most frequent first, at most limit."`
	}
	CSV []byte
}

type errorCountView struct {
	Group  errorGroupView `json:"group" doc:"The route, status and code that the errors share."`
	Count  int64          `json:"count" doc:"The number of such responses."`
	LastAt wire.Time      `json:"lastAt" doc:"The time of the last such response."`
}

type errorGroupView struct {
	Route  string `json:"route" doc:"The template of the path, or none for paths that do not exist."`
	Status int    `json:"status" doc:"The HTTP status of the response."`
	Code   string `json:"code" doc:"The machine-readable code of the error." example:"validation_error"`
}

func (in *usageQuery) errors(ctx context.Context, s *analytics.Service) (*errorList, error) {
	q, err := in.query(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Errors(ctx, q, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &errorList{}
	out.Body.Items = viewsOf(found, func(g *analytics.ErrorGroup) errorCountView {
		return errorCountView{errorGroupView{g.Route, g.Status, g.Code}, g.Count, wire.At(g.LastAt)}
	})
	if in.table() {
		t := newTable("route", "status", "code", "count", "lastAt")
		for _, g := range found {
			t.row(g.Route).numbers(int64(g.Status)).texts(g.Code).numbers(g.Count).texts(t.time(g.LastAt))
		}
		out.CSV = t.bytes()
	}
	return out, nil
}
