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

// pulse notices that a server has fallen silent, so that whoever waits for it then, or comes, is refused at once instead of
// waiting in a growing crowd. Silence alone proves nothing: all that runs may be slow, or wait for a row. So the server is
// asked, on a connection apart, and only when it answers neither that nor anything else it counts as away, until it does.
type pulse struct {
	ping     func(ctx context.Context) error
	patience time.Duration // how long the server may take to answer
	log      *slog.Logger

	running atomic.Int64 // statements
	last    atomic.Int64 // when one was answered last, or began after nothing ran
	asking  atomic.Bool
	looking atomic.Bool // a look is due
	away    atomic.Bool

	mu      sync.Mutex
	waiters map[*waiter]bool
	closed  bool
	quit    chan struct{}
	asks    sync.WaitGroup
}

// errAway is the cause of refusals while the server does not answer.
var errAway = errors.New("the database server does not answer")

// pauseAway is how long to wait between two questions to a server that is away.
const pauseAway = 250 * time.Millisecond

// waiter is somebody who waits for the server, or for a connection to it.
type waiter struct{ giveUp context.CancelFunc }

func newPulse(ping func(ctx context.Context) error, patience time.Duration, log *slog.Logger) *pulse {
	return &pulse{ping: ping, patience: patience, log: log, quit: make(chan struct{}), waiters: map[*waiter]bool{}}
}

// epoch is what moments are counted from: the clock of the machine may jump.
var epoch = time.Now()

func moment() int64 { return int64(time.Since(epoch)) }

// begin says that a statement begins, which giveUp ends. What it answers is called with its result.
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

// wait says that somebody waits, until what it answers is called. When the server is away, giveUp is.
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

// look looks from time to time while statements run: where all who come wait already, nobody else does.
func (p *pulse) look() {
	if p.running.Load() == 0 {
		p.looking.Store(false) // whoever begins next sees to it
		return
	}
	_ = p.check() // nobody is to be refused here
	select {
	case <-p.quit:
	default:
		time.AfterFunc(p.patience/4, p.look)
	}
}

// lose lets all go who wait.
func (p *pulse) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away.Swap(true) {
		return
	}
	p.log.Error("the database server does not answer", "error", oneLine(err))
	for w := range p.waiters {
		w.giveUp()
	}
	clear(p.waiters)
}

// heard notes an answer.
func (p *pulse) heard() {
	p.last.Store(moment())
	if p.away.Load() && p.away.Swap(false) {
		p.log.Info("the database server answers again")
	}
}

// check refuses whoever comes while the server is away.
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

// ask asks until there is an answer.
func (p *pulse) ask() {
	defer p.asking.Store(false)
	for {
		began := moment()
		ctx, cancel := context.WithTimeout(context.Background(), p.patience)
		err := p.ping(ctx)
		cancel()
		var e *pgconn.PgError
		if err == nil || errors.As(err, &e) { // a server that refuses us is there
			p.heard()
			return
		}
		if p.last.Load() > began && !p.away.Load() {
			return // it has answered somebody else
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
