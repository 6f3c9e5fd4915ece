package app

import (
	"context"
	"math"
	"strconv"

	"keepsake/internal/base/metrics"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	"keepsake/internal/web/api"
	v1 "keepsake/internal/web/api/v1"
)

// surface is a surface that this process serves, for its metrics.
type surface struct {
	name     string
	api      *api.API
	listener *listener
}

// metrics declares all metrics of the program. docs/metrics.md describes each of them.
func (a *App) metrics() *metrics.Registry {
	r, s := &metrics.Registry{}, a.services
	addRequestMetrics(r, s.records.usage)
	addSurfaceMetrics(r, func() []surface { return a.served })
	s.addLimiterMetrics(r)
	s.addUsageMetrics(r)
	s.addStorageMetrics(r)
	s.addSearchMetrics(r)
	addCacheMetrics(r, s.status.caches)
	s.addAuditMetrics(r)
	s.addWebhookMetrics(r)
	s.addClusterMetrics(r)
	s.addEmbeddingMetrics(r)
	s.addRemoteSearchMetrics(r)
	s.addCheckMetrics(r)
	addTraceMetrics(r, s.tracer)
	addLogMetrics(r, a.deps.DroppedLogLines)
	metrics.AddProcess(r, a.deps.Version)
	return r
}

// addRequestMetrics adds what the usage recorder has counted. So a request counts nothing for metrics.
func addRequestMetrics(r *metrics.Registry, recorder *usage.Recorder) {
	requests := &metrics.Metric{
		Name: "keepsake_requests_total", Type: metrics.Counter, Labels: []string{"surface", "version", "method", "route", "status_class"},
		Help: "Requests by route template, status class and version of the API.",
	}
	of := []string{"surface", "method", "route"}
	latency := &metrics.Metric{
		Name: "keepsake_request_duration_seconds", Type: metrics.Histogram, Labels: of,
		Help: "Durations of requests, from their first byte to the last byte of the response.",
	}
	in := &metrics.Metric{Name: "keepsake_request_bytes_total", Type: metrics.Counter, Labels: of, Help: "Bytes of request bodies."}
	out := &metrics.Metric{Name: "keepsake_response_bytes_total", Type: metrics.Counter, Labels: of, Help: "Bytes of response bodies."}
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		totals := recorder.Totals()
		for _, t := range totals.Requests {
			method, route := routeLabels(t.Method, t.Route)
			s.Set(requests, float64(t.Requests), t.Surface, versionLabel(t.Version), method, route, classLabel(t.Class))
		}
		for i := range totals.Routes {
			t := &totals.Routes[i]
			method, route := routeLabels(t.Method, t.Route)
			s.SetHistogram(latency, usage.LatencyBounds[:], t.Latency.Counts[:], t.Latency.Sum, t.Surface, method, route)
			s.Set(in, float64(t.BytesIn), t.Surface, method, route)
			s.Set(out, float64(t.BytesOut), t.Surface, method, route)
		}
	}, requests, latency, in, out)
}

// none is the value of a label that does not apply.
const none = "none"

// routeLabels returns the labels of a route. A path without a route has none, and no label ever contains a path.
func routeLabels(method, route string) (string, string) {
	switch {
	case route == "":
		return none, none
	case route == usage.Other:
		return "other", "other"
	default:
		return method, route
	}
}

func versionLabel(version int) string {
	if version == 0 {
		return none
	}
	return strconv.Itoa(version)
}

func classLabel(class int) string {
	if class == 0 {
		return none
	}
	return strconv.Itoa(class) + "xx"
}

