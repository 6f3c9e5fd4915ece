package search

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/problem"
)

// How many changes a turn brings in: few where documents are long, so that a turn stays short and its memory small.
const (
	firstBatch = 256
	minBatch   = 16
	maxBatch   = 1_024
	longTurn   = 4 << 20 // bytes of text that ask for fewer
	shortTurn  = 1 << 20 // bytes of text that allow more
)

// catchUp brings the next batch of changes into f's index. again says that there is more.
func (x *Indexer) catchUp(ctx context.Context, f *folder) (again bool, err error) {
	if err := x.ask(ctx, f); err != nil {
		return false, err
	}
	index, err := x.acquire(f)
	if err != nil {
		return false, err
	}
	defer x.release(f)
	position, target := f.position.Load(), f.target.Load()
	if position > target {
		return x.checkAhead(ctx, f)
	}
	if position == target {
		return false, nil
	}
	changes, err := x.o.Source.DocumentChanges(ctx, f.workspaceID, position, f.batch)
	if err != nil {
		return false, fmt.Errorf("read changes after %d: %w", position, err)
	}
	if len(changes) == 0 {
		return false, fmt.Errorf("there are no changes after %d, though the last is %d", position, target)
	}
	err = x.guard(f, func() error {
		position, err = index.apply(x.analyzer, changes)
		return err
	})
	if err != nil {
		return false, err
	}
	f.position.Store(position)
	f.announce()
	f.size(changes)
	// A writer must not run away from the disk.
	index.settle(64<<20, 2*time.Second)
	return position < f.target.Load(), nil
}

// ask raises f's target where only the store knows it.
func (x *Indexer) ask(ctx context.Context, f *folder) error {
	asked := f.asked.Load()
	if f.answered.Load() == asked {
		return nil
	}
	last, err := x.o.Source.DocumentChange(ctx, f.workspaceID)
	if err != nil {
		return fmt.Errorf("read the number of the last change: %w", err)
	}
	f.raise(last)
	f.answered.Store(asked)
	f.announce()
	return nil
}

// checkAhead has f's index made anew when it is ahead of the store, as after an older database was put in place.
func (x *Indexer) checkAhead(ctx context.Context, f *folder) (again bool, err error) {
	last, err := x.o.Source.DocumentChange(ctx, f.workspaceID)
	if err != nil {
		return false, fmt.Errorf("read the number of the last change: %w", err)
	}
	f.raise(last)
	if f.position.Load() <= last {
		return true, nil
	}
	x.o.Log.Warn("index is ahead of its documents and is made anew", "workspace", f.workspaceID)
	f.mu.Lock()
	f.broken = true
	f.mu.Unlock()
	return true, nil
}

// size sets how many changes the next turn brings in.
func (f *folder) size(changes []document.Change) {
	bytes := 0
	for i := range changes {
		if d := changes[i].Document; d != nil {
			bytes += len(d.Title) + len(d.Text)
		}
	}
	switch {
	case bytes > longTurn:
		f.batch = max(minBatch, f.batch/2)
	case bytes < shortTurn && len(changes) == f.batch:
		f.batch = min(maxBatch, f.batch*2)
	}
}

var errBehind = problem.NotAvailable("The search index is not ready yet; try again in a moment.", time.Second)

// read calls fn with a view of the workspace's index in which every change is that was committed before the call.
func (x *Indexer) read(ctx context.Context, workspaceID string, fn func(*view) error) error {
	waiting, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	select {
	case <-x.loaded:
	case <-waiting.Done():
		return errBehind.Because(waiting.Err())
	}
	f := x.known(workspaceID)
	if f == nil || f.empty() {
		return fn(&view{})
	}
	index, err := x.acquire(f)
	if err != nil {
		return err
	}
	defer x.release(f)
	if f.position.Load() < f.target.Load() || f.answered.Load() < f.asked.Load() {
		x.turns.add(f)
		if err := f.await(waiting); err != nil {
			return errBehind.Because(err)
		}
	}
	return x.guard(f, func() error {
		v, err := index.view()
		if err != nil {
			return err
		}
		defer v.Close()
		return fn(v)
	})
}

