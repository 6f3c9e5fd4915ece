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

// minVersion is the oldest supported version of PostgreSQL.
const minVersion = 15

// partState is the state of one part.
type partState struct {
	schema.State
	id      string
	secrets bool
}

// prepare migrates the parts and, if name is set, gives an empty instance its ID. It takes no lock if there is nothing
// to do.
func (e *Engine) prepare(ctx context.Context, name bool) error {
	if err := e.checkSessions(ctx); err != nil {
		return err
	}
	parts, done, err := e.connectParts(ctx)
	if err != nil {
		return err
	}
	defer done()
	for i, p := range parts {
		if i > 0 && p.conn == parts[0].conn {
			continue
		}
		if err := e.checkServer(ctx, p.place, p.conn); err != nil {
			return err
		}
	}
	if done, err := e.check(ctx, parts); err != nil || done {
		return err
	}
	if err := lock(ctx, parts[0].conn, "schema"); err != nil {
		return e.where.openError(err)
	}
	if done, err := e.check(ctx, parts); err != nil || done { // another process was faster
		return err
	}
	for _, p := range parts {
		if err := p.migrate(ctx, e); err != nil {
			return p.place.openError(err)
		}
	}
	if !name {
		return nil
	}
	return e.name(ctx, parts)
}

// part is a part and a connection to its database.
type part struct {
	name  string
	place place
	conn  *pgx.Conn
}

func (p part) table(name string) string { return schemas[p.name] + "." + name }

// connectParts connects to the databases of all parts, the main part first. done closes the connections.
func (e *Engine) connectParts(ctx context.Context) (parts []part, done func(), err error) {
	main, err := e.connect(ctx, e.where, mainPart)
	if err != nil {
		return nil, nil, e.where.openError(err)
	}
	keys := main
	if e.opt.KeysURL != "" {
		if keys, err = e.connect(ctx, e.vault, keysPart); err != nil {
			closeConn(main)
			return nil, nil, e.vault.openError(err)
		}
	}
	done = func() {
		closeConn(main)
		if keys != main {
			closeConn(keys)
		}
	}
	return []part{{mainPart, e.where, main}, {keysPart, e.vault, keys}, {usagePart, e.where, main}}, done, nil
}

