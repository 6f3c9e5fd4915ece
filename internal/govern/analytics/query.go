// Package analytics answers questions about recorded usage: how many requests were made, by which API key, on which route,
// how long they took and which of them failed.
//
// Numbers come from the cells that internal/govern/usage records. The package itself records what cells do not contain: the codes
// of errors, and single requests.
package analytics

import (
	"fmt"
	"strings"
	"time"

	"keepsake/internal/base/problem"
)

// Interval is the length of a bucket of a series.
type Interval string

// The intervals. Buckets begin at full minutes, hours and days in UTC.
const (
	Minute Interval = "minute"
	Hour   Interval = "hour"
	Day    Interval = "day"
)

// Length is the length of a bucket.
func (i Interval) Length() time.Duration {
	switch i {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	default:
		return 24 * time.Hour
	}
}

// How long usage is kept by minute, by hour and by day (docs/spec/analytics.md). A day is as long as the longest 25 months.
const (
	KeepMinutes = 48 * time.Hour
	KeepHours   = 90 * 24 * time.Hour
	KeepDays    = (2*366 + 31) * 24 * time.Hour
)

func (i Interval) kept() time.Duration {
	switch i {
	case Minute:
		return KeepMinutes
	case Hour:
		return KeepHours
	default:
		return KeepDays
	}
}

const (
	// maxBuckets is the max number of buckets of a series, more than are kept of any interval.
	maxBuckets = 3_000
	// autoBuckets is how many buckets the interval auto aims at.
	autoBuckets = 400
	// maxPoints is the max number of points of all series of a response.
	maxPoints = 50_000
	// maxFilters is the max number of filters of a query.
	maxFilters = 50
	// maxGroups is the max number of dimensions to group by.
	maxGroups = 2
)

// late is how long after the end of a bucket its last requests become visible.
const late = 2 * time.Second

// Params are the parameters of a query as a client sends them.
type Params struct {
	Window   string // 1h, 24h, 7d, 30d, or empty
	From, To *time.Time
	Interval string   // minute, hour, day, or auto or empty
	GroupBy  []string // names of dimensions, each possibly several separated by commas
	Filters  []string // dimension:value, or -dimension:value to exclude
}

// Query is a question about the usage of a workspace.
type Query struct {
	WorkspaceID string    // empty: all workspaces, and requests without one
	From, To    time.Time // From is the start of an interval, and To the end of one unless that has not ended
	Interval    Interval
	GroupBy     []Dimension
	Filter      Filter
	Now         time.Time

	since, until time.Time // the period as requested
	chosen       bool      // the client chose the interval
}

var windows = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}

// defaultWindow is the period of a query without one.
const defaultWindow = 24 * time.Hour

