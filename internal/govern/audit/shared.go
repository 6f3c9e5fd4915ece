package audit

import (
	"context"
	"errors"
	"sync"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// gathering collects rows of concurrent reads.
type gathering struct {
	mu   sync.Mutex
	open *shared // accepts rows; nil if there is none

	way sync.Mutex // held for each write to a remote store, so that the next one knows the end of the chain
}

// shared is a transaction that writes the rows of several reads. It asks for the chain when the first read comes, and accepts
// more reads until it has the chain, which is when the transactions before it have committed or share its commit. So a read
// that comes during such a commit waits for that commit and its own, and for no other.
type shared struct {
	rows []*Row
	done chan struct{}
	err  error // once done is closed
}

// share writes rows together with those of other callers.
func (l *Log) share(ctx context.Context, rows []*Row) error {
	l.gathering.mu.Lock()
	s := l.join(ctx, rows)
	l.gathering.mu.Unlock()
	return s.wait(ctx)
}

// join adds rows to the transaction that accepts rows. The caller holds the lock.
func (l *Log) join(ctx context.Context, rows []*Row) *shared {
	g := &l.gathering
	if g.open == nil || len(g.open.rows)+len(rows) > readsAtOnce {
		g.open = &shared{done: make(chan struct{})}
		go l.writeShared(context.WithoutCancel(ctx), g.open) // not canceled with its caller, because others wait too
	}
	g.open.rows = append(g.open.rows, rows...)
	return g.open
}

// wait waits until the rows are written or have failed. If the caller leaves, its rows are still written.
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
	defer l.gathering.shut(s) // also if it never got the chain
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
		head, err := l.Store.AuditHead(ctx, l.Chain) // from here on, it has the chain
		if err != nil {
			return err
		}
		rows := l.gathering.shut(s)
		if last := rows[len(rows)-1]; last.Sequence > 0 && head.Hash == last.Hash {
			return nil // writeAtOnce wrote it, but the response was lost
		}
		return l.linkTo(ctx, turn, head, rows)
	}))
}

// writeAtOnce writes rows in one statement, without a transaction around it, if the end of the chain is known. If the end is
// elsewhere, or the outcome is unknown, it returns false.
func (l *Log) writeAtOnce(ctx context.Context, s *shared) (written bool, err error) {
	head, turn, ok := l.end.take()
	if !ok {
		return false, nil
	}
	err = l.linkTo(ctx, turn, head, l.gathering.shut(s))
	if _, stale := errors.AsType[*unit.StaleError](err); stale {
		return false, nil
	}
	return err == nil, err
}

// end caches where the chain ends; only this process writes to the chain. Each writer takes a turn first, and only the last
// turn may set the end.
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

// take takes a turn if the end is known.
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

// settle sets the end after a turn.
func (e *end) settle(turn int64, head Head) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn == turn {
		e.head, e.known = head, true
	}
}

// shut stops s from accepting rows and returns those it has.
func (g *gathering) shut(s *shared) []*Row {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == s {
		g.open = nil
	}
	return s.rows
}
