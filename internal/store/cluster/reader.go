package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Source reads events from the shared database.
type Source interface {
	// From reads at most limit events from a number on, including that one, and the head, as of one moment.
	From(ctx context.Context, number int64, limit int) (*Batch, error)
	// Prune removes events that are older than keep.
	Prune(ctx context.Context, keep time.Duration) error
}

// Applier updates what a process holds in memory.
type Applier interface {
	// Apply reloads what the events are about. After an error, the same events are applied again.
	Apply(ctx context.Context, events []Event) error
	// ApplyAll reloads everything, because events were missed.
	ApplyAll(ctx context.Context) error
}

// ReaderOptions is what a Reader needs.
type ReaderOptions struct {
	Source       Source
	Applier      Applier
	MaxStaleness time.Duration // Current is false after that long without a complete poll
	Log          *slog.Logger
	Now          func() time.Time // monotonic; time.Now if nil

	// Confirm is called after each complete poll with the number of the last applied event. Can be nil.
	Confirm func(ctx context.Context, number int64)

	// StartTimeout is the timeout of Begin; zero means the timeout of a poll.
	StartTimeout time.Duration
}

// Reader applies all events in order. It polls every PollEvery.
type Reader struct {
	ReaderOptions

	number int64  // of the last applied event
	last   *Event // that event; nil if it was not read

	began   time.Time
	elapsed func() time.Duration // since began
	current atomic.Int64         // when the last complete poll began, in nanoseconds since began
	failing bool
}

const (
	batchSize    = 500
	pollTimeout  = 2 * time.Second
	pruneEvery   = 10 * time.Minute
	applyTimeout = 5 * time.Second

	applyAllTimeout = 2 * time.Minute
)

// NewReader returns a Reader. Call Begin next.
func NewReader(o ReaderOptions) *Reader {
	r := &Reader{ReaderOptions: o}
	if o.Now == nil {
		r.Now = time.Now
	}
	r.began = r.Now()
	// time.Since reads only the monotonic clock, which is faster, and every request calls this.
	r.elapsed = func() time.Duration { return r.Now().Sub(r.began) }
	if o.Now == nil {
		r.elapsed = func() time.Duration { return time.Since(r.began) }
	}
	return r
}

// Begin reads the current head. Load what is held in memory after it: that state includes all earlier changes.
func (r *Reader) Begin(ctx context.Context) error {
	began := r.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.StartTimeout, pollTimeout))
	defer cancel()
	batch, err := r.Source.From(ctx, 0, 0)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	r.number, r.last = batch.Head, nil
	r.current.Store(int64(began.Sub(r.began)))
	return nil
}

// Current reports whether every change older than MaxStaleness was applied.
func (r *Reader) Current() bool {
	return r.Staleness() < r.MaxStaleness
}

// Staleness returns the time since the last complete poll began.
func (r *Reader) Staleness() time.Duration {
	return r.elapsed() - time.Duration(r.current.Load())
}

// Run polls until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	every, prune := time.NewTimer(PollEvery), time.NewTicker(pruneEvery)
	defer every.Stop()
	defer prune.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-prune.C:
			r.prune(ctx)
			continue
		case <-every.C:
		}
		err := r.Poll(ctx)
		if ctx.Err() == nil {
			r.logFailure(err)
		}
		every.Reset(PollEvery)
	}
}

// prune runs in every member. Only one of them finds old events.
func (r *Reader) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if err := r.Source.Prune(ctx, KeepEvents); err != nil && ctx.Err() == nil {
		r.Log.Warn("deleting old events failed", "error", err.Error())
	}
}

// Poll applies all new events. It must not run concurrently.
func (r *Reader) Poll(ctx context.Context) error {
	for {
		began := r.Now()
		batch, err := r.read(ctx)
		if err != nil {
			return err
		}
		events, complete := newEvents(r.number, r.last, batch)
		if !complete {
			return r.applyAll(ctx, began, batch.Head)
		}
		if len(events) > 0 {
			if err := r.apply(ctx, distinct(events)); err != nil {
				return err
			}
			last := events[len(events)-1]
			r.number, r.last = last.Number, &last
		} else if r.last == nil && len(batch.Events) > 0 {
			r.last = &batch.Events[0]
		}
		if r.number == batch.Head {
			r.current.Store(int64(began.Sub(r.began)))
			r.confirm(ctx)
			return nil
		}
	}
}

func (r *Reader) read(ctx context.Context) (*Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	batch, err := r.Source.From(ctx, r.number, batchSize)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return batch, nil
}

func (r *Reader) apply(ctx context.Context, events []Event) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	if err := r.Applier.Apply(ctx, events); err != nil {
		return fmt.Errorf("apply events: %w", err)
	}
	return nil
}

// applyAll reloads everything and continues at a head that was read before that.
func (r *Reader) applyAll(ctx context.Context, began time.Time, head int64) error {
	r.Log.Warn("events were missed; reloading everything", "applied", r.number, "head", head)
	ctx, cancel := context.WithTimeout(ctx, applyAllTimeout)
	defer cancel()
	if err := r.Applier.ApplyAll(ctx); err != nil {
		return fmt.Errorf("reload everything: %w", err)
	}
	r.number, r.last = head, nil
	r.current.Store(int64(began.Sub(r.began)))
	r.confirm(ctx)
	return nil
}

func (r *Reader) confirm(ctx context.Context) {
	if r.Confirm != nil {
		r.Confirm(ctx, r.number)
	}
}

// logFailure logs the first of several failures, and the first success after them.
func (r *Reader) logFailure(err error) {
	if failing := err != nil; failing != r.failing {
		r.failing = failing
		if failing {
			r.Log.Warn("reading changes of other processes failed", "error", err.Error(), "maxStaleness", r.MaxStaleness.String())
		} else {
			r.Log.Info("reading changes of other processes succeeded again")
		}
	}
}
