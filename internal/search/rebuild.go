package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// An index is rebuilt beside the one that serves, and then takes its place. Searches do not wait, and the folder of indexes
// needs the space of both.

// Rebuild is the progress of rebuilding indexes.
type Rebuild struct {
	Running    bool
	Workspaces int
	Done       int   // workspaces whose index was replaced
	Changes    int64 // that were indexed
	Total      int64 // an estimate
	Problem    error // why the rebuild ended early
}

// rebuilds runs one rebuild after the other.
type rebuilds struct {
	queue chan []*folder

	mu    sync.Mutex
	state Rebuild
}

// errRebuilding is the error of a second rebuild.
var errRebuilding = problem.Conflicts("Indexes are being rebuilt already.")

// StartRebuild starts to rebuild the index of a workspace, or all indexes if workspaceID is empty: those that the process holds or,
// if it is alone, those of all workspaces. It returns problem.Conflict during a rebuild, problem.NotFound for a workspace without
// documents, and problem.Unavailable while the workspaces are unknown.
func (x *Indexer) StartRebuild(ctx context.Context, workspaceID string) (Rebuild, error) {
	ctx, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	select {
	case <-x.loaded:
	case <-ctx.Done():
		return Rebuild{}, errBehind.Because(ctx.Err())
	}
	chosen, err := x.toRebuild(ctx, workspaceID)
	if err != nil {
		return Rebuild{}, err
	}
	slices.SortFunc(chosen, func(a, b *folder) int { return strings.Compare(a.workspaceID, b.workspaceID) })
	x.rebuilds.mu.Lock()
	defer x.rebuilds.mu.Unlock()
	if x.rebuilds.state.Running {
		return Rebuild{}, errRebuilding
	}
	state := Rebuild{Running: true, Workspaces: len(chosen)}
	for _, f := range chosen {
		state.Total += f.known()
	}
	x.rebuilds.state = state
	x.rebuilds.queue <- chosen // there is room, because none is running
	return state, nil
}

// toRebuild returns the folders of the indexes to rebuild.
func (x *Indexer) toRebuild(ctx context.Context, workspaceID string) ([]*folder, error) {
	if workspaceID == "" {
		return slices.DeleteFunc(x.all(), func(f *folder) bool { return f.known() <= 0 || x.o.Shared && !f.holds.Load() }), nil
	}
	f, err := x.upToDate(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	if f == nil || f.known() <= 0 {
		return nil, problem.Missing()
	}
	return []*folder{f}, nil
}

// Rebuilding returns the progress of the last rebuild.
func (x *Indexer) Rebuilding() Rebuild {
	x.rebuilds.mu.Lock()
	defer x.rebuilds.mu.Unlock()
	return x.rebuilds.state
}

func (r *rebuilds) update(change func(*Rebuild)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state)
}

// rebuild rebuilds the indexes that StartRebuild chooses, until ctx ends.
func (x *Indexer) rebuild(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case chosen := <-x.rebuilds.queue:
			err := x.rebuildEach(ctx, chosen)
			if err != nil && ctx.Err() == nil {
				x.o.Log.Error("rebuilding indexes failed", "error", err)
			}
			x.rebuilds.update(func(r *Rebuild) { r.Running, r.Problem = false, err })
		}
	}
}

func (x *Indexer) rebuildEach(ctx context.Context, chosen []*folder) error {
	for _, f := range chosen {
		if err := x.rebuildOne(ctx, f); err != nil {
			return fmt.Errorf("rebuild the index of workspace %s: %w", f.workspaceID, err)
		}
		x.rebuilds.update(func(r *Rebuild) { r.Done++ })
	}
	return nil
}

// unfinished is the end of the name of the folder in which an index is rebuilt.
const unfinished = ".new"

// removeLeft removes folders in dir whose names have an end: what was being built or removed when a process ended.
func removeLeft(dir, end string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*"+end))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return fmt.Errorf("remove folders of indexes: %w", err)
	}
	return nil
}

