package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"keepsake/internal/store"
)

// maxStatements limits the prepared statements of a connection. Further texts, such as those of rare filters, are prepared each
// time.
const maxStatements = 256

// session is the connection of the writer with its prepared statements. The member whose turn it is uses it.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(conn *sql.Conn) *session {
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

// unbound is the context of every statement of the writer. A context that ends would interrupt the statement, and an interrupted
// write rolls back the transaction of the whole group.
var unbound = context.Background()

func (s *session) prepare(query string) (*sql.Stmt, bool, error) {
	if stmt, ok := s.stmts[query]; ok {
		return stmt, false, nil
	}
	stmt, err := s.conn.PrepareContext(unbound, query)
	if err != nil {
		return nil, false, err
	}
	if len(s.stmts) >= maxStatements {
		return stmt, true, nil
	}
	s.stmts[query] = stmt
	return stmt, false, nil
}

// exec runs a statement of the writer itself: BEGIN, SAVEPOINT, COMMIT.
func (s *session) exec(query string) error {
	stmt, once, err := s.prepare(query)
	if err != nil {
		return err
	}
	if once {
		defer stmt.Close()
	}
	_, err = stmt.ExecContext(unbound)
	return err
}

// close closes the statements before the connection. With an open statement, SQLite would keep the connection, and the
// write-ahead log with it.
func (s *session) close() error {
	var errs []error
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

var (
	errEnded  = errors.New("sqlite: a statement ran after its transaction had ended")
	errFailed = errors.New("sqlite: a statement ran after another one of its transaction had failed")
)

// transaction runs the statements of one member of a group.
type transaction struct {
	session *session
	failed  error // the first statement that failed; none runs after it
	ended   bool
}

func (t *transaction) usable() error {
	switch {
	case t.ended:
		return errEnded
	case t.failed != nil:
		// After some failures SQLite has rolled back and is outside of any transaction: a further statement would commit by
		// itself.
		return fmt.Errorf("%w: %w", errFailed, t.failed)
	default:
		return nil
	}
}

func (t *transaction) fail(err error) error {
	if err != nil && t.failed == nil && !errors.Is(err, sql.ErrNoRows) {
		t.failed = err
	}
	return err
}

// Exec implements store.Querier.
func (t *transaction) Exec(_ context.Context, query string, args ...any) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	stmt, once, err := t.session.prepare(query)
	if err != nil {
		return 0, t.fail(err)
	}
	if once {
		defer stmt.Close()
	}
	res, err := stmt.ExecContext(unbound, args...)
	if err != nil {
		return 0, t.fail(err)
	}
	return res.RowsAffected()
}

// Query implements store.Querier.
func (t *transaction) Query(_ context.Context, query string, args ...any) (store.Rows, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	stmt, once, err := t.session.prepare(query)
	if err != nil {
		return nil, t.fail(err)
	}
	rows, err := stmt.QueryContext(unbound, args...)
	if err != nil {
		if once {
			stmt.Close()
		}
		return nil, t.fail(err)
	}
	r := &transactionRows{Rows: rows, t: t}
	if once {
		r.once = stmt
	}
	return r, nil
}

// QueryRow implements store.Querier.
func (t *transaction) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := t.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

// transactionRows dooms the transaction if reading the rows fails.
type transactionRows struct {
	*sql.Rows
	t    *transaction
	once *sql.Stmt // closed with the rows, because it is not cached
}

func (r *transactionRows) Close() error {
	err := r.Rows.Close()
	if r.once != nil {
		err = errors.Join(err, r.once.Close())
	}
	return r.t.fail(err)
}

func (r *transactionRows) Scan(dest ...any) error { return r.t.fail(r.Rows.Scan(dest...)) }
func (r *transactionRows) Err() error             { return r.t.fail(r.Rows.Err()) }

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
