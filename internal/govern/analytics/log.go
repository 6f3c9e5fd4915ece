package analytics

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/govern/usage"
)

const (
	// maxRows is the max number of requests in a flush, and so about the max number in a second (docs/spec/analytics.md).
	maxRows = 200
	// maxErrors is the max number of combinations of dimensions of errors in a flush. Others are counted together.
	maxErrors = 5_000
	// maxGaps is the max number of workspaces whose requests are known to be left out.
	maxGaps = 10_000

	flushEvery = time.Second
	tidyEvery  = time.Minute
)

// Log records requests that have ended, and counts errors by their codes. It keeps them in memory and stores them each second.
// A crash loses what came after the last flush.
//
// A flush contains at most maxRows requests, errors first. Beyond that, a successful request costs two atomic reads.
type Log struct {
	store LogStore
	now   func() time.Time
	log   *slog.Logger
	keep  time.Duration // how long requests are kept; 0: they are not recorded

	taken atomic.Int64 // successes since the last flush, also those that were left out

	mu        sync.Mutex
	failures  []Event // at most maxRows each
	successes []Event
	errors    map[errorKey]errorSum
	gaps      atomic.Pointer[map[string]*atomic.Bool] // workspaces with requests that were left out; copy-on-write

	flushing sync.Mutex
	name     string // a random name that identifies this log's flushes
	number   int64  // of the last flush that was sent
	unsure   *Batch // sent under that number, with an unknown outcome; sent again unchanged
	degraded bool
}

// errorKey contains what errors are counted by.
type errorKey struct {
	minute int64 // Unix minute
	Traits
	workspaceID, code string
}

type errorSum struct {
	count  int64
	lastAt time.Time
}

// NewLog returns a Log that keeps requests for a number of days; 0 means that it only counts errors. Run flushes it each
// second, Close one last time.
func NewLog(store LogStore, days int, now func() time.Time, log *slog.Logger) *Log {
	l := &Log{
		store: store, now: now, log: log, keep: time.Duration(days) * 24 * time.Hour, name: rand.Text(), errors: map[errorKey]errorSum{},
	}
	l.gaps.Store(&map[string]*atomic.Bool{})
	return l
}

// On reports whether requests are recorded.
func (l *Log) On() bool { return l.keep > 0 }

// Add records a request. It allocates nothing for a success.
func (l *Log) Add(e *Event) {
	if Failed(e.Status) {
		l.addFailure(e)
		return
	}
	if !l.On() {
		return
	}
	if l.taken.Add(1) > maxRows {
		l.leaveOut(e.WorkspaceID)
		return
	}
	l.mu.Lock()
	l.successes = append(l.successes, *e)
	l.mu.Unlock()
}

func (l *Log) addFailure(e *Event) {
	l.mu.Lock()
	l.count(e)
	full := len(l.failures) >= maxRows
	if l.On() && !full {
		l.failures = append(l.failures, *e)
	}
	l.mu.Unlock()
	if l.On() && full {
		l.leaveOut(e.WorkspaceID)
	}
}

// count counts an error. The caller holds mu.
func (l *Log) count(e *Event) {
	k := errorKey{e.At.Unix() / 60, e.traits(), e.WorkspaceID, e.Code}
	sum, known := l.errors[k]
	if !known && len(l.errors) >= maxErrors {
		k.KeyID, k.Route = usage.Other, usage.Other
		sum, known = l.errors[k]
		if !known && len(l.errors) >= 2*maxErrors { // too many workspaces
			return
		}
	}
	sum.count++
	if e.At.After(sum.lastAt) {
		sum.lastAt = e.At.UTC()
	}
	l.errors[k] = sum
}

