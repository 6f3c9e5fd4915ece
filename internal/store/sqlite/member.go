package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// member is one transaction on its way through the writer.
type member struct {
	ctx   context.Context // the caller's values, without its cancellation
	begin func(context.Context, *transaction) context.Context
	fn    func(context.Context) error

	state atomic.Int32  // waiting, running or withdrawn
	turn  chan *session // the writer lets the member run
	ran   chan error    // the member has run; the error is that of the first statement that failed
	done  chan error    // the result for the caller
	after chan struct{} // the hooks of the member have run

	// The result of the last step. The caller writes it while it runs; the writer reads it after.
	err   error
	hooks *unit.Hooks
}

const (
	waiting int32 = iota
	running
	withdrawn
)

// errAborted is the error of a transaction whose function panicked or exited.
var errAborted = errors.New("sqlite: the unit of work did not return")

func newMember(ctx context.Context, begin func(context.Context, *transaction) context.Context, fn func(context.Context) error) *member {
	return &member{
		ctx: context.WithoutCancel(ctx), begin: begin, fn: fn,
		turn: make(chan *session), ran: make(chan error, 1), done: make(chan error), after: make(chan struct{}, 1),
	}
}

// start makes m part of the group, unless its caller has withdrawn it.
func (m *member) start() bool { return m.state.CompareAndSwap(waiting, running) }

// step lets the caller run fn once, and waits. It returns the error of the first statement that failed; the error of fn is
// m.err. The writer calls it.
func (m *member) step(s *session) error {
	m.turn <- s
	return <-m.ran
}

// finish sends the result to the caller and waits until its hooks have run, so that hooks run in the order of commits. It does
// nothing for a member that was withdrawn. The writer calls it.
func (m *member) finish(err error) {
	if m.state.CompareAndSwap(waiting, running); m.state.Load() == withdrawn {
		return
	}
	if m.aborted() {
		return
	}
	m.done <- err
	<-m.after
}

// aborted reports whether fn panicked or exited, so that its caller no longer waits.
func (m *member) aborted() bool { return errors.Is(m.err, errAborted) }

// wait runs fn when it is m's turn, and returns the result. The end of ctx only removes m from the queue. The caller calls it.
func (m *member) wait(ctx context.Context) error {
	gone := ctx.Done()
	for {
		select {
		case s := <-m.turn:
			m.run(s)
		case err := <-m.done:
			defer func() { m.after <- struct{}{} }()
			if err == nil {
				m.hooks.RunAfter()
			}
			return err
		case <-gone:
			if m.state.CompareAndSwap(waiting, withdrawn) {
				return problem.Busy(ctx.Err())
			}
			gone = nil
		}
	}
}

// run runs fn and its BeforeCommit hooks on s. After a panic the writer goes on, and the panic reaches the caller.
func (m *member) run(s *session) {
	t := &transaction{session: s}
	m.err = errAborted
	defer func() {
		t.ended = true
		m.ran <- t.failed
	}()
	ctx, hooks := unit.Begin(m.begin(m.ctx, t))
	m.hooks = hooks
	err := m.fn(ctx)
	if err == nil {
		err = hooks.RunBefore(ctx)
	}
	if err == nil {
		err = t.failed // fn ignored it, but its writes are incomplete
	}
	m.err = err
}
