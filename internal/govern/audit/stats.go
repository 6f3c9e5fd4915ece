package audit

import (
	"sync/atomic"
	"time"
)

// Stats says how the log keeps up.
type Stats struct {
	NotedAt  time.Time // when counts and checkpoints were last written, or there was nothing to write; zero before Run
	Noted    int64     // how often that succeeded
	Failures int64     // how often that failed
	// Disputed means that the log and its checkpoints contradict each other, or that the file of checkpoints lacks one.
	Disputed bool
	Queued   int64 // rows of reads that no caller waits for and that are not written
}

type checkpointStats struct {
	notedAt         atomic.Int64 // Unix nanoseconds; 0: never
	noted, failures atomic.Int64
	disputed        atomic.Bool
}

// Stats returns the statistics of now.
func (l *Log) Stats() Stats {
	s := Stats{Noted: l.stats.noted.Load(), Failures: l.stats.failures.Load(), Disputed: l.stats.disputed.Load()}
	if at := l.stats.notedAt.Load(); at != 0 {
		s.NotedAt = time.Unix(0, at).UTC()
	}
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	s.Queued = int64(len(l.queue.rows))
	return s
}

// noteEnded counts a note, or the comparison at the start.
func (l *Log) noteEnded(err error) {
	if err == nil {
		l.stats.notedAt.Store(l.Now().UnixNano())
		l.stats.noted.Add(1)
	} else {
		l.stats.failures.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.disputed.Store(l.disputed || l.record != nil && l.record.Lost != nil)
}
