package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/base/problem"
)

const (
	queueLength = 1024 // members that can wait; more block in Run
	groupSize   = 256  // members of one commit
	// groupTime is how long a group accepts members, so that the first does not wait much longer for the commit.
	groupTime = 10 * time.Millisecond
)

// writer is the only writer of its database. Transactions wait in a queue. Those that wait together become a group: one SQLite
// transaction with a savepoint per member, and one commit (one fsync) for all.
//
// The goroutine of the writer decides which member runs. A member runs in the goroutine of its caller, so that a panic or a
// t.FailNow in it is the caller's own.
type writer struct {
	path    string
	session *session
	opt     Options
	log     *slog.Logger // with the name of the database
	large   bool         // a warning about the size of the write-ahead log was logged
	used    bool         // a group has run since the last look at the write-ahead log

	groupTime time.Duration // the constant, except in tests; read when a group begins

	mu     sync.RWMutex // read-locked to send to queue, write-locked to close it
	closed bool
	queue  chan *member
	ended  chan struct{}

	stopped atomic.Pointer[fault] // why nothing is written, or nil
	busy    atomic.Bool           // a group is running
}

func newWriter(path string, s *session, opt Options) *writer {
	w := &writer{
		path: path, session: s, opt: opt, log: opt.Log.With("database", filepath.Base(path)),
		queue: make(chan *member, queueLength), ended: make(chan struct{}), groupTime: groupTime,
	}
	go w.loop()
	return w
}

var errClosed = problem.NotAvailable("The service is stopping.", time.Second)

// run queues fn and waits for its commit.
func (w *writer) run(ctx context.Context, begin func(context.Context, *transaction) context.Context, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := newMember(ctx, begin, fn)
	if err := w.enqueue(ctx, m); err != nil {
		return err
	}
	return m.wait(ctx)
}

func (w *writer) enqueue(ctx context.Context, m *member) error {
	if f := w.stopped.Load(); f != nil {
		return f.problem()
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- m:
		return nil
	case <-ctx.Done():
		return problem.Busy(ctx.Err())
	}
}

// close waits until the queue is empty and the goroutine has ended.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
}

func (w *writer) loop() {
	defer close(w.ended)
	tick := time.NewTicker(w.opt.ProbeEvery)
	defer tick.Stop()
	for {
		select {
		case m, ok := <-w.queue:
			if !ok {
				return
			}
			if f := w.stopped.Load(); f != nil {
				m.finish(f.problem())
				continue
			}
			w.busy.Store(true)
			w.group(m)
			w.used = true
			w.busy.Store(false)
		case <-tick.C:
			w.probe()
			w.watchLog()
		}
	}
}

// group runs first, and the members that wait behind it, in one transaction.
func (w *writer) group(first *member) {
	if err := w.session.exec("BEGIN IMMEDIATE"); err != nil {
		w.fail([]*member{first}, err)
		return
	}
	var members []*member
	end := time.Now().Add(w.groupTime)
	for m := first; m != nil; m = w.next(len(members), end) {
		if !m.start() {
			continue
		}
		members = append(members, m)
		if lost, err := w.savepoint(m); err != nil {
			w.fail(members, err)
			return
		} else if lost {
			w.separately(members)
			return
		}
	}
	switch err := w.session.exec("COMMIT"); {
	case err == nil:
		w.finish(members)
	case faultOf(err) != nil:
		w.fail(members, &commitError{err})
	default:
		// Something is checked at the commit, such as a deferred constraint. One of the members failed it.
		w.separately(members)
	}
}

// next is another member for a group of n, or nil when it is time to commit.
func (w *writer) next(n int, end time.Time) *member {
	if n >= groupSize || time.Now().After(end) {
		return nil
	}
	select {
	case m := <-w.queue: // nil if it is closed and empty
		return m
	default:
		return nil
	}
}

// savepoint runs m inside the group's transaction. lost reports that the transaction is gone, with the rows of the whole group;
// err is a fault of the engine.
func (w *writer) savepoint(m *member) (lost bool, err error) {
	if err := w.session.exec("SAVEPOINT member"); err != nil {
		return faultOf(err) == nil, faultCause(err)
	}
	failed := m.step(w.session)
	if faultOf(failed) != nil {
		return false, failed
	}
	if m.err != nil {
		if err := w.session.exec("ROLLBACK TO member"); err != nil {
			return faultOf(err) == nil, faultCause(err)
		}
	}
	// This also fails if the transaction is gone although m saw no error.
	if err := w.session.exec("RELEASE member"); err != nil {
		return faultOf(err) == nil, faultCause(err)
	}
	return false, nil
}

