package audit

import (
	"context"
	"errors"
	"sync"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// gathering is where rows of reads that come at the same time meet.
type gathering struct {
	mu   sync.Mutex
	open *shared // takes in rows; nil: there is none yet

	way sync.Mutex // to a store that is away: one at a time, so that the one after it knows where the chain ends
}

// shared is a unit of work that writes the rows of several reads. It asks for its turn when the first of them comes and takes
// in others until it has it, which is when the units before it that write to the chain have committed or share its commit: so
// whoever comes while one of those commits waits for that commit and for this one, and for no other.
type shared struct {
	rows []*Row
	done chan struct{}
	err  error // once done is closed
}

// share writes rows with those of others.
func (l *Log) share(ctx context.Context, rows []*Row) error {
	l.gathering.mu.Lock()
	s := l.join(ctx, rows)
	l.gathering.mu.Unlock()
	return s.wait(ctx)
}

// join puts rows into the unit that takes rows in. The caller holds the lock.
func (l *Log) join(ctx context.Context, rows []*Row) *shared {
	g := &l.gathering
	if g.open == nil || len(g.open.rows)+len(rows) > readsAtOnce {
		g.open = &shared{done: make(chan struct{})}
		go l.writeShared(context.WithoutCancel(ctx), g.open) // a caller that goes away ends nothing of it: others wait, too
	}
	g.open.rows = append(g.open.rows, rows...)
	return g.open
}

// wait waits until the rows are written, or cannot be. A row that nobody waits for any more is written all the same.
func (s *shared) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return problem.Busy(ctx.Err())
	}
}

func (l *Log) writeShared(ctx context.Context, s *shared) {
	defer close(s.done)
	defer l.shut(s) // also where it never had its turn
	if l.Away {
		l.gathering.way.Lock() // those before it of this process
		defer l.gathering.way.Unlock()
		if written, err := l.writeAtOnce(ctx, s); written || err != nil {
			s.err = err
			return
		}
	}
	s.err = unwritten(l.Units.Run(ctx, func(ctx context.Context) error {
		turn := l.end.begin()
		head, err := l.Store.AuditHead(ctx, l.Chain) // from here on it has its turn
		if err != nil {
			return err
		}
		rows := l.shut(s)
		if last := rows[len(rows)-1]; last.Sequence > 0 && head.Hash == last.Hash {
			return nil // written at once, but nobody heard of it
		}
		return l.linkTo(ctx, turn, head, rows)
	}))
}

// writeAtOnce writes rows in one statement, without a unit around it, where the end of the chain is known. Where it has come
// to be elsewhere, or nobody knows, nothing is said to be written.
func (l *Log) writeAtOnce(ctx context.Context, s *shared) (written bool, err error) {
	head, turn, ok := l.end.take()
	if !ok {
		return false, nil
	}
	err = l.linkTo(ctx, turn, head, l.shut(s))
	if _, stale := errors.AsType[*unit.StaleError](err); stale {
		return false, nil
	}
	return err == nil, err
}

// end is where the chain ends, as far as is known without asking: this process alone writes to it. Whatever moves it takes
// a turn first, and only the last turn that was taken says where the end is.
type end struct {
	mu    sync.Mutex
	turn  int64
	known bool
	head  Head
}

// begin takes a turn.
func (e *end) begin() (turn int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn++
	e.known = false
	return e.turn
}

// take takes a turn where the end is known.
func (e *end) take() (head Head, turn int64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.known {
		return Head{}, 0, false
	}
	e.turn++
	e.known = false
	return e.head, e.turn, true
}

// settle says where the end is after a turn.
func (e *end) settle(turn int64, head Head) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn == turn {
		e.head, e.known = head, true
	}
}

// shut has s take in no more rows and gives those it has.
func (l *Log) shut(s *shared) []*Row {
	g := &l.gathering
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == s {
		g.open = nil
	}
	return s.rows
}
