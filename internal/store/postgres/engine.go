// Package postgres is the engine for many processes: schemas in a PostgreSQL database, which other processes have open at
// the same time.
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

// Options say where and how to open. Times of zero are the defaults.
type Options struct {
	URL     string       // of the database
	KeysURL string       // of the database that holds the secrets; empty: the same one, in a schema of its own
	Log     *slog.Logger // nil: nothing is logged

	// Instance is the id of an instance that is made here because it moves in; empty: a new one.
	Instance string

	// Connections is how many units run at once; reads have half as many of their own, so that units that wait for each
	// other's rows keep nobody from reading. 0: what the URL says (pool_max_conns), else 12.
	Connections int

	Connect   time.Duration // how long to wait for a new connection: 3 s
	Acquire   time.Duration // how long a unit or a read waits for its turn: 3 s
	Statement time.Duration // how long a statement of a unit may take: 10 s; three times that for a read
	Lock      time.Duration // how long it waits for rows that somebody else holds: 5 s
	Unit      time.Duration // how long a unit may take: 30 s
	Answer    time.Duration // how long a server may take to say that it is there: 2 s
	Commit    time.Duration // how long a commit is waited for, until it counts as undecided: 5 s
	Migrate   time.Duration // for how long a new schema is tried where others use its tables: 1 min
	Table     time.Duration // how long one such try waits for a table: 2 s
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
	// Others that want the table meanwhile wait behind the migration, so this is less than they wait. Between two tries they
	// get on.
	o.Table = cmp.Or(o.Table, 2*time.Second)
}

// The parts of an instance. Each is a schema, so that a dump can leave the keys out.
const (
	mainPart  = "main"
	keysPart  = "keys"
	usagePart = "usage"
)

// schemas are the names of the parts' schemas.
var schemas = map[string]string{mainPart: "keepsake", keysPart: "keepsake_keys", usagePart: "keepsake_usage"}

// Engine is the open database.
type Engine struct {
	opt   Options
	trees []fs.FS // of migrations; nil: those of this program
	where place   // of the main part and the usage
	vault place   // of the keys

	main  *database
	keys  *database
	usage *database

	pulses map[place]*pulse

	closing  sync.Once
	outdated sync.Once // to say that this program is too old
}

var _ store.Engine = (*Engine)(nil)

// Open connects to the database, brings its schemas up to date and makes the instance known to it if it is empty. Several
// processes may do so at once. Its error is one line that says what to do and holds no password.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	e, err := named(opt)
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
	units := cmp.Or(e.opt.Connections, e.where.connections, 12)
	e.pulses = map[place]*pulse{}
	for _, p := range []place{e.where, e.vault} {
		if e.pulses[p] == nil {
			e.pulses[p] = newPulse(func(ctx context.Context) error { return e.ask(ctx, p) }, e.opt.Answer, e.opt.Log)
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

// Migrate brings the schemas of a database up to date and makes no instance in it.
func Migrate(ctx context.Context, opt Options) error {
	e, err := named(opt)
	if err != nil {
		return err
	}
	return e.prepare(ctx, false)
}

// named reads the URLs.
func named(opt Options) (*Engine, error) {
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

// Ready implements store.Engine: it reads a row of each part.
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

// Close waits for running units and closes the connections; units and reads that come later are refused.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		var all sync.WaitGroup
		for _, d := range []*database{e.main, e.keys, e.usage} {
			if d != nil {
				all.Go(d.close)
			}
		}
		all.Wait()
		for _, p := range e.pulses {
			p.close()
		}
	})
	return nil
}

// Connect makes a connection of the caller's own to the main part: to listen on, or to hold locks by. It has no time-outs
// but that for connecting.
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

// ask asks a server whether it is there.
func (e *Engine) ask(ctx context.Context, p place) error {
	conn, err := e.connect(ctx, p, mainPart)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	return conn.Ping(ctx)
}

// AwaitHooks waits until the AfterCommit hooks of all units have run that had begun to commit before. Whoever hears of
// commits in another way, and reads anew what they changed, does it after that: hooks that were held up would otherwise
// put an older state in its place.
func (e *Engine) AwaitHooks() { e.main.order.take().run(func() {}) }

// Alone implements store.Engine: no other process runs what has the same name. The lock belongs to a connection, so that
// of a process that dies ends with it.
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
