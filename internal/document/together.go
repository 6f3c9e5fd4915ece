package document

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Writers of one workspace follow each other, from the first change to the commit. Where each has a unit of its own, a
// crowd of them is as slow as the disk, and holds the connections that writers of other workspaces wait for. So those who
// come while a unit is under way make up the next one: one commit for all of them, and one connection.

// Bounds of a unit that is shared: nobody in it waits for long, and it stays small in memory.
const (
	togetherWrites = 64
	togetherBytes  = 1 << 20
)

// line is who waits to write, by workspace. A workspace is in it while a unit is under way.
type line struct {
	mu   sync.Mutex
	busy map[string]*[]*wish
}

// wish is a document that somebody wants to have written.
type wish struct {
	id     string
	fields Fields
	put    Put

	state   atomic.Int32 // waiting, taken or gone
	done    chan struct{}
	written *Document
	created bool
	err     error
}

const (
	waiting int32 = iota
	taken
	gone
)

// join puts w into the line of a workspace; first says that no unit is under way.
func (l *line) join(workspaceID string, w *wish) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.busy[workspaceID]
	if all == nil {
		l.busy[workspaceID] = &[]*wish{w}
		return true
	}
	*all = append(*all, w)
	return false
}

// next takes the wishes of the next unit; none when nobody waits, and then the workspace is out of the line.
func (l *line) next(workspaceID string) (unit []*wish) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.busy[workspaceID]
	n, bytes := 0, 0
	for ; n < len(*all) && len(unit) < togetherWrites && bytes < togetherBytes; n++ {
		if w := (*all)[n]; w.state.CompareAndSwap(waiting, taken) {
			unit = append(unit, w)
			bytes += len(w.fields.Title) + len(w.fields.Text)
		}
	}
	*all = (*all)[n:]
	if len(unit) == 0 {
		delete(l.busy, workspaceID)
	}
	return unit
}

// writeTogether stores one document in a unit that it may share. Who leaves before the unit has begun is not waited for.
func (s *Service) writeTogether(ctx context.Context, workspaceID, id string, f Fields, put Put) (*Document, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	w := &wish{id: id, fields: f, put: put, done: make(chan struct{})}
	if s.line.join(workspaceID, w) {
		go s.serve(context.WithoutCancel(ctx), workspaceID)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if w.state.CompareAndSwap(waiting, gone) {
			return nil, false, ctx.Err()
		}
		<-w.done
	}
	return w.written, w.created, w.err
}

// serve runs unit after unit until nobody waits.
func (s *Service) serve(ctx context.Context, workspaceID string) {
	for {
		wishes := s.line.next(workspaceID)
		if len(wishes) == 0 {
			return
		}
		s.grant(ctx, workspaceID, wishes)
		for _, w := range wishes {
			close(w.done)
		}
	}
}

// grant writes wishes in one unit. Where that fails for a reason that may be one's own, each is tried alone, so that it
// fails nobody else.
func (s *Service) grant(ctx context.Context, workspaceID string, wishes []*wish) {
	err := s.tryTogether(ctx, workspaceID, wishes)
	if err == nil {
		return
	}
	if p, ok := problem.As(err); len(wishes) == 1 || ok && p.Kind == problem.Unavailable {
		for _, w := range wishes {
			w.err = err
		}
		return
	}
	for i := range wishes {
		s.grant(ctx, workspaceID, wishes[i:i+1])
	}
}

func (s *Service) tryTogether(ctx context.Context, workspaceID string, wishes []*wish) (err error) {
	defer func() { // it is nobody's goroutine who could be told
		if cause := recover(); cause != nil {
			err = fmt.Errorf("write documents: %v", cause)
		}
	}()
	return s.o.Units.Run(ctx, func(ctx context.Context) error {
		writes := make([]Write, len(wishes))
		now := s.now()
		for i, w := range wishes {
			writes[i] = Write{Document: w.fields.document(w.id, now), Put: w.put}
		}
		written, err := s.o.Store.PutDocuments(ctx, workspaceID, writes)
		if err != nil {
			return err
		}
		last := int64(0)
		for i, w := range wishes {
			w.written, w.created, w.err = writes[i].Document, written[i].Created, written[i].Refused
			if w.err == nil {
				last = writes[i].Document.Change
			}
		}
		if last > 0 {
			unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, last) })
		}
		return nil
	})
}
