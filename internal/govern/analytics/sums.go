package analytics

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/usage"
)

// Sums are the numbers of some requests.
type Sums struct {
	Requests  int64
	Errors    int64 // 4xx except 429, and 5xx
	Throttled int64 // 429
	BytesIn   int64
	BytesOut  int64
	Latency   usage.Histogram
}

func (s *Sums) add(c *usage.Cell) {
	s.Requests += c.Requests
	switch {
	case Throttled(c.Status):
		s.Throttled += c.Requests
	case Failed(c.Status):
		s.Errors += c.Requests
	}
	s.BytesIn += c.BytesIn
	s.BytesOut += c.BytesOut
	s.Latency.Merge(&c.Latency)
}

// Percentile returns the duration that a fraction of the requests did not exceed. ok is false if none was measured.
func (s *Sums) Percentile(fraction float64) (d time.Duration, ok bool) {
	if s.Latency.Count() == 0 {
		return 0, false
	}
	return s.Latency.Quantile(fraction), true
}

// Cells calls fn for cells, which it can be asked for more than once. c is valid until fn returns.
type Cells func(fn func(c *usage.Cell) error) error

func traitsOf(c *usage.Cell) Traits {
	return Traits{KeyID: c.KeyID, Route: c.Route, Method: c.Method, Status: c.Status, Version: c.Version, Surface: c.Surface}
}

// each calls fn for the cells of the query that count requests, up to its first error. A cell without requests only has
// charges.
func (q *Query) each(cells Cells, fn func(c *usage.Cell, t *Traits) error) error {
	if q.Filter.Nothing() {
		return nil
	}
	return cells(func(c *usage.Cell) error {
		if t := traitsOf(c); c.Requests > 0 && q.Filter.Match(&t) {
			return fn(c, &t)
		}
		return nil
	})
}

// Summary is the usage of a whole period.
type Summary struct {
	Sums
	ActiveKeys int // API keys with at least one request
}

// Summarize adds up the usage of the period.
func (q *Query) Summarize(cells Cells) (*Summary, error) {
	s, keys := &Summary{}, map[string]bool{}
	err := q.each(cells, func(c *usage.Cell, _ *Traits) error {
		if c.KeyID != "" && c.KeyID != usage.Other {
			keys[c.KeyID] = true
		}
		s.add(c)
		return nil
	})
	s.ActiveKeys = len(keys)
	return s, err
}

// Group contains the values of the dimensions that requests are grouped by, in their order.
type Group [maxGroups]string

func (q *Query) group(t *Traits) (g Group) {
	for i, d := range q.GroupBy {
		g[i] = t.Of(d)
	}
	return g
}

// clone returns a copy that does not keep the memory of a cell.
func (g Group) clone() Group {
	for i := range g {
		g[i] = strings.Clone(g[i])
	}
	return g
}

func compareGroups(a, b Group) int { return slices.Compare(a[:], b[:]) }

// maxCounted is the number of groups that are counted at a time while the largest ones are searched.
const maxCounted = 200_000

// largest returns the groups with the most requests, at most limit of them, the largest first.
//
// It counts at most maxCounted groups at a time, which take about 30 MB. If there are more, it forgets the smaller half of what
// it has counted, so that a group that was small for most of the period can be missing.
func (q *Query) largest(cells Cells, limit int) ([]Group, error) {
	counts := map[Group]int64{}
	err := q.each(cells, func(c *usage.Cell, t *Traits) error {
		g := q.group(t)
		if _, known := counts[g]; !known {
			if len(counts) >= maxCounted {
				forgetSmallest(counts)
			}
			g = g.clone()
		}
		counts[g] += c.Requests
		return nil
	})
	if err != nil {
		return nil, err
	}
	groups := make([]Group, 0, len(counts))
	for g := range counts {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), compareGroups(a, b)) })
	return slices.Clone(groups[:min(limit, len(groups))]), nil
}

// forgetSmallest removes at least half of the groups.
func forgetSmallest(counts map[Group]int64) {
	sizes := make([]int64, 0, len(counts))
	for _, n := range counts {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	for g, n := range counts {
		if n <= median {
			delete(counts, g)
		}
	}
}

// maxRanked is the max number of groups that are added up in one reading of the cells. They take about 2 KB each.
const maxRanked = 2_000

// errManyGroups ends a reading of cells with more groups than can be added up at once. The largest ones are then found first.
var errManyGroups = errors.New("analytics: too many groups to add up at once")

// groupTable numbers groups.
type groupTable struct {
	groups []Group
	places map[Group]int
	closed bool // no groups are added
	most   int
}

// newGroupTable returns a table of groups. If they are nil, it adds up to most groups as they are found.
func newGroupTable(groups []Group, most int) *groupTable {
	t := &groupTable{groups: groups, places: make(map[Group]int, len(groups)), closed: groups != nil, most: most}
	for i, g := range groups {
		t.places[g] = i
	}
	return t
}

// place returns the number of a group; -1 if it is not in a closed table.
func (t *groupTable) place(g Group) (int, error) {
	if i, ok := t.places[g]; ok {
		return i, nil
	}
	switch {
	case t.closed:
		return -1, nil
	case len(t.groups) >= t.most:
		return -1, errManyGroups
	}
	g = g.clone()
	t.places[g] = len(t.groups)
	t.groups = append(t.groups, g)
	return len(t.groups) - 1, nil
}

// Ranked is a group with its numbers.
type Ranked struct {
	Group Group
	Sums
}

// Top returns the groups with the most requests, at most limit of them, the largest first.
func (q *Query) Top(cells Cells, limit int) ([]Ranked, error) {
	list, err := q.rank(cells, nil)
	if errors.Is(err, errManyGroups) {
		var groups []Group
		if groups, err = q.largest(cells, limit); err == nil {
			list, err = q.rank(cells, groups)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), compareGroups(a.Group, b.Group))
	})
	return list[:min(limit, len(list))], nil
}

