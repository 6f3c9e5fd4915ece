package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"keepsake/internal/store/schema"
)

//go:embed migration
var migrations embed.FS

// known are the trees of all migrations that this program knows.
var known = []fs.FS{migrations}

// minVersion is the oldest server that we run on.
const minVersion = 15

// traces is what one part holds.
type traces struct {
	version int64 // of the schema, 0 where there is none
	oldest  int64 // what a program must know at least
	said    bool  // the schema itself says so
	id      string
	secrets bool
}

// prepare brings the parts up to date and, if name says so, gives an empty instance its id. Nobody waits for a lock where there is nothing
// to do.
func (e *Engine) prepare(ctx context.Context, name bool) error {
	main, err := e.connect(ctx, e.where, mainPart)
	if err != nil {
		return e.where.opening(err)
	}
	defer closeConn(main)
	keys := main
	if e.opt.KeysURL != "" {
		if keys, err = e.connect(ctx, e.vault, keysPart); err != nil {
			return e.vault.opening(err)
		}
		defer closeConn(keys)
	}
	if err := e.checkServer(ctx, e.where, main); err != nil {
		return err
	}
	if keys != main {
		if err := e.checkServer(ctx, e.vault, keys); err != nil {
			return err
		}
	}
	parts := []part{{mainPart, e.where, main}, {keysPart, e.vault, keys}, {usagePart, e.where, main}}
	if done, err := e.look(ctx, parts); err != nil || done {
		return err
	}
	if err := lock(ctx, main, "schema"); err != nil {
		return e.where.opening(err)
	}
	if done, err := e.look(ctx, parts); err != nil || done { // somebody else has done it meanwhile
		return err
	}
	for _, p := range parts {
		if err := p.migrate(ctx, e); err != nil {
			return p.place.opening(err)
		}
	}
	if !name {
		return nil
	}
	return e.name(ctx, parts)
}

// part is a part with a connection to where it lies.
type part struct {
	name  string
	place place
	conn  *pgx.Conn
}

func (p part) table(name string) string { return schemas[p.name] + "." + name }

