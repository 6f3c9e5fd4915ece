package store

import "context"

// Observer sees what the store does, for tests that count statements and for traces.
type Observer struct {
	// Statement is called with the name of the database (main, keys or usage) and the text of every statement before it runs. The
	// function that it returns, if any, is called after the statement, and after its rows were read.
	Statement func(ctx context.Context, database, text string) func(error)
	// Transaction is called before a transaction. fn runs with its context. Can be nil.
	Transaction func(ctx context.Context, database string) (context.Context, func(error))
}

// Observe returns an engine that calls o for everything that stores on it do.
func Observe(e Engine, o Observer) Engine { return observedEngine{e, o} }

// Watch returns an engine that calls fn with the text of every statement before it runs.
func Watch(e Engine, fn func(ctx context.Context, text string)) Engine {
	return Observe(e, Observer{Statement: func(ctx context.Context, _, text string) func(error) {
		fn(ctx, text)
		return nil
	}})
}

type observedEngine struct {
	Engine
	o Observer
}

func (e observedEngine) Main() Database  { return observed{e.Engine.Main(), "main", e.o} }
func (e observedEngine) Keys() Database  { return observed{e.Engine.Keys(), "keys", e.o} }
func (e observedEngine) Usage() Database { return observed{e.Engine.Usage(), "usage", e.o} }

type observed struct {
	Database
	name string
	o    Observer
}

// observedKey marks the context of a transaction that is observed.
type observedKey struct{ name string }

func (d observed) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if d.o.Transaction == nil || ctx.Value(observedKey{d.name}) != nil {
		return d.Database.Run(ctx, fn)
	}
	ctx, ended := d.o.Transaction(context.WithValue(ctx, observedKey{d.name}, true), d.name)
	err := d.Database.Run(ctx, fn)
	ended(err)
	return err
}

func (d observed) In(ctx context.Context) Querier {
	return observedQuerier{d.Database.In(ctx), d}
}

func (d observed) Once(ctx context.Context, query string, args ...any) (int64, error) {
	ended := d.begin(ctx, query)
	n, err := d.Database.Once(ctx, query, args...)
	ended.call(err)
	return n, err
}

func (d observed) Hold(ctx context.Context, query string, args ...any) error {
	ended := d.begin(ctx, query)
	err := d.Database.Hold(ctx, query, args...)
	ended.call(err)
	return err
}

func (d observed) HoldRow(ctx context.Context, query string, args ...any) Row {
	ended := d.begin(ctx, query)
	return ended.row(d.Database.HoldRow(ctx, query, args...))
}

// Scrub implements Scrubbed, if the database does.
func (d observed) Scrub(ctx context.Context) error {
	return scrub(ctx, d.Database)
}

// Rewrite implements Rewriter, if the database does.
func (d observed) Rewrite(ctx context.Context, table string) (left int64, err error) {
	return rewriteTable(ctx, d.Database, table)
}

func (d observed) begin(ctx context.Context, text string) ended {
	return d.o.Statement(ctx, d.name, text)
}

// ended is called after a statement; nil for none.
type ended func(error)

func (e ended) call(err error) {
	if e != nil {
		e(err)
	}
}

// row returns r so that reading it ends the statement.
func (e ended) row(r Row) Row {
	if e == nil {
		return r
	}
	return observedRow{r, e}
}

type observedQuerier struct {
	Querier
	d observed
}

func (q observedQuerier) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	ended := q.d.begin(ctx, query)
	n, err := q.Querier.Exec(ctx, query, args...)
	ended.call(err)
	return n, err
}

func (q observedQuerier) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	ended := q.d.begin(ctx, query)
	rows, err := q.Querier.Query(ctx, query, args...)
	if err != nil || ended == nil {
		ended.call(err)
		return rows, err
	}
	return &observedRows{Rows: rows, ended: ended}, nil
}

func (q observedQuerier) QueryRow(ctx context.Context, query string, args ...any) Row {
	ended := q.d.begin(ctx, query)
	return ended.row(q.Querier.QueryRow(ctx, query, args...))
}

type observedRow struct {
	Row
	ended ended
}

func (r observedRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	r.ended(err)
	return err
}

type observedRows struct {
	Rows
	ended ended // nil once the rows are closed
}

func (r *observedRows) Close() error {
	failed := r.Err()
	err := r.Rows.Close()
	if r.ended != nil {
		if failed == nil {
			failed = err
		}
		r.ended(failed)
		r.ended = nil
	}
	return err
}
