package search

import (
	"context"
	"sync"
)

// turns is the queue of workspaces to index. Those that changed or that a request waits for come first, in that order. Those
// that must only be checked after a start come last.
type turns struct {
	wake chan struct{}

	mu      sync.Mutex
	waiting []*folder
	queued  map[*folder]bool // in waiting
	later   []*folder
}

func newTurns() turns {
	return turns{wake: make(chan struct{}, 1), queued: map[*folder]bool{}}
}

// add queues f, once.
func (t *turns) add(f *folder) {
	t.mu.Lock()
	if !t.queued[f] {
		t.queued[f] = true
		t.waiting = append(t.waiting, f)
	}
	t.mu.Unlock()
	t.signal()
}

// addLater queues f behind all waiting folders.
func (t *turns) addLater(f *folder) {
	t.mu.Lock()
	t.later = append(t.later, f)
	t.mu.Unlock()
	t.signal()
}

func (t *turns) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// next waits for the next folder. ok is false if ctx has ended.
func (t *turns) next(ctx context.Context) (f *folder, ok bool) {
	for ctx.Err() == nil {
		if f := t.take(); f != nil {
			return f, true
		}
		select {
		case <-ctx.Done():
		case <-t.wake:
		}
	}
	return nil, false
}

func (t *turns) take() *folder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) > 0 {
		f := t.waiting[0]
		t.waiting = t.waiting[1:]
		delete(t.queued, f)
		return f
	}
	if len(t.later) > 0 {
		f := t.later[0]
		t.later = t.later[1:]
		return f
	}
	return nil
}
