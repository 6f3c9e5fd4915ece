package search

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/search/document"
)

// Other processes do not report their changes of documents. So a search reads the state of its workspace's documents from
// the source before it reads the index. The states of all workspaces are read regularly, so that most changes are in an index
// before it is searched.

// lookEvery is how often the states of all workspaces are read. Results of a search do not depend on it.
const lookEvery = 5 * time.Second

// lookAround reads the states of all workspaces regularly until ctx ends.
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
			x.o.Log.Warn("looking for changes of other processes failed; retrying", "error", err)
		}
		failing = err != nil
	}
}

func (x *Indexer) look(ctx context.Context) error {
	before := x.known()
	now, err := x.o.Source.ChangedWorkspaces(ctx)
	if err != nil {
		return fmt.Errorf("list workspaces with documents: %w", err)
	}
	for f, known := range before {
		x.hear(f, known, now[f.workspaceID])
	}
	return nil
}

// knowledge is what is known of a workspace before the source is read.
type knowledge struct {
	change int64          // the last one
	seen   document.State // by its index
}

func (f *folder) knowledge() knowledge { return knowledge{f.known(), f.sees()} }

// known returns what is known of every workspace.
func (x *Indexer) known() map[*folder]knowledge {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(map[*folder]knowledge, len(x.folders))
	for _, f := range x.folders {
		all[f] = f.knowledge()
	}
	return all
}

// hear processes the state of f's documents from the source. known is what was known before the source was read. The documents can have
// lost changes, as in a failover to a standby that lacked some.
func (x *Indexer) hear(f *folder, known knowledge, now document.State) {
	switch {
	case now.Change < known.change || known.seen.Ahead(now):
		f.lower(now.Change)
		f.doubts.Add(1)
	case !f.raise(now.Change):
		return
	}
	if f.holds.Load() {
		x.turns.add(f)
	}
}

// upToDate returns the folder of a workspace, whose target includes every change committed before the call. It returns nil if
// the workspace has no documents.
func (x *Indexer) upToDate(ctx context.Context, workspaceID string) (*folder, error) {
	f := x.have(workspaceID)
	if !x.o.Shared {
		return f, nil
	}
	var known knowledge
	if f != nil {
		known = f.knowledge()
	}
	now, err := x.states.read(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("read the state of the documents: %w", err)
	}
	if f == nil {
		if now.Change == 0 {
			return nil, nil
		}
		f = x.folder(workspaceID)
	}
	x.hear(f, known, now)
	return f, nil
}

// reads reads the state of a workspace's documents. Searches that arrive during a read share the next one, so the
// result is never older than the search.
type reads[T any] struct {
	batches *coalesce.Batcher[*T]
}

// newReads returns reads with a timeout for each. A read continues if the search that started it ends.
func newReads[T any](timeout time.Duration, read func(ctx context.Context, workspaceID string) (T, error)) reads[T] {
	return reads[T]{coalesce.New(coalesce.Options[*T]{
		Abandon: true,
		Run: func(ctx context.Context, workspaceID string, results []*T) error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			last, err := read(ctx, workspaceID)
			for _, result := range results {
				*result = last
			}
			return err
		},
	})}
}

// read returns what was read after the call began.
func (r reads[T]) read(ctx context.Context, workspaceID string) (T, error) {
	last := new(T)
	err := r.batches.Do(ctx, workspaceID, last)
	return *last, err
}