// rank adds up groups; nil for all of them.
func (q *Query) rank(cells Cells, groups []Group) (list []Ranked, err error) {
	table := newGroupTable(groups, maxRanked)
	err = q.each(cells, func(c *usage.Cell, t *Traits) error {
		i, err := table.place(q.group(t))
		if err != nil || i < 0 {
			return err
		}
		for len(list) <= i {
			list = append(list, Ranked{Group: table.groups[len(list)]})
		}
		list[i].add(c)
		return nil
	})
	return list, err
}

// Series is the usage of a group in equal intervals.
type Series struct {
	Group  Group
	Points []Point // one per interval, oldest first

	requests int64
}

// Point is the usage of one interval.
type Point struct {
	Start    time.Time
	Complete bool // no request can be added any more
	Sums
}

// Series returns the usage of the groups with the most requests, or of all requests if the query has no groups. Too many
// points are a *problem.Problem with status 400.
func (q *Query) Series(cells Cells, limit int) ([]Series, error) {
	if len(q.GroupBy) == 0 {
		return q.fill(cells, []Group{{}})
	}
	list, err := q.fill(cells, nil)
	if errors.Is(err, errManyGroups) {
		var groups []Group
		if groups, err = q.largest(cells, limit); err == nil {
			err = q.checkPoints(len(groups))
		}
		if err == nil {
			list, err = q.fill(cells, groups)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Series) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), compareGroups(a.Group, b.Group))
	})
	return list[:min(limit, len(list))], nil
}

// fill adds up the points of groups; nil for all of them.
func (q *Query) fill(cells Cells, groups []Group) (list []Series, err error) {
	table := newGroupTable(groups, max(1, maxPoints/int(q.buckets())))
	for _, g := range groups {
		list = append(list, Series{Group: g, Points: q.points()})
	}
	length, held := q.Interval.Length(), 0
	err = q.each(cells, func(c *usage.Cell, t *Traits) error {
		i, err := table.place(q.group(t))
		if err != nil || i < 0 {
			return err
		}
		if i == len(list) {
			list = append(list, Series{Group: table.groups[i], Points: q.points()})
		}
		if at := int(c.Start.Sub(q.From) / length); at >= 0 && at < len(list[i].Points) {
			list[i].requests += c.Requests
			latency := &list[i].Points[at].Latency
			held -= latency.Size()
			list[i].Points[at].add(c)
			if held += latency.Size(); held > maxDurations {
				return q.manyDurations(table)
			}
		}
		return nil
	})
	return list, err
}

// maxDurations is the max number of bytes of the histograms of a response. A point takes 1 to 2 KB if its requests took
// different times.
const maxDurations = 24 << 20

// manyDurations ends the reading of series that take too much memory.
func (q *Query) manyDurations(t *groupTable) error {
	if !t.closed {
		return errManyGroups // fewer can be enough
	}
	return problem.Validation("limit", problem.TooLargeVal, fmt.Sprintf(
		"The durations of %d series with %d intervals take too much memory. Choose a smaller limit, a longer interval or a shorter period.",
		len(t.groups), q.buckets()))
}

// points returns the points of the period, without requests.
func (q *Query) points() []Point {
	length := q.Interval.Length()
	points := make([]Point, q.buckets())
	for i := range points {
		points[i].Start = q.From.Add(time.Duration(i) * length)
		points[i].Complete = q.complete(points[i].Start.Add(length))
	}
	return points
}

// VersionUse is the usage of a version of the API.
type VersionUse struct {
	Version  int
	Requests int64
	Keys     int       // API keys with at least one request
	LastAt   time.Time // of the last request, or the start of its minute, hour or day
}

// Versions returns the usage of each version that was used, in ascending order.
func (q *Query) Versions(cells Cells) ([]VersionUse, error) {
	type use struct {
		VersionUse
		keys map[string]bool
	}
	uses := map[int]*use{}
	err := q.each(cells, func(c *usage.Cell, t *Traits) error {
		if t.Version == 0 {
			return nil
		}
		u := uses[t.Version]
		if u == nil {
			u = &use{VersionUse{Version: t.Version}, map[string]bool{}}
			uses[t.Version] = u
		}
		u.Requests += c.Requests
		if c.KeyID != "" && c.KeyID != usage.Other {
			u.keys[c.KeyID] = true
		}
		if c.Start.After(u.LastAt) {
			u.LastAt = c.Start
		}
		return nil
	})
	list := make([]VersionUse, 0, len(uses))
	for _, u := range uses {
		u.VersionUse.Keys = len(u.keys)
		list = append(list, u.VersionUse)
	}
	slices.SortFunc(list, func(a, b VersionUse) int { return cmp.Compare(a.Version, b.Version) })
	return list, err
}

// KeyCharge is what an API key was charged in the current UTC day and month.
type KeyCharge struct {
	KeyID          string
	Daily, Monthly int64
}

// charges adds up what the API keys of cells were charged today and this month.
func charges(cells Cells, today time.Time) (map[string]KeyCharge, error) {
	sums := map[string]KeyCharge{}
	err := cells(func(c *usage.Cell) error {
		if c.KeyID == "" || c.KeyID == usage.Other || c.Charged == 0 {
			return nil
		}
		sum := sums[c.KeyID]
		sum.KeyID, sum.Monthly = c.KeyID, sum.Monthly+c.Charged
		if !c.Start.Before(today) {
			sum.Daily += c.Charged
		}
		sums[c.KeyID] = sum
		return nil
	})
	return sums, err
}
