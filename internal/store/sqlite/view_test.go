package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAViewReadsWhatOthersHaveOpenAndChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := OpenView(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	look := func() (rows int) {
		t.Helper()
		v, err := OpenView(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if err := v.Main().In(t.Context()).QueryRow(t.Context(), "SELECT count(*) FROM probe").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Main().In(t.Context()).Exec(t.Context(), "DELETE FROM probe"); err == nil {
			t.Error("a view could write")
		}
		if err := v.Keys().Run(t.Context(), nil); !errors.Is(err, errViewed) {
			t.Errorf("a unit of work on a view: %v", err)
		}
		return rows
	}
	if n := look(); n != 0 {
		t.Errorf("%d rows before there were any", n)
	}
	err = e.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := e.Main().In(ctx).Exec(ctx, "INSERT INTO probe (id, filler) VALUES (7, zeroblob(1))")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := look(); n != 1 {
		t.Errorf("while the folder is in use: %d rows, want 1", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if n := look(); n != 1 {
		t.Errorf("when nobody uses the folder: %d rows, want 1", n)
	}
	if after := files(t, dir); after != before {
		t.Errorf("the folder held %s, afterwards %s", before, after)
	}
}

func files(t *testing.T, dir string) (names string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names += filepath.Base(e.Name()) + " "
	}
	return names
}

func TestViewRefusesASchemaThatItWouldUpgrade(t *testing.T) {
	t.Parallel()
	for _, file := range []string{mainFile, keysFile} {
		dir := t.TempDir()
		e, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		look := func() error {
			v, err := OpenView(t.Context(), dir)
			if err != nil {
				return err
			}
			return v.Close()
		}
		if err := look(); err != nil {
			t.Errorf("%s of this release: %v", file, err)
		}
		for _, c := range []struct {
			statement string
			older     bool
		}{
			{"INSERT INTO schema_migration (version_id, is_applied, hash, oldest) VALUES (1001, 1, 'of a newer release', 1)", false},
			{"DELETE FROM schema_migration WHERE version_id > 0", true},
		} {
			d := map[string]*database{mainFile: e.main, keysFile: e.keys}[file]
			if _, err := d.Once(t.Context(), c.statement); err != nil {
				t.Fatal(err)
			}
			if err := look(); (err != nil) != c.older || err != nil && !strings.Contains(err.Error(), file) {
				t.Errorf("%s after %s: %v", file, c.statement, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
