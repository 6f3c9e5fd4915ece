package audit

import (
	"context"
	"time"
)

// ReadsLate is how old a row can become that no caller waits for.
const ReadsLate = readsLate

// Queued is how many rows of reads are in the queue without a waiting caller.
func (l *Log) Queued() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.rows)
}

// Gathered is how many rows the unit has that takes in rows.
func (l *Log) Gathered() int {
	l.gathering.mu.Lock()
	defer l.gathering.mu.Unlock()
	if l.gathering.open == nil {
		return 0
	}
	return len(l.gathering.open.rows)
}

// ReadAsking is Read for ReadsTogether, and calls asks when its row is asked for, while no transaction ends.
func (l *Log) ReadAsking(ctx context.Context, e Entry, asks func()) error {
	r, err := l.row(ctx, e)
	if err != nil {
		return err
	}
	l.gathering.mu.Lock()
	asks()
	s := l.join(ctx, []*Row{r})
	l.gathering.mu.Unlock()
	return s.wait(ctx)
}

// Age makes what is queued older.
func (l *Log) Age(by time.Duration) {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	for _, r := range l.queue.rows {
		r.since = r.since.Add(-by)
	}
}
