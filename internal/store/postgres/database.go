package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"keepsake/internal/base/unit"
	"keepsake/internal/store"
)

// database is one part: a pool for transactions and a pool for reads.
type database struct {
	part    string
	place   place
	opt     *Options
	units   *pgxpool.Pool
	reads   *pgxpool.Pool // the same as units if the part has no pool for reads
	order   order
	monitor *monitor // of the server
	admit   func(ctx context.Context, conn *pgx.Conn) error

	closed atomic.Bool
}

var _ store.Database = (*database)(nil)

func (e *Engine) openDatabase(ctx context.Context, p place, part string, units, reads int) (*database, error) {
	d := &database{part: part, place: p, opt: &e.opt, monitor: e.monitors[p]}
	d.admit = func(ctx context.Context, conn *pgx.Conn) error { return e.admit(ctx, conn, part) }
	var err error
	if d.units, err = d.pool(ctx, p, units, d.settings(d.opt.Statement, false)); err != nil {
		return nil, err
	}
	d.reads = d.units
	if reads > 0 {
		if d.reads, err = d.pool(ctx, p, reads, d.settings(3*d.opt.Statement, true)); err != nil {
			d.units.Close()
			return nil, err
		}
	}
	return d, nil
}

// settings returns the settings of a connection. The server enforces the time-outs, so that a transaction whose client
// vanished does not hold its locks for long.
func (d *database) settings(statement time.Duration, readOnly bool) map[string]string {
	ms := func(t time.Duration) string { return strconv.FormatInt(max(1, t.Milliseconds()), 10) }
	set := map[string]string{
		"statement_timeout":                   ms(statement),
		"lock_timeout":                        ms(d.opt.Lock),
		"idle_in_transaction_session_timeout": ms(d.opt.Statement),
	}
	if readOnly {
		set["default_transaction_read_only"] = "on"
	}
	return set
}

func (d *database) pool(ctx context.Context, p place, size int, settings map[string]string) (*pgxpool.Pool, error) {
	config := p.config.Copy()
	config.ConnConfig = p.connConfig(d.part, d.opt.Connect, settings)
	config.MaxConns = int32(size)
	config.MinConns = min(config.MinConns, config.MaxConns)
	config.MaxConnLifetimeJitter = config.MaxConnLifetime / 10
	config.PingTimeout = d.opt.Connect
	config.AfterConnect = d.admit
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, p.openError(err)
	}
	return pool, nil
}

func (d *database) close() {
	d.closed.Store(true)
	d.units.Close()
	if d.reads != d.units {
		d.reads.Close()
	}
}

// unitKey is the context key of the transaction in one database.
type unitKey struct{ d *database }

const (
	// tries is how often a transaction runs that conflicts with others. Conflicts are short.
	tries = 6
	// staleTries is how often a transaction runs that finds its reads outdated. Each time, another transaction made
	// progress.
	staleTries = 12
)

// Run implements unit.Runner.
func (d *database) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, ok := ctx.Value(unitKey{d}).(*transaction); ok {
		return fn(ctx)
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := d.once(ctx, fn)
		var again *againError
		var stale *unit.StaleError
		wait := pause(try)
		switch {
		case errors.As(err, &again):
			if try >= tries-1 {
				return refusal(again.cause)
			}
		case errors.As(err, &stale) && try < staleTries-1:
			wait = pause(0) // the other transaction has already committed
		default:
			return err
		}
		d.opt.Log.Debug("retrying transaction", "database", d.part, "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause returns how long to wait before the next try. It is random, so that two transactions that collided do not
// collide again.
func pause(try int) time.Duration {
	return rand.N(5 * time.Millisecond << try)
}

// In implements store.Database.
func (d *database) In(ctx context.Context) store.Querier {
	if t, ok := ctx.Value(unitKey{d}).(*transaction); ok {
		return t
	}
	return d.readers()
}

func (d *database) readers() readers { return readers{d} }

// Hold implements store.Database. It takes the lock that an UPDATE takes. A transaction that only references the row by
// a foreign key does not wait for this lock, so two transactions that first reference the row and then hold it do not
// deadlock.
func (d *database) Hold(ctx context.Context, query string, args ...any) error {
	t, ok := ctx.Value(unitKey{d}).(*transaction)
	if !ok {
		return nil
	}
	_, err := t.Exec(ctx, query+forUpdate, args...)
	return err
}

const forUpdate = " FOR NO KEY UPDATE"

// HoldRow implements store.Database.
func (d *database) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	t, ok := ctx.Value(unitKey{d}).(*transaction)
	if !ok {
		return d.readers().QueryRow(ctx, query, args...)
	}
	return t.QueryRow(ctx, query+forUpdate, args...)
}
