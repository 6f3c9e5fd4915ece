package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/testing/await"
)

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 {
		t.Fatalf("got %v, want unavailable with a time to try again", err)
	}
}

// fill inserts a row that needs many pages.
func fill(e *Engine, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := e.main.In(ctx).Exec(ctx, "INSERT INTO item (n, filler) VALUES ($1, zeroblob(1000000))", n)
		return err
	}
}

// max_page_count makes SQLite itself answer SQLITE_FULL, as a full disk does, without a file system to fill.
func TestFullDatabaseAnswers503ToTheGroupAndRecoversByItself(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	limit := func(pages int) func(context.Context) error {
		return func(ctx context.Context) error {
			return e.main.In(ctx).QueryRow(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&pages)
		}
	}
	if err := e.main.Run(t.Context(), limit(1)); err != nil { // raised to what there is
		t.Fatal(err)
	}
	errs := group(t, e, inserting(e, 1), fill(e, 2), inserting(e, 3))
	for _, err := range errs {
		wantUnavailable(t, err)
	}
	if err := e.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("ready while full: %v", err)
	}
	wantUnavailable(t, e.main.Run(t.Context(), inserting(e, 4)))
	wantRows(t, e) // reading goes on, and nothing of the group is there

	// Space comes back. The writer's connection is idle between two probes.
	if _, err := e.main.session.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	untilReady(t, e)
	if err := e.main.Run(t.Context(), fill(e, 5)); err != nil {
		t.Errorf("after space came back: %v", err)
	}
	wantRows(t, e, 5)
}

// untilReady waits for a probe that succeeds.
func untilReady(t *testing.T, e *Engine) {
	t.Helper()
	await.Until(t, "ready again", func() bool { return e.Ready(t.Context()) == nil })
}

func TestLockHeldByAnotherProgramIsWaitedForAndThenRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	table(t, e)
	if _, err := e.main.session.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 50"); err != nil {
		t.Fatal(err)
	}
	other, err := openDatabase(t.Context(), filepath.Join(dir, mainFile), mainFile, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.session.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	wantUnavailable(t, e.main.Run(t.Context(), inserting(e, 1)))
	if err := other.session.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := other.close(); err != nil {
		t.Fatal(err)
	}
	untilReady(t, e)
	if err := e.main.Run(t.Context(), inserting(e, 2)); err != nil {
		t.Errorf("after the lock was given back: %v", err)
	}
	wantRows(t, e, 2)
}

func TestIdleWriterEmptiesItsLog(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), Options{Dir: emptyInstance(t), ProbeEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table(t, e)
	for n := range 40 {
		if err := e.main.Run(t.Context(), fill(e, n)); err != nil {
			t.Fatal(err)
		}
		if size := e.Logs()[0].Bytes; size > 2*restingLog {
			t.Fatalf("after %d MB the log has %d bytes", n+1, size)
		}
	}
	await.Until(t, "the log is small", func() bool { return e.Logs()[0].Bytes <= restingLog/2 })
	wantRows(t, e, slices.Collect(func(yield func(int) bool) {
		for n := range 40 {
			if !yield(n) {
				return
			}
		}
	})...)
}

func TestLogThatAReaderKeepsIsReported(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	e, err := Open(t.Context(), Options{
		Dir: emptyInstance(t), ProbeEvery: time.Millisecond, LargeLog: 1 << 20, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table(t, e)
	if err := e.main.Run(t.Context(), inserting(e, 0)); err != nil {
		t.Fatal(err)
	}
	rows, err := e.main.In(t.Context()).Query(t.Context(), "SELECT n FROM item")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		if err := e.main.Run(t.Context(), fill(e, n)); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "a warning", func() bool { return strings.Contains(log.String(), "write-ahead log is large") })
	if l := e.Logs()[0]; l.Database != "main" || l.Bytes <= l.Max {
		t.Errorf("while a reader keeps it: %+v", l)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the log is empty", func() bool { return e.Logs()[0].Bytes == 0 })
	if n := strings.Count(log.String(), "write-ahead log is large"); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
}
