package unit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"keepsake/internal/base/unit"
)

func TestHooksRunInOrderAndOncePerName(t *testing.T) {
	t.Parallel()
	ctx, hooks := unit.Begin(t.Context())
	var order []string
	note := func(what string) func(context.Context) error {
		return func(context.Context) error {
			order = append(order, what)
			return nil
		}
	}
	unit.BeforeCommit(ctx, "a", note("a"))
	unit.AfterCommit(ctx, func() { order = append(order, "after") })
	unit.BeforeCommit(ctx, "b", note("b"))
	unit.BeforeCommit(ctx, "a", note("a again"))
	if err := hooks.RunBefore(ctx); err != nil {
		t.Fatal(err)
	}
	hooks.RunAfter()
	if got := fmt.Sprint(order); got != "[a b after]" {
		t.Errorf("order: got %s", got)
	}
}

func TestHookAddedByAHookRuns(t *testing.T) {
	t.Parallel()
	ctx, hooks := unit.Begin(t.Context())
	ran := false
	unit.BeforeCommit(ctx, "outer", func(ctx context.Context) error {
		unit.BeforeCommit(ctx, "inner", func(context.Context) error {
			ran = true
			return nil
		})
		return nil
	})
	if err := hooks.RunBefore(ctx); err != nil {
		t.Fatal(err)
	}
	if !ran {
		t.Error("the inner hook did not run")
	}
}

func TestFailingHookFailsTheTransaction(t *testing.T) {
	t.Parallel()
	ctx, hooks := unit.Begin(t.Context())
	failure := errors.New("no")
	unit.BeforeCommit(ctx, "a", func(context.Context) error { return failure })
	unit.BeforeCommit(ctx, "b", func(context.Context) error {
		t.Error("the hook after a failed one ran")
		return nil
	})
	if err := hooks.RunBefore(ctx); !errors.Is(err, failure) {
		t.Errorf("got %v, want the hook's error", err)
	}
}

func TestLocalIsCreatedOncePerRun(t *testing.T) {
	t.Parallel()
	type key struct{ name string }
	made := 0
	use := func(ctx context.Context, name string) *int {
		return unit.Local(ctx, key{name}, func() *int { made++; return new(int) })
	}
	ctx, _ := unit.Begin(t.Context())
	a := use(ctx, "a")
	if use(ctx, "a") != a || use(ctx, "b") == a || made != 2 {
		t.Errorf("made %d values, want one per key", made)
	}
	if again, _ := unit.Begin(t.Context()); use(again, "a") == a {
		t.Error("a repeated run found the value of the first")
	}
}

func TestOutsideATransaction(t *testing.T) {
	t.Parallel()
	ran := false
	unit.AfterCommit(t.Context(), func() { ran = true })
	if !ran {
		t.Error("AfterCommit outside a unit did not run at once")
	}
	for name, call := range map[string]func(){
		"BeforeCommit": func() { unit.BeforeCommit(t.Context(), "a", nil) },
		"Local":        func() { unit.Local(t.Context(), "a", func() int { return 1 }) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s outside a unit did not panic", name)
				}
			}()
			call()
		}()
	}
}

func TestLastHookRunsAfterLaterHooks(t *testing.T) {
	t.Parallel()
	ctx, hooks := unit.Begin(t.Context())
	var order []string
	note := func(what string) func(context.Context) error {
		return func(context.Context) error {
			order = append(order, what)
			return nil
		}
	}
	unit.LastBeforeCommit(ctx, "last", note("last"))
	unit.LastBeforeCommit(ctx, "last", note("last again"))
	unit.BeforeCommit(ctx, "a", func(ctx context.Context) error {
		unit.BeforeCommit(ctx, "b", note("b"))
		return note("a")(ctx)
	})
	if err := hooks.RunBefore(ctx); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(order); got != "[a b last]" {
		t.Errorf("order: got %s", got)
	}
}
