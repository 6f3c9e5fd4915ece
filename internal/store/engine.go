// Package store stores every noun of the domain in a SQL database.
//
// Statements are written once, in the subset of SQL that SQLite and PostgreSQL share, next to the code that scans their rows:
// one file and one part of a Store per noun. What engines do differently is behind Engine and Dialect. Times are stored as Unix
// microseconds.
package store

import (
	"context"

	"keepsake/internal/base/unit"
)

// Engine is a database engine with the three databases of an instance. They are separate because they differ in what a backup
// can contain and in which writers wait for each other. An engine can return one database for several of them.
type Engine interface {
	// Main holds what clients store.
	Main() Database
	// Keys holds secrets and data keys. No backup file contains them together with the data.
	Keys() Database
	// Usage holds counters. It has a writer of its own, so that a flush never delays a client's write.
	Usage() Database
	// Dialect is what the statements of this package leave to the engine.
	Dialect() Dialect
	// Shared reports whether other processes can have the same databases open.
	Shared() bool
	// Alone runs fn while no other process with the same databases runs an fn of the same name.
	Alone(ctx context.Context, name string, fn func(ctx context.Context) error) error
	// Ready returns why the engine cannot work right now, or nil.
	Ready(ctx context.Context) error
	// Readable is Ready for callers that only read: a full disk does not stop them.
	Readable(ctx context.Context) error
}

// Database runs statements of one database.
//
// Run is a transaction as unit.Runner describes it. After a fault of the engine itself (a full disk, a failed fsync, a lost
// connection) the error is problem.Unavailable, and nothing of the transaction is promised.
type Database interface {
	unit.Runner
	// In returns the transaction of this database that ctx carries. Without one it returns readers, which see what is committed
	// and cannot write.
	In(ctx context.Context) Querier
	// Once runs one statement that writes, in the transaction of this database that ctx carries, or in one of its own. In its
	// own, the error is a *unit.StaleError if the statement conflicted with another or if its outcome is unknown: a caller that
	// can check the outcome can repeat it.
	Once(ctx context.Context, query string, args ...any) (int64, error)
	// Hold locks the rows that a SELECT finds until the transaction ends. It does nothing outside a transaction, and nothing on
	// an engine with one writer.
	Hold(ctx context.Context, query string, args ...any) error
	// HoldRow locks one row and reads it. Use it if the row can be missing: after Hold, a SELECT can find a row that was
	// inserted since and is not locked.
	HoldRow(ctx context.Context, query string, args ...any) Row
}

// Querier runs statements with parameters such as $1. A statement that fails dooms its transaction, on every engine, so decide
// first (SELECT, ON CONFLICT DO NOTHING) and never go on after an error. Close the rows of a query before the next statement.
type Querier interface {
	// Exec returns how many rows were written.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRow reads one row. Scan returns sql.ErrNoRows if there is none.
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// Row is one row.
type Row interface {
	Scan(dest ...any) error
}

// Rows is a result to iterate over with Next.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close() error
}

// ForEach calls do for every row, and closes rows.
func ForEach(rows Rows, do func(row Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
