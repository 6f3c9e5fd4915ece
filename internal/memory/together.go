package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"keepsake/internal/problem"
)

// Single writes that come while one is under way make up the next unit: they hold a subject once, count once, and have one
// commit, and one place in the access log's chain, where they would otherwise wait for each other's.

// Bounds of a unit that is shared: nobody in it waits for long, and it stays small in memory.
const (
	togetherWrites = 64
	togetherBytes  = 1 << 20
)

// How many units of a workspace may be under way: one is made ready while another waits for the disk. Where units follow each
// other anyhow, and share commits, there may be more; elsewhere each has a connection, and waits for the same subjects.
const (
	unitsAlone  = 4
	unitsShared = 2
)

// waitingLine is who waits to write, by workspace. A workspace is in it while a unit is under way.
type waitingLine struct {
	most int // units of a workspace
	mu   sync.Mutex
	busy map[string]*busy
}

func newWaitingLine(alone bool) *waitingLine {
	l := &waitingLine{most: unitsShared, busy: map[string]*busy{}}
	if alone {
		l.most = unitsAlone
	}
	return l
}

type busy struct {
	units   int
	waiting []*wish
}

// wish is a single memory that somebody wants to have written.
type wish struct {
	batch *batch

	state   atomic.Int32 // waiting, taken or gone
	done    chan struct{}
	results []Result
	err     error
}

const (
	waiting int32 = iota
	taken
	gone
)

// join puts w into the line of a workspace; begin says that there is room for another unit.
func (l *waitingLine) join(workspaceID string, w *wish) (begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy[workspaceID]
	if b == nil {
		b = &busy{}
		l.busy[workspaceID] = b
	}
	b.waiting = append(b.waiting, w)
	if begin = b.units < l.most; begin {
		b.units++
	}
	return begin
}

// next takes the wishes of the next unit; none when nobody waits, and then there is one unit less.
func (l *waitingLine) next(workspaceID string) (unit []*wish) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy[workspaceID]
	n, bytes := 0, 0
	for ; n < len(b.waiting) && len(unit) < togetherWrites && bytes < togetherBytes; n++ {
		if w := b.waiting[n]; w.state.CompareAndSwap(waiting, taken) {
			unit = append(unit, w)
			bytes += len(w.batch.drafts[0].memory.Text)
		}
	}
	b.waiting = b.waiting[n:]
	if len(unit) == 0 {
		if b.units--; b.units == 0 {
			delete(l.busy, workspaceID)
		}
	}
	return unit
}

// putTogether writes a single memory in a unit that it may share. Who leaves before the unit has begun is not waited for.
func (s *Service) putTogether(ctx context.Context, b *batch) ([]Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &wish{batch: b, done: make(chan struct{})}
	if s.line.join(b.workspaceID, w) {
		go s.serve(b.workspaceID) // for others, too: what this caller's context knows is not theirs
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if w.state.CompareAndSwap(waiting, gone) {
			return nil, ctx.Err()
		}
		<-w.done
	}
	return w.results, w.err
}

// serve runs unit after unit until nobody waits.
func (s *Service) serve(workspaceID string) {
	ctx := context.Background()
	for {
		wishes := s.line.next(workspaceID)
		if len(wishes) == 0 {
			return
		}
		s.grant(ctx, wishes)
		for _, w := range wishes {
			close(w.done)
		}
	}
}

// grant writes wishes in one unit. Where that fails for a reason that may be one's own, each is tried alone, so that it fails
// nobody else.
func (s *Service) grant(ctx context.Context, wishes []*wish) {
	all := &batch{workspaceID: wishes[0].batch.workspaceID, seen: map[Hash]*standing{}}
	same := true // all saw their subjects in one generation
	for _, w := range wishes {
		all.drafts = append(all.drafts, w.batch.drafts...)
		for hash, st := range w.batch.seen {
			other := all.seen[hash]
			same = same && (other == nil || other.generation == st.generation)
			all.seen[hash] = st
		}
	}
	err := ErrAgain
	var results []Result
	if same {
		results, err = s.tryTogether(ctx, all)
	}
	p, known := problem.As(err)
	switch {
	case err == nil:
		for i, w := range wishes {
			w.results = results[i : i+1]
		}
	case len(wishes) == 1 || known && p.Kind == problem.Unavailable:
		for _, w := range wishes {
			w.err = err
		}
	default:
		for i := range wishes {
			s.grant(ctx, wishes[i:i+1])
		}
	}
}

func (s *Service) tryTogether(ctx context.Context, b *batch) (_ []Result, err error) {
	defer func() { // it is nobody's goroutine who could be told
		if cause := recover(); cause != nil {
			err = fmt.Errorf("write memories: %v", cause)
		}
	}()
	return s.putBatch(ctx, b)
}
