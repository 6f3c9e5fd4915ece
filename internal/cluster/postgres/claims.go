package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"keepsake/internal/idempotency"
)

const (
	claimWait  = time.Second            // how long anybody waits for the database
	claimRetry = 250 * time.Millisecond // between two tries to connect
	claimLook  = time.Second            // how often a connection that holds locks is asked whether it is there
)

// Claims holds an advisory lock for each request that runs here, all by one connection: when the process dies, or the way
// from it to the database, the locks go with it. What is asked during a round trip goes with the next, so that many
// requests share one.
//
// While the connection is lost nobody is kept from running (see idempotency.Claims); the locks are taken again when it is
// back.
type Claims struct {
	connect  Connect
	log      *slog.Logger
	patience time.Duration // claimWait but in tests
	wake     chan struct{} // holds one token

	mu      sync.Mutex
	lost    bool
	asked   []*claimAsk
	running map[int64]struct{} // what runs here, also without a lock

	conn   *pgx.Conn // this and locked are Run's alone
	locked map[int64]struct{}
}

// claimAsk is a lock to be taken or given back.
type claimAsk struct {
	key   int64
	leave bool
	done  chan struct{} // closed when it is answered
	ok    bool          // the lock is ours, or nobody can tell
}

var _ idempotency.Claims = (*Claims)(nil)

// NewClaims makes Claims that work while Run does. connect gives it a connection of its own.
func NewClaims(connect Connect, log *slog.Logger) *Claims {
	return &Claims{
		connect: connect, log: log, patience: claimWait, wake: make(chan struct{}, 1),
		running: map[int64]struct{}{}, locked: map[int64]struct{}{},
	}
}

// keyOf names the lock of a claim, which is a keyed hash: nobody meets 64 bits of it by chance.
func keyOf(claim [32]byte) int64 { return int64(binary.BigEndian.Uint64(claim[:])) }

// Take implements idempotency.Claims.
func (c *Claims) Take(ctx context.Context, claim [32]byte) bool {
	a := &claimAsk{key: keyOf(claim), done: make(chan struct{})}
	if c.push(a) {
		a.wait(ctx, c.patience)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-a.done:
		if !a.ok {
			return false
		}
	default: // a lock that comes later is given back with the others
	}
	c.running[a.key] = struct{}{}
	return true
}

// Release implements idempotency.Claims.
func (c *Claims) Release(claim [32]byte, wait bool) {
	a := &claimAsk{key: keyOf(claim), leave: true, done: make(chan struct{})}
	c.mu.Lock()
	delete(c.running, a.key)
	c.mu.Unlock()
	if c.push(a) && wait {
		a.wait(context.Background(), c.patience)
	}
}

// push says whether there will be an answer soon.
func (c *Claims) push(a *claimAsk) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost && !a.leave {
		return false
	}
	c.asked = append(c.asked, a)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return !c.lost
}

func (a *claimAsk) wait(ctx context.Context, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Run answers until ctx ends; then the locks are given back, and nobody is kept from running any more.
func (c *Claims) Run(ctx context.Context) {
	defer c.giveUp()
	defer c.lose()
	tick := time.NewTicker(claimLook)
	defer tick.Stop()
	for ctx.Err() == nil {
		if c.conn == nil && !c.open(ctx) {
			select {
			case <-time.After(claimRetry):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-c.wake:
			c.serve(ctx)
		case <-tick.C:
			_ = c.ask(ctx, nil) // finds out whether the connection is there
		case <-ctx.Done():
		}
	}
}

// open connects and takes the locks of what runs. Where it fails, nobody waits for a lock until it succeeds.
func (c *Claims) open(ctx context.Context) bool {
	short, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	c.mu.Lock()
	if c.lost {
		c.asked = nil // of what has ended since; none of it has a lock
	}
	c.mu.Unlock()
	if err := c.renew(short); err != nil {
		if !c.isLost() && ctx.Err() == nil {
			c.log.WarnContext(ctx, "other processes cannot be told which requests run here", "error", err.Error())
		}
		c.lose()
		c.giveUp()
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false
	return true
}

func (c *Claims) renew(ctx context.Context) (err error) {
	if c.conn, err = c.connect(ctx); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	// A machine that is gone says no goodbye, and then its locks would stay.
	_, err = c.conn.Exec(ctx, `
		SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; SET idle_session_timeout = 0`)
	if err != nil {
		return fmt.Errorf("prepare a connection: %w", err)
	}
	c.mu.Lock()
	var again []*claimAsk // somebody else may have begun to run the same meanwhile
	for key := range c.running {
		again = append(again, &claimAsk{key: key})
	}
	c.mu.Unlock()
	return c.send(ctx, again)
}

func (c *Claims) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// serve answers what was asked since the last time.
func (c *Claims) serve(ctx context.Context) {
	c.mu.Lock()
	asked := c.asked
	c.asked = nil
	c.mu.Unlock()
	if !c.ask(ctx, asked) {
		for _, a := range asked {
			a.ok = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range asked {
		close(a.done)
	}
}

// ask asks the database, by another connection where the first turns out lost.
func (c *Claims) ask(ctx context.Context, asked []*claimAsk) bool {
	for range 2 {
		short, cancel := context.WithTimeout(ctx, c.patience)
		err := c.send(short, asked)
		cancel()
		if err == nil {
			return true
		}
		c.log.DebugContext(ctx, "the connection that holds locks was lost", "error", err.Error())
		if c.lose(); !c.open(ctx) {
			return false
		}
	}
	return false
}

// send does what is asked in one round trip, in order. After an error it is not known what the connection holds.
func (c *Claims) send(ctx context.Context, asked []*claimAsk) error {
	var batch pgx.Batch
	held := map[int64]bool{} // once what is in the batch is done, if nobody else has it
	for _, a := range asked {
		_, ours := c.locked[a.key]
		soon, told := held[a.key]
		if told {
			ours = soon
		}
		switch {
		case !a.leave && ours && !told:
			// The database counts how often a lock is taken. This one was taken for what runs when the connection was made,
			// and whoever asked before that is served after it.
			a.ok = true
		case !a.leave:
			held[a.key] = true
			batch.Queue("SELECT pg_try_advisory_lock($1)", a.key).QueryRow(func(row pgx.Row) error {
				if err := row.Scan(&a.ok); err != nil {
					return err
				}
				if a.ok {
					c.locked[a.key] = struct{}{}
				}
				return nil
			})
		case ours:
			held[a.key] = false
			batch.Queue("SELECT pg_advisory_unlock($1)", a.key).Exec(func(pgconn.CommandTag) error {
				delete(c.locked, a.key)
				return nil
			})
		}
	}
	if batch.Len() == 0 {
		batch.Queue("SELECT 1")
	}
	if err := c.conn.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("ask for locks: %w", err)
	}
	return nil
}

// lose gives the connection up, and every lock with it.
func (c *Claims) lose() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), claimWait)
		defer cancel()
		_ = c.conn.Close(ctx)
	}
	c.conn = nil
	clear(c.locked)
}

// giveUp lets everybody run who waits, or comes later.
func (c *Claims) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	for _, a := range c.asked {
		a.ok = true
		close(a.done)
	}
	c.asked = nil
}
