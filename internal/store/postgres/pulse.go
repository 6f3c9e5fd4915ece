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

// pulse detects a server that has stopped answering, so that requests fail at once instead of piling up. Silence alone
// proves nothing, because all statements can be slow or wait for a lock. So pulse pings the server on a connection of
// its own. If neither the ping nor any statement is answered, the server counts as away until it answers.
type pulse struct {
	ping     func(ctx context.Context) error
	patience time.Duration // max time until the server answers
	log      *slog.Logger

	running atomic.Int64 // statements
	last    atomic.Int64 // when the server last answered, or the first of the running statements began
	asking  atomic.Bool
	looking atomic.Bool // a call of look is scheduled
	away    atomic.Bool

	mu      sync.Mutex
	waiters map[*waiter]bool
	closed  bool
	quit    chan struct{}
	asks    sync.WaitGroup
}

// errAway is the cause of refusals while the server does not answer.
var errAway = errors.New("the database server does not answer")

// pauseAway is the pause between pings of a server that is away.
const pauseAway = 250 * time.Millisecond

// waiter is a statement, or a wait for a connection.
type waiter struct{ giveUp context.CancelFunc }

func newPulse(ping func(ctx context.Context) error, patience time.Duration, log *slog.Logger) *pulse {
	return &pulse{ping: ping, patience: patience, log: log, quit: make(chan struct{}), waiters: map[*waiter]bool{}}
}

// epoch is the origin of moments, which use the monotonic clock because the wall clock can jump.
var epoch = time.Now()

func moment() int64 { return int64(time.Since(epoch)) }

// begin registers a statement, which giveUp ends. The caller calls the returned function with the statement's error.
func (p *pulse) begin(giveUp context.CancelFunc) func(error) {
	if p.running.Add(1) == 1 {
		p.last.Store(moment())
	}
	if p.looking.CompareAndSwap(false, true) {
		time.AfterFunc(p.patience/2, p.look)
	}
	done := p.wait(giveUp)
	return func(err error) {
		var e *pgconn.PgError
		if err == nil || errors.As(err, &e) {
			p.heard()
		}
		p.running.Add(-1)
		done()
	}
}

// wait registers a waiter until done is called. If the server is away, wait calls giveUp.
func (p *pulse) wait(giveUp context.CancelFunc) (done func()) {
	w := &waiter{giveUp}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away.Load() {
		giveUp()
		return func() {}
	}
	p.waiters[w] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiters, w)
	}
}

// look checks the server periodically while statements run. Otherwise no one would check if all callers are already
// waiting.
func (p *pulse) look() {
	if p.running.Load() == 0 {
		p.looking.Store(false) // the next begin schedules it again
		return
	}
	_ = p.check() // look refuses no request
	select {
	case <-p.quit:
	default:
		time.AfterFunc(p.patience/4, p.look)
	}
}

// lose cancels all waiters.
func (p *pulse) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away.Swap(true) {
		return
	}
	p.log.Error("database server does not answer", "error", oneLine(err))
	for w := range p.waiters {
		w.giveUp()
	}
	clear(p.waiters)
}

// heard records an answer.
func (p *pulse) heard() {
	p.last.Store(moment())
	if p.away.Load() && p.away.Swap(false) {
		p.log.Info("database server answers again")
	}
}

// check returns an error while the server is away, and starts a ping if the server is silent.
func (p *pulse) check() error {
	if p.away.Load() {
		return errAway
	}
	silent := p.running.Load() > 0 && time.Duration(moment()-p.last.Load()) > p.patience/2
	if silent && p.asking.CompareAndSwap(false, true) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.closed {
			p.asks.Go(p.ask)
		}
	}
	return nil
}

// ask pings the server until it answers.
func (p *pulse) ask() {
	defer p.asking.Store(false)
	for {
		began := moment()
		ctx, cancel := context.WithTimeout(context.Background(), p.patience)
		err := p.ping(ctx)
		cancel()
		var e *pgconn.PgError
		if err == nil || errors.As(err, &e) { // a server that refuses the connection is there
			p.heard()
			return
		}
		if p.last.Load() > began && !p.away.Load() {
			return // it answered a statement meanwhile
		}
		p.lose(err)
		select {
		case <-time.After(pauseAway):
		case <-p.quit:
			return
		}
	}
}

func (p *pulse) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
	}
	p.mu.Unlock()
	p.asks.Wait()
}
