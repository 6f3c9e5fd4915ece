package app

import (
	"context"
	"time"

	"keepsake/internal/base/metrics"
	"keepsake/internal/base/trace"
	"keepsake/internal/govern/event"
	"keepsake/internal/search"
)

// scrapeTimeout is how long metrics wait for the database. A metric that needs it is missing while it does not answer.
const scrapeTimeout = time.Second

// since returns the time since t, and 0 if the clock was set back.
func (s *services) since(t time.Time) time.Duration { return max(0, s.now().Sub(t)) }

// addSearchMetrics adds how far the search indexes are behind the documents.
func (s *services) addSearchMetrics(r *metrics.Registry) {
	lag := &metrics.Metric{
		Name: "keepsake_search_index_lag_changes", Type: metrics.Gauge,
		Help: "Changes of documents that open search indexes do not contain yet.",
	}
	indexes := &metrics.Metric{
		Name: "keepsake_search_indexes", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Search indexes that this process holds, and how many of them are open and being built.",
	}
	building := &metrics.Metric{
		Name: "keepsake_search_index_building_documents", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Documents of the indexes that are being built: those that they have, and those that they lack.",
	}
	built := &metrics.Metric{Name: "keepsake_search_index_build_seconds", Type: metrics.Histogram, Help: "How long it took to build a search index."}
	dropped := &metrics.Metric{
		Name: "keepsake_search_indexes_dropped_total", Type: metrics.Counter,
		Help: "Search indexes that were dropped because of the disk budget.",
	}
	budget := &metrics.Metric{
		Name: "keepsake_search_disk_budget_bytes", Type: metrics.Gauge,
		Help: "Bytes of files beyond which search indexes are dropped; 0 means no bound.",
	}
	size := &metrics.Metric{
		Name: "keepsake_search_index_bytes", Type: metrics.Gauge, Labels: []string{"place"},
		Help: "Size of the search indexes that this process holds, in files and in memory.",
	}
	documents := &metrics.Metric{
		Name: "keepsake_search_index_documents", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Documents in the search indexes that were opened since the start, and deleted ones whose words are still in files.",
	}
	flushes := &metrics.Metric{Name: "keepsake_search_index_flushes_total", Type: metrics.Counter, Help: "How often a search index wrote its changes to a file."}
	merges := &metrics.Metric{Name: "keepsake_search_index_merges_total", Type: metrics.Counter, Help: "How often files of a search index were merged."}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		n := s.search.indexer.State()
		scrape.Set(lag, float64(n.Lag))
		scrape.Set(indexes, float64(n.Held), "held")
		scrape.Set(indexes, float64(n.Open), "open")
		scrape.Set(indexes, float64(n.Building), "building")
		scrape.Set(building, float64(n.BuildingDone), "indexed")
		scrape.Set(building, float64(n.BuildingAll-n.BuildingDone), "missing")
		scrape.SetHistogram(built, search.BuildBounds, n.Builds.Counts, n.Builds.Sum)
		scrape.Set(dropped, float64(n.Dropped))
		scrape.Set(budget, float64(n.DiskBudget))
		scrape.Set(size, float64(n.Size.Files), "files")
		scrape.Set(size, float64(n.Size.Memory), "memory")
		scrape.Set(documents, float64(n.Size.Docs), "live")
		scrape.Set(documents, float64(n.Size.Dead), "deleted")
		scrape.Set(flushes, float64(n.Work.Flushes))
		scrape.Set(merges, float64(n.Work.Merges))
	}, lag, indexes, building, built, dropped, budget, size, documents, flushes, merges)
}

// addAuditMetrics adds how the audit log keeps up.
func (s *services) addAuditMetrics(r *metrics.Registry) {
	age := &metrics.Metric{
		Name: "keepsake_audit_checkpoint_age_seconds", Type: metrics.Gauge,
		Help: "Time since checkpoints of the audit log were last written, or found to be complete.",
	}
	written := &metrics.Metric{Name: "keepsake_audit_checkpoints_total", Type: metrics.Counter, Help: "How often checkpoints were written or found to be complete."}
	failures := &metrics.Metric{Name: "keepsake_audit_checkpoint_failures_total", Type: metrics.Counter, Help: "How often writing checkpoints failed."}
	disputed := &metrics.Metric{
		Name: "keepsake_audit_disputed", Type: metrics.Gauge,
		Help: "1 if the audit log and its checkpoints contradict each other.",
	}
	queued := &metrics.Metric{Name: "keepsake_audit_queued_rows", Type: metrics.Gauge, Help: "Rows of reads that are not written yet (audit.reads: relaxed)."}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		n := s.records.audit.Stats()
		if !n.NotedAt.IsZero() {
			scrape.SetSeconds(age, s.since(n.NotedAt))
		}
		scrape.Set(written, float64(n.Noted))
		scrape.Set(failures, float64(n.Failures))
		scrape.SetBool(disputed, n.Disputed)
		scrape.Set(queued, float64(n.Queued))
	}, age, written, failures, disputed, queued)
}

