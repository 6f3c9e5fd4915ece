package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/store"
)

// againError reports that nothing of a transaction happened and that it can run again.
type againError struct{ cause error }

func (e *againError) Error() string { return e.cause.Error() }
func (e *againError) Unwrap() error { return e.cause }

var (
	errUnitOver   = errors.New("postgres: the transaction has already ended")
	errUnitFailed = errors.New("postgres: an earlier statement of the transaction failed")
)

// transaction is a running transaction and its connection.
type transaction struct {
	d      *database
	conn   *pgxpool.Conn
	ctx    context.Context // ends when the transaction takes too long, but not with its client
	failed error           // the first statement that failed; no statement runs after it
	over   bool
}

// once runs fn in a transaction.
func (d *database) once(ctx context.Context, fn func(ctx context.Context) error) error {
	conn, err := d.begin(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opt.Unit)
	defer cancel()
	t := &transaction{d: d, conn: conn, ctx: ctx}
	defer t.end() // also if fn panics
	ctx, hooks := unit.Begin(context.WithValue(ctx, unitKey{d}, t))
	if err = fn(ctx); err == nil {
		err = hooks.RunBefore(ctx)
	}
	if t.failed != nil {
		switch kindOf(t.failed) {
		case repeat:
			return &againError{t.failed}
		case broken:
			return refusal(t.failed)
		}
		if err == nil {
			err = t.failed // fn ignored the error, but its writes are incomplete
		}
	}
	if err != nil {
		return err
	}
	return t.commit(hooks)
}

// Once implements store.Database. The server commits a single statement by itself, which saves two round trips.
func (d *database) Once(ctx context.Context, query string, args ...any) (int64, error) {
	if t, ok := ctx.Value(unitKey{d}).(*transaction); ok {
		return t.Exec(ctx, query, args...)
	}
	turn, cancel := context.WithTimeout(ctx, d.opt.Acquire)
	defer cancel()
	conn, err := d.acquire(ctx, turn, d.units)
	if err != nil {
		if ctx.Err() != nil {
			return 0, problem.Busy(ctx.Err())
		}
		return 0, refusal(err)
	}
	defer conn.Release()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opt.Statement)
	defer cancel()
	answered := d.monitor.begin(cancel)
	tag, err := conn.Exec(bounded, query, args...)
	answered(err)
	err = lost(conn, err)
	_, gone := errors.AsType[*lostError](err)
	switch {
	case err == nil:
		return tag.RowsAffected(), nil
	case dead(err), kindOf(err) == repeat:
		return 0, &unit.StaleError{Problem: undecided(err)}
	case gone:
		return 0, undecided(err)
	case kindOf(err) == broken:
		return 0, refusal(err)
	}
	return 0, err
}

// begin gets a connection and begins a transaction on it. It skips dead connections: after a restart of the server, all
// of them can be dead.
func (d *database) begin(ctx context.Context) (*pgxpool.Conn, error) {
	turn, cancel := context.WithTimeout(ctx, d.opt.Acquire)
	defer cancel()
	for {
		conn, err := d.acquire(ctx, turn, d.units)
		if err != nil {
			if ctx.Err() != nil {
				return nil, problem.Busy(ctx.Err())
			}
			return nil, refusal(err)
		}
		// Not canceled with ctx, because that would cost the connection.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opt.Statement)
		answered := d.monitor.begin(cancel)
		_, err = conn.Exec(bounded, "BEGIN ISOLATION LEVEL READ COMMITTED")
		answered(err)
		cancel()
		if err == nil {
			return conn, nil
		}
		err = lost(conn, err)
		conn.Release()
		if !dead(err) || turn.Err() != nil {
			return nil, refusal(err)
		}
	}
}

// acquire gets a connection from a pool. ctx is the client's, turn limits the wait.
func (d *database) acquire(ctx, turn context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	if d.closed.Load() {
		return nil, errPoolClosed
	}
	if err := d.monitor.check(); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithCancel(turn)
	defer cancel()
	done := d.monitor.wait(cancel)
	conn, err := pool.Acquire(waiting)
	done()
	switch {
	case err == nil:
		return conn, nil
	case d.closed.Load():
		return nil, errPoolClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case turn.Err() != nil:
		return nil, errTurn
	case waiting.Err() != nil:
		return nil, errDown
	}
	return nil, err
}

