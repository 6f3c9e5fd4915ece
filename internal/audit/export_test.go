package audit

import "time"

// ReadsLate is how old a row may become that nobody waits for.
const ReadsLate = readsLate

// Queued is how many rows of reads wait, and how many of those who queued them.
func (l *Log) Queued() (rows, callers int) {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.rows), count(l.queue.rows, func(r *queued) bool { return r.done != nil })
}

// Age makes what is queued older.
func (l *Log) Age(by time.Duration) {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	for _, r := range l.queue.rows {
		r.since = r.since.Add(-by)
	}
}