// addSurfaceMetrics adds what surfaces serve and refuse right now.
func addSurfaceMetrics(r *metrics.Registry, surfaces func() []surface) {
	of := []string{"surface"}
	throttled := &metrics.Metric{
		Name: "keepsake_throttled_total", Type: metrics.Counter, Labels: []string{"surface", "policy"},
		Help: "Requests that were refused with 429, by the limit that refused them.",
	}
	inFlight := &metrics.Metric{Name: "keepsake_in_flight_requests", Type: metrics.Gauge, Labels: of, Help: "Requests that an operation is running for."}
	maxInFlight := &metrics.Metric{
		Name: "keepsake_in_flight_max_requests", Type: metrics.Gauge, Labels: of,
		Help: "Requests that can run at once (limits.inFlight).",
	}
	refused := &metrics.Metric{
		Name: "keepsake_refused_total", Type: metrics.Counter, Labels: []string{"surface", "reason"},
		Help: "Requests that were refused with 503 for lack of room: no slot, too many arriving bodies, or no memory for a large body.",
	}
	open := &metrics.Metric{Name: "keepsake_connections_open", Type: metrics.Gauge, Labels: of, Help: "Open connections."}
	maxOpen := &metrics.Metric{
		Name: "keepsake_connections_max", Type: metrics.Gauge, Labels: of,
		Help: "Connections that can be open at once (limits.connections).",
	}
	closed := &metrics.Metric{
		Name: "keepsake_connections_refused_total", Type: metrics.Counter, Labels: of,
		Help: "Connections that were closed at once, because their address had its share.",
	}
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		for _, f := range surfaces() {
			n := f.api.Stats()
			if n.MaxInFlight > 0 {
				s.Set(inFlight, float64(n.InFlight), f.name)
				s.Set(maxInFlight, float64(n.MaxInFlight), f.name)
			}
			s.Set(refused, float64(n.NoSlot), f.name, "slots")
			s.Set(refused, float64(n.NoBody), f.name, "bodies")
			s.Set(refused, float64(n.NoMemory), f.name, "memory")
			for _, p := range n.Throttled {
				s.Set(throttled, float64(p.Count), f.name, p.Policy)
			}
			if f.listener != nil && f.listener.limited != nil {
				c := f.listener.limited.Stats()
				s.Set(open, float64(c.Open), f.name)
				s.Set(maxOpen, float64(c.Max), f.name)
				s.Set(closed, float64(c.Refused), f.name)
			}
		}
	}, throttled, inFlight, maxInFlight, refused, open, maxOpen, closed)
}

// addLimiterMetrics adds how limits are kept.
func (s *services) addLimiterMetrics(r *metrics.Registry) {
	mode := &metrics.Metric{
		Name: "keepsake_limiter_mode", Type: metrics.Gauge, Labels: []string{"mode"},
		Help: "1 for the mode in which limits are kept: local, split or shared.",
	}
	degraded := &metrics.Metric{
		Name: "keepsake_limiter_degraded", Type: metrics.Gauge,
		Help: "1 while Redis does not answer, so that this process enforces its share of the limits.",
	}
	waits := &metrics.Metric{Name: "keepsake_limiter_waits_total", Type: metrics.Counter, Help: "Requests that waited for Redis."}
	syncs := &metrics.Metric{Name: "keepsake_limiter_syncs_total", Type: metrics.Counter, Help: "Requests to Redis that shared counters."}
	outages := &metrics.Metric{Name: "keepsake_limiter_outages_total", Type: metrics.Counter, Help: "How often Redis was lost."}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		for _, m := range []limit.Mode{limit.ModeLocal, limit.ModeSplit, limit.ModeShared} {
			scrape.SetBool(mode, s.members.limiter.Mode() == m, string(m))
		}
		scrape.SetBool(degraded, s.members.limiter.Degraded())
		var n limit.SharedStats
		if s.members.shared != nil {
			n = s.members.shared.Stats()
		}
		scrape.Set(waits, float64(n.Waits))
		scrape.Set(syncs, float64(n.Syncs))
		scrape.Set(outages, float64(n.Outages))
	}, mode, degraded, waits, syncs, outages)
}

// addUsageMetrics adds how usage is stored.
func (s *services) addUsageMetrics(r *metrics.Registry) {
	age := &metrics.Metric{
		Name: "keepsake_usage_flush_age_seconds", Type: metrics.Gauge,
		Help: "Time since usage was last stored, or found to need no storing. A crash now would lose what was counted in that time.",
	}
	flushes := &metrics.Metric{Name: "keepsake_usage_flushes_total", Type: metrics.Counter, Help: "Flushes of usage that succeeded."}
	failures := &metrics.Metric{Name: "keepsake_usage_flush_failures_total", Type: metrics.Counter, Help: "Flushes of usage that failed."}
	pending := &metrics.Metric{Name: "keepsake_usage_pending_cells", Type: metrics.Gauge, Help: "Counted combinations of dimensions that are not stored."}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		n := s.records.usage.FlushStats()
		scrape.SetSeconds(age, s.since(n.StoredAt))
		scrape.Set(flushes, float64(n.Flushes))
		scrape.Set(failures, float64(n.Failures))
		scrape.Set(pending, float64(n.Pending))
	}, age, flushes, failures, pending)
}