// Parse checks the parameters of a query. Its error is a *problem.Problem with status 400.
func Parse(p Params, now time.Time) (*Query, error) {
	q := &Query{Now: now.UTC()}
	if err := q.setPeriod(p); err != nil {
		return nil, err
	}
	if err := q.setInterval(p.Interval); err != nil {
		return nil, err
	}
	if err := q.setGroups(p.GroupBy); err != nil {
		return nil, err
	}
	if len(p.Filters) > maxFilters {
		return nil, problem.Validation("filter", problem.TooLong, fmt.Sprintf("There can be at most %d filters.", maxFilters))
	}
	for _, text := range p.Filters {
		if err := q.Filter.add(text); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// setPeriod sets From and To as they were requested.
func (q *Query) setPeriod(p Params) error {
	if p.Window != "" && (p.From != nil || p.To != nil) {
		return problem.Validation("window", problem.Conflicting, "Send either window or from and to.")
	}
	length, ok := windows[p.Window]
	if !ok && p.Window != "" {
		return problem.Validation("window", problem.NotAllowed, "window must be one of 1h, 24h, 7d, 30d.")
	}
	if !ok {
		length = defaultWindow
	}
	q.To = q.Now
	if p.To != nil {
		q.To = p.To.UTC()
	}
	q.From = q.To.Add(-length)
	if p.From != nil {
		q.From = p.From.UTC()
	}
	if !q.From.Before(q.To) {
		field := "to"
		if p.To == nil {
			field = "from"
		}
		return problem.Validation(field, problem.InvalidVal, "from must be before to.")
	}
	q.since, q.until = q.From, q.To
	return nil
}

// setInterval chooses the interval and aligns the period with it.
func (q *Query) setInterval(interval string) error {
	q.chosen = true
	switch Interval(interval) {
	case Minute, Hour, Day:
		q.Interval = Interval(interval)
	case "", "auto":
		q.chosen, q.Interval = false, q.auto()
	default:
		return problem.Validation("interval", problem.NotAllowed, "interval must be one of minute, hour, day, auto.")
	}
	if n := q.buckets(); n > maxBuckets {
		return q.tooFine(fmt.Sprintf("The period has %d intervals. A response has at most %d; choose a longer interval or a shorter period.", n, maxBuckets))
	}
	if q.chosen && q.Interval != Day && q.keptNoMore(q.Interval) {
		return q.tooFine(fmt.Sprintf("Usage by %s is kept for %d hours. Choose a longer interval or a later from.", q.Interval, q.Interval.kept()/time.Hour))
	}
	length := q.Interval.Length()
	q.From = floor(q.From, length)
	if end := ceil(q.To, length); !end.After(q.Now) {
		q.To = end
	}
	return nil
}

// tooFine is the problem of a period with too many intervals.
func (q *Query) tooFine(says string) error {
	if q.chosen {
		return problem.Validation("interval", problem.TooSmall, says)
	}
	return problem.Validation("from", problem.TooSmall, says)
}

// auto returns the shortest interval that is kept for the whole period and does not divide it into too many buckets.
func (q *Query) auto() Interval {
	for _, i := range [...]Interval{Minute, Hour} {
		if q.To.Sub(q.From) <= autoBuckets*i.Length() && !q.keptNoMore(i) {
			return i
		}
	}
	return Day
}

// keptNoMore reports whether usage at the beginning of the period is not kept at an interval any more.
func (q *Query) keptNoMore(i Interval) bool {
	return q.From.Before(q.Now.Add(-i.kept() - Hour.Length()))
}

func (q *Query) setGroups(names []string) error {
	for _, list := range names {
		for name := range strings.SplitSeq(list, ",") {
			d, err := dimensionOf("groupBy", name)
			if err != nil {
				return err
			}
			for _, other := range q.GroupBy {
				if other == d {
					return problem.Validation("groupBy", problem.Duplicate, "groupBy names "+name+" twice.")
				}
			}
			if len(q.GroupBy) == maxGroups {
				return problem.Validation("groupBy", problem.TooLong, "groupBy must name at most two dimensions.")
			}
			q.GroupBy = append(q.GroupBy, d)
		}
	}
	return nil
}

// buckets is the number of buckets of the period.
func (q *Query) buckets() int64 {
	length := int64(q.Interval.Length() / time.Second)
	end := q.To.Unix()
	if q.To.Nanosecond() > 0 {
		end++
	}
	return floorDiv(end+length-1, length) - floorDiv(q.From.Unix(), length)
}

// end is the end of the last bucket, which can be later than To.
func (q *Query) end() time.Time { return ceil(q.To, q.Interval.Length()) }

// Complete reports whether no request can be added to the period any more.
func (q *Query) Complete() bool { return q.complete(q.end()) }

// complete reports whether a bucket that ends at end is complete.
func (q *Query) complete(end time.Time) bool { return !end.Add(late).After(q.Now) }

// checkPoints returns the problem of too many points.
func (q *Query) checkPoints(series int) error {
	if q.buckets()*int64(series) <= maxPoints {
		return nil
	}
	return problem.Validation("limit", problem.TooLargeVal, fmt.Sprintf(
		"%d series with %d intervals are more than %d points. Choose a smaller limit, a longer interval or a shorter period.", series, q.buckets(), maxPoints))
}

func floor(t time.Time, length time.Duration) time.Time {
	seconds := int64(length / time.Second)
	return time.Unix(floorDiv(t.Unix(), seconds)*seconds, 0).UTC()
}

func ceil(t time.Time, length time.Duration) time.Time {
	start := floor(t, length)
	if start.Equal(t) {
		return start
	}
	return start.Add(length)
}

// floorDiv is n/size rounded down, also for times before 1970.
func floorDiv(n, size int64) int64 {
	quotient := n / size
	if n%size < 0 {
		quotient--
	}
	return quotient
}
