package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// monitor detects a server that has stopped answering, so that requests fail at once instead of piling up. Silence alone
// proves nothing, because all statements can be slow or wait for a lock. So monitor pings the server on a connection of
// its own. If neither the ping nor any statement is answered, the server counts as down until it answers.
type monitor struct {
	ping    func(ctx context.Context) error
	timeout time.Duration // max time until the server answers
	log     *slog.Logger

	running atomic.Int64 // statements
	last    atomic.Int64 // when the server last answered, or the first of the running statements began
	pinging atomic.Bool
	polling atomic.Bool // a call of poll is scheduled
	down    atomic.Bool

	mu      sync.Mutex
	waiters map[*waiter]bool
	closed  bool
	quit    chan struct{}
	pings   sync.WaitGroup
}

// errDown is the cause of refusals while the server does not answer.
var errDown = errors.New("the database server does not answer")

// pingPause is the pause between pings of a server that is down.
const pingPause = 250 * time.Millisecond

// waiter is a statement, or a wait for a connection.
type waiter struct{ giveUp context.CancelFunc }

func newMonitor(ping func(ctx context.Context) error, timeout time.Duration, log *slog.Logger) *monitor {
	return &monitor{ping: ping, timeout: timeout, log: log, quit: make(chan struct{}), waiters: map[*waiter]bool{}}
}

// epoch is the origin of moments, which use the monotonic clock because the wall clock can jump.
var epoch = time.Now()

func moment() int64 { return int64(time.Since(epoch)) }

// begin registers a statement, which giveUp ends. The caller calls the returned function with the statement's error.
func (m *monitor) begin(giveUp context.CancelFunc) func(error) {
	if m.running.Add(1) == 1 {
		m.last.Store(moment())
	}
	if m.polling.CompareAndSwap(false, true) {
		time.AfterFunc(m.timeout/2, m.poll)
	}
	done := m.wait(giveUp)
	return func(err error) {
		var e *pgconn.PgError
		if err == nil || errors.As(err, &e) {
			m.setUp()
		}
		m.running.Add(-1)
		done()
	}
}

// wait registers a waiter until done is called. If the server is down, wait calls giveUp.
func (m *monitor) wait(giveUp context.CancelFunc) (done func()) {
	w := &waiter{giveUp}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down.Load() {
		giveUp()
		return func() {}
	}
	m.waiters[w] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiters, w)
	}
}

// poll checks the server periodically while statements run, because callers that are already waiting do not.
func (m *monitor) poll() {
	if m.running.Load() == 0 {
		m.polling.Store(false) // the next begin schedules it again
		return
	}
	_ = m.check() // poll refuses no request
	select {
	case <-m.quit:
	default:
		time.AfterFunc(m.timeout/4, m.poll)
	}
}

// setDown marks the server as down and cancels all waiters.
func (m *monitor) setDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down.Swap(true) {
		return
	}
	m.log.Error("database server does not answer", "error", oneLine(err))
	for w := range m.waiters {
		w.giveUp()
	}
	clear(m.waiters)
}

// setUp records an answer of the server.
func (m *monitor) setUp() {
	m.last.Store(moment())
	if m.down.Load() && m.down.Swap(false) {
		m.log.Info("database server answers again")
	}
}

// check returns an error while the server is down, and starts a ping if the server is silent.
func (m *monitor) check() error {
	if m.down.Load() {
		return errDown
	}
	silent := m.running.Load() > 0 && time.Duration(moment()-m.last.Load()) > m.timeout/2
	if silent && m.pinging.CompareAndSwap(false, true) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.closed {
			m.pings.Go(m.pingUntilUp)
		}
	}
	return nil
}

// pingUntilUp pings the server until it answers.
func (m *monitor) pingUntilUp() {
	defer m.pinging.Store(false)
	for {
		began := moment()
		ctx, cancel := context.WithTimeout(context.Background(), m.timeout)
		err := m.ping(ctx)
		cancel()
		var e *pgconn.PgError
		if err == nil || errors.As(err, &e) { // a server that refuses the connection is there
			m.setUp()
			return
		}
		if m.last.Load() > began && !m.down.Load() {
			return // it answered a statement meanwhile
		}
		m.setDown(err)
		select {
		case <-time.After(pingPause):
		case <-m.quit:
			return
		}
	}
}

func (m *monitor) close() {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.quit)
	}
	m.mu.Unlock()
	m.pings.Wait()
}
