package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
	for range 5 {
		// The second of two units has begun after the snapshot before.
		before, end := written.Load(), time.Now().Add(time.Minute)
		for ; written.Load() < before+2; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing is written while snapshots are made")
			}
		}
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

func TestASnapshotOpensAsTheInstanceItIsAndHoldsNothingThatWasDeleted(t *testing.T) {
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

func TestASnapshotStopsWhenItIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	run(t, e, "CREATE TABLE big (filler BLOB NOT NULL)")
	run(t, e, "INSERT INTO big SELECT randomblob(1000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n)")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := e.Snapshot(ctx, t.TempDir())
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Skipf("the snapshot was faster than its end: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // it takes a moment where the machine is not busy
		t.Errorf("it went on for %s", took)
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
