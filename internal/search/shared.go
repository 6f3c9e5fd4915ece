package search

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/coalesce"
)

// Other processes do not report their changes of documents. So a search reads the number of its workspace's last change from
// the source before it reads the index. The numbers of all workspaces are read regularly, so that most changes are in an index
// before it is searched.

// lookEvery is how often the numbers of all workspaces are read. Results of a search do not depend on it.
const lookEvery = 5 * time.Second

// lookAround reads the numbers of all workspaces regularly until ctx ends.
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
	last, err := x.o.Source.ChangedWorkspaces(ctx)
	if err != nil {
		return fmt.Errorf("list workspaces with documents: %w", err)
	}
	for f, known := range before {
		x.hear(f, known, last[f.workspaceID])
	}
	return nil
}

// known returns the last known change of every workspace.
func (x *Indexer) known() map[*folder]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(map[*folder]int64, len(x.folders))
	for _, f := range x.folders {
		all[f] = f.known()
	}
	return all
}

// hear processes the number of f's last change from the source. known is the last change that was known before the source was
// read. A lower number means that the source has lost changes, as in a failover to a standby that lacked some. Then the index
// is checked, and rebuilt if it is ahead.
func (x *Indexer) hear(f *folder, known, last int64) {
	if last < known {
		f.lower(last)
	} else if !f.raise(last) {
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
	known := int64(0)
	if f != nil {
		known = f.known()
	}
	last, err := x.changes.read(ctx, workspaceID)
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

// reads reads the number of a workspace's last change, or its state. Searches that arrive during a read share the next one, so the
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
