package search

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/index"
)

var errBehind = problem.NotAvailable("The search index is not ready yet; try again in a moment.", time.Second)

// errMoved ends a search that waited for an index while the workspace's searches began to read another one elsewhere.
var errMoved = errors.New("the index of the workspace is elsewhere")

// read calls fn with a view of the workspace's index that contains every change committed before the call, and the settings of its
// collections.
func (x *Indexer) read(ctx context.Context, workspaceID string, fn func(*index.Snapshot, *settings) error) error {
	waiting, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	select {
	case <-x.loaded:
	case <-waiting.Done():
		return errBehind.Because(waiting.Err())
	}
	f, err := x.upToDate(waiting, workspaceID)
	if err != nil {
		if waiting.Err() != nil || errors.Is(err, context.DeadlineExceeded) { // the question's own timeout can end slightly earlier
			err = errBehind.Because(err)
		}
		return err
	}
	if f == nil || f.target.Load() == 0 && !f.unsure(x.o.Shared) {
		return fn(index.Empty(), noSettings)
	}
	if _, err := x.loadSettings(waiting, f); err != nil {
		return err
	}
	if err := x.demand(f); err != nil {
		return err
	}
	defer x.release(f)
	if f.position.Load() < f.target.Load() || f.unsure(x.o.Shared) || f.doubtful() {
		x.turns.add(f)
		if err := x.awaitBuilt(ctx, waiting, f); err != nil {
			return err
		}
		if f.position.Load() < f.target.Load() && x.elsewhere(workspaceID) {
			return errMoved
		}
	}
	if x.o.Shared && f.position.Load() > f.target.Load() { // what the index holds was lost
		x.turns.add(f)
		return errBehind
	}
	reading, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	s, err := x.loadSettings(reading, f)
	if err != nil {
		return err
	}
	return x.guard(f, func() error {
		snapshot := f.snapshot()
		if snapshot == nil { // it could not be replaced
			return errBehind
		}
		defer snapshot.Release()
		return fn(snapshot, s)
	})
}

// unsure reports whether f can have changes that only the store knows. In shared mode, searches ask the store themselves.
func (f *folder) unsure(shared bool) bool { return !shared && f.answered.Load() < f.asked.Load() }

// await waits until the index holds every change that was committed when it was called, and none that was lost before, or is no longer
// kept. It returns errLost if the index is to be rebuilt.
func (x *Indexer) await(ctx context.Context, f *folder) error {
	asked := f.asked.Load()
	if err := f.waitFor(ctx, func() bool { return x.o.Shared || f.answered.Load() >= asked }); err != nil {
		return err
	}
	target, doubts := f.target.Load(), f.doubts.Load()
	reached := func() bool {
		return f.position.Load() >= target && f.settled.Load() >= doubts || x.elsewhere(f.workspaceID)
	}
	if err := f.waitFor(ctx, func() bool { return reached() || f.unusable() }); err != nil {
		return err
	}
	if !reached() {
		return errLost
	}
	return nil
}

// have returns the folder of a workspace that is known to have had documents, or nil.
func (x *Indexer) have(workspaceID string) *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.folders[workspaceID]
}

// rebuildPause is the least time between two rebuilds of an index because of failures, so that a bug does not cause endless
// work.
const rebuildPause = time.Minute

// guard runs fn on f's index. The index is rebuilt if it fails, or if its files are truncated.
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
			x.o.Log.Warn("rebuilding an index that failed", "workspace", f.workspaceID, "error", err)
			err = errBehind.Because(err)
		}
	}()
	return fn()
}

// options returns the options of f's index.
func (x *Indexer) options(f *folder) index.Options {
	label := ""
	if s := f.settings.Load(); s != nil {
		label = labelOf(s.digests)
	}
	return index.Options{
		Label:   label,
		Lexicon: x.lexicon, Maintenance: x.maintenance, Now: x.o.Now, SmallBytes: x.o.Small, Resized: x.trims.check,
		Corrupt: func(err error) {
			if x.markBroken(f) {
				x.o.Log.Warn("rebuilding an index that failed", "workspace", f.workspaceID, "error", err)
			}
		},
	}
}

// verify compares f's files with their checksums in the background, once. The caller holds f.mu.
func (x *Indexer) verify(f *folder) {
	if f.verified {
		return
	}
	f.verified = true
	open := f.index
	x.background.Go(func() { _ = x.guard(f, open.Verify) })
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

// use opens f's index if it is not open, and keeps it open until release. The caller holds f.mu.
func (x *Indexer) use(f *folder) (*index.Index, error) {
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
		rebuilt, err := f.open(x.options(f))
		if err != nil {
			return nil, err
		}
		if rebuilt != nil {
			x.o.Log.Warn("rebuilding an index that cannot be read", "workspace", f.workspaceID, "error", rebuilt)
		}
		x.mu.Lock()
		x.open = append(x.open, f)
		x.mu.Unlock()
		x.verify(f)
		f.begin(x.o.Now())
	}
	f.users++
	f.used.Store(x.uses.Add(1))
	return f.index, nil
}

// release ends a use of f's index, and closes the least recently used index if too many are open.
func (x *Indexer) release(f *folder) {
	f.mu.Lock()
	f.users--
	if f.broken && f.users == 0 {
		x.turns.add(f)
	}
	f.mu.Unlock()
	if x.trims.over.Load() {
		x.trims.check()
	}
	if victim := x.victim(); victim != nil {
		x.evictions.Add(1)
		if err := victim.closeIndex(); err != nil {
			x.o.Log.Error("close index", "workspace", victim.workspaceID, "error", err)
		}
		victim.mu.Unlock()
	}
}

// victim removes the least recently used folder that is not in use from the open ones, if there are too many. It returns the
// folder locked, or nil.
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

// forget removes f from the open ones.
func (x *Indexer) forget(f *folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = slices.DeleteFunc(x.open, func(o *folder) bool { return o == f })
}
