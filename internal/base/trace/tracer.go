package trace

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Exporter sends spans to a collector. An error means that it did not get all of them.
type Exporter interface {
	Export(ctx context.Context, spans []*Span) error
}

// Options is what a Tracer needs.
type Options struct {
	Exporter Exporter
	Sample   float64 // the fraction of traces that are recorded, unless the caller of a request decides
	Now      func() time.Time
	Log      *slog.Logger
}

const (
	maxQueued   = 2048 // spans that wait; more are dropped, so that a collector that does not answer costs no memory
	batchSize   = 512
	exportEvery = 5 * time.Second
	exportTime  = 10 * time.Second
	finalTime   = 3 * time.Second // for what is left when the program ends
)

// Tracer collects spans and exports them in the background.
type Tracer struct {
	exporter Exporter
	below    uint64 // the sampled part of 63 bits of an ID
	now      func() time.Time
	log      *slog.Logger
	full     chan struct{} // a batch is full

	mu     sync.Mutex
	queued []*Span

	failing                   bool // the last export failed; only for Run
	exported, dropped, failed atomic.Int64
}

// New returns a Tracer. Run exports what it collects.
func New(o Options) *Tracer {
	return &Tracer{exporter: o.Exporter, below: uint64(min(max(o.Sample, 0), 1) * math.MaxInt64), now: o.Now, log: o.Log, full: make(chan struct{}, 1)}
}

// add queues a finished span.
func (t *Tracer) add(s *Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queued) >= maxQueued {
		t.dropped.Add(1)
		return
	}
	t.queued = append(t.queued, s)
	if len(t.queued) >= batchSize {
		select {
		case t.full <- struct{}{}:
		default:
		}
	}
}

// Run exports spans every few seconds, or once there are many, until ctx ends. Then it exports what is left.
func (t *Tracer) Run(ctx context.Context) {
	every := time.NewTicker(exportEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			t.Flush(context.WithoutCancel(ctx), finalTime)
			return
		case <-every.C:
		case <-t.full:
		}
		t.Flush(ctx, exportTime)
	}
}

// Flush exports all spans that are queued. What a collector does not take in time is lost: newer spans matter more.
func (t *Tracer) Flush(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for batch := t.next(); len(batch) > 0; batch = t.next() {
		err := t.exporter.Export(ctx, batch)
		if err != nil {
			t.failed.Add(int64(len(batch)))
		} else {
			t.exported.Add(int64(len(batch)))
		}
		t.note(err)
	}
}

// next takes the oldest spans from the queue.
func (t *Tracer) next() []*Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(t.queued), batchSize)
	batch := t.queued[:n:n]
	t.queued = append([]*Span(nil), t.queued[n:]...)
	return batch
}

// note logs when exports begin to fail, and when they succeed again.
func (t *Tracer) note(err error) {
	if failing := err != nil; failing == t.failing {
		return
	} else if t.failing = failing; failing {
		t.log.Warn("exporting traces failed; their spans are lost", "error", err.Error())
		return
	}
	t.log.Info("exported traces again")
}

// Stats counts spans since the program started.
type Stats struct {
	Exported int64
	Dropped  int64 // because too many were waiting
	Failed   int64 // because the collector did not take them
}

// Stats returns the counts of now; zeros for a nil Tracer.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{Exported: t.exported.Load(), Dropped: t.dropped.Load(), Failed: t.failed.Load()}
}
