package usage

import (
	"math"
	"sort"
	"sync/atomic"
	"time"
)

// Totals are what a recorder has counted since the program started, without keys and workspaces. They are for metrics, so
// there are few of them: one for each route, class of status, version and surface.
type Totals struct {
	Requests []RequestTotal
	Routes   []RouteTotal
}

// RequestTotal counts requests.
type RequestTotal struct {
	Surface  string
	Version  int    // 0: none
	Method   string // empty: no route
	Route    string // template; empty for a path without a route, Other for requests that were counted together
	Class    int    // 2 for 200 to 299; 0: no response
	Requests int64
}

// RouteTotal counts the durations and bytes of a route's requests.
type RouteTotal struct {
	Surface  string
	Method   string
	Route    string
	BytesIn  int64
	BytesOut int64
	Latency  Latency
}

// LatencyBounds are the upper bounds of the buckets of a Latency.
var LatencyBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// Latency counts durations. It is made of a Histogram's buckets, so a duration within 2 % of a bound can be on its other side,
// and Sum is right to 2 %.
type Latency struct {
	Counts [len(LatencyBounds) + 1]int64 // of each bucket; the last one is above all bounds
	Sum    time.Duration
}

// Count returns how many durations were counted.
func (l *Latency) Count() (n int64) {
	for _, count := range l.Counts {
		n += count
	}
	return n
}

// latencyOf maps the buckets of a Histogram to those of a Latency.
var latencyOf = func() (all [bucketCount]uint8) {
	for number := range all {
		middle := middleOf(number)
		all[number] = uint8(sort.Search(len(LatencyBounds), func(i int) bool { return middle <= LatencyBounds[i] }))
	}
	return all
}()

func (l *Latency) add(number int, count int64) {
	l.Counts[latencyOf[number]] += count
	if middle := middleOf(number); int64(middle) <= (math.MaxInt64-int64(l.Sum))/max(count, 1) {
		l.Sum += middle * time.Duration(count)
	}
}

// totals adds up what is drained from the stripes: one entry for each route and surface. A flush can drain many cells, so it uses
// no maps.
type totals []routeSum

type routeSum struct {
	sum
	latency  Latency
	requests []classCount
}

// classCount counts the requests of a class of statuses and a version.
type classCount struct {
	class, version uint8
	requests       int64
}

func (t *totals) add(c cell, amount *sum) {
	if amount.requests == 0 {
		return // a Charge, which is not a request
	}
	at := int(c.route)*surfaces + int(c.surface)
	for at >= len(*t) {
		*t = append(*t, routeSum{})
	}
	of := &(*t)[at]
	of.add(*amount)
	if c.took > 0 {
		of.latency.add(int(c.took)-1, amount.requests)
	}
	class := uint8(c.status / 100)
	for i := range of.requests {
		if r := &of.requests[i]; r.class == class && r.version == c.version {
			r.requests += amount.requests
			return
		}
	}
	of.requests = append(of.requests, classCount{class, c.version, amount.requests})
}

// Totals returns what was counted until now, also what is not stored yet.
func (r *Recorder) Totals() Totals {
	r.counting.Lock()
	defer r.counting.Unlock()
	r.drain()
	var t Totals
	for at := range r.totals {
		of := &r.totals[at]
		if of.sum.requests == 0 {
			continue
		}
		route, surface := r.routes.name(Route(at/surfaces)), Surface(at%surfaces).String()
		t.Routes = append(t.Routes, RouteTotal{
			Surface: surface, Method: route.method, Route: route.path, BytesIn: of.bytesIn, BytesOut: of.bytesOut, Latency: of.latency,
		})
		for _, c := range of.requests {
			t.Requests = append(t.Requests, RequestTotal{
				Surface: surface, Version: int(c.version), Method: route.method, Route: route.path, Class: int(c.class), Requests: c.requests,
			})
		}
	}
	return t
}

// FlushStats says how well usage is stored.
type FlushStats struct {
	Flushes  int64     // that succeeded
	Failures int64     // that failed
	StoredAt time.Time // when the last one succeeded; when the recorder was created if there was none
	Pending  int64     // cells that are not stored
}

// FlushStats returns the statistics of the flushes until now.
func (r *Recorder) FlushStats() FlushStats {
	r.counting.Lock()
	defer r.counting.Unlock()
	return FlushStats{
		Flushes: r.stats.flushes.Load(), Failures: r.stats.failures.Load(), StoredAt: time.Unix(0, r.stats.storedAt.Load()).UTC(),
		Pending: int64(len(r.pending.cells)) + r.stats.sent.Load(),
	}
}

// flushStats is counted by flushes.
type flushStats struct {
	flushes, failures atomic.Int64
	storedAt          atomic.Int64 // Unix nanoseconds
	sent              atomic.Int64 // cells that were sent and are not known to be stored
}

// count counts the end of a flush.
func (s *flushStats) count(now time.Time, err error) {
	if err != nil {
		s.failures.Add(1)
		return
	}
	s.flushes.Add(1)
	s.storedAt.Store(now.UnixNano())
}
