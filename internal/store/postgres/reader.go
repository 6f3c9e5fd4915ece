package postgres

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"keepsake/internal/base/problem"
	"keepsake/internal/store"
)

// readers run statements outside transactions. Each statement sees what was committed when it began.
type readers struct{ d *database }

// timeout is how long a read can take, and at most until its client's deadline. A client that leaves does not cancel
// the read: that would cost the connection, and clients that often leave would keep us reconnecting.
func (r readers) timeout(ctx context.Context) time.Duration {
	timeout := 3*r.d.opt.Statement + r.d.opt.Statement/10
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(end))
	}
	return timeout
}

// on runs f with a connection, and again with another one if the connection turns out to be dead. After a restart of
// the server, all of them can be dead. f keeps the connection if it returns no error.
func (r readers) on(ctx context.Context, f func(conn *pgxpool.Conn) error) error {
	turn, cancel := context.WithTimeout(ctx, r.d.opt.Acquire)
	defer cancel()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		conn, err := r.d.acquire(ctx, turn, r.d.reads)
		if err != nil {
			if ctx.Err() != nil {
				return problem.Busy(ctx.Err())
			}
			return readable(err)
		}
		if err = f(conn); err == nil {
			return nil
		}
		err = lost(conn, err)
		conn.Release()
		switch {
		case (dead(err) || kindOf(err) == repeat) && turn.Err() == nil: // another process may have changed the schema
		case ctx.Err() != nil && kindOf(err) == broken:
			return ctx.Err()
		default:
			return readable(err)
		}
	}
}

// Exec implements store.Querier. PostgreSQL refuses statements that write.
func (r readers) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = r.on(ctx, func(conn *pgxpool.Conn) error {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout(ctx))
		defer cancel()
		answered := r.d.monitor.begin(cancel)
		tag, err := conn.Exec(bounded, query, args...)
		answered(err)
		if err == nil {
			n = tag.RowsAffected()
			conn.Release()
		}
		return err
	})
	return n, err
}

// Query implements store.Querier.
func (r readers) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	var found *readerRows
	err := r.on(ctx, func(conn *pgxpool.Conn) error {
		bounded, cancel := context.WithCancel(context.WithoutCancel(ctx))
		timeout := r.timeout(ctx)
		timer := time.AfterFunc(timeout, cancel)
		answered := r.d.monitor.begin(cancel)
		rows, err := conn.Query(bounded, query, findable(args)...)
		if err != nil {
			answered(err)
			cancel()
			return err
		}
		// Fetch the first row here, because another connection can still be tried.
		first := rows.Next()
		answered(rows.Err())
		if err := rows.Err(); err != nil {
			cancel()
			return err
		}
		found = &readerRows{conn: conn, rows: rows, first: first, ahead: true, timeout: timeout, timer: timer, cancel: cancel}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// QueryRow implements store.Querier.
func (r readers) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := r.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

// findable returns args for a query. PostgreSQL refuses texts with U+0000 or invalid UTF-8, but other engines just find
// nothing equal. So findable replaces them with NULL, which equals nothing.
func findable(args []any) []any {
	copied := false
	for i, a := range args {
		text, is := a.(string)
		if !is || strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
			continue
		}
		if !copied {
			args, copied = slices.Clone(args), true
		}
		args[i] = nil
	}
	return args
}

// readerRows keep their connection until they are closed.
type readerRows struct {
	conn    *pgxpool.Conn
	rows    pgx.Rows
	first   bool // the result of the first Next
	ahead   bool // Next was already called once
	timeout time.Duration
	timer   *time.Timer // cancels the query if no more rows arrive
	cancel  context.CancelFunc
	err     error
	closed  bool
}

func (r *readerRows) Next() bool {
	if r.ahead {
		r.ahead = false
		return r.first
	}
	if r.closed {
		return false
	}
	r.timer.Reset(r.timeout)
	return r.rows.Next()
}

func (r *readerRows) Scan(dest ...any) error { return r.rows.Scan(dest...) }

func (r *readerRows) Err() error {
	if r.closed {
		return r.err
	}
	return readable(lost(r.conn, r.rows.Err()))
}

func (r *readerRows) Close() error {
	if r.closed {
		return r.err
	}
	r.rows.Close()
	r.err = r.Err()
	r.closed = true
	r.timer.Stop()
	r.cancel()
	r.conn.Release()
	return r.err
}
