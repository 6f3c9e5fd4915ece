// Package sqlitetest gives tests an instance on SQLite without the time that its migrations take.
package sqlitetest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
)

// Dir returns a new folder of the test's own with databases that have the schema and nothing else, as after a start that was
// interrupted before it wrote anything. The first start in it chooses the instance ID.
func Dir(t testing.TB) string {
	t.Helper()
	return enginetest.FolderCopy(t, name, prepare)
}

// Prepare writes the databases of Dir into an empty folder.
func Prepare(t testing.TB, dir string) {
	t.Helper()
	enginetest.CopyInto(t, dir, name, prepare)
}

const name = "instance on SQLite"

func prepare(dir string) error {
	ctx := context.Background()
	e, err := sqlite.Open(ctx, sqlite.Options{Dir: dir})
	if err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := forgetID(ctx, file); err != nil {
			return fmt.Errorf("remove the instance ID from %s: %w", file, err)
		}
	}
	return nil
}

// forgetID removes the instance ID from a file, so that copies of it belong to different instances.
func forgetID(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=synchronous(0)")
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "DELETE FROM instance"); err != nil {
		db.Close()
		return err
	}
	return db.Close()
}
