// Package postgres is the engine that several processes can share: three schemas in a PostgreSQL database.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store"
)

// Options say where the database is and how to open it. A duration of zero means the default.
type Options struct {
	URL     string       // of the database
	KeysURL string       // of the database for the secrets; empty for a schema in the same database
	Log     *slog.Logger // nil disables logging

	// Instance is the ID of an instance that moves in; empty for a new instance.
	Instance string

	// Connections is how many transactions run at once. Half as many connections are for reads, so that reads continue
	// while transactions wait for locks. 0 means the URL's pool_max_conns, or 12, or 4 through a pooler.
	Connections int

	Connect   time.Duration // max time to open a connection; 3 s
	Acquire   time.Duration // max wait for a connection from a pool; 3 s
	Statement time.Duration // max time of a statement in a transaction; 10 s, and three times that for a read
	Lock      time.Duration // max wait for a row lock; 5 s
	Unit      time.Duration // max time of a transaction; 30 s
	Answer    time.Duration // max time until the server answers a ping; 2 s
	Commit    time.Duration // max wait for a commit; after that its outcome is unknown; 5 s
	Migrate   time.Duration // how long a migration keeps trying to lock tables in use; 1 min
	Table     time.Duration // max wait for a table in one such try; 2 s
}

func (o *Options) complete() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Connect = cmp.Or(o.Connect, 3*time.Second)
	o.Acquire = cmp.Or(o.Acquire, 3*time.Second)
	o.Statement = cmp.Or(o.Statement, 10*time.Second)
	o.Lock = cmp.Or(o.Lock, 5*time.Second)
	o.Unit = cmp.Or(o.Unit, 30*time.Second)
	o.Answer = cmp.Or(o.Answer, 2*time.Second)
	o.Commit = cmp.Or(o.Commit, 5*time.Second)
	o.Migrate = cmp.Or(o.Migrate, time.Minute)
	// Less than Lock, because every statement that uses the table waits behind the migration. Between two tries they
	// continue.
	o.Table = cmp.Or(o.Table, 2*time.Second)
}

// The parts of an instance. Each is a schema, so that a dump can leave out the keys.
const (
	mainPart  = "main"
	keysPart  = "keys"
	usagePart = "usage"
)

// schemas maps each part to its schema.
var schemas = map[string]string{mainPart: "keepsake", keysPart: "keepsake_keys", usagePart: "keepsake_usage"}

// Engine is the open database.
type Engine struct {
	opt   Options
	trees []fs.FS // the migrations; nil for those of this program
	where place   // of the main and usage parts
	vault place   // of the keys part

	pooled bool // connections to where go through a pooler

	main  *database
	keys  *database
	usage *database

	monitors map[place]*monitor

	closing  sync.Once
	outdated sync.Once // logs once that this program is too old
}

var _ store.Engine = (*Engine)(nil)

// Open connects to the database, migrates its schemas and, if it is empty, creates the instance. Several processes can
// do so at once. Its error is one line that says what to do and contains no password.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	e, err := newEngine(opt)
	if err != nil {
		return nil, err
	}
	return e.open(ctx)
}

func (e *Engine) open(ctx context.Context) (*Engine, error) {
	if err := e.prepare(ctx, true); err != nil {
		return nil, err
	}
	var err error
	units := cmp.Or(e.opt.Connections, e.where.connections, e.defaultConnections())
	e.monitors = map[place]*monitor{}
	for _, p := range []place{e.where, e.vault} {
		if e.monitors[p] == nil {
			e.monitors[p] = newMonitor(func(ctx context.Context) error { return e.ping(ctx, p) }, e.opt.Answer, e.opt.Log)
		}
	}
	for _, d := range []struct {
		as           **database
		place        place
		part         string
		units, reads int
	}{
		{&e.main, e.where, mainPart, units, (units + 1) / 2},
		{&e.keys, e.vault, keysPart, 2, 0},
		{&e.usage, e.where, usagePart, 2, 2},
	} {
		if *d.as, err = e.openDatabase(ctx, d.place, d.part, d.units, d.reads); err != nil {
			_ = e.Close()
			return nil, err
		}
	}
	return e, nil
}

// Migrate migrates the schemas of a database. It creates no instance.
func Migrate(ctx context.Context, opt Options) error {
	e, err := newEngine(opt)
	if err != nil {
		return err
	}
	return e.prepare(ctx, false)
}

// newEngine returns an Engine with parsed URLs and no connections.
func newEngine(opt Options) (*Engine, error) {
	opt.complete()
	e := &Engine{opt: opt}
	var err error
	if e.where, err = parse(opt.URL); err != nil {
		return nil, err
	}
	e.vault = e.where
	if opt.KeysURL != "" {
		e.vault, err = parse(opt.KeysURL)
	}
	return e, err
}

// Main implements store.Engine.
func (e *Engine) Main() store.Database { return e.main }

// Keys implements store.Engine.
func (e *Engine) Keys() store.Database { return e.keys }

// Usage implements store.Engine.
func (e *Engine) Usage() store.Database { return e.usage }

// Shared implements store.Engine.
func (e *Engine) Shared() bool { return true }

// Ready implements store.Engine. It reads a row of each part.
func (e *Engine) Ready(ctx context.Context) error {
	for _, d := range []*database{e.main, e.keys} {
		var id string
		if err := d.readers().QueryRow(ctx, "SELECT id FROM instance").Scan(&id); err != nil {
			return fmt.Errorf("read the %s part: %w", d.part, err)
		}
	}
	return nil
}

// Readable implements store.Engine.
func (e *Engine) Readable(ctx context.Context) error { return e.Ready(ctx) }

// Close waits for running transactions and closes the connections. Later calls are refused.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		var all sync.WaitGroup
		for _, d := range []*database{e.main, e.keys, e.usage} {
			if d != nil {
				all.Go(d.close)
			}
		}
		all.Wait()
		for _, p := range e.monitors {
			p.close()
		}
	})
	return nil
}

// Connect opens a connection to the main part that belongs to the caller, for example to hold locks. It has no
// time-outs except the one for connecting.
func (e *Engine) Connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := e.connect(ctx, e.where, mainPart)
	if err != nil {
		return nil, err
	}
	if err := e.admit(ctx, conn, mainPart); err != nil {
		closeConn(conn)
		return nil, err
	}
	return conn, nil
}

// ping pings a server on a new connection.
func (e *Engine) ping(ctx context.Context, p place) error {
	conn, err := e.connect(ctx, p, mainPart)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	return conn.Ping(ctx)
}

// AwaitHooks waits for the AfterCommit hooks of all transactions that have begun to commit. A caller that learns of
// commits in another way calls it before it reloads what they changed. Otherwise a delayed hook could overwrite the
// reloaded state with an older one.
func (e *Engine) AwaitHooks() { e.main.order.take().run(func() {}) }

// Alone implements store.Engine. The lock belongs to a connection, so it ends with a process that dies.
func (e *Engine) Alone(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	conn, err := e.connect(ctx, e.where, mainPart)
	if err != nil {
		return readable(err)
	}
	defer closeConn(conn)
	if err := lock(ctx, conn, name); err != nil {
		return readable(err)
	}
	return fn(ctx)
}
