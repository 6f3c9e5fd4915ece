package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"

	"keepsake/internal/store"
)

// readers is the pool of connections that only read. A statement sees what was committed when it began.
type readers struct {
	db    *sql.DB
	stmts sync.Map // text → *sql.Stmt, which database/sql prepares once per connection
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

// Exec implements store.Querier. SQLite refuses writes here.
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
		defer stmt.Close() // database/sql keeps it until its rows are closed
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

// readerRows turns faults into 503.
type readerRows struct{ *sql.Rows }

func (r readerRows) Err() error { return readable(r.Rows.Err()) }
