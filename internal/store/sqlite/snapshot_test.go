package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// Every snapshot is one moment: the rows up to some commit and none of the others, whatever is written meanwhile.
func TestASnapshotUnderWritersIsOneMoment(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	run(t, e, "CREATE TABLE pair (n INTEGER NOT NULL PRIMARY KEY, half INTEGER NOT NULL, filler BLOB NOT NULL)")
	stop := make(chan struct{})
	var written atomic.Int64 // units
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// Two rows a unit: a snapshot with an odd number of rows would have cut one in two.
			err := e.main.Run(context.Background(), func(ctx context.Context) error {
				for half := range 2 {
					if _, err := e.main.In(ctx).Exec(ctx, "INSERT INTO pair (n, half, filler) VALUES ($1, $2, $3)", 2*n+half, half, make([]byte, 4000)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			written.Add(1)
		}
	})
	last := 0
	for range testtier.Rounds(3, 5) {
		// The second of two units has begun after the snapshot before.
		before := written.Load()
		await.Until(t, "rows are written while snapshots are made", func() bool { return written.Load() >= before+2 })
		dir := t.TempDir()
		if err := e.Snapshot(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		var rows, highest int
		query(t, filepath.Join(dir, "main.db"), "SELECT count(*), max(n) FROM pair", &rows, &highest)
		if rows%2 != 0 || highest != rows-1 {
			t.Errorf("the snapshot has %d rows, the highest is %d", rows, highest)
		}
		if rows <= last {
			t.Errorf("a snapshot has %d rows, one before it had %d, and more were written since", rows, last)
		}
		last = rows
	}
	close(stop)
	writer.Wait()
}

func TestSnapshotOpensAndHasNoDeletedRows(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	run(t, e, "CREATE TABLE note (text TEXT NOT NULL)")
	canary := strings.Repeat("canary", 200)
	for i := range 50 {
		run(t, e, fmt.Sprintf("INSERT INTO note (text) VALUES ('%s%d')", canary, i))
	}
	run(t, e, "DELETE FROM note")
	dir := filepath.Join(t.TempDir(), "snapshot")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := e.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.db", "usage.db", "keys.db"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s holds what was deleted", name)
		}
		if info, _ := os.Stat(filepath.Join(dir, name)); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if again, _ := filepath.Glob(filepath.Join(dir, "*-wal")); len(again) > 0 {
		t.Errorf("a log lies beside it: %v", again)
	}
	copied := open(t, dir)
	if err := copied.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var of, is string
	for engine, into := range map[*Engine]*string{e: &of, copied: &is} {
		if err := engine.Keys().In(t.Context()).QueryRow(t.Context(), "SELECT id FROM instance").Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	if of != is {
		t.Errorf("it belongs to %q, not %q", is, of)
	}
}

// A snapshot that is not wanted any more ends with the file that it is at.
func TestASnapshotStopsWhenItIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	dir := t.TempDir()
	ctx := &stopped{Context: t.Context(), done: make(chan struct{}), when: func() bool {
		_, err := os.Stat(filepath.Join(dir, usageFile))
		return err == nil
	}}
	if err := e.Snapshot(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if info, err := os.Stat(filepath.Join(dir, mainFile)); err != nil || info.Size() == 0 {
		t.Errorf("the first file was not copied: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, usageFile)); err != nil || info.Size() > 0 {
		t.Errorf("the second file was copied after the end: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, keysFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the third file was begun after the end: %v", err)
	}
}

// stopped is a context that ends as soon as when holds.
type stopped struct {
	context.Context
	done chan struct{}
	when func() bool
	end  sync.Once
}

func (s *stopped) Done() <-chan struct{} {
	if s.when() {
		s.end.Do(func() { close(s.done) })
	}
	return s.done
}

func (s *stopped) Err() error {
	select {
	case <-s.Done():
		return context.Canceled
	default:
		return nil
	}
}

func run(t *testing.T, e *Engine, statement string) {
	t.Helper()
	err := e.main.Run(t.Context(), func(ctx context.Context) error {
		_, err := e.main.In(ctx).Exec(ctx, statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, path, text string, into ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(text).Scan(into...); err != nil {
		t.Fatal(err)
	}
}
