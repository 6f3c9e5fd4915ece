package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Facts describe a database before it is opened.
type Facts struct {
	Server   string // address, database and user, without the password
	Version  string // of PostgreSQL
	Pooled   bool   // connections go through a pooler such as PgBouncer
	Instance string // empty if there is none
	// Behind reports that the schema is older than this program, which migrates it at the next start.
	Behind  bool
	Schemas []Schema
	// Ahead is by how much the server's clock is ahead of this machine's.
	Ahead time.Duration
	// Unsafe lists the settings that let the server lose acknowledged commits when its machine fails.
	Unsafe []string
	// Connections is the number of open connections to the server, of all programs. Most is the maximum.
	Connections, Most int
}

// Schema describes the schema of one part.
type Schema struct {
	Name    string
	Version int64
	Known   int64 // the latest version that this program knows
}

// Connector returns a function that connects to the main part without opening the database.
func Connector(opt Options) (func(ctx context.Context) (*pgx.Conn, error), error) {
	e, err := newEngine(opt)
	if err != nil {
		return nil, err
	}
	return e.Connect, nil
}

// Examine inspects a database without changing it.
func Examine(ctx context.Context, opt Options, now func() time.Time) (*Facts, error) {
	e, err := newEngine(opt)
	if err != nil {
		return nil, err
	}
	if err := e.checkSessions(ctx); err != nil {
		return nil, err
	}
	parts, done, err := e.connectParts(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	conn := parts[0].conn
	if err := e.checkServer(ctx, e.where, conn); err != nil {
		return nil, err
	}
	f := &Facts{Server: e.where.String(), Pooled: throughPooler(conn)}
	if err := f.read(ctx, conn, now); err != nil {
		return nil, e.where.openError(err)
	}
	upToDate, err := e.check(ctx, parts)
	if err != nil {
		return nil, err
	}
	f.Behind = !upToDate
	for _, p := range parts {
		found, err := p.state(ctx)
		if err != nil {
			return nil, p.place.openError(err)
		}
		if p.name == mainPart {
			f.Instance = found.id
		}
		known, err := e.target(p.name)
		if err != nil {
			return nil, err
		}
		f.Schemas = append(f.Schemas, Schema{schemas[p.name], found.Version, known})
	}
	return f, nil
}

func (f *Facts) read(ctx context.Context, conn *pgx.Conn, now func() time.Time) error {
	asked := now()
	var at time.Time
	err := conn.QueryRow(ctx, `SELECT clock_timestamp(), current_setting('server_version'), current_setting('max_connections')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`).Scan(&at, &f.Version, &f.Most, &f.Connections)
	if err != nil {
		return err
	}
	answered := now()
	f.Ahead = at.Sub(asked.Add(answered.Sub(asked) / 2)) // the server read its clock about half way
	rows, err := conn.Query(ctx, `SELECT name FROM pg_settings
		WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`)
	if err != nil {
		return err
	}
	f.Unsafe, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}
