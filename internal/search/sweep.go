package search

import (
	"context"
	"fmt"
	"time"
)

// sweepEvery is how often closed indexes are searched for one that must be merged.
const sweepEvery = time.Minute // together with an hour, less than the bound in docs/search.md

// sweep merges closed indexes when that is due, until ctx ends, so that deleted documents leave their files. Open indexes are
// merged by their Maintenance.
func (x *Indexer) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := removeLeft(x.o.Dir, dropped); err != nil {
			x.o.Log.Error("removing a dropped index failed", "error", err)
		}
		for _, f := range x.all() {
			if !f.mergeIsDue(x.o.Now()) || ctx.Err() != nil {
				continue
			}
			if err := x.merge(ctx, f); err != nil {
				x.o.Log.Error("merging a closed index failed", "workspace", f.workspaceID, "error", err)
			}
		}
	}
}

// mergeIsDue reports whether the index is closed and must be merged.
func (f *folder) mergeIsDue(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.index == nil && !f.mergeAt.IsZero() && !now.Before(f.mergeAt)
}

// merge opens f's index and merges its files as long as that is due.
func (x *Indexer) merge(ctx context.Context, f *folder) error {
	open, err := x.acquire(f)
	if open == nil {
		return err
	}
	defer x.release(f)
	return x.guard(f, func() error {
		for merged := true; merged && ctx.Err() == nil; {
			if merged, err = open.Merge(); err != nil {
				return fmt.Errorf("merge: %w", err)
			}
		}
		return nil
	})
}
