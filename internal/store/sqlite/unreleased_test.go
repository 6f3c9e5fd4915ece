package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/store/schema"
)

// contents returns the files of a folder with their content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// The numbers of migrations are used again, so a folder of an unreleased build must never be taken for one of a release.
func TestUnreleasedFolderIsRefused(t *testing.T) {
	t.Parallel()
	for how, statement := range map[string]string{
		"another version table": "ALTER TABLE schema_migration RENAME TO schema_version",
		"both version tables":   "CREATE TABLE schema_version (version_id INTEGER NOT NULL) STRICT",
		"another migration":     "UPDATE schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1",
	} {
		for _, file := range []string{mainFile, keysFile, usageFile} {
			for _, withoutLock := range []bool{true, false} {
				t.Run(how+" in "+file, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					if err := open(t, dir).Close(); err != nil {
						t.Fatal(err)
					}
					db, err := sql.Open("sqlite", filepath.Join(dir, file))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
					if err := db.Close(); err != nil {
						t.Fatal(err)
					}
					if withoutLock {
						if err := os.Remove(filepath.Join(dir, "keepsake.lock")); err != nil {
							t.Fatal(err)
						}
					}
					before := contents(t, dir)
					for name, use := range map[string]func(ctx context.Context) error{
						"Open":       func(ctx context.Context) error { _, err := Open(ctx, Options{Dir: dir}); return err },
						"OpenSource": func(ctx context.Context) error { _, err := OpenSource(ctx, dir); return err },
						"OpenView": func(ctx context.Context) error {
							if file == usageFile { // it does not open it
								return Examine(ctx, dir)
							}
							_, err := OpenView(ctx, dir)
							return err
						},
						"Examine": func(ctx context.Context) error { return Examine(ctx, dir) },
					} {
						err := use(t.Context())
						if !errors.Is(err, schema.ErrUnreleased) || !strings.HasPrefix(err.Error(), "the data folder "+dir+" was created by an unreleased build") ||
							strings.Contains(err.Error(), "\n") {
							t.Errorf("%s: %v", name, err)
						}
					}
					after := contents(t, dir)
					for name := range before {
						if after[name] != before[name] {
							t.Errorf("%s was changed", name)
						}
						delete(after, name)
					}
					delete(after, "keepsake.lock")
					if len(after) > 0 {
						t.Errorf("%d files were added", len(after))
					}
				})
			}
		}
	}
}

// A process that was killed leaves a write-ahead log. A refusal reads it and leaves it as it is.
func TestRefusalLeavesTheLogOfAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	if _, err := e.main.Once(t.Context(), "UPDATE schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1"); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	for name, data := range contents(t, dir) {
		if err := os.WriteFile(filepath.Join(killed, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, killed)
	if len(before["main.db-wal"]) == 0 {
		t.Fatal("there is no log, so the test proves nothing")
	}
	if _, err := Open(t.Context(), Options{Dir: killed}); !errors.Is(err, schema.ErrUnreleased) {
		t.Errorf("got %v", err)
	}
	after := contents(t, killed)
	for name := range before {
		if !strings.HasSuffix(name, "-shm") && after[name] != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("there are %d files, and were %d", len(after), len(before))
	}
}