// addStorageMetrics adds the pools of connections and the room on the disk.
func (s *services) addStorageMetrics(r *metrics.Registry) {
	of := []string{"database", "use"}
	connections := &metrics.Metric{
		Name: "keepsake_storage_connections", Type: metrics.Gauge, Labels: []string{"database", "use", "state"},
		Help: "Connections of a pool: in_use or idle.",
	}
	most := &metrics.Metric{Name: "keepsake_storage_connections_max", Type: metrics.Gauge, Labels: of, Help: "Size of a pool."}
	queued := &metrics.Metric{
		Name: "keepsake_storage_queued_transactions", Type: metrics.Gauge, Labels: of,
		Help: "Transactions that wait for the writer of a SQLite file.",
	}
	waits := &metrics.Metric{Name: "keepsake_storage_waits_total", Type: metrics.Counter, Labels: of, Help: "How often a connection had to be waited for."}
	waited := &metrics.Metric{Name: "keepsake_storage_wait_seconds_total", Type: metrics.Counter, Labels: of, Help: "Time for which connections were waited for."}
	free := &metrics.Metric{
		Name: "keepsake_disk_free_bytes", Type: metrics.Gauge,
		Help: "Room for files below the data folder. Missing if the system does not report it.",
	}
	wal := &metrics.Metric{
		Name: "keepsake_storage_wal_bytes", Type: metrics.Gauge, Labels: []string{"database"},
		Help: "Size of the write-ahead log of a SQLite file.",
	}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		if engine, ok := s.instance.Engine.(store.Logging); ok {
			for _, l := range engine.Logs() {
				scrape.Set(wal, float64(l.Bytes), l.Database)
			}
		}
		if n := freeSpace(s.data); n != math.MaxInt64 {
			scrape.Set(free, float64(n))
		}
		engine, ok := s.instance.Engine.(store.Pooled)
		if !ok {
			return
		}
		for _, p := range engine.Pools() {
			scrape.Set(connections, float64(p.InUse), p.Database, p.Use, "in_use")
			scrape.Set(connections, float64(p.Idle), p.Database, p.Use, "idle")
			scrape.Set(most, float64(p.Max), p.Database, p.Use)
			scrape.Set(queued, float64(p.Queued), p.Database, p.Use)
			scrape.Set(waits, float64(p.Waits), p.Database, p.Use)
			scrape.SetSeconds(waited, p.Waited, p.Database, p.Use)
		}
	}, connections, most, queued, waits, waited, free, wal)
}

// addCacheMetrics adds the caches of GET /api/v1/admin/cache-stats.
func addCacheMetrics(r *metrics.Registry, stats *v1.CacheStats) {
	of := []string{"cache"}
	entries := &metrics.Metric{Name: "keepsake_cache_entries", Type: metrics.Gauge, Labels: of, Help: "Entries of a cache."}
	bytes := &metrics.Metric{Name: "keepsake_cache_bytes", Type: metrics.Gauge, Labels: of, Help: "Estimated size of a cache; 0 if it is not known."}
	hits := &metrics.Metric{Name: "keepsake_cache_hits_total", Type: metrics.Counter, Labels: of, Help: "Look-ups that found an entry."}
	misses := &metrics.Metric{Name: "keepsake_cache_misses_total", Type: metrics.Counter, Labels: of, Help: "Look-ups that found none."}
	evictions := &metrics.Metric{Name: "keepsake_cache_evictions_total", Type: metrics.Counter, Labels: of, Help: "Entries that were removed to make room."}
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		for _, c := range stats.Caches {
			n := c.Stats()
			s.Set(entries, float64(n.Entries), c.Name)
			s.Set(bytes, float64(n.Bytes), c.Name)
			s.Set(hits, float64(n.Hits), c.Name)
			s.Set(misses, float64(n.Misses), c.Name)
			s.Set(evictions, float64(n.Evictions), c.Name)
		}
	}, entries, bytes, hits, misses, evictions)
}
