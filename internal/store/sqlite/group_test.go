package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/testing/await"
)

// A client that disconnects in the middle of a group removes neither its own rows nor those of others, and one that
// disconnects before its turn leaves no trace.
func TestCancelledMemberTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
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
	await.Until(t, fmt.Sprintf("%d members in the queue", n), func() bool { return len(e.main.writer.queue) >= n })
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

// group runs fns in one group, in this order, and returns their errors.
func group(t *testing.T, e *Engine, fns ...func(ctx context.Context) error) []error {
	t.Helper()
	// The first transaction keeps the writer busy until the others wait behind it. Its group has no other member, so that
	// the group under test begins with a new transaction and includes all that wait, even on a slow machine.
	w := e.main.writer
	w.groupTime = -1
	inside, goOn := make(chan struct{}), make(chan struct{})
	blocker := start(func() error {
		return e.main.Run(t.Context(), func(ctx context.Context) error {
			close(inside)
			<-goOn
			w.groupTime = time.Hour // read again when the next group begins
			return nil
		})
	})
	<-inside
	answers := make([]chan error, len(fns))
	for i, fn := range fns {
		answers[i] = start(func() error { return e.main.Run(t.Context(), fn) })
		untilQueued(t, e, i+1)
	}
	close(goOn)
	if err := <-blocker; err != nil {
		t.Fatalf("blocker: %v", err)
	}
	errs := make([]error, len(fns))
	for i, answer := range answers {
		errs[i] = <-answer
	}
	return errs
}

func inserting(e *Engine, n int) func(context.Context) error {
	return func(ctx context.Context) error { return insert(ctx, e, n) }
}

func TestFailingMemberTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	refused := errors.New("refused")
	errs := group(t, e,
		inserting(e, 1),
		func(ctx context.Context) error {
			if err := insert(ctx, e, 2); err != nil {
				return err
			}
			return refused
		},
		inserting(e, 1), // a constraint
		inserting(e, 3),
	)
	if errs[0] != nil || errs[3] != nil {
		t.Errorf("neighbours: %v, %v", errs[0], errs[3])
	}
	if !errors.Is(errs[1], refused) {
		t.Errorf("got %v, want the member's own error", errs[1])
	}
	if errs[2] == nil {
		t.Error("a row was added twice")
	}
	wantRows(t, e, 1, 3)
}

// A statement may end the whole transaction, not only itself. Its member is to blame; the others run again.
func TestMemberThatEndsTheTransactionTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(ctx context.Context, e *Engine) error{
		"and says so": func(ctx context.Context, e *Engine) error {
			_, err := e.main.In(ctx).Exec(ctx, "INSERT OR ROLLBACK INTO item (n) VALUES (1)")
			return err
		},
		"and goes on": func(ctx context.Context, e *Engine) error {
			_, _ = e.main.In(ctx).Exec(ctx, "INSERT OR ROLLBACK INTO item (n) VALUES (1)")
			_ = insert(ctx, e, 99) // outside of any transaction this would commit by itself
			return nil
		},
		"without an error": func(ctx context.Context, e *Engine) error {
			_, err := e.main.In(ctx).Exec(ctx, "ROLLBACK")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, emptyInstance(t))
			table(t, e)
			ran := 0
			errs := group(t, e,
				func(ctx context.Context) error { ran++; return insert(ctx, e, 1) },
				inserting(e, 2),
				func(ctx context.Context) error {
					if err := insert(ctx, e, 3); err != nil {
						return err
					}
					return kill(ctx, e)
				},
				inserting(e, 4),
			)
			if errs[0] != nil || errs[1] != nil || errs[3] != nil {
				t.Errorf("neighbours: %v, %v, %v", errs[0], errs[1], errs[3])
			}
			if errs[2] == nil {
				t.Error("the member that ended the transaction was told that it had committed")
			}
			if ran != 2 {
				t.Errorf("the first member ran %d times, want 2", ran)
			}
			wantRows(t, e, 1, 2, 4)
			if err := e.main.Run(t.Context(), inserting(e, 5)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// What is checked at the commit fails for all: each runs again, and only the one to blame fails.
func TestMemberWhoseCommitFailsTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	errs := group(t, e,
		inserting(e, 1),
		func(ctx context.Context) error {
			if err := insert(ctx, e, 2); err != nil {
				return err
			}
			_, err := e.main.In(ctx).Exec(ctx, "INSERT INTO part (n) VALUES (77)") // of an item that never comes
			return err
		},
		inserting(e, 3),
	)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: %v, %v", errs[0], errs[2])
	}
	if errs[1] == nil {
		t.Error("a broken reference was committed")
	}
	wantRows(t, e, 1, 3)
}

func TestPanicIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	panicked := make(chan any, 2)
	errs := group(t, e,
		inserting(e, 1),
		func(context.Context) error { // stands in for the callers that panic: they never answer
			for _, leave := range []func(){func() { panic("defect") }, runtime.Goexit} {
				go func() {
					defer func() { panicked <- recover() }()
					_ = e.main.Run(t.Context(), func(ctx context.Context) error {
						if err := insert(ctx, e, 2); err != nil {
							return err
						}
						leave()
						return nil
					})
				}()
			}
			return nil
		},
		inserting(e, 3),
	)
	for i, err := range errs {
		if err != nil {
			t.Errorf("neighbour %d: %v", i, err)
		}
	}
	got := []any{<-panicked, <-panicked}
	if !slices.Contains(got, any("defect")) || !slices.Contains(got, nil) {
		t.Errorf("the callers recovered %v, want a panic and an exit", got)
	}
	if err := e.main.Run(t.Context(), inserting(e, 4)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	wantRows(t, e, 1, 3, 4)
}

func TestStatementAfterItsUnitIsRefused(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	var leaked context.Context
	if err := e.main.Run(t.Context(), func(ctx context.Context) error {
		leaked = ctx
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := insert(leaked, e, 1); !errors.Is(err, errEnded) {
		t.Errorf("got %v, want errEnded", err)
	}
	wantRows(t, e)
}

func TestMoreStatementsThanAreKept(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	many := func(ctx context.Context) error {
		q := e.main.In(ctx)
		for i := range 2 * maxStatements {
			rows, err := q.Query(ctx, fmt.Sprintf("SELECT n + %d FROM item ORDER BY n", i))
			if err != nil {
				return err
			}
			for want := i + 1; rows.Next(); want++ {
				var n int
				if err := rows.Scan(&n); err != nil || n != want {
					return fmt.Errorf("got %d, want %d: %w", n, want, err)
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	}
	if err := e.main.Run(t.Context(), func(ctx context.Context) error {
		for n := 1; n <= 3; n++ {
			if _, err := e.main.In(ctx).Exec(ctx, fmt.Sprintf("INSERT INTO item (n) VALUES (%d)", n)); err != nil {
				return err
			}
		}
		return many(ctx)
	}); err != nil {
		t.Errorf("in a unit: %v", err)
	}
	if err := many(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
	if n := len(e.main.session.stmts); n > maxStatements {
		t.Errorf("%d statements are kept", n)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	if err := insert(t.Context(), e, 1); err == nil {
		t.Error("a reader wrote")
	}
	wantRows(t, e)
}

func TestCloseWaitsForUnitsAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	inside, goOn := make(chan struct{}), make(chan struct{})
	running := start(func() error {
		return e.main.Run(t.Context(), func(ctx context.Context) error {
			close(inside)
			<-goOn
			return insert(ctx, e, 1)
		})
	})
	<-inside
	closed := start(e.Close)
	await.Until(t, "the writer takes no more units", func() bool {
		w := e.main.writer
		w.mu.RLock()
		defer w.mu.RUnlock()
		return w.closed
	})
	select {
	case err := <-closed:
		t.Errorf("Close did not wait for the unit: %v", err)
	default:
	}
	close(goOn)
	if err := <-running; err != nil {
		t.Errorf("unit that ran: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	err := e.main.Run(t.Context(), func(context.Context) error { return nil })
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
		t.Errorf("unit after Close: got %v, want unavailable", err)
	}
}
