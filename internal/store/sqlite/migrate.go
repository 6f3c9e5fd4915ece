package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"

	"keepsake/internal/store/schema"
)

//go:embed migration
var migrations embed.FS

var schemaDialect = schema.Dialect{
	Goose:  goose.DialectSQLite3,
	Compat: "CREATE TABLE IF NOT EXISTS schema_compat (part TEXT NOT NULL PRIMARY KEY, oldest INTEGER NOT NULL) STRICT",
}

// migrate upgrades the schema of a file. Migrations only go forward, each in its own transaction.
func migrate(ctx context.Context, db *sql.DB, file string) error {
	part := strings.TrimSuffix(file, ".db")
	steps, err := schema.Read(part, migrations)
	if err != nil {
		return err
	}
	provider, err := schema.Provider(schemaDialect, db, part, steps)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > target {
		return newer(ctx, db, part, current, target)
	}
	if current == target {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}

// newer returns an error if this program cannot work on a newer schema. It can if the newer program only added to it.
func newer(ctx context.Context, db *sql.DB, part string, version, known int64) error {
	oldest, err := readIfTable(ctx, db, "schema_compat", "SELECT CAST(oldest AS TEXT) FROM schema_compat WHERE part = '"+part+"'")
	if err != nil {
		return fmt.Errorf("read who can work on its schema: %w", err)
	}
	needed := version
	if oldest != "" {
		if _, err := fmt.Sscan(oldest, &needed); err != nil {
			return fmt.Errorf("read who can work on its schema: %w", err)
		}
	}
	if known < needed {
		return fmt.Errorf("its schema has version %d, on which programs can work that know %d, and this one knows %d: start the newer keepsake that wrote it",
			version, needed, known)
	}
	return nil
}
