package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Maintenance flushes and merges the indexes of a process: one flush and one merge at a time. The nil Maintenance does
// nothing.
type Maintenance struct {
	log *slog.Logger

	mu      sync.Mutex
	dirty   map[*Index]time.Time // when they must be flushed
	since   map[*Index]time.Time // their first change that is not flushed
	memory  map[*Index]int64     // bytes that a flush would write
	aging   map[*Index]time.Time // when files can perhaps be merged
	last    time.Time            // when an index was changed
	flusher chan struct{}
	merger  chan struct{}

	maxMemory int64
}

// The time from the last change of an index to its flush, and the longest time from any change.
const (
	flushDelay    = 5 * time.Second
	maxFlushDelay = time.Minute
)

// maxUnflushed is the size of the segments in memory of all indexes above which writers flush them themselves.
const maxUnflushed = 32 << 20

// ErrFull says that changes were not applied, because too many are in memory and cannot be flushed.
var ErrFull = errors.New("too many changes are in memory")

// NewMaintenance returns a Maintenance. It works while Run does.
func NewMaintenance(log *slog.Logger) *Maintenance {
	return &Maintenance{log: log, dirty: map[*Index]time.Time{}, since: map[*Index]time.Time{}, memory: map[*Index]int64{}, aging: map[*Index]time.Time{}, flusher: make(chan struct{}, 1), merger: make(chan struct{}, 1), maxMemory: maxUnflushed}
}

// changed reports that x was changed. It must be flushed now, or some time after the last change. memory is the size of what
// it has in memory.
func (m *Maintenance) changed(x *Index, memory int64, now bool) {
	if m == nil || x.o.files == nil {
		return
	}
	at := x.o.Now()
	m.mu.Lock()
	m.memory[x], m.last = memory, at
	if _, ok := m.since[x]; !ok {
		m.since[x] = at
	}
	if !now {
		latest := m.since[x].Add(maxFlushDelay)
		if at = at.Add(flushDelay); at.After(latest) {
			at = latest
		}
	}
	m.dirty[x] = at
	m.mu.Unlock()
	signal(m.flusher)
}

// flushed reports that x has only so many bytes in memory that a flush would write. The caller holds x.mu, as that of changed,
// so that the last report is of the current memory.
func (m *Maintenance) flushed(x *Index, memory int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.memory[x] = memory; memory == 0 {
		delete(m.memory, x)
	}
}

// makeRoom flushes the largest indexes while too much is in memory. So writers wait if the flusher falls behind.
func (m *Maintenance) makeRoom() error {
	if m == nil {
		return nil
	}
	for x := m.largest(); x != nil; x = m.largest() {
		if err := x.Flush(); err != nil {
			return fmt.Errorf("%w: %w", ErrFull, err)
		}
	}
	return nil
}

// largest returns the index with the most bytes in memory, or nil if there is room.
func (m *Maintenance) largest() *Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	var largest *Index
	sum := int64(0)
	for x, memory := range m.memory {
		if sum += memory; largest == nil || memory > m.memory[largest] {
			largest = x
		}
	}
	if sum < m.maxMemory {
		return nil
	}
	return largest
}

// merge reports that files of x can perhaps be merged at a time; the zero time is never. Except in Open, the caller holds
// x.mu, so that the last report is of the current files.
func (m *Maintenance) merge(x *Index, at time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	if at.IsZero() {
		delete(m.aging, x)
	} else {
		m.aging[x] = at
	}
	m.mu.Unlock()
	signal(m.merger)
}

// forget removes x, which is closed.
func (m *Maintenance) forget(x *Index) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.dirty, x)
	delete(m.since, x)
	delete(m.memory, x)
	delete(m.aging, x)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (m *Maintenance) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { m.runMerges(ctx) })
	m.runFlushes(ctx)
	work.Wait()
}

func (m *Maintenance) runFlushes(ctx context.Context) {
	debug.SetPanicOnFault(true) // a file can be truncated
	for x := range m.due(ctx, m.dirty, m.flusher) {
		m.mu.Lock()
		delete(m.since, x)
		m.mu.Unlock()
		switch err := x.Flush(); {
		case x.closing.Load():
		case err == nil && m.idle(x.o.Now()):
			x.o.Lexicon.forget() // an import is over, and single writes need few spellings
		case err == nil:
			m.retry(m.dirty, x) // until it is idle, also if there is nothing to flush any more
		case errors.Is(err, ErrCorrupt):
			x.o.Corrupt(err)
		default:
			m.log.Error("flushing an index failed", "error", err)
			m.retry(m.dirty, x)
		}
	}
}

// idle reports whether no index was changed for as long as a flush waits.
func (m *Maintenance) idle(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !now.Before(m.last.Add(flushDelay))
}

// retry flushes or merges x some time later, unless a time was reported since.
func (m *Maintenance) retry(times map[*Index]time.Time, x *Index) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := times[x]; !ok {
		times[x] = x.o.Now().Add(flushDelay)
	}
}

func (m *Maintenance) runMerges(ctx context.Context) {
	debug.SetPanicOnFault(true)
	for x := range m.due(ctx, m.aging, m.merger) {
		switch _, err := x.Merge(); {
		case err == nil, x.closing.Load():
		case errors.Is(err, ErrCorrupt):
			x.o.Corrupt(err)
		default:
			m.log.Error("merging an index failed", "error", err)
			m.retry(m.aging, x)
		}
	}
}

// due yields indexes at their times until ctx ends. Before it waits for the next time, a signal wakes it.
func (m *Maintenance) due(ctx context.Context, times map[*Index]time.Time, wake <-chan struct{}) iter.Seq[*Index] {
	return func(yield func(*Index) bool) {
		for ctx.Err() == nil {
			x, wait := m.take(times)
			if x != nil {
				if !yield(x) {
					return
				}
				continue
			}
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-wake:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// take removes and returns an index that is due, or returns how long to wait.
func (m *Maintenance) take(times map[*Index]time.Time) (x *Index, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = time.Hour
	for candidate, at := range times {
		if d := at.Sub(candidate.o.Now()); d < wait {
			x, wait = candidate, d
		}
	}
	if x == nil || wait > 0 {
		return nil, wait
	}
	delete(times, x)
	return x, 0
}