// lost wraps err if the connection was closed with it.
func lost(conn *pgxpool.Conn, err error) error {
	if err == nil || !conn.Conn().IsClosed() {
		return err
	}
	return &lostError{err}
}

// commit commits and runs the AfterCommit hooks. If no answer arrives, the outcome is unknown and commit does not
// retry.
func (t *transaction) commit(hooks *unit.Hooks) error {
	t.over = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.d.opt.Commit)
	defer cancel()
	turn := t.d.order.take()
	after := func() {}
	defer func() { turn.run(after) }()

	answered := t.d.monitor.begin(cancel)
	tag, err := t.conn.Exec(ctx, "COMMIT")
	answered(err)
	err = lost(t.conn, err)
	t.release()
	var e *pgconn.PgError
	switch {
	case err == nil && tag.String() == "ROLLBACK":
		return errors.New("postgres: the transaction failed before its commit")
	case err == nil:
		after = hooks.RunAfter
		return nil
	case errors.As(err, &e) && !ended(e): // the server refused the commit
		switch kindOf(err) {
		case repeat:
			return &againError{err}
		case broken:
			return refusal(err)
		}
		return fmt.Errorf("commit: %w", err)
	default:
		return undecided(err)
	}
}

// end rolls back a transaction that was not committed and releases the connection.
func (t *transaction) end() {
	t.over = true
	if t.conn == nil {
		return
	}
	if !t.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.d.opt.Connect)
		defer cancel()
		// If it fails, the pool discards the connection.
		_, _ = t.conn.Exec(ctx, "ROLLBACK")
	}
	t.release()
}

func (t *transaction) release() {
	t.conn.Release()
	t.conn = nil
}

func (t *transaction) usable() error {
	switch {
	case t.over:
		return errUnitOver
	case t.failed != nil:
		return fmt.Errorf("%w: %w", errUnitFailed, t.failed)
	default:
		return nil
	}
}

func (t *transaction) fail(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !t.over {
		err = lost(t.conn, err)
	}
	if t.failed == nil {
		t.failed = err
	}
	return err
}

// statement returns the context of one statement. Normally the server ends the statement sooner.
func (t *transaction) statement() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, t.d.opt.Statement+t.d.opt.Statement/10)
}

// Exec implements store.Querier.
func (t *transaction) Exec(_ context.Context, query string, args ...any) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	ctx, cancel := t.statement()
	defer cancel()
	answered := t.d.monitor.begin(cancel)
	tag, err := t.conn.Exec(ctx, query, args...)
	answered(err)
	return tag.RowsAffected(), t.fail(err)
}

// Query implements store.Querier.
func (t *transaction) Query(_ context.Context, query string, args ...any) (store.Rows, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	ctx, cancel := t.statement()
	answered := t.d.monitor.begin(cancel)
	rows, err := t.conn.Query(ctx, query, findable(args)...)
	if err != nil {
		answered(err)
		cancel()
		return nil, t.fail(err)
	}
	return &transactionRows{rows: rows, t: t, answered: answered, cancel: cancel}, nil
}

// QueryRow implements store.Querier.
func (t *transaction) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := t.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

// transactionRows fails the transaction if reading them fails.
type transactionRows struct {
	rows     pgx.Rows
	t        *transaction
	answered func(error) // nil once the rows are closed
	cancel   context.CancelFunc
}

func (r *transactionRows) Next() bool             { return r.rows.Next() }
func (r *transactionRows) Scan(dest ...any) error { return r.t.fail(r.rows.Scan(dest...)) }
func (r *transactionRows) Err() error             { return r.t.fail(r.rows.Err()) }

func (r *transactionRows) Close() error {
	r.rows.Close()
	if r.answered != nil {
		r.answered(r.rows.Err())
		r.answered = nil
	}
	r.cancel()
	return r.t.fail(r.rows.Err())
}

// oneRow is the first row of a result.
type oneRow struct {
	rows store.Rows
	err  error
}

func (r oneRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	return r.rows.Close()
}
