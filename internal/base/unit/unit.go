// Package unit runs transactions.
//
// A store keeps its transaction in the context. Every store method joins the transaction in its context or begins its
// own.
package unit

import "context"

// Runner runs fn in a transaction.
//
// Everything that fn writes through a store, with the context it gets, commits together and is on stable storage when
// Run returns nil. If fn returns an error, nothing is written and Run returns that error. A client that disconnects
// does not cancel a transaction.
//
// Inside a transaction, Run joins it: an error of fn undoes nothing until the outer fn also returns it. Store methods
// decide before they write, so after a *problem.Problem nothing was written and the outer transaction can continue.
// After any other error it must not; a failed statement makes the transaction fail.
//
// fn can run more than once, so it must change only the store and values that it creates itself. Changes in memory
// belong in AfterCommit. fn should only run statements, because other transactions wait for it: hashing, sealing and
// decoding belong before it. It must not wait for another transaction.
type Runner interface {
	Run(ctx context.Context, fn func(ctx context.Context) error) error
}

// StaleError reports that, before it wrote, a transaction found that another one had changed what it read. Engines with
// concurrent transactions run fn again, on the new state. If that does not help, Run returns the error. Problem is the
// error for the client.
type StaleError struct{ Problem error }

func (e *StaleError) Error() string { return e.Problem.Error() }

// Unwrap returns the problem.
func (e *StaleError) Unwrap() error { return e.Problem }

type hooksKey struct{}

// Hooks are the functions that a transaction runs before and after its commit. Engines create one per run of fn.
type Hooks struct {
	before []func(ctx context.Context) error
	last   []func(ctx context.Context) error // run after all of before
	named  map[string]bool
	after  []func()
	local  map[any]any
}

// Begin returns a context in which BeforeCommit and AfterCommit add to the Hooks. For engines.
func Begin(ctx context.Context) (context.Context, *Hooks) {
	h := &Hooks{}
	return context.WithValue(ctx, hooksKey{}, h), h
}

// RunBefore runs the BeforeCommit hooks in order. Engines call it inside the transaction, after fn and before COMMIT.
func (h *Hooks) RunBefore(ctx context.Context) error {
	for i, l := 0, 0; ; { // a hook can add another
		var hook func(ctx context.Context) error
		switch {
		case i < len(h.before):
			hook, i = h.before[i], i+1
		case l < len(h.last):
			hook, l = h.last[l], l+1
		default:
			return nil
		}
		if err := hook(ctx); err != nil {
			return err
		}
	}
}

// RunAfter runs the AfterCommit hooks in order. Engines call it after a successful COMMIT, before Run returns.
func (h *Hooks) RunAfter() {
	for _, f := range h.after {
		f()
	}
}

// Running reports whether ctx belongs to a transaction.
func Running(ctx context.Context) bool {
	_, ok := ctx.Value(hooksKey{}).(*Hooks)
	return ok
}

// BeforeCommit runs fn at the end of the transaction, once per name. For example, change numbers are assigned there, so
// that they follow the order of commits without gaps. It panics outside a transaction.
func BeforeCommit(ctx context.Context, name string, fn func(ctx context.Context) error) {
	if h := newHook(ctx, name); h != nil {
		h.before = append(h.before, fn)
	}
}

// LastBeforeCommit is BeforeCommit, but fn runs after all other hooks. It is for locks that all transactions need: a
// transaction that holds such a lock must wait for nothing else.
func LastBeforeCommit(ctx context.Context, name string, fn func(ctx context.Context) error) {
	if h := newHook(ctx, name); h != nil {
		h.last = append(h.last, fn)
	}
}

// newHook returns the hooks to add a new name to, or nil if the name was added before.
func newHook(ctx context.Context, name string) *Hooks {
	h, ok := ctx.Value(hooksKey{}).(*Hooks)
	if !ok {
		panic("unit: BeforeCommit outside a unit of work")
	}
	if h.named[name] {
		return nil
	}
	if h.named == nil {
		h.named = map[string]bool{}
	}
	h.named[name] = true
	return h
}

// AfterCommit runs fn once the transaction has committed. If the transaction fails, fn never runs. The hooks of one
// engine run one after another in the order of commits, so that memory ends with the latest state. They must only
// change memory and begin no transaction. Outside a transaction fn runs at once, because the write before it has
// already committed.
func AfterCommit(ctx context.Context, fn func()) {
	if h, ok := ctx.Value(hooksKey{}).(*Hooks); ok {
		h.after = append(h.after, fn)
		return
	}
	fn()
}

// Local returns a value that all calls within one run of a transaction share under key. make creates it on first use. A
// repeated run begins without it. Local panics outside a transaction.
func Local[T any](ctx context.Context, key any, make func() T) T {
	h, ok := ctx.Value(hooksKey{}).(*Hooks)
	if !ok {
		panic("unit: Local outside a unit of work")
	}
	if v, ok := h.local[key]; ok {
		return v.(T)
	}
	v := make()
	if h.local == nil {
		h.local = map[any]any{}
	}
	h.local[key] = v
	return v
}
