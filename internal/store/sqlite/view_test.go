package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

func TestOlderKeysAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	look := func() error {
		v, err := OpenView(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		return v.OlderKeys(t.Context())
	}
	if err := look(); err != nil {
		t.Errorf("of this release: %v", err)
	}
	for _, c := range []struct {
		set   string
		older bool
	}{{"version_id + 1000", false}, {"version_id - 1001", true}} {
		err := e.Keys().Run(t.Context(), func(ctx context.Context) error {
			_, err := e.Keys().In(ctx).Exec(ctx, "UPDATE schema_version SET version_id = "+c.set)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := look(); (err != nil) != c.older {
			t.Errorf("%s: %v", c.set, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
