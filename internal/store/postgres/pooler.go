package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Locks, settings and prepared statements belong to a session. A pooler such as PgBouncer keeps a session for a connection in
// its session mode only. In its transaction and statement modes, two connections share sessions: locks that one process
// holds alone would not exclude the others, so these modes are refused.

var errPooler = errors.New("PostgreSQL is behind a pooler that cannot be used")

// poolerError is an error of a pooler. It is one sentence.
type poolerError string

func (e poolerError) Error() string { return string(e) }
func (poolerError) Unwrap() error   { return errPooler }

// probes is how often checkSessions asks both connections. Other clients of the pooler can take a shared session in between.
const probes = 4

// checkSessions refuses databases behind a pooler that shares sessions.
func (e *Engine) checkSessions(ctx context.Context) error {
	pooled, err := e.checkSession(ctx, e.where)
	if err != nil {
		return e.where.openError(err)
	}
	e.pooled = pooled
	if e.opt.KeysURL == "" {
		return nil
	}
	if _, err := e.checkSession(ctx, e.vault); err != nil {
		return e.vault.openError(err)
	}
	return nil
}

// checkSession opens two connections at once and asks which processes of the server serve them. It takes no locks and
// changes no settings, because it does not know yet with whom it shares the sessions.
func (e *Engine) checkSession(ctx context.Context, p place) (pooled bool, err error) {
	var conns [2]*pgconn.PgConn
	var pids [2]uint32
	for i := range conns {
		if conns[i], err = e.connectBare(ctx, p); err != nil {
			return false, err
		}
		defer closeBare(conns[i])
		pids[i], err = e.askBackend(ctx, conns[i])
		switch {
		case err != nil && i == 1 && pooled && pgconn.Timeout(err):
			return false, poolerError(fmt.Sprintf("PostgreSQL at %s is behind a pooler that keeps a second connection waiting: increase default_pool_size (for PgBouncer), the program needs 20 connections", p))
		case err != nil:
			return false, err
		}
		pooled = pooled || pids[i] != conns[i].PID()
	}
	for range probes {
		shared := pids[0] == pids[1]
		for i, conn := range conns {
			for range 2 {
				pid, err := e.askBackend(ctx, conn)
				if err != nil {
					return false, err
				}
				shared = shared || pid != pids[i] || pid == pids[1-i]
			}
		}
		if shared {
			return false, e.sharedError(ctx, p, conns[0])
		}
	}
	return pooled, nil
}

// sharedError names the mode of a pooler that shares sessions. In statement mode there are no transactions.
func (e *Engine) sharedError(ctx context.Context, p place, conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(ctx, e.opt.Connect)
	defer cancel()
	mode := "transaction"
	if err := conn.Exec(ctx, "BEGIN").Close(); err != nil {
		mode = "statement"
	}
	return poolerError(fmt.Sprintf("PostgreSQL at %s is behind a pooler in %s mode, which shares sessions between connections: set its mode to session (pool_mode = session for PgBouncer), or connect to PostgreSQL itself", p, mode))
}

func (e *Engine) connectBare(ctx context.Context, p place) (*pgconn.PgConn, error) {
	c := p.connConfig(mainPart, e.opt.Connect, nil)
	c.AfterConnect = nil
	return pgconn.ConnectConfig(ctx, &c.Config)
}

func closeBare(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// askBackend returns the number of the server's process that serves a connection. A pooler can keep it waiting, so the time
// is bounded.
func (e *Engine) askBackend(ctx context.Context, conn *pgconn.PgConn) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, e.opt.Connect)
	defer cancel()
	results, err := conn.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 {
		return 0, errNoBackend
	}
	return backend(results[0])
}

// A process uses up to 11 connections, and also those for transactions and half as many for reads. PgBouncer's default is 20
// for a user and database, and `doctor` or `backup` need some at the same time.
const (
	defaultConnections       = 12
	defaultPooledConnections = 4
)

func (e *Engine) defaultConnections() int {
	if e.pooled {
		return defaultPooledConnections
	}
	return defaultConnections
}