// leaveOut notes that a request of a workspace was left out.
func (l *Log) leaveOut(workspaceID string) {
	if left := (*l.gaps.Load())[workspaceID]; left != nil {
		if !left.Load() {
			left.Store(true)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := *l.gaps.Load()
	if old[workspaceID] != nil || len(old) >= maxGaps {
		return
	}
	gaps := make(map[string]*atomic.Bool, len(old)+1)
	for workspace, left := range old {
		gaps[workspace] = left
	}
	left := new(atomic.Bool)
	left.Store(true)
	gaps[strings.Clone(workspaceID)] = left
	l.gaps.Store(&gaps)
}

// Run flushes each second and deletes what is too old each minute, until ctx is done.
func (l *Log) Run(ctx context.Context) {
	flush, tidy := time.NewTicker(flushEvery), time.NewTicker(tidyEvery)
	defer flush.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			_ = l.Flush(context.WithoutCancel(ctx)) // it logs errors
		case <-tidy.C:
			if err := l.Tidy(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("tidying the log of requests failed; retrying in a minute", "error", err)
			}
		}
	}
}

// Close flushes the rest.
func (l *Log) Close(ctx context.Context) error { return l.Flush(ctx) }

// Flush stores what was recorded since the last flush. A failed flush can have been committed nevertheless, so it is sent
// again unchanged under its number, which the store recognizes.
func (l *Log) Flush(ctx context.Context) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	err := l.flush(ctx)
	if failed := err != nil; failed != l.degraded {
		l.degraded = failed
		if failed {
			l.log.Error("storing the log of requests failed; retrying each second", "error", err)
		} else {
			l.log.Info("stored the log of requests again")
		}
	}
	if err != nil {
		return fmt.Errorf("store the log of requests: %w", err)
	}
	return nil
}

func (l *Log) flush(ctx context.Context) error {
	if l.unsure == nil {
		if l.unsure = l.batch(); l.unsure == nil {
			return nil
		}
	}
	if err := l.store.AddRequests(ctx, *l.unsure); err != nil {
		return err
	}
	l.unsure = nil
	return nil
}

// batch takes what was recorded out of the memory; nil if there is nothing.
func (l *Log) batch() *Batch {
	failures, successes, counts := l.take()
	room := maxRows - len(failures)
	for _, e := range successes[min(room, len(successes)):] {
		l.leaveOut(e.WorkspaceID)
	}
	b := &Batch{Recorder: l.name, Number: l.number + 1, At: l.now()}
	for _, list := range [][]Event{failures, successes[:min(room, len(successes))]} {
		for i := range list {
			b.Requests = append(b.Requests, list[i].request(mathrand.Int64()))
		}
	}
	b.Gaps = l.takeGaps()
	for k, sum := range counts {
		b.Errors = append(b.Errors, ErrorCount{
			Traits: k.Traits, Start: time.Unix(k.minute*60, 0).UTC(), WorkspaceID: k.workspaceID, Code: k.code, Count: sum.count, LastAt: sum.lastAt,
		})
	}
	if len(b.Requests)+len(b.Gaps)+len(b.Errors) == 0 {
		return nil
	}
	slices.SortFunc(b.Requests, func(x, y Request) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Number, y.Number)) })
	l.number++
	return b
}

func (l *Log) take() (failures, successes []Event, counts map[errorKey]errorSum) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failures, successes, counts = l.failures, l.successes, l.errors
	l.failures, l.successes, l.errors = nil, make([]Event, 0, min(cap(successes), maxRows)), map[errorKey]errorSum{}
	l.taken.Store(0)
	return failures, successes, counts
}

// takeGaps returns the workspaces with requests that were left out since the last flush.
func (l *Log) takeGaps() (gaps []Gap) {
	minute := l.now().UTC().Truncate(time.Minute)
	for workspace, left := range *l.gaps.Load() {
		if left.Swap(false) {
			gaps = append(gaps, Gap{workspace, minute})
		}
	}
	return gaps
}

// Tidy deletes what is too old, and merges old minutes.
func (l *Log) Tidy(ctx context.Context) error {
	now := l.now()
	if err := l.store.PruneRequests(ctx, now.Add(-l.keep)); err != nil {
		return fmt.Errorf("delete old requests: %w", err)
	}
	if err := l.store.RollUpErrors(ctx, now.Add(-KeepMinutes)); err != nil {
		return fmt.Errorf("merge old counts of errors: %w", err)
	}
	if err := l.store.PruneErrors(ctx, now.Add(-KeepHours)); err != nil {
		return fmt.Errorf("delete old counts of errors: %w", err)
	}
	return nil
}
