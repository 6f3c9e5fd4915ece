package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store"
)

// View is a snapshot of all data of an instance. Others can write meanwhile. The keys are as of a later moment than the data, so
// that no key is missing that the data was written with.
type View struct {
	main, usage *snapshot
	keys        *keysView
}

// keysView is the database of keys: as it is now, until Freeze. A snapshot keeps deleted keys on the server, so it begins only
// when the keys are copied.
type keysView struct {
	*database
	engine *Engine
	frozen *snapshot
}

// Freeze begins a snapshot, which later reads see. A second call does nothing.
func (k *keysView) Freeze(ctx context.Context) error {
	if k.frozen != nil {
		return nil
	}
	f, err := k.engine.beginSnapshot(ctx, k.engine.vault, keysPart, "")
	if err != nil {
		return k.engine.vault.openError(err)
	}
	k.frozen = f
	return nil
}

// Run implements store.Database.
func (*keysView) Run(context.Context, func(context.Context) error) error { return errReadOnly }

// Once implements store.Database.
func (*keysView) Once(context.Context, string, ...any) (int64, error) { return 0, errReadOnly }

// HoldRow implements store.Database.
func (k *keysView) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return k.In(ctx).QueryRow(ctx, query, args...)
}

// Tables implements store.Cataloged.
func (k *keysView) Tables(ctx context.Context) ([]store.Table, error) {
	if k.frozen != nil {
		return k.frozen.Tables(ctx)
	}
	return k.database.Tables(ctx)
}

// In implements store.Database.
func (k *keysView) In(ctx context.Context) store.Querier {
	if k.frozen == nil {
		return k.database.In(ctx)
	}
	return k.frozen.In(ctx)
}

var _ store.Engine = (*View)(nil)

// errReadOnly is the error of a write through a View.
var errReadOnly = errors.New("postgres: a snapshot is read-only")

// Snapshot begins a View. It takes two connections of its own. The server keeps deleted rows until the View is closed.
func (e *Engine) Snapshot(ctx context.Context) (*View, error) {
	v := &View{keys: &keysView{database: e.keys, engine: e}}
	var err error
	var snapshotID string
	if v.main, err = e.beginSnapshot(ctx, e.where, mainPart, ""); err == nil {
		err = v.main.tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshotID)
	}
	if err == nil {
		v.usage, err = e.beginSnapshot(ctx, e.where, usagePart, snapshotID)
	}
	if err != nil {
		v.Close()
		return nil, e.where.openError(err)
	}
	return v, nil
}

func (e *Engine) beginSnapshot(ctx context.Context, where place, part, snapshotID string) (*snapshot, error) {
	conn, err := e.connect(ctx, where, part)
	if err != nil {
		return nil, err
	}
	f := &snapshot{conn: conn}
	if f.tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err == nil && snapshotID != "" {
		_, err = f.tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshotID+"'")
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
	for _, f := range []*snapshot{v.main, v.usage, v.keys.frozen} {
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

// snapshot is one part of a View. Only one goroutine can use it at a time.
type snapshot struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// Run implements store.Database.
func (*snapshot) Run(context.Context, func(context.Context) error) error { return errReadOnly }

// In implements store.Database.
func (f *snapshot) In(context.Context) store.Querier { return snapshotQuerier{f.tx} }

// Once implements store.Database.
func (*snapshot) Once(context.Context, string, ...any) (int64, error) { return 0, errReadOnly }

// Hold implements store.Database.
func (*snapshot) Hold(context.Context, string, ...any) error { return nil }

// HoldRow implements store.Database.
func (f *snapshot) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return f.In(ctx).QueryRow(ctx, query, args...)
}

// Tables implements store.Cataloged.
func (f *snapshot) Tables(ctx context.Context) ([]store.Table, error) {
	return tables(ctx, snapshotQuerier{f.tx})
}

type snapshotQuerier struct{ tx pgx.Tx }

// Exec implements store.Querier.
func (snapshotQuerier) Exec(context.Context, string, ...any) (int64, error) { return 0, errReadOnly }

// Query implements store.Querier.
func (q snapshotQuerier) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	rows, err := q.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, readable(err)
	}
	return snapshotRows{rows}, nil
}

// QueryRow implements store.Querier.
func (q snapshotQuerier) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	rows, err := q.Query(ctx, query, args...)
	return oneRow{rows: rows, err: err}
}

type snapshotRows struct{ pgx.Rows }

// Close implements store.Rows.
func (r snapshotRows) Close() error {
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
			return part.place.openError(err)
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
