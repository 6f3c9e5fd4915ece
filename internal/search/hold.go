package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"keepsake/internal/search/index"
)

// A process holds the indexes that it serves, not those of all workspaces. It holds an index from the first search of the
// workspace on, and follows the changes of these indexes only. Those that are in its folder at the start were held before, and
// are followed again.
//
// A process that is alone also holds the index of a workspace that is written, from its first document on or if building it is not
// much work: so a search right after a long import does not wait for one.
//
// Beyond DiskBudget, the indexes that were searched least recently are dropped: their files are removed, and the next search
// builds them again.

// dropped is the end of the name of the folder of an index that is being removed.
const dropped = ".dropped"

// inFolder is an index that is in the folder at the start.
type inFolder struct {
	workspaceID string
	bytes       int64
	written     time.Time
}

// indexesIn lists the indexes in a folder, those first that were not written for the longest time: nothing there says when they were
// searched. What is no index is removed: a folder without a manifest, as of a process that was killed before its first flush.
func indexesIn(dir string) ([]inFolder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list indexes: %w", err)
	}
	var list []inFolder
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || strings.HasSuffix(e.Name(), dropped) || strings.HasSuffix(e.Name(), unfinished) {
			continue
		}
		bytes, written, err := index.Files(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("remove a folder without an index: %w", err)
			}
		case err != nil:
			return nil, fmt.Errorf("read the size of an index: %w", err)
		default:
			list = append(list, inFolder{e.Name(), bytes, written})
		}
	}
	slices.SortFunc(list, func(a, b inFolder) int {
		return cmp.Or(a.written.Compare(b.written), strings.Compare(a.workspaceID, b.workspaceID))
	})
	return list, nil
}

// demand opens f's index for a search, and holds it from now on.
func (x *Indexer) demand(f *folder) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds.Store(true)
	f.cold.Store(false)
	f.searched.Store(x.uses.Add(1))
	_, err := x.use(f)
	return err
}

// acquire opens f's index if it is not open, and keeps it open until release. It returns nil if the process does not hold it, or if it is
// to be rebuilt and still in use. Then the last release brings the next turn.
func (x *Indexer) acquire(f *folder) (*index.Index, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holds.Load() || f.broken && f.users > 0 {
		return nil, nil
	}
	return x.use(f)
}

// followed reports whether the changes of f are of interest before its next search.
func (f *folder) followed(shared bool) bool { return f.holds.Load() || !shared && !f.cold.Load() }

// welcome holds the index of a workspace that is about to have its first change, if the process is alone.
func (x *Indexer) welcome(f *folder) {
	if x.o.Shared || f.target.Load() > 0 || !x.Loaded() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holds.Load() && f.target.Load() == 0 {
		f.searched.Store(x.uses.Add(1))
		f.holds.Store(true)
	}
}

// keeps reports whether the process holds f's index. If it is alone and the workspace was written, it decides so now.
func (x *Indexer) keeps(ctx context.Context, f *folder) (bool, error) {
	if f.holds.Load() {
		return true, nil
	}
	if f.followed(x.o.Shared) {
		documents, err := x.o.Source.DocumentCount(ctx, f.workspaceID)
		if err != nil {
			return false, fmt.Errorf("count documents: %w", err)
		}
		if documents <= x.o.Foreground {
			f.searched.Store(x.uses.Add(1))
			f.holds.Store(true)
			return true, nil
		}
		f.cold.Store(true)
	}
	f.handed.clear()
	f.announce() // nothing needs to wait for it
	return false, nil
}

// trims is when indexes are perhaps to be dropped, and what came of it.
type trims struct {
	due     chan struct{} // has a value if they are perhaps beyond the budget
	over    atomic.Bool   // they are, and those to be dropped were in use
	dropped atomic.Int64  // indexes that were dropped
}

// check notes that files of an index were written, or that an index is not in use any more.
func (t *trims) check() {
	select {
	case t.due <- struct{}{}:
	default:
	}
}

// trim drops indexes while their files take more than the budget, until ctx ends.
func (x *Indexer) trim(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.trims.due:
		}
		for ctx.Err() == nil {
			f := x.trims.overdue(x.all(), x.o.DiskBudget)
			if f == nil {
				break
			}
			if err := x.drop(f); err != nil {
				x.o.Log.Error("dropping an index failed", "workspace", f.workspaceID, "error", err)
				break
			}
		}
	}
}

// overdue returns the folder to drop, or nil. The index that was searched last is kept, whatever its size.
func (t *trims) overdue(all []*folder, budget int64) *folder {
	var list []*folder
	sum := int64(0)
	for _, f := range all {
		if !f.holds.Load() {
			continue
		}
		if size, _, _ := f.state(); size.Files > 0 {
			sum += size.Files
			list = append(list, f)
		}
	}
	over := sum > budget
	t.over.Store(over && len(list) > 1)
	if !over || len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *folder) int { return int(a.searched.Load() - b.searched.Load()) })
	for _, f := range list[:len(list)-1] {
		if !f.inUse() {
			return f
		}
	}
	return nil
}

func (f *folder) inUse() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.users > 0
}

// drop removes f's index, unless it is in use.
func (x *Indexer) drop(f *folder) error {
	gone := f.dir + dropped
	if err := os.RemoveAll(gone); err != nil { // of an attempt that failed
		return err
	}
	away, err := x.letGo(f, gone)
	if !away {
		return err
	}
	f.handed.clear()
	f.renewing.Store(0)
	f.announce()
	x.trims.dropped.Add(1)
	return errors.Join(err, os.RemoveAll(gone))
}

// letGo ends that the process holds f's index, whose files are then in the folder gone. It returns false if the index is in use.
func (x *Indexer) letGo(f *folder, gone string) (away bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users > 0 || !f.holds.Load() {
		return false, nil
	}
	f.holds.Store(false)
	f.cold.Store(true)
	x.forget(f)
	// At once, so that a process that is killed now leaves either the index or something that the next one removes.
	if err := os.Rename(f.dir, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, errors.Join(err, f.discard()) // as on systems that do not rename a folder with open files
	}
	return true, f.discard()
}
