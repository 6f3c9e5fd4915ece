package store

import (
	"context"
	"sync"
)

// DB is a database with what its statements need that insert many rows, differ by engine, or remove deleted data for good.
type DB struct {
	Database
	Dialect Dialect

	inserts sync.Map // insertKey → text
}

// NewDB returns a DB on a database of an engine.
func NewDB(d Database, of Engine) *DB { return &DB{Database: d, Dialect: of.Dialect()} }

// EachRow calls do for every row of a query.
func (d *DB) EachRow(ctx context.Context, query string, args []any, do func(row Row) error) error {
	rows, err := d.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return ForEach(rows, do)
}

// Scrubbed is a Database that can remove deleted data from its files.
type Scrubbed interface {
	// Scrub does so for everything that committed transactions deleted. If it fails, the error is problem.Unavailable and
	// something can be left. Do not call it in a transaction of this database.
	Scrub(ctx context.Context) error
}

// Rewriter is a Database that can rewrite a small table, so that its file holds no row that was deleted or replaced.
type Rewriter interface {
	// Rewrite locks the table meanwhile. left is the number of deleted rows that remain because a running transaction can still
	// see them. If it fails, the error is problem.Unavailable. Do not call it in a transaction of this database.
	Rewrite(ctx context.Context, table string) (left int64, err error)
}

// Scrub implements Scrubbed. It does nothing on an engine that cannot.
func (d *DB) Scrub(ctx context.Context) error { return scrub(ctx, d.Database) }

// Rewrite implements Rewriter. It does nothing on an engine that does not need it.
func (d *DB) Rewrite(ctx context.Context, table string) (left int64, err error) {
	return rewriteTable(ctx, d.Database, table)
}

func scrub(ctx context.Context, d Database) error {
	if d, ok := d.(Scrubbed); ok {
		return d.Scrub(ctx)
	}
	return nil
}

func rewriteTable(ctx context.Context, d Database, table string) (left int64, err error) {
	if d, ok := d.(Rewriter); ok {
		return d.Rewrite(ctx, table)
	}
	return 0, nil
}
