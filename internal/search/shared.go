package search

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Where other processes change documents too, nobody says so in time. A search asks the source for the number of its
// workspace's last change before it reads the index; and now and then the numbers of all workspaces are looked over, so
// that an index has most of it when it is searched.

// lookEvery is how often all workspaces are looked over. What a search waits for does not depend on it.
const lookEvery = 5 * time.Second

// lookAround looks over all workspaces until ctx ends.
func (x *Indexer) lookAround(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := x.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			x.o.Log.Warn("documents that others change are not looked for; it is tried again", "error", err)
		}
		failing = err != nil
	}
}

func (x *Indexer) look(ctx context.Context) error {
	before := x.known()
	last, err := x.o.Source.ChangedWorkspaces(ctx)
	if err != nil {
		return fmt.Errorf("list workspaces with documents: %w", err)
	}
	for f, known := range before {
		x.hear(f, known, last[f.workspaceID])
		delete(last, f.workspaceID)
	}
	for workspaceID, change := range last {
		x.hear(x.folder(workspaceID), 0, change)
	}
	return nil
}

// known is up to which change every workspace is known.
func (x *Indexer) known() map[*folder]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(map[*folder]int64, len(x.folders))
	for _, f := range x.folders {
		all[f] = f.known()
	}
	return all
}

// hear takes what the source said of f's last change; known is what f was known to have when the source was asked. A
// source that knows less has lost changes, as after the end of a server whose successor had not had them all: then the
// index is looked at, and made anew where it holds more than there is.
func (x *Indexer) hear(f *folder, known, last int64) {
	if last < known {
		f.lower(last)
		x.turns.add(f)
		return
	}
	if f.raise(last) {
		x.turns.add(f)
	}
}

// upToDate gives the folder of a workspace, with a target that no change lies behind that was committed before the call;
// nil where there are no documents.
func (x *Indexer) upToDate(ctx context.Context, workspaceID string) (*folder, error) {
	f := x.have(workspaceID)
	if !x.o.Shared {
		return f, nil
	}
	known := int64(0)
	if f != nil {
		known = f.known()
	}
	last, err := x.questions.ask(ctx, workspaceID, x.o.Wait, x.o.Source.DocumentChange)
	if err != nil {
		return nil, fmt.Errorf("read the number of the last change: %w", err)
	}
	if f == nil {
		if last == 0 {
			return nil, nil
		}
		f = x.folder(workspaceID)
	}
	x.hear(f, known, last)
	return f, nil
}

// questions are what searches ask the source. Those of one workspace that come while one is being answered share the
// next: an answer is good for whoever came before it was asked for.
type questions struct {
	mu   sync.Mutex
	open map[string]*question // by workspace: the one being answered
}

type question struct {
	done chan struct{}
	last int64
	err  error
	next *question // nil while nobody waits for it
}

func newQuestion() *question { return &question{done: make(chan struct{})} }

// ask answers what source says of the workspace when it is asked now or later. It is asked for at most that long,
// also when the one who asked first has gone.
func (q *questions) ask(ctx context.Context, workspaceID string, most time.Duration, source func(context.Context, string) (int64, error)) (int64, error) {
	q.mu.Lock()
	running := q.open[workspaceID]
	mine := newQuestion()
	switch {
	case running == nil:
		q.open[workspaceID] = mine
		go q.answer(context.WithoutCancel(ctx), workspaceID, most, mine, source)
	case running.next == nil:
		running.next = mine
	default:
		mine = running.next
	}
	q.mu.Unlock()
	select {
	case <-mine.done:
		return mine.last, mine.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// answer answers one question after the other until nobody waits.
func (q *questions) answer(ctx context.Context, workspaceID string, most time.Duration, asked *question, source func(context.Context, string) (int64, error)) {
	for asked != nil {
		asked.last, asked.err = within(ctx, most, workspaceID, source)
		q.mu.Lock()
		close(asked.done)
		asked = asked.next
		if asked == nil {
			delete(q.open, workspaceID)
		} else {
			q.open[workspaceID] = asked
		}
		q.mu.Unlock()
	}
}

func within(ctx context.Context, most time.Duration, workspaceID string, source func(context.Context, string) (int64, error)) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return source(ctx, workspaceID)
}