// checkServer refuses a server that could not keep what we promise.
func (e *Engine) checkServer(ctx context.Context, p place, conn *pgx.Conn) error {
	var version int
	var encoding, fsync string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('fsync')`).Scan(&version, &encoding, &fsync)
	if err != nil {
		return p.opening(err)
	}
	switch {
	case version < minVersion*10000:
		return fmt.Errorf("PostgreSQL at %s has version %d: version %d or later is needed", p, version/10000, minVersion)
	case encoding != "UTF8":
		return fmt.Errorf("PostgreSQL at %s keeps the database in %s: make it with ENCODING 'UTF8'", p, encoding)
	case fsync == "off":
		e.opt.Log.Warn("the database server runs with fsync = off: what it acknowledges is lost when its machine fails", "server", p.String())
	}
	return nil
}

// look answers whether all parts are as they should be; an error, where they contradict each other or are too new.
func (e *Engine) look(ctx context.Context, parts []part) (done bool, err error) {
	found := map[string]traces{}
	done = true
	for _, p := range parts {
		t, err := p.look(ctx)
		if err != nil {
			return false, p.place.opening(err)
		}
		known, err := e.target(p.name)
		if err != nil {
			return false, err
		}
		switch {
		case t.version > known && known < t.oldest:
			return false, fmt.Errorf("PostgreSQL at %s: %w", p.place, &outdatedError{schemas[p.name], t.version, t.oldest, known})
		case t.version > known:
			e.opt.Log.Info("the schema is newer than this program, which may stay", "schema", schemas[p.name], "version", t.version, "known", known)
		}
		done = done && t.version >= known && t.said && t.id != ""
		found[p.name] = t
	}
	return done, contradiction(found)
}

// contradiction says in one line why the parts do not belong together. A new key or an empty schema beside old data would
// look like a start and be a loss.
func contradiction(found map[string]traces) error {
	main, keys, usage := found[mainPart], found[keysPart], found[usagePart]
	switch {
	case main.id != "" && keys.id == "":
		return errors.New("the schema keepsake_keys is missing or empty although keepsake holds data: restore the one that belongs to it, or name its database by keysUrl")
	case main.id == "" && keys.secrets:
		return errors.New("the schema keepsake is missing or empty although keepsake_keys holds its secrets: restore the one that belongs to it")
	case main.id != "" && main.id != keys.id:
		return errors.New("the schemas keepsake and keepsake_keys belong to different instances: restore the pair that belongs together")
	case main.id != "" && usage.id != "" && main.id != usage.id:
		return errors.New("the schema keepsake_usage belongs to another instance: restore the one that belongs here")
	}
	return nil
}

// look reads the traces of one part; nothing where it was never set up.
func (p part) look(ctx context.Context) (t traces, err error) {
	exists := func(table string) (is bool) {
		if err == nil {
			err = p.conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", p.table(table)).Scan(&is)
		}
		return is
	}
	read := func(table, query string, dest any) {
		if !exists(table) || err != nil {
			return
		}
		if err = p.conn.QueryRow(ctx, fmt.Sprintf(query, p.table(table))).Scan(dest); errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
	}
	read("schema_version", "SELECT coalesce(max(version_id), 0) FROM %s", &t.version)
	t.oldest = t.version
	t.said = exists("schema_compat")
	read("schema_compat", "SELECT oldest FROM %s WHERE part = '"+p.name+"'", &t.oldest)
	read("instance", "SELECT id FROM %s", &t.id)
	if p.name == keysPart {
		read("wrapped_secret", "SELECT EXISTS (SELECT 1 FROM %s)", &t.secrets)
	}
	return t, err
}

// steps are the migrations of a part that this program knows.
func (e *Engine) steps(part string) ([]schema.Step, error) {
	trees := e.trees
	if trees == nil {
		trees = known
	}
	return schema.Read(part, trees...)
}

// target is the schema number that this program knows of a part.
func (e *Engine) target(part string) (int64, error) {
	steps, err := e.steps(part)
	return schema.Last(steps), err
}

const compatTable = `CREATE TABLE IF NOT EXISTS schema_compat (part TEXT COLLATE "C" NOT NULL PRIMARY KEY, oldest BIGINT NOT NULL)`

// migrate brings a part up to date. Migrations only go forward, each in a transaction of its own.
func (p part) migrate(ctx context.Context, e *Engine) error {
	steps, err := e.steps(p.name)
	if err != nil {
		return err
	}
	t, err := p.look(ctx)
	if err != nil {
		return err
	}
	switch target := schema.Last(steps); {
	case t.version == target && !t.said && target > 0:
		return p.say(ctx, schema.OldestAt(target, steps))
	case t.version >= target:
		return nil
	}
	var there bool
	if err := p.conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schemas[p.name]).Scan(&there); err != nil {
		return err
	}
	if !there { // asked first: whoever may not make a schema may use one that was made
		if _, err := p.conn.Exec(ctx, "CREATE SCHEMA "+schemas[p.name]); err != nil {
			return err
		}
	}
	if from, to := t.oldest, schema.OldestAt(schema.Last(steps), steps); t.said && from < to {
		e.opt.Log.Warn("the schema takes a step that older releases cannot follow: their connections are cut",
			"schema", schemas[p.name], "version", schema.Last(steps), "needed", to)
		open, err := p.fence(ctx, e)
		if err != nil {
			return fmt.Errorf("cut the connections of older releases: %w", err)
		}
		defer open()
	}
	for until := time.Now().Add(e.opt.Migrate); ; {
		err := p.up(ctx, e, steps)
		if !inUse(err) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("a table that a new schema changes was in use for %s, perhaps by a backup; start again when that is done: %w", e.opt.Migrate, err)
		}
		e.opt.Log.Warn("a table that a new schema changes is in use; it is tried again", "schema", schemas[p.name], "error", oneLine(err))
		select {
		case <-time.After(e.opt.Table/2 + pause(6)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// up runs the steps that a part lacks.
func (p part) up(ctx context.Context, e *Engine, steps []schema.Step) error {
	db := stdlib.OpenDB(*p.place.connConfig(p.name, e.opt.Connect, nil))
	defer db.Close()
	provider, err := schema.Provider(schema.Dialect{
		Goose: goose.DialectPostgres, First: fmt.Sprintf("SET LOCAL lock_timeout = %d", e.opt.Table.Milliseconds()), Compat: compatTable,
	}, db, p.name, steps)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}

// inUse says that a step met others that use its tables. Nothing of it happened.
func inUse(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "55P03" || e.Code == "40P01") // waited too long, deadlock
}

// say notes what programs must know of a schema that does not say so itself.
func (p part) say(ctx context.Context, oldest int64) error {
	_, err := p.conn.Exec(ctx, strings.Replace(compatTable, "schema_compat", p.table("schema_compat"), 1))
	if err == nil {
		_, err = p.conn.Exec(ctx, strings.Replace(schema.Note, "schema_compat", p.table("schema_compat"), 1), p.name, oldest)
	}
	return err
}

// name writes the instance's id into the parts that have none: the keys first, because a main part that has an id is then
// proof that there were keys.
func (e *Engine) name(ctx context.Context, parts []part) error {
	id := e.opt.Instance
	for _, p := range parts {
		if p.name != keysPart {
			continue
		}
		t, err := p.look(ctx)
		if err != nil {
			return p.place.opening(err)
		}
		if t.id != "" {
			id = t.id
		}
	}
	if id == "" {
		id = rand.Text() // it only has to differ from every other instance's
	}
	for _, which := range []string{keysPart, mainPart, usagePart} {
		for _, p := range parts {
			if p.name != which {
				continue
			}
			if _, err := p.conn.Exec(ctx, "INSERT INTO "+p.table("instance")+" (id) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM "+p.table("instance")+")", id); err != nil {
				return p.place.opening(err)
			}
		}
	}
	return nil
}
