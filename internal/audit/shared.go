package audit

import (
	"context"
	"sync"
)

// gathering is where rows of reads that come at the same time meet.
type gathering struct {
	mu   sync.Mutex
	open *shared // takes in rows; nil: there is none yet
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
		return ctx.Err()
	}
}

func (l *Log) writeShared(ctx context.Context, s *shared) {
	s.err = unwritten(l.Units.Run(ctx, func(ctx context.Context) error {
		head, err := l.Store.AuditHead(ctx, l.Chain) // from here on it has its turn
		if err != nil {
			return err
		}
		return l.linkTo(ctx, head, l.shut(s))
	}))
	l.shut(s) // also where it never had its turn
	close(s.done)
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