// paceLag is how many changes an import may be ahead of its index: about what is indexed while a search waits.
const paceLag = 512

// Pace waits until the workspace's index is no more than a little behind its documents, or for as long as a search
// would: then the error says so.
func (x *Indexer) Pace(ctx context.Context, workspaceID string) error {
	f := x.known(workspaceID)
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	enough := f.target.Load() - paceLag
	return f.waitFor(ctx, func() bool { return f.position.Load() >= enough })
}

// known is the folder of a workspace that has had documents, nil where there is none.
func (x *Indexer) known(workspaceID string) *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.folders[workspaceID]
}

// rebuildPause is how often at most an index is made anew because working with it failed: a defect of ours must not
// turn into endless work.
const rebuildPause = time.Minute

// guard runs fn on f's index. When the index fails it, or its files turn out to be cut off, the index is made anew.
func (x *Indexer) guard(f *folder, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("index: %v", cause)
			x.o.Log.Error("index failed", "workspace", f.workspaceID, "error", err, "stack", string(debug.Stack()))
		}
		var p *problem.Problem
		if err == nil || errors.As(err, &p) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return
		}
		if x.markBroken(f) {
			x.o.Log.Warn("index is made anew", "workspace", f.workspaceID, "error", err)
			err = errBehind.Because(err)
		}
	}()
	return fn()
}

func (x *Indexer) markBroken(f *folder) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := x.o.Now()
	if !f.rebuiltAt.IsZero() && now.Sub(f.rebuiltAt) < rebuildPause {
		return false
	}
	f.broken, f.rebuiltAt = true, now
	x.turns.add(f)
	return true
}

// acquire opens f's index if it is not open and keeps it open until release.
func (x *Indexer) acquire(f *folder) (*workspaceIndex, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		if f.users > 0 {
			return nil, errBehind
		}
		x.forget(f)
		if err := f.discard(); err != nil {
			return nil, err
		}
	}
	if f.index != nil {
		x.hits.Add(1)
	} else {
		x.misses.Add(1)
		rebuilt, err := f.open(x.queue.get())
		if err != nil {
			return nil, err
		}
		if rebuilt != nil {
			x.o.Log.Warn("index could not be read and is made anew", "workspace", f.workspaceID, "error", rebuilt)
		}
		x.mu.Lock()
		x.open = append(x.open, f)
		x.mu.Unlock()
	}
	f.users++
	f.used.Store(x.uses.Add(1))
	return f.index, nil
}

// release lets go of f's index, and closes the one used longest ago when too many are open.
func (x *Indexer) release(f *folder) {
	f.mu.Lock()
	f.users--
	f.mu.Unlock()
	if victim := x.victim(); victim != nil {
		x.evictions.Add(1)
		if err := victim.closeIndex(); err != nil {
			x.o.Log.Error("close index", "workspace", victim.workspaceID, "error", err)
		}
		victim.mu.Unlock()
	}
}

// victim takes the unused folder used longest ago out of the open ones, locked, where there are too many.
func (x *Indexer) victim() *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) <= x.o.MaxOpen {
		return nil
	}
	byUse := slices.Clone(x.open)
	slices.SortFunc(byUse, func(a, b *folder) int { return int(a.used.Load() - b.used.Load()) })
	for _, f := range byUse {
		if !f.mu.TryLock() {
			continue
		}
		if f.users == 0 {
			x.open = slices.DeleteFunc(x.open, func(o *folder) bool { return o == f })
			return f
		}
		f.mu.Unlock()
	}
	return nil
}

// forget takes f out of the open ones.
func (x *Indexer) forget(f *folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = slices.DeleteFunc(x.open, func(o *folder) bool { return o == f })
}
