package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// member is one unit of work on its way through the writer.
type member struct {
	ctx   context.Context // the caller's values without its end
	begin func(context.Context, *transaction) context.Context
	fn    func(context.Context) error

	state atomic.Int32  // waiting, taken or withdrawn
	turn  chan *session // the writer gives the turn
	ran   chan error    // the member gives it back, with the first statement that failed
	done  chan error    // the answer
	after chan struct{} // the member's hooks have run

	// What the last step left. Written by the caller while it has the turn, read by the writer after it.
	err   error
	hooks *unit.Hooks
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// errAborted stands for a unit whose goroutine left fn by panicking or exiting.
var errAborted = errors.New("sqlite: the unit of work did not return")

func newMember(ctx context.Context, begin func(context.Context, *transaction) context.Context, fn func(context.Context) error) *member {
	return &member{
		ctx: context.WithoutCancel(ctx), begin: begin, fn: fn,
		turn: make(chan *session), ran: make(chan error, 1), done: make(chan error), after: make(chan struct{}, 1),
	}
}

// take makes m a part of the group, unless its caller has withdrawn it.
func (m *member) take() bool { return m.state.CompareAndSwap(waiting, taken) }

// step lets the caller run fn once and waits. It answers the first statement that failed; what fn answered is m.err.
// For the writer.
func (m *member) step(s *session) error {
	m.turn <- s
	return <-m.ran
}

// finish answers the caller and waits until its hooks have run, so that hooks see commits in their order. It does
// nothing for a member that was withdrawn. For the writer.
func (m *member) finish(err error) {
	if m.state.CompareAndSwap(waiting, taken); m.state.Load() == withdrawn {
		return
	}
	if m.aborted() {
		return
	}
	m.done <- err
	<-m.after
}

// aborted says that nobody waits for m any more: fn has panicked or exited and its goroutine has unwound.
func (m *member) aborted() bool { return errors.Is(m.err, errAborted) }

// wait runs fn whenever it is m's turn and returns m's answer. An end of ctx only takes m out while it is waiting. For
// the caller.
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

// run runs fn and its BeforeCommit hooks on s. A panic goes on to the caller after the turn is given back.
func (m *member) run(s *session) {
	t := &transaction{session: s}
	m.err = errAborted
	defer func() {
		t.over = true
		m.ran <- t.failed
	}()
	ctx, hooks := unit.Begin(m.begin(m.ctx, t))
	m.hooks = hooks
	err := m.fn(ctx)
	if err == nil {
		err = hooks.RunBefore(ctx)
	}
	if err == nil {
		err = t.failed // fn has swallowed it, but what it wrote is not whole
	}
	m.err = err
}
