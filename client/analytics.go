package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// UsageQuery selects the requests of a question about usage. The zero value selects those of the last 24 hours.
type UsageQuery struct {
	Workspace string    // its ID, or all; empty: the caller's. Only operators can name another one
	Window    string    // 1h, 24h, 7d or 30d until now, instead of From and To
	From, To  time.Time // zero: 24 hours before To, and now
	Interval  string    // minute, hour, day; empty: by the length of the period
	GroupBy   []string  // up to two of key, route, method, status, statusClass, version and surface
	Filter    []string  // dimension:value, or -dimension:value to leave it out
	Limit     int       // groups or items; 0: the server's default
}

func (q UsageQuery) values() url.Values {
	v := url.Values{}
	set(v, "workspace", q.Workspace)
	set(v, "window", q.Window)
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	set(v, "interval", q.Interval)
	v["groupBy"], v["filter"] = q.GroupBy, q.Filter
	setInt(v, "limit", q.Limit)
	return v
}

// Sums are the numbers of some requests. The percentiles are nil if there were no requests.
type Sums struct {
	Requests  int64    `json:"requests"`
	Errors    int64    `json:"errors"`    // 4xx except 429, and 5xx
	Throttled int64    `json:"throttled"` // 429
	P50Ms     *float64 `json:"p50Ms"`
	P90Ms     *float64 `json:"p90Ms"`
	P99Ms     *float64 `json:"p99Ms"`
	BytesIn   int64    `json:"bytesIn"`
	BytesOut  int64    `json:"bytesOut"`
}

// UsageSummary is the usage of a period.
type UsageSummary struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Sums
	ActiveKeys int `json:"activeKeys"` // keys with at least one request
}

// UsageGroup contains the dimensions that requests were grouped by; the others are nil.
type UsageGroup struct {
	Key         *string `json:"key,omitempty"`   // none for requests without a key
	Route       *string `json:"route,omitempty"` // none for unknown paths
	Method      *string `json:"method,omitempty"`
	Status      *int    `json:"status,omitempty"`
	StatusClass *string `json:"statusClass,omitempty"`
	Version     *string `json:"version,omitempty"`
	Surface     *string `json:"surface,omitempty"`
}

// UsageSeries is the usage of groups over time.
type UsageSeries struct {
	Interval string        `json:"interval"`
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	Complete bool          `json:"complete"` // false as long as the last interval has not ended
	Series   []GroupSeries `json:"series"`
}

// GroupSeries is the usage of a group in equal intervals.
type GroupSeries struct {
	Group  UsageGroup    `json:"group"`
	Points []SeriesPoint `json:"points"` // oldest first
}

// SeriesPoint is the usage in one interval.
type SeriesPoint struct {
	T        time.Time `json:"t"` // start of the interval
	Complete bool      `json:"complete"`
	Sums
}

// RankedUsage is a group with its numbers.
type RankedUsage struct {
	Group     UsageGroup `json:"group"`
	Requests  int64      `json:"requests"`
	Errors    int64      `json:"errors"`
	Throttled int64      `json:"throttled"`
	P99Ms     *float64   `json:"p99Ms"`
}

// QuotaUsage is what a workspace and its keys have used of their quotas.
type QuotaUsage struct {
	Daily   QuotaUse `json:"daily"`
	Monthly QuotaUse `json:"monthly"`
	Keys    []KeyUse `json:"keys"` // those that were charged this month, most first
}

// QuotaUse is a quota and its use. Limit and Remaining are nil if there is no quota.
type QuotaUse struct {
	Limit     *int64    `json:"limit"`
	Used      int64     `json:"used"`
	Remaining *int64    `json:"remaining"`
	ResetsAt  time.Time `json:"resetsAt"`
}

// KeyUse is what a key was charged in the current UTC day and month.
type KeyUse struct {
	KeyID   string `json:"keyId"`
	Daily   int64  `json:"daily"`
	Monthly int64  `json:"monthly"`
}

// VersionUse is the usage of a version of the API.
type VersionUse struct {
	Version  string    `json:"version"`
	Requests int64     `json:"requests"`
	Keys     int       `json:"keys"` // with at least one request
	LastAt   time.Time `json:"lastAt"`
}

// ErrorCount is how often an error happened.
type ErrorCount struct {
	Group  ErrorGroup `json:"group"`
	Count  int64      `json:"count"`
	LastAt time.Time  `json:"lastAt"`
}

// ErrorGroup identifies an error.
type ErrorGroup struct {
	Route  string `json:"route"`
	Status int    `json:"status"`
	Code   string `json:"code"`
}

