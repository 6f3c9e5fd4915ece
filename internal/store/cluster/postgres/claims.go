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

	"keepsake/internal/govern/idempotency"
)

const (
	claimTimeout = time.Second            // for the database
	claimRetry   = 250 * time.Millisecond // between two attempts to connect
	claimCheck   = time.Second            // how often the connection is checked
)

// Claims holds an advisory lock for each request with an idempotency key that runs in this process. One connection holds
// all of them, so PostgreSQL releases them when the process dies. Lock requests that arrive during a round trip share the
// next one.
//
// While the connection is lost, every request can run (see idempotency.Claims). After reconnecting, Claims locks the
// requests that are still running.
type Claims struct {
	connect Connect
	log     *slog.Logger
	timeout time.Duration // claimTimeout, except in tests
	wake    chan struct{} // holds one token

	mu      sync.Mutex
	lost    bool
	pending []*lockRequest
	running map[int64]struct{} // requests that run here, with or without a lock

	conn   *pgx.Conn // conn and locked are used by Run only
	locked map[int64]struct{}
}

// lockRequest takes or releases a lock.
type lockRequest struct {
	key     int64
	release bool
	done    chan struct{} // closed when ok is set
	ok      bool          // the lock is ours, or the database does not answer
}

var _ idempotency.Claims = (*Claims)(nil)

// NewClaims returns Claims that work during Run, on a connection of their own.
func NewClaims(connect Connect, log *slog.Logger) *Claims {
	return &Claims{
		connect: connect, log: log, timeout: claimTimeout, wake: make(chan struct{}, 1),
		running: map[int64]struct{}{}, locked: map[int64]struct{}{},
	}
}

// keyOf returns the lock of a claim. A claim is a keyed hash, so 64 bits of it do not collide by chance.
func keyOf(claim [32]byte) int64 { return int64(binary.BigEndian.Uint64(claim[:])) }

// Take implements idempotency.Claims.
func (c *Claims) Take(ctx context.Context, claim [32]byte) bool {
	a := &lockRequest{key: keyOf(claim), done: make(chan struct{})}
	if c.push(a) {
		a.wait(ctx, c.timeout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-a.done:
		if !a.ok {
			return false
		}
	default: // a lock that is granted later is released with the others
	}
	c.running[a.key] = struct{}{}
	return true
}

// Release implements idempotency.Claims.
func (c *Claims) Release(claim [32]byte, wait bool) {
	a := &lockRequest{key: keyOf(claim), release: true, done: make(chan struct{})}
	c.mu.Lock()
	delete(c.running, a.key)
	c.mu.Unlock()
	if c.push(a) && wait {
		a.wait(context.Background(), c.timeout)
	}
}

// push queues a request, and reports whether it will be answered soon.
func (c *Claims) push(a *lockRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost && !a.release {
		return false
	}
	c.pending = append(c.pending, a)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return !c.lost
}

func (a *lockRequest) wait(ctx context.Context, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Run serves lock requests until ctx ends. Then it releases all locks, and every request can run.
func (c *Claims) Run(ctx context.Context) {
	defer c.giveUp()
	defer c.lose()
	tick := time.NewTicker(claimCheck)
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
			_ = c.ask(ctx, nil) // reconnects if the connection was lost
		case <-ctx.Done():
		}
	}
}

// open connects and locks the running requests. If it fails, requests do not wait for locks until it succeeds.
func (c *Claims) open(ctx context.Context) bool {
	short, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	c.mu.Lock()
	if c.lost {
		c.pending = nil // releases of requests that have ended; none of them has a lock
	}
	c.mu.Unlock()
	if err := c.renew(short); err != nil {
		if !c.isLost() && ctx.Err() == nil {
			c.log.WarnContext(ctx, "connecting for request locks failed", "error", err.Error())
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
	// Keepalives make the server release the locks of a machine that is gone.
	_, err = c.conn.Exec(ctx, `
		SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; SET idle_session_timeout = 0`)
	if err != nil {
		return fmt.Errorf("prepare a connection: %w", err)
	}
	c.mu.Lock()
	var again []*lockRequest // another process can have started the same request meanwhile
	for key := range c.running {
		again = append(again, &lockRequest{key: key})
	}
	c.mu.Unlock()
	return c.send(ctx, again)
}

func (c *Claims) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// serve answers the pending requests.
func (c *Claims) serve(ctx context.Context) {
	c.mu.Lock()
	requests := c.pending
	c.pending = nil
	c.mu.Unlock()
	if !c.ask(ctx, requests) {
		for _, a := range requests {
			a.ok = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range requests {
		close(a.done)
	}
}

// ask sends requests to the database, and again over a new connection if the first was lost.
func (c *Claims) ask(ctx context.Context, requests []*lockRequest) bool {
	for range 2 {
		short, cancel := context.WithTimeout(ctx, c.timeout)
		err := c.send(short, requests)
		cancel()
		if err == nil {
			return true
		}
		c.log.DebugContext(ctx, "lost the connection for request locks", "error", err.Error())
		if c.lose(); !c.open(ctx) {
			return false
		}
	}
	return false
}

// send sends requests in one round trip, in order. After an error it is unknown which locks the connection holds.
func (c *Claims) send(ctx context.Context, requests []*lockRequest) error {
	var batch pgx.Batch
	held := map[int64]bool{} // whether the batch takes or releases a lock
	for _, a := range requests {
		_, ours := c.locked[a.key]
		locked, queued := held[a.key]
		if queued {
			ours = locked
		}
		switch {
		case !a.release && ours && !queued:
			// Already locked by open. PostgreSQL counts locks, so taking it again would need a second release.
			a.ok = true
		case !a.release:
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

// lose closes the connection, which releases every lock.
func (c *Claims) lose() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
		defer cancel()
		_ = c.conn.Close(ctx)
	}
	c.conn = nil
	clear(c.locked)
}

// giveUp lets all waiting and later requests run.
func (c *Claims) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	for _, a := range c.pending {
		a.ok = true
		close(a.done)
	}
	c.pending = nil
}
