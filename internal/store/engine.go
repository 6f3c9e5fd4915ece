// Package store keeps every noun of the domain in a SQL database.
//
// Statements are written once, in the subset SQLite and PostgreSQL share, beside the code that scans them: one noun a
// file. What differs between engines is behind Engine. Times are kept as Unix microseconds.
package store

import (
	"context"

	"keepsake/internal/unit"
)

// Engine is a database engine with the three databases of an instance. They are apart because they differ in what a
// backup may hold and in who waits for whom; an engine may answer with one database for several of them.
type Engine interface {
	// Main holds what clients store.
	Main() Database
	// Keys holds secrets and data keys, which never lie in the same backup file as the data.
	Keys() Database
	// Usage holds counters, with a writer of its own, so that a flush never delays a client's write.
	Usage() Database
	// Dialect is what the statements of this package leave to the engine.
	Dialect() Dialect
	// Shared reports whether other processes can have the same databases open.
	Shared() bool
	// Alone runs fn while no other process of the same databases runs an fn of the same name.
	Alone(ctx context.Context, name string, fn func(ctx context.Context) error) error
	// Ready says why the engine cannot do its work at this moment, nil when it can.
	Ready(ctx context.Context) error
	// Readable is Ready for those who only read: a full disk does not stop them.
	Readable(ctx context.Context) error
}

// Database runs statements of one database.
//
// Run is a unit of work as unit.Runner describes it. A fault of the engine itself (a full disk, a failed fsync, a lost
// connection) answers problem.Unavailable, and then nothing of the unit is promised.
type Database interface {
	unit.Runner
	// In gives what runs statements: the unit of work of this database that ctx carries, else readers, which see what
	// has committed and cannot write.
	In(ctx context.Context) Querier
	// Once runs one statement that writes, in the unit of work of this database that ctx carries, or else as a unit by itself.
	// Then the error is a *unit.StaleError where it met others, or nobody knows whether it was done: whoever can see what is
	// there, and do it again, may.
	Once(ctx context.Context, query string, args ...any) (int64, error)
	// Hold keeps the rows that a SELECT finds from other writers until the unit ends. It does nothing outside a unit, and
	// nothing on an engine with one writer.
	Hold(ctx context.Context, query string, args ...any) error
	// HoldRow is Hold for one row that is read at once. Where there may be no row yet, this tells whether one is held: after
	// Hold, a SELECT may already find a row that somebody else has just made, and that nobody holds.
	HoldRow(ctx context.Context, query string, args ...any) Row
}

// Querier runs statements with $1-style parameters. Inside a unit a statement that fails dooms the unit, on every
// engine: so decide first (SELECT, ON CONFLICT DO NOTHING) and never go on after an error. A query's rows are closed
// before the next statement begins.
type Querier interface {
	// Exec answers how many rows were written.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRow reads one row; Scan answers sql.ErrNoRows where there is none.
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// Row is one row.
type Row interface {
	Scan(dest ...any) error
}

// Rows is a result that is walked through with Next.
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