// LoggedRequest is one request.
type LoggedRequest struct {
	At          time.Time `json:"at"`
	RequestID   string    `json:"requestId"`
	WorkspaceID *string   `json:"workspaceId"`
	KeyID       *string   `json:"keyId"`  // nil if a user made it, who is
	UserID      *string   `json:"userId"` // nil if a key was used
	Route       string    `json:"route"`
	Method      string    `json:"method"`
	Status      int       `json:"status"`
	Code        *string   `json:"code"` // of the error
	Ms          float64   `json:"ms"`
	Version     string    `json:"version"`
	Surface     string    `json:"surface"`
	Client      *string   `json:"client"` // the calling program
}

// RequestPage is a page of the log of requests.
type RequestPage struct {
	Page[LoggedRequest]
	Sampled bool `json:"sampled"` // requests of the period were left out of the log
}

// RequestQuery selects requests of the log. Limit is the number of a page.
type RequestQuery struct {
	UsageQuery
	RequestID string
	Cursor    string
}

const analyticsPath = "/api/v1/analytics/"

// UsageSummary reads the usage of a period.
func (c *Client) UsageSummary(ctx context.Context, q UsageQuery) (*UsageSummary, error) {
	return result[UsageSummary](func(out any) error { return c.get(ctx, analyticsPath+"summary", q.values(), out) })
}

// UsageSeries reads the usage over time, of all requests or of the groups with the most requests.
func (c *Client) UsageSeries(ctx context.Context, q UsageQuery) (*UsageSeries, error) {
	return result[UsageSeries](func(out any) error { return c.get(ctx, analyticsPath+"timeseries", q.values(), out) })
}

// TopUsage lists the groups with the most requests, by route if the query names no groups.
func (c *Client) TopUsage(ctx context.Context, q UsageQuery) ([]RankedUsage, error) {
	var list struct {
		Items []RankedUsage `json:"items"`
	}
	err := c.get(ctx, analyticsPath+"top", q.values(), &list)
	return list.Items, err
}

// QuotaUsage reads the use of the quotas of a workspace; empty for the caller's.
func (c *Client) QuotaUsage(ctx context.Context, workspace string) (*QuotaUsage, error) {
	values := UsageQuery{Workspace: workspace}.values()
	return result[QuotaUsage](func(out any) error { return c.get(ctx, analyticsPath+"usage", values, out) })
}

// VersionUsage reads the usage of each version of the API.
func (c *Client) VersionUsage(ctx context.Context, q UsageQuery) ([]VersionUse, error) {
	var list struct {
		Items []VersionUse `json:"items"`
	}
	err := c.get(ctx, analyticsPath+"versions", q.values(), &list)
	return list.Items, err
}

// ErrorCounts lists the most frequent errors.
func (c *Client) ErrorCounts(ctx context.Context, q UsageQuery) ([]ErrorCount, error) {
	var list struct {
		Items []ErrorCount `json:"items"`
	}
	err := c.get(ctx, analyticsPath+"errors", q.values(), &list)
	return list.Items, err
}

// Requests reads a page of the log of requests, newest first.
func (c *Client) Requests(ctx context.Context, q RequestQuery) (*RequestPage, error) {
	values := q.values()
	set(values, "requestId", q.RequestID)
	set(values, "cursor", q.Cursor)
	return result[RequestPage](func(out any) error { return c.get(ctx, analyticsPath+"requests", values, out) })
}

// EachRequest returns the requests of all pages, newest first, up to the first error.
func (c *Client) EachRequest(ctx context.Context, q RequestQuery) iter.Seq2[LoggedRequest, error] {
	return each(q.Cursor, func(cursor string) (*Page[LoggedRequest], error) {
		q.Cursor = cursor
		page, err := c.Requests(ctx, q)
		if err != nil {
			return nil, err
		}
		return &page.Page, nil
	})
}

// Report is a question about usage that can be answered as a table.
type Report string

// The reports, in the order of the methods that return their values.
const (
	SummaryReport  Report = "summary"
	SeriesReport   Report = "timeseries"
	TopReport      Report = "top"
	QuotaReport    Report = "usage"
	VersionsReport Report = "versions"
	ErrorsReport   Report = "errors"
)

// UsageTable writes a report as CSV.
func (c *Client) UsageTable(ctx context.Context, report Report, q UsageQuery, out io.Writer) error {
	values := q.values()
	values.Set("format", "csv")
	return c.call(ctx, request{method: http.MethodGet, path: analyticsPath + string(report), query: values, accept: "text/csv"}, out)
}
