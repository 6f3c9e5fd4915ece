package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/testing/await"
)

// A long read keeps deleted rows in the log. Scrub reports that, writes continue, and the next scrub removes the rows.
func TestScrubReportsRowsThatALongReadKeeps(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	e.keys.scrubWait = 5 * time.Millisecond
	write := func(name string) error {
		return e.keys.Run(t.Context(), func(ctx context.Context) error {
			_, err := e.keys.In(ctx).Exec(ctx, `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ($1, $2, 1)`, name, []byte(name))
			return err
		})
	}
	if err := write("before"); err != nil {
		t.Fatal(err)
	}
	reading, err := e.keys.readers.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM wrapped_secret`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	scrubbed := make(chan error, 1)
	go func() { scrubbed <- e.keys.Scrub(context.WithoutCancel(t.Context())) }()
	for i := range 20 {
		if err := write(string(rune('a' + i))); err != nil {
			t.Fatalf("a write beside it: %v", err)
		}
	}
	if p, ok := problem.As(<-scrubbed); !ok || p.Kind != problem.Unavailable {
		t.Errorf("it is said to be gone: %v", p)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := e.keys.Scrub(t.Context()); err != nil {
		t.Errorf("when nobody reads: %v", err)
	}
}

// Erasures at the same time share truncations: those that come while one waits for a reader need one more together.
func TestScrubsAtOnceShareATruncation(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	e.keys.scrubWait = time.Minute // the first try waits for the reader
	writes := func(name string) {
		t.Helper()
		err := e.keys.Run(t.Context(), func(ctx context.Context) error {
			_, err := e.keys.In(ctx).Exec(ctx, `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ($1, $2, 1)`, name, []byte(name))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	writes("read")
	reading, err := e.keys.readers.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM wrapped_secret`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	writes("erased")
	const calls = 8
	scrubbed := make(chan error, calls)
	scrub := func() { scrubbed <- e.keys.Scrub(t.Context()) }
	go scrub()
	await.Until(t, "one is under way", func() bool {
		if e.keys.scrubbing.TryLock() {
			e.keys.scrubbing.Unlock()
			return false
		}
		return true
	})
	for range calls - 1 {
		go scrub()
	}
	await.Until(t, "the others wait for the next", func() bool {
		return e.keys.scrubs.Waiting(keysFile) == calls-1
	})
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range calls {
		if err := <-scrubbed; err != nil {
			t.Errorf("a scrub: %v", err)
		}
	}
	if size := e.Logs()[1].Bytes; size != 0 {
		t.Errorf("the log has %d bytes", size)
	}
}

// A request that ends while the log is truncated is not waited for, and a database that closes ends the truncation.
func TestScrubEndsWithItsRequestAndItsDatabase(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	e.keys.scrubWait = time.Second // of each of five tries
	if err := e.keys.Run(t.Context(), func(ctx context.Context) error {
		_, err := e.keys.In(ctx).Exec(ctx, `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ('a', x'61', 1)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", dsn(e.keys.path, false)) // of another program: it does not end with the database
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reading, err := other.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM wrapped_secret`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	scrubbed := make(chan error, 1)
	go func() { scrubbed <- e.keys.Scrub(ctx) }()
	await.Until(t, "a truncation is under way", func() bool {
		if e.keys.scrubbing.TryLock() {
			e.keys.scrubbing.Unlock()
			return false
		}
		return true
	})
	cancel()
	if err := <-scrubbed; !errors.Is(err, context.Canceled) {
		t.Errorf("it answers %v", err)
	}
	e.keys.shut()
	await.Until(t, "it ends, although the other program still reads", func() bool {
		if !e.keys.scrubbing.TryLock() {
			return false
		}
		e.keys.scrubbing.Unlock()
		return true
	})
	if err := e.keys.scrub(); !errors.Is(err, context.Canceled) && !errors.Is(err, errClosed) {
		t.Errorf("a truncation of a database that is closed: %v", err)
	}
}
