package audit

import (
	"context"
	"slices"
	"sync"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

const (
	// readsWithin is how long a relaxed read's row can wait for others.
	readsWithin = 250 * time.Millisecond
	// readsLate is the greatest age of a queued row. Once the oldest row is older, every read waits for its row.
	readsLate = 900 * time.Millisecond
	// maxQueued is how many rows can be queued. Beyond that, every read waits for its row.
	maxQueued = 1 << 16
	// readsAtOnce is how many rows one transaction writes.
	readsAtOnce = 512
)

// Reads configures how rows of reads are written.
type Reads uint8

// The modes. In both, a read that cannot be logged fails.
const (
	ReadsTogether Reads = iota // before Read returns; concurrent reads share a transaction
	ReadsRelaxed               // within a second after Read
)

// Read is Record for reads; call it before the response is sent. A single caller waits for one commit, and each of many
// concurrent callers for two at most: the commit that is running when it calls, and its own. With ReadsRelaxed a caller
// waits for no commit, unless queued rows are late or too many: then each caller waits for its own row, and if that cannot
// be written, the read fails.
func (l *Log) Read(ctx context.Context, entries ...Entry) error {
	rows := make([]*Row, len(entries))
	for i, e := range entries {
		var err error
		if rows[i], err = l.row(ctx, e); err != nil {
			return err
		}
	}
	switch {
	case len(rows) == 0:
		return nil
	case unit.Running(ctx):
		return l.append(ctx, rows)
	case l.Reads == ReadsTogether:
		return l.share(ctx, rows)
	}
	waits := l.behind()
	for i, r := range rows {
		q := &queued{row: r, since: time.Now()}
		if waits && i == len(rows)-1 { // the rows before it are written first
			q.done = make(chan error, 1)
		}
		if err := l.enqueue(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until all rows that are queued now are written.
func (l *Log) settle(ctx context.Context) error {
	if l.Reads != ReadsRelaxed {
		return nil
	}
	return l.enqueue(ctx, &queued{done: make(chan error, 1)})
}

// queue contains rows of reads, in order of arrival.
type queue struct {
	mu      sync.Mutex
	rows    []*queued
	running bool // a goroutine is writing rows until there are none
	armed   bool // or will be started
	ended   bool // the log was closed: rows that cannot be written now are lost
	// unsure is the number of first rows whose transaction failed with an unknown outcome.
	unsure int
}

type queued struct {
	row   *Row // nil: a marker for settle, which waits for the rows before it
	since time.Time
	done  chan error // receives the result for a caller that waits; nil: no caller waits
}

// behind reports whether queued rows are late or too many.
func (l *Log) behind() bool {
	q := &l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.rows) >= maxQueued || q.ended {
		return true
	}
	first := slices.IndexFunc(q.rows, func(r *queued) bool { return r.row != nil })
	return first >= 0 && time.Since(q.rows[first].since) > readsLate
}

func (l *Log) enqueue(ctx context.Context, r *queued) error {
	q := &l.queue
	q.mu.Lock()
	q.rows = append(q.rows, r)
	switch {
	case r.done != nil && !q.running:
		q.running = true
		go l.writeQueue()
	case r.done == nil:
		l.arm()
	}
	q.mu.Unlock()
	if r.done == nil {
		return nil
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return problem.Busy(ctx.Err())
	}
}

// arm has the queue written in a moment. The caller holds the lock.
func (l *Log) arm() {
	q := &l.queue
	if q.running || q.armed || q.ended {
		return
	}
	q.armed = true
	time.AfterFunc(readsWithin, func() {
		q.mu.Lock()
		q.armed = false
		start := !q.running && len(q.rows) > 0
		q.running = q.running || start
		q.mu.Unlock()
		if start {
			l.writeQueue()
		}
	})
}

// writeQueue writes until the queue is empty or a write fails. After a failure it reports the error to the callers that wait;
// the other rows stay queued and are written soon. It does not end with the context of a caller, since others wait, too.
func (l *Log) writeQueue() {
	ctx := context.Background()
	q := &l.queue
	for {
		q.mu.Lock()
		batch, unsure := q.rows[:min(len(q.rows), readsAtOnce)], q.unsure
		if unsure > 0 {
			batch = batch[:unsure]
		}
		if len(batch) == 0 {
			q.rows, q.running = nil, false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()

		err := l.writeReads(ctx, batch, unsure > 0)
		told := batch
		q.mu.Lock()
		if err == nil {
			q.rows, q.unsure = q.rows[len(batch):], 0
		} else {
			told = slices.Clone(q.rows)
			waits := func(r *queued) bool { return r.done != nil }
			q.unsure = len(batch) - count(batch, waits)
			q.rows = slices.DeleteFunc(slices.Clone(q.rows), waits)
			q.running = false
			if len(q.rows) > 0 {
				l.arm()
			}
		}
		q.mu.Unlock()
		for _, r := range told {
			if r.done != nil {
				r.done <- err
			}
		}
		if err != nil {
			return
		}
	}
}

func count[T any](list []T, is func(T) bool) (n int) {
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}

// writeReads writes rows in one transaction. again means that an earlier try had an unknown outcome: all of them can
// exist, or none.
func (l *Log) writeReads(ctx context.Context, batch []*queued, again bool) error {
	rows := make([]*Row, 0, len(batch))
	for _, r := range batch {
		if r.row != nil {
			rows = append(rows, r.row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if again {
		there, err := l.written(ctx, rows[0])
		if err != nil || there {
			return err
		}
	}
	return unwritten(l.append(ctx, rows))
}

// written reports whether a row is in the log.
func (l *Log) written(ctx context.Context, r *Row) (bool, error) {
	const sameTime = 10_000 // rows of one target in one millisecond
	rows, err := l.Store.ListAuditRows(ctx, Filter{
		WorkspaceID: r.WorkspaceID, Target: r.Target, From: r.At, To: r.At.Add(time.Millisecond), Limit: sameTime,
	})
	return slices.ContainsFunc(rows, func(o *Row) bool { return o.Hash == r.Hash }), err
}

// endReads writes the queue for the last time.
func (l *Log) endReads(ctx context.Context) error {
	err := l.settle(ctx)
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	l.queue.ended = true
	return err
}
