package store

import "context"

// Watch calls fn with the text of every statement before it runs, so that tests can count statements. Call it before the store
// is used.
func (s *Store) Watch(fn func(ctx context.Context, text string)) {
	for _, d := range []*Database{&s.main, &s.keys, &s.usage} {
		*d = watched{*d, fn}
	}
}

type watched struct {
	Database
	fn func(ctx context.Context, text string)
}

func (w watched) In(ctx context.Context) Querier { return watchedQuerier{w.Database.In(ctx), w.fn} }

func (w watched) Once(ctx context.Context, query string, args ...any) (int64, error) {
	w.fn(ctx, query)
	return w.Database.Once(ctx, query, args...)
}

func (w watched) Hold(ctx context.Context, query string, args ...any) error {
	w.fn(ctx, query)
	return w.Database.Hold(ctx, query, args...)
}

func (w watched) HoldRow(ctx context.Context, query string, args ...any) Row {
	w.fn(ctx, query)
	return w.Database.HoldRow(ctx, query, args...)
}

// Scrub implements Scrubbed, if the database does.
func (w watched) Scrub(ctx context.Context) error {
	if d, ok := w.Database.(Scrubbed); ok {
		return d.Scrub(ctx)
	}
	return nil
}

// Rewrite implements Rewriter, if the database does.
func (w watched) Rewrite(ctx context.Context, table string) (left int64, err error) {
	if d, ok := w.Database.(Rewriter); ok {
		return d.Rewrite(ctx, table)
	}
	return 0, nil
}

type watchedQuerier struct {
	Querier
	fn func(ctx context.Context, text string)
}

func (q watchedQuerier) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	q.fn(ctx, query)
	return q.Querier.Exec(ctx, query, args...)
}

func (q watchedQuerier) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	q.fn(ctx, query)
	return q.Querier.Query(ctx, query, args...)
}

func (q watchedQuerier) QueryRow(ctx context.Context, query string, args ...any) Row {
	q.fn(ctx, query)
	return q.Querier.QueryRow(ctx, query, args...)
}
