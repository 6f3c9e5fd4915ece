package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"keepsake/internal/store"
	"keepsake/internal/store/schema"
)

//go:embed migration
var migrations embed.FS

// known are the trees of all migrations that this program knows.
var known = []fs.FS{migrations}

var schemaDialect = schema.Dialect{
	Goose: goose.DialectSQLite3,
	Table: "CREATE TABLE " + schema.Table + ` (
		id INTEGER NOT NULL PRIMARY KEY, version_id INTEGER NOT NULL UNIQUE, is_applied INTEGER NOT NULL,
		tstamp TEXT NOT NULL DEFAULT (datetime('now')), hash TEXT NOT NULL, oldest INTEGER NOT NULL
	) STRICT`,
	Exists: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + schema.Table + "')",
}

// stepsOf reads the migrations of a file.
func stepsOf(file string) ([]schema.Step, error) {
	return schema.Read(strings.TrimSuffix(file, ".db"), known...)
}

// migrate upgrades the schema of a file that checkSchema has accepted. Migrations only go forward, each in its own transaction.
func migrate(ctx context.Context, db *sql.DB, file string) error {
	steps, err := stepsOf(file)
	if err != nil {
		return err
	}
	provider, err := schema.Provider(schemaDialect, db, steps)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current >= target {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}

// checkSchema returns an error if this program cannot work on the schema of a file: one of an unreleased build, or a newer one
// whose program did more than add to it. known is the number of this program's last migration.
func checkSchema(ctx context.Context, q store.Querier, file string) (s *schema.State, known int64, err error) {
	steps, err := stepsOf(file)
	if err != nil {
		return nil, 0, err
	}
	known = schema.Last(steps)
	if s, err = readSchema(ctx, q); err != nil {
		return nil, 0, fmt.Errorf("read schema version: %w", err)
	}
	if err := s.Check(steps); err != nil {
		return nil, 0, err
	}
	if known < s.Oldest {
		return nil, 0, fmt.Errorf("its schema has version %d, on which programs can work that know %d, and this one knows %d: start the newer keepsake that wrote it",
			s.Version, s.Oldest, known)
	}
	return s, known, nil
}

func readSchema(ctx context.Context, q store.Querier) (*schema.State, error) {
	s := &schema.State{}
	var err error
	if s.Unreleased, err = hasTable(ctx, q, schema.UnreleasedTable); err != nil {
		return nil, err
	}
	if has, err := hasTable(ctx, q, schema.Table); err != nil || !has {
		return s, err
	}
	rows, err := q.Query(ctx, schema.Applied)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number, oldest int64
		var hash string
		if err := rows.Scan(&number, &hash, &oldest); err != nil {
			return nil, err
		}
		s.Add(number, hash, oldest)
	}
	return s, rows.Err()
}

func hasTable(ctx context.Context, q store.Querier, name string) (is bool, err error) {
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)", name).Scan(&is)
	return is, err
}
