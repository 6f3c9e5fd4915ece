package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store"
)

// View is a snapshot of all data of an instance. Others can write meanwhile. Keys are read when they are requested,
// later than the data, so that no key is missing that the data was written with.
type View struct {
	main, usage *frozen
	keys        store.Database
}

var _ store.Engine = (*View)(nil)

// errFrozen is the error of a write through a View.
var errFrozen = errors.New("postgres: a snapshot is read-only")

// Freeze begins a View. It takes two connections of its own. The server keeps deleted rows until the View is closed.
func (e *Engine) Freeze(ctx context.Context) (*View, error) {
	v := &View{keys: e.keys}
	var err error
	var moment string
	if v.main, err = e.freeze(ctx, e.where, mainPart, ""); err == nil {
		err = v.main.tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&moment)
	}
	if err == nil {
		v.usage, err = e.freeze(ctx, e.where, usagePart, moment)
	}
	if err != nil {
		v.Close()
		return nil, e.where.opening(err)
	}
	return v, nil
}

func (e *Engine) freeze(ctx context.Context, where place, part, moment string) (*frozen, error) {
	conn, err := e.connect(ctx, where, part)
	if err != nil {
		return nil, err
	}
	f := &frozen{conn: conn}
	if f.tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err == nil && moment != "" {
		_, err = f.tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+moment+"'")
	}
	if err == nil {
		// No time-outs: a copy can take as long over a batch as its destination needs.
		_, err = f.tx.Exec(ctx, "SELECT set_config(name, '0', true) FROM unnest(ARRAY['statement_timeout', 'idle_in_transaction_session_timeout']) name")
	}
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	return f, nil
}

// Close ends the snapshot.
func (v *View) Close() error {
	keys, _ := v.keys.(*frozen)
	for _, f := range []*frozen{v.main, v.usage, keys} {
		if f != nil {
			closeConn(f.conn) // also ends the transaction, which wrote nothing
		}
	}
	return nil
}

// Main implements store.Engine.
func (v *View) Main() store.Database { return v.main }

// Keys implements store.Engine.
func (v *View) Keys() store.Database { return v.keys }

// Usage implements store.Engine.
func (v *View) Usage() store.Database { return v.usage }

// Ready implements store.Engine.
func (*View) Ready(context.Context) error { return nil }

// Readable implements store.Engine.
func (*View) Readable(context.Context) error { return nil }

// Shared implements store.Engine. No other process uses this snapshot.
func (*View) Shared() bool { return false }

// Alone implements store.Engine.
func (*View) Alone(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// frozen is one part of a View. Only one goroutine can use it at a time.
type frozen struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// Run implements store.Database.
func (*frozen) Run(context.Context, func(context.Context) error) error { return errFrozen }

// In implements store.Database.
func (f *frozen) In(context.Context) store.Querier { return frozenQuerier{f.tx} }

// Once implements store.Database.
func (*frozen) Once(context.Context, string, ...any) (int64, error) { return 0, errFrozen }

// Hold implements store.Database.
func (*frozen) Hold(context.Context, string, ...any) error { return nil }

// HoldRow implements store.Database.
func (f *frozen) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return f.In(ctx).QueryRow(ctx, query, args...)
}

// Tables implements store.Cataloged.
func (f *frozen) Tables(ctx context.Context) ([]store.Table, error) {
	return tables(ctx, frozenQuerier{f.tx})
}

type frozenQuerier struct{ tx pgx.Tx }

// Exec implements store.Querier.
func (frozenQuerier) Exec(context.Context, string, ...any) (int64, error) { return 0, errFrozen }

// Query implements store.Querier.
func (q frozenQuerier) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	rows, err := q.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, readable(err)
	}
	return frozenRows{rows}, nil
}

// QueryRow implements store.Querier.
func (q frozenQuerier) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := q.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

type frozenRows struct{ pgx.Rows }

// Close implements store.Rows.
func (r frozenRows) Close() error {
	r.Rows.Close()
	return readable(r.Rows.Err())
}

// Serving names the processes that have used the database within the last ten seconds.
func (e *Engine) Serving(ctx context.Context) (names []string, err error) {
	rows, err := e.main.readers().Query(ctx, `
		SELECT name || ' on ' || host FROM member
		WHERE left_at IS NULL AND seen_at > ((extract(epoch FROM clock_timestamp()) - 10) * 1000000)::BIGINT ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("read the members: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("read the members: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Size is the approximate size of the tables in bytes, without indexes.
func (e *Engine) Size() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), e.opt.Statement)
	defer cancel()
	var bytes int64
	for _, d := range []*database{e.main, e.usage, e.keys} {
		var part int64
		// The size is only informative, so an error counts as zero.
		_ = d.readers().QueryRow(ctx, `
			SELECT coalesce(sum(pg_table_size(oid)), 0)::bigint FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&part)
		bytes += part
	}
	return bytes
}

// Settle updates the planner's statistics after a copy. Without them, the server can take a large table for an empty
// one.
func (e *Engine) Settle(ctx context.Context) error {
	for _, part := range []struct {
		name  string
		place place
	}{{mainPart, e.where}, {usagePart, e.where}, {keysPart, e.vault}} {
		conn, err := e.connect(ctx, part.place, part.name)
		if err != nil {
			return part.place.opening(err)
		}
		_, err = conn.Exec(ctx, `DO $$ DECLARE t regclass; BEGIN
			FOR t IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' LOOP
				EXECUTE 'ANALYZE ' || t; END LOOP; END $$`)
		closeConn(conn)
		if err != nil {
			return fmt.Errorf("analyse the %s part: %w", part.name, err)
		}
	}
	return nil
}

// Holder returns the ID of the instance that a database contains, or "". Unlike opening, it changes nothing.
func Holder(ctx context.Context, opt Options) (id string, err error) {
	opt.complete()
	e := &Engine{opt: opt}
	if e.where, err = parse(opt.URL); err != nil {
		return "", err
	}
	e.vault = e.where
	if opt.KeysURL != "" {
		if e.vault, err = parse(opt.KeysURL); err != nil {
			return "", err
		}
	}
	for name, p := range map[string]place{mainPart: e.where, keysPart: e.vault} {
		conn, err := e.connect(ctx, p, name)
		if err != nil {
			return "", p.opening(err)
		}
		found, err := part{name, p, conn}.look(ctx)
		closeConn(conn)
		if err != nil {
			return "", p.opening(err)
		}
		if found.id != "" {
			id = found.id
		}
	}
	return id, nil
}