// checkServer refuses a server that cannot keep our promises.
func (e *Engine) checkServer(ctx context.Context, p place, conn *pgx.Conn) error {
	var version int
	var encoding, fsync string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('fsync')`).Scan(&version, &encoding, &fsync)
	if err != nil {
		return p.openError(err)
	}
	switch {
	case version < minVersion*10000:
		return fmt.Errorf("PostgreSQL at %s has version %d: version %d or later is needed", p, version/10000, minVersion)
	case encoding != "UTF8":
		return fmt.Errorf("PostgreSQL at %s stores the database in %s: create it with ENCODING 'UTF8'", p, encoding)
	case fsync == "off":
		e.opt.Log.Warn("database server runs with fsync = off and loses acknowledged commits when its machine fails", "server", p.String())
	}
	return nil
}

// states reads the state of each part. It refuses those of an unreleased build.
func (e *Engine) states(ctx context.Context, parts []part) (map[string]partState, error) {
	found := map[string]partState{}
	for _, p := range parts {
		t, err := p.state(ctx)
		if err != nil {
			return nil, p.place.openError(err)
		}
		steps, err := e.steps(p.name)
		if err != nil {
			return nil, err
		}
		if err := t.Check(steps); err != nil {
			return nil, fmt.Errorf("the schema %s of PostgreSQL at %s %w", schemas[p.name], p.place, err)
		}
		found[p.name] = t
	}
	return found, nil
}

// check reports whether all parts are up to date. It returns an error if they do not belong together or are too new.
func (e *Engine) check(ctx context.Context, parts []part) (done bool, err error) {
	found, err := e.states(ctx, parts)
	if err != nil {
		return false, err
	}
	done = true
	for _, p := range parts {
		known, err := e.target(p.name)
		if err != nil {
			return false, err
		}
		t := found[p.name]
		switch {
		case known < t.Oldest:
			return false, fmt.Errorf("PostgreSQL at %s: %w", p.place, &outdatedError{schemas[p.name], t.Version, t.Oldest, known})
		case known < t.Version:
			e.opt.Log.Info("schema is newer than this program, which can still use it", "schema", schemas[p.name], "version", t.Version, "known", known)
		}
		done = done && known <= t.Version && t.id != ""
	}
	return done, mismatch(found)
}

// mismatch returns a one-line error if the parts do not belong together. Creating a new key or an empty schema
// next to old data would look like a normal start, but lose data.
func mismatch(found map[string]partState) error {
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

// state reads the state of one part, the zero value if the part was never created.
func (p part) state(ctx context.Context) (t partState, err error) {
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
	t.Unreleased = exists(schema.UnreleasedTable)
	if exists(schema.Table) && err == nil {
		err = p.readSchema(ctx, &t.State)
	}
	read("instance", "SELECT id FROM %s", &t.id)
	if p.name == keysPart {
		read("wrapped_secret", "SELECT EXISTS (SELECT 1 FROM %s)", &t.secrets)
	}
	return t, err
}

// readSchema reads which migrations the part has.
func (p part) readSchema(ctx context.Context, s *schema.State) error {
	rows, err := p.conn.Query(ctx, strings.Replace(schema.Applied, schema.Table, p.table(schema.Table), 1))
	if err != nil {
		return err
	}
	var number, oldest int64
	var hash string
	_, err = pgx.ForEachRow(rows, []any{&number, &hash, &oldest}, func() error {
		s.Add(number, hash, oldest)
		return nil
	})
	return err
}

// steps returns the migrations of a part.
func (e *Engine) steps(part string) ([]schema.Step, error) {
	trees := e.trees
	if trees == nil {
		trees = known
	}
	return schema.Read(part, trees...)
}

// target returns the latest schema version of a part.
func (e *Engine) target(part string) (int64, error) {
	steps, err := e.steps(part)
	return schema.Last(steps), err
}

// versionTable creates schema.Table.
const versionTable = "CREATE TABLE " + schema.Table + ` (
	id BIGINT NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, version_id BIGINT NOT NULL UNIQUE, is_applied BOOLEAN NOT NULL,
	tstamp TIMESTAMP NOT NULL DEFAULT now(), hash TEXT COLLATE "C" NOT NULL, oldest BIGINT NOT NULL
)`

// migrate migrates a part. Migrations only go forward, each in a transaction of its own.
func (p part) migrate(ctx context.Context, e *Engine) error {
	steps, err := e.steps(p.name)
	if err != nil {
		return err
	}
	t, err := p.state(ctx)
	if err != nil {
		return err
	}
	if t.Version >= schema.Last(steps) {
		return nil
	}
	var there bool
	if err := p.conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schemas[p.name]).Scan(&there); err != nil {
		return err
	}
	if !there { // checked first, because a user without the right to create schemas can use one that exists
		if _, err := p.conn.Exec(ctx, "CREATE SCHEMA "+schemas[p.name]); err != nil {
			return err
		}
	}
	if from, to := t.Oldest, schema.OldestAt(schema.Last(steps), steps); t.Version > 0 && from < to {
		e.opt.Log.Warn("ending connections of older releases, which cannot use the new schema",
			"schema", schemas[p.name], "version", schema.Last(steps), "needed", to)
		open, err := p.lockSchema(ctx, e)
		if err != nil {
			return fmt.Errorf("end the connections of older releases: %w", err)
		}
		defer open()
	}
	for until := time.Now().Add(e.opt.Migrate); ; {
		err := p.up(ctx, e, steps)
		if !inUse(err) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("a table that must be migrated was in use for %s, perhaps by a backup; start again when that is done: %w", e.opt.Migrate, err)
		}
		e.opt.Log.Warn("table in use; retrying migration", "schema", schemas[p.name], "error", oneLine(err))
		select {
		case <-time.After(e.opt.Table/2 + pause(6)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// up runs the missing migrations of a part.
func (p part) up(ctx context.Context, e *Engine, steps []schema.Step) error {
	db := stdlib.OpenDB(*p.place.connConfig(p.name, e.opt.Connect, nil))
	defer db.Close()
	provider, err := schema.Provider(schema.Dialect{
		Goose: goose.DialectPostgres, First: fmt.Sprintf("SET LOCAL lock_timeout = %d", e.opt.Table.Milliseconds()), Table: versionTable,
		Exists: "SELECT to_regclass('" + schema.Table + "') IS NOT NULL",
	}, db, steps)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}

// inUse reports that a migration failed because other transactions use its tables. It changed nothing.
func inUse(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "55P03" || e.Code == "40P01") // lock_timeout, deadlock
}

// name writes the instance ID into the parts that have none. It begins with the keys, so that an ID in the main part
// proves that there were keys.
func (e *Engine) name(ctx context.Context, parts []part) error {
	id := e.opt.Instance
	for _, p := range parts {
		if p.name != keysPart {
			continue
		}
		t, err := p.state(ctx)
		if err != nil {
			return p.place.openError(err)
		}
		if t.id != "" {
			id = t.id
		}
	}
	if id == "" {
		id = rand.Text() // must only differ from those of other instances
	}
	for _, which := range []string{keysPart, mainPart, usagePart} {
		for _, p := range parts {
			if p.name != which {
				continue
			}
			if _, err := p.conn.Exec(ctx, "INSERT INTO "+p.table("instance")+" (id) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM "+p.table("instance")+")", id); err != nil {
				return p.place.openError(err)
			}
		}
	}
	return nil
}
