package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The test that came first: a client that goes away in the middle of a group takes neither its own rows nor anybody
// else's with it, and one that goes away before its turn leaves no trace.
func TestCancelledMemberTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir())
	table(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waitingCtx, withdraw := context.WithCancel(t.Context())
	defer withdraw()

	inside, goOn := make(chan struct{}), make(chan struct{})
	running := start(func() error {
		return e.main.Run(ctx, func(ctx context.Context) error {
			if err := insert(ctx, e, 1); err != nil {
				return err
			}
			close(inside)
			<-goOn
			return insert(ctx, e, 2)
		})
	})
	<-inside
	waits := start(func() error {
		return e.main.Run(waitingCtx, func(ctx context.Context) error { return insert(ctx, e, 3) })
	})
	neighbour := start(func() error {
		return e.main.Run(t.Context(), func(ctx context.Context) error { return insert(ctx, e, 4) })
	})
	untilQueued(t, e, 2)

	cancel()
	withdraw()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("withdrawn member: got %v, want context.Canceled", err)
	}
	close(goOn)
	if err := <-running; err != nil {
		t.Errorf("member whose client left in the middle: %v", err)
	}
	if err := <-neighbour; err != nil {
		t.Errorf("neighbour: %v", err)
	}
	wantRows(t, e, 1, 2, 4)
}

func open(t *testing.T, dir string) *Engine {
	t.Helper()
	e, err := Open(t.Context(), Options{Dir: dir, ProbeEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// table makes a table to write to in these tests.
func table(t *testing.T, e *Engine) {
	t.Helper()
	err := e.main.Run(t.Context(), func(ctx context.Context) error {
		q := e.main.In(ctx)
		_, err := q.Exec(ctx, "CREATE TABLE item (n INTEGER NOT NULL PRIMARY KEY, filler BLOB) STRICT")
		if err != nil {
			return err
		}
		_, err = q.Exec(ctx, "CREATE TABLE part (n INTEGER NOT NULL REFERENCES item (n) DEFERRABLE INITIALLY DEFERRED) STRICT")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func insert(ctx context.Context, e *Engine, n int) error {
	_, err := e.main.In(ctx).Exec(ctx, "INSERT INTO item (n) VALUES ($1)", n)
	return err
}

func start(f func() error) chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func untilQueued(t *testing.T, e *Engine, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); len(e.main.writer.queue) < n; {
		if time.Now().After(end) {
			t.Fatalf("%d members queued, want %d", len(e.main.writer.queue), n)
		}
		time.Sleep(time.Millisecond)
	}
}

func wantRows(t *testing.T, e *Engine, want ...int) {
	t.Helper()
	rows, err := e.main.In(t.Context()).Query(t.Context(), "SELECT n FROM item ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("rows: got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("rows: got %v, want %v", got, want)
		}
	}
}
