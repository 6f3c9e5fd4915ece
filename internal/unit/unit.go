// Package unit is the unit of work: what must commit together commits together.
//
// A store keeps its transaction in the context; every store method joins the one it finds there or opens its own.
package unit

import "context"

// Runner runs fn as one unit of work.
//
// Everything fn writes through a store with the context it is given commits together, and is on stable storage when Run
// returns nil; when fn returns an error, none of it happened and Run returns that error. A client that goes away does not
// cancel a unit that has begun.
//
// Called inside a unit, Run joins it: an error it returns undoes nothing until the outer fn returns it, too. Store
// methods decide before they write, so a *problem.Problem of theirs has written nothing and the outer unit may go on;
// after any other error it must not, and a statement that failed dooms it.
//
// fn may run more than once, so it touches only the store and values it makes itself; effects in memory go to
// AfterCommit. fn holds SQL only: others wait for it, so hashing, sealing and decoding come before, and it never waits
// for anybody's other unit.
type Runner interface {
	Run(ctx context.Context, fn func(ctx context.Context) error) error
}

// StaleError is the error of whoever finds, when it comes to write, that somebody else has changed meanwhile what the unit
// read. Engines whose units run side by side run fn again, which then decides on what is there now; if that does not
// help, Run returns the error. It stands for the problem it holds.
type StaleError struct{ Problem error }

func (e *StaleError) Error() string { return e.Problem.Error() }

// Unwrap gives the problem.
func (e *StaleError) Unwrap() error { return e.Problem }

type hooksKey struct{}

// Hooks is what a running unit has been asked to do around its commit. Engines make one per run of fn.
type Hooks struct {
	before []func(ctx context.Context) error
	last   []func(ctx context.Context) error // after all of before
	named  map[string]bool
	after  []func()
	local  map[any]any
}

// Begin returns a context in which BeforeCommit and AfterCommit reach h. For engines.
func Begin(ctx context.Context) (context.Context, *Hooks) {
	h := &Hooks{}
	return context.WithValue(ctx, hooksKey{}, h), h
}

// RunBefore runs the hooks of BeforeCommit in order. For engines: inside the transaction, after fn, before COMMIT.
func (h *Hooks) RunBefore(ctx context.Context) error {
	for i, l := 0, 0; ; { // a hook may ask for another
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

// RunAfter runs the hooks of AfterCommit in order. For engines: after a COMMIT that succeeded, before Run returns.
func (h *Hooks) RunAfter() {
	for _, f := range h.after {
		f()
	}
}

// Running reports whether ctx is that of a unit.
func Running(ctx context.Context) bool {
	_, ok := ctx.Value(hooksKey{}).(*Hooks)
	return ok
}

// BeforeCommit asks for fn to be the last thing before the commit, once per name: change numbers are taken there, so
// that they follow commit order without gaps. It panics outside a unit.
func BeforeCommit(ctx context.Context, name string, fn func(ctx context.Context) error) {
	if h := newHook(ctx, name); h != nil {
		h.before = append(h.before, fn)
	}
}

// LastBeforeCommit is BeforeCommit for what comes after all other hooks: it locks what every unit meets at, and whoever
// holds that may wait for nothing else.
func LastBeforeCommit(ctx context.Context, name string, fn func(ctx context.Context) error) {
	if h := newHook(ctx, name); h != nil {
		h.last = append(h.last, fn)
	}
}

// newHook gives the hooks to which one of a name is to be added; nil where it was before.
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

// AfterCommit asks for fn to run once the unit has committed; if the unit fails it never runs. The hooks of one engine
// run one after another in the order of the commits, so that what lives in memory ends as what was written last; they
// only touch memory and start no unit. Outside a unit fn runs at once, because then the write it follows has committed
// already.
func AfterCommit(ctx context.Context, fn func()) {
	if h, ok := ctx.Value(hooksKey{}).(*Hooks); ok {
		h.after = append(h.after, fn)
		return
	}
	fn()
}

// Local gives what this run of the unit keeps under key, made by make on first use: what several calls of one unit
// share. A run that is repeated starts with nothing. It panics outside a unit.
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