// faultCause is err if it is a fault, else nil.
func faultCause(err error) error {
	if faultOf(err) == nil {
		return nil
	}
	return err
}

// separately runs the members again, each in its own transaction, so that one that ends its transaction does not affect the
// others. It repeats failed members, too, because they can have seen rows of others that are now gone.
func (w *writer) separately(members []*member) {
	w.rollback()
	for i, m := range members {
		if m.aborted() {
			continue
		}
		err := w.single(m)
		if faultOf(err) != nil {
			w.fail(members[i:i+1], err)
			for _, rest := range members[i+1:] {
				rest.finish(w.stopped.Load().problem())
			}
			return
		}
		m.err = err
		w.finish(members[i : i+1])
	}
}

// single runs m in a transaction of its own. A fault is returned as SQLite's error, unwrapped.
func (w *writer) single(m *member) error {
	if err := w.session.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	failed := m.step(w.session)
	if m.err != nil {
		w.rollback()
		if faultOf(failed) != nil {
			return failed
		}
		return m.err
	}
	if err := w.session.exec("COMMIT"); err != nil {
		w.rollback()
		if faultOf(err) != nil {
			return &commitError{err}
		}
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rollback ends the transaction, if there is one. Its error only says that there was none.
func (w *writer) rollback() { _ = w.session.exec("ROLLBACK") }

// fail returns 503 to every member, even to those that had failed on their own, because they saw rows that were not stored.
// Nothing is written until a probe succeeds. After a commitError, the rows of those members that took part in the commit can be
// in the file after a restart.
func (w *writer) fail(members []*member, err error) {
	w.rollback()
	f := faultOf(err)
	if f == nil {
		f = &fault{cause: err}
	}
	w.stopped.Store(f)
	w.log.Error("stopped writing", "why", f.String(), "error", err)
	unknown := f.unknownAfter(err)
	for _, m := range members {
		if unknown && m.err == nil {
			m.finish(f.undecided())
			continue
		}
		m.finish(f.problem())
	}
}

// finish returns the results to the members in the order of their commit, which is also the order of their AfterCommit hooks.
func (w *writer) finish(members []*member) {
	for _, m := range members {
		m.finish(m.err)
	}
}

// probe checks, after writing has stopped, whether the disk accepts writes again. It writes more than a page, so that writing
// does not start and stop each second on the last free block.
func (w *writer) probe() {
	f := w.stopped.Load()
	if f == nil || f.final {
		return
	}
	w.truncateLog() // which can be what fills the disk
	for _, query := range []string{
		"BEGIN IMMEDIATE",
		"INSERT INTO probe (id, filler) VALUES (1, zeroblob(65536)) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler",
		"COMMIT",
	} {
		if err := w.session.exec(query); err != nil {
			w.rollback()
			if g := faultOf(err); g != nil && g.final {
				w.stopped.Store(g)
			}
			return
		}
	}
	w.stopped.Store(nil)
	w.log.Info("resumed writing")
}

// logSize returns the size of the write-ahead log.
func (w *writer) logSize() int64 {
	info, err := os.Stat(w.path + "-wal")
	if err != nil {
		return 0 // there is none
	}
	return info.Size()
}

// watchLog makes a write-ahead log small that is larger than it has to be, when nothing has been written for a while. It warns
// once if that does not work: a reader that does not end prevents copying the log into the file.
func (w *writer) watchLog() {
	idle := !w.used
	w.used = false
	size := w.logSize()
	if size > w.opt.LargeLog || idle && size > restingLog/2 {
		w.truncateLog()
		size = w.logSize()
	}
	large := size > w.opt.LargeLog
	if large && !w.large {
		w.log.Warn("write-ahead log is large because a reader does not end", "bytes", size)
	}
	w.large = large
}

// truncateLog copies the write-ahead log into the file and empties it, if no reader needs it. It does not wait for readers,
// because writes would wait, too.
func (w *writer) truncateLog() {
	for _, pragma := range []string{"busy_timeout(0)", "wal_checkpoint(TRUNCATE)", "busy_timeout(5000)"} {
		// Not prepared once: SQLite obeys some pragmas when it prepares them.
		_, err := w.session.conn.ExecContext(unbound, "PRAGMA "+pragma)
		if f := faultOf(err); f != nil && f.final {
			w.fail(nil, err)
		}
	}
}
