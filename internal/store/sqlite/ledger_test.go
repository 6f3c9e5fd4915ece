package sqlite

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// behaviours are what a member may do, well or badly, with a row of its own.
var behaviours = map[string]func(ctx context.Context, e *Engine, n int) error{
	"writes": func(ctx context.Context, e *Engine, n int) error { return insert(ctx, e, n) },
	"refuses": func(ctx context.Context, e *Engine, n int) error {
		return errors.Join(insert(ctx, e, n), errors.New("refused"))
	},
	"ignores a failed statement": func(ctx context.Context, e *Engine, n int) error {
		_ = insert(ctx, e, n)
		_ = insert(ctx, e, n)
		return nil
	},
	"ends the transaction": func(ctx context.Context, e *Engine, n int) error {
		_ = insert(ctx, e, n)
		_, _ = e.main.In(ctx).Exec(ctx, "INSERT OR ROLLBACK INTO item (n) VALUES ($1)", n)
		return insert(ctx, e, n)
	},
	"ends it without an error": func(ctx context.Context, e *Engine, n int) error {
		_, err := e.main.In(ctx).Exec(ctx, "ROLLBACK")
		return err
	},
	"fails at the commit": func(ctx context.Context, e *Engine, n int) error {
		_, err := e.main.In(ctx).Exec(ctx, "INSERT INTO part (n) VALUES (-1)")
		return errors.Join(insert(ctx, e, n), err)
	},
	"panics": func(ctx context.Context, e *Engine, n int) error {
		_ = insert(ctx, e, n)
		panic("defect")
	},
}

// Whatever members do to each other, and whenever their clients leave: an acknowledged row is there, a refused one is
// not.
func TestAcknowledgedRowsAreThereAndRefusedOnesAreNot(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	next := 0
	names := slices.Sorted(maps.Keys(behaviours))
	rapid.Check(t, func(rt *rapid.T) {
		first := next
		var mu sync.Mutex
		acknowledged := map[int]bool{}
		var all sync.WaitGroup
		for range rapid.IntRange(1, 20).Draw(rt, "members") {
			n := next
			next++
			behave := behaviours[rapid.SampledFrom(names).Draw(rt, "behaviour")]
			ctx, leave := t.Context(), func() {}
			if rapid.Bool().Draw(rt, "leaves") {
				after := time.Duration(rapid.IntRange(0, 3000).Draw(rt, "µs")) * time.Microsecond
				ctx, leave = context.WithTimeout(ctx, after)
			}
			all.Go(func() {
				defer leave()
				defer func() { _ = recover() }()
				err := e.main.Run(ctx, func(ctx context.Context) error { return behave(ctx, e, n) })
				mu.Lock()
				defer mu.Unlock()
				acknowledged[n] = err == nil
			})
		}
		all.Wait()
		rows, err := e.main.In(t.Context()).Query(t.Context(), "SELECT n FROM item WHERE n >= $1", first)
		if err != nil {
			rt.Fatal(err)
		}
		defer rows.Close()
		there := map[int]bool{}
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				rt.Fatal(err)
			}
			there[n] = true
		}
		for n := first; n < next; n++ {
			if there[n] != acknowledged[n] {
				rt.Fatalf("row %d: acknowledged %v, there %v", n, acknowledged[n], there[n])
			}
		}
	})
}
