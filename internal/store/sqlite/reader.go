package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"

	"keepsake/internal/store"
)

// readers is the pool of connections that only read. What they see is the last commit at the start of each statement.
type readers struct {
	db    *sql.DB
	stmts sync.Map // text → *sql.Stmt, which database/sql prepares on each connection once
	count atomic.Int64
}

func (r *readers) prepare(ctx context.Context, query string) (stmt *sql.Stmt, once bool, err error) {
	if s, ok := r.stmts.Load(query); ok {
		return s.(*sql.Stmt), false, nil
	}
	stmt, err = r.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, false, err
	}
	if r.count.Load() >= maxStatements {
		return stmt, true, nil
	}
	if other, loaded := r.stmts.LoadOrStore(query, stmt); loaded {
		stmt.Close()
		return other.(*sql.Stmt), false, nil
	}
	r.count.Add(1)
	return stmt, false, nil
}

// Exec implements store.Querier. SQLite refuses it when it writes.
func (r *readers) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := r.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, readable(err)
	}
	return res.RowsAffected()
}

// Query implements store.Querier.
func (r *readers) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	stmt, once, err := r.prepare(ctx, query)
	if err != nil {
		return nil, readable(err)
	}
	if once {
		defer stmt.Close() // database/sql keeps it until its rows are closed, too
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, readable(err)
	}
	return readerRows{rows}, nil
}

// QueryRow implements store.Querier.
func (r *readers) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := r.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

// readerRows answers faults met on the way as 503.
type readerRows struct{ *sql.Rows }

func (r readerRows) Err() error { return readable(r.Rows.Err()) }