// replacement is an index that was built beside the one that serves.
type replacement struct {
	index    *index.Index
	settings *settings
	position int64 // its last change
	seen     document.State
	batch    int
	done     chan error // receives the result
}

// rebuildOne builds an index beside f's, and lets it take its place.
func (x *Indexer) rebuildOne(ctx context.Context, f *folder) error {
	dir := f.dir + unfinished
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := x.loadSettings(ctx, f)
	if err != nil {
		return err
	}
	o := x.options(f)
	o.Label = labelOf(s.digests)
	built, err := openChecked(dir, o)
	if err != nil {
		return err
	}
	r := &replacement{index: built, settings: s, batch: firstBatch, done: make(chan error, 1)}
	if err = x.fill(ctx, f, r, f.known()); err == nil {
		f.mu.Lock()
		f.fresh = r
		f.mu.Unlock()
		x.turns.add(f)
		select {
		case err = <-r.done:
		case <-ctx.Done():
			if err = ctx.Err(); !f.withdraw(r) {
				err = <-r.done
			}
		}
	}
	if err != nil {
		built.Abandon()
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// withdraw reports whether the replacement has not begun, and prevents it.
func (f *folder) withdraw(r *replacement) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting := f.fresh == r
	f.fresh = nil
	return waiting
}

// fill adds the changes up to one to a replacement.
func (x *Indexer) fill(ctx context.Context, f *folder, r *replacement, to int64) error {
	for r.position < to {
		changes, now, err := x.o.Source.FollowDocuments(ctx, f.workspaceID, document.Following{After: r.position, Limit: r.batch, Has: r.seen})
		if err != nil {
			return fmt.Errorf("read changes after %d: %w", r.position, err)
		}
		if len(changes) == 0 {
			return fmt.Errorf("there are no changes after %d, though the last is %d", r.position, to)
		}
		f.noteSettings(changes) // the index keeps its own until it serves
		before := r.position
		r.seen = now
		if r.position, err = x.applyAll(ctx, r, changes); err != nil {
			return err
		}
		r.batch = nextBatch(r.batch, changes)
		x.rebuilds.update(func(s *Rebuild) { s.Changes = min(s.Total, s.Changes+r.position-before) })
	}
	return nil
}

// applyAll applies changes to an index that does not serve yet.
func (x *Indexer) applyAll(ctx context.Context, r *replacement, changes []document.Change) (position int64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("index: %v", cause)
		}
	}()
	return x.apply(ctx, r.index, r.settings, changes, r.seen)
}

// replace lets the index that was built beside f's take its place. Only the indexing goroutine calls it, so no change is
// added meanwhile.
func (x *Indexer) replace(ctx context.Context, f *folder) error {
	f.mu.Lock()
	r := f.fresh
	f.fresh = nil
	f.mu.Unlock()
	if r == nil {
		return nil
	}
	err := x.fill(ctx, f, r, f.known()) // what changed during the build
	if err == nil {
		err = x.takePlace(f, r)
	}
	r.done <- err
	return nil
}

func (x *Indexer) takePlace(f *folder, r *replacement) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	wasOpen := f.index != nil
	if wasOpen {
		f.work.Add(f.index.Work())
		f.index.Abandon() // its snapshots stay valid
	}
	if err := r.index.Move(f.dir); err != nil {
		f.index, f.broken = nil, true
		f.position.Store(unknown)
		x.forget(f)
		x.turns.add(f)
		return fmt.Errorf("move an index: %w", err)
	}
	f.index, f.broken, f.build = r.index, false, nil
	f.holds.Store(true)
	f.raise(r.position) // changes that were committed during the read are included
	f.position.Store(r.position)
	f.seen.Store(&r.seen)
	f.doubts.Add(1) // more can have been lost since it was read
	if !wasOpen {
		return f.closeIndex()
	}
	close(f.moved)
	f.moved = make(chan struct{})
	return nil
}