// addWebhookMetrics adds the outbox of events and their deliveries.
func (s *services) addWebhookMetrics(r *metrics.Registry) {
	pending := &metrics.Metric{
		Name: "keepsake_webhook_deliveries_pending", Type: metrics.Gauge,
		Help: "Deliveries in the outbox of the instance, counted up to 10000.",
	}
	overdue := &metrics.Metric{
		Name: "keepsake_webhook_delivery_overdue_seconds", Type: metrics.Gauge,
		Help: "How long the oldest delivery has been due; 0 if none is.",
	}
	attempts := &metrics.Metric{
		Name: "keepsake_webhook_attempts_total", Type: metrics.Counter, Labels: []string{"result"},
		Help: "Attempts of this process to deliver an event: delivered or failed.",
	}
	givenUp := &metrics.Metric{Name: "keepsake_webhook_deliveries_failed_total", Type: metrics.Counter, Help: "Deliveries whose last attempt failed in this process."}
	running := &metrics.Metric{Name: "keepsake_webhook_requests_in_flight", Type: metrics.Gauge, Help: "Requests to receivers that are running."}
	r.Add(func(ctx context.Context, scrape *metrics.Scrape) {
		var n event.Stats
		if s.events.deliverer != nil {
			n = s.events.deliverer.Stats()
			s.readBacklog(ctx, scrape, pending, overdue)
		}
		scrape.Set(attempts, float64(n.Delivered), "delivered")
		scrape.Set(attempts, float64(n.Failed), "failed")
		scrape.Set(givenUp, float64(n.GivenUp))
		scrape.Set(running, float64(n.Running))
	}, pending, overdue, attempts, givenUp, running)
}

func (s *services) readBacklog(ctx context.Context, scrape *metrics.Scrape, pending, overdue *metrics.Metric) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	b, err := s.events.deliverer.Backlog(ctx)
	if err != nil {
		return
	}
	scrape.Set(pending, float64(b.Pending))
	var late time.Duration
	if !b.OldestAt.IsZero() {
		late = s.since(b.OldestAt)
	}
	scrape.SetSeconds(overdue, late)
}

// addClusterMetrics adds what the process knows of the others that serve the instance.
func (s *services) addClusterMetrics(r *metrics.Registry) {
	members := &metrics.Metric{Name: "keepsake_members", Type: metrics.Gauge, Help: "Processes that serve the instance, this one included."}
	age := &metrics.Metric{
		Name: "keepsake_news_age_seconds", Type: metrics.Gauge,
		Help: "Time since all changes of other processes were read; 0 for a process that serves alone.",
	}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		if s.members.peers == nil {
			scrape.Set(members, 1)
			scrape.Set(age, 0)
			return
		}
		scrape.Set(members, float64(s.members.peers.members.Count()))
		scrape.SetSeconds(age, s.members.peers.reader.Staleness())
	}, members, age)
}

// addCheckMetrics adds the checks of readiness.
func (s *services) addCheckMetrics(r *metrics.Registry) {
	failed := &metrics.Metric{
		Name: "keepsake_check_failed", Type: metrics.Gauge, Labels: []string{"check"},
		Help: "1 for a check of /readyz that fails.",
	}
	checks := s.checks()
	r.Add(func(ctx context.Context, scrape *metrics.Scrape) {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		for _, c := range checks {
			_, err := c.Run(ctx)
			scrape.SetBool(failed, err != nil, c.Name)
		}
	}, failed)
}

// addTraceMetrics adds what became of the spans of traces.
func addTraceMetrics(r *metrics.Registry, tracer *trace.Tracer) {
	spans := &metrics.Metric{
		Name: "keepsake_trace_spans_total", Type: metrics.Counter, Labels: []string{"result"},
		Help: "Recorded spans: exported, dropped because too many waited, or failed because the collector did not take them.",
	}
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		n := tracer.Stats()
		s.Set(spans, float64(n.Exported), "exported")
		s.Set(spans, float64(n.Dropped), "dropped")
		s.Set(spans, float64(n.Failed), "failed")
	}, spans)
}

// addLogMetrics adds the lines of the log that were not written because their reader is too slow or gone.
func addLogMetrics(r *metrics.Registry, dropped func() int64) {
	if dropped == nil {
		dropped = func() int64 { return 0 }
	}
	lines := &metrics.Metric{
		Name: "keepsake_log_dropped_lines_total", Type: metrics.Counter,
		Help: "Lines of the output and the log that were dropped, because nothing read them in time.",
	}
	r.Add(func(_ context.Context, s *metrics.Scrape) { s.Set(lines, float64(dropped())) }, lines)
}
