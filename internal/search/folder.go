package search

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// folder is the index of a workspace, open or closed.
type folder struct {
	workspaceID string
	dir         string

	target   atomic.Int64 // last committed change that this process knows
	position atomic.Int64 // last change in the index; unknown while it is closed
	// A change can be committed whose number is unknown. Then asked rises. answered follows when the number was read from
	// the store and target is raised.
	asked    atomic.Int64
	answered atomic.Int64
	// The last state of the documents of which the index can contain changes, as the index itself has it; nil: unknown before it is opened.
	// Whether the documents had this state is doubtful until the store was asked: then doubts rises, and settled follows.
	seen    atomic.Pointer[document.State]
	doubts  atomic.Int64
	settled atomic.Int64

	handed   handed
	settings atomic.Pointer[settings] // nil: read them
	renewing atomic.Int64             // documents that are to be indexed again
	used     atomic.Int64             // rises with every use; the smallest is closed first
	searched atomic.Int64             // the same with every search; the smallest is dropped first

	// See hold.go. Except by load and by the indexing goroutine, they are changed by a holder of mu.
	holds atomic.Bool // the process holds the index
	cold  atomic.Bool // only a search can change that

	mu              sync.Mutex // guards the rest; held while the index is opened and closed
	index           *index.Index
	users           int
	broken          bool // rebuild the index when it is not in use
	verified        bool // its files were compared with their checksums
	rebuiltAt       time.Time
	moved           chan struct{} // closed and replaced when position or answered changes
	fresh           *replacement  // takes the place of the index in the next turn
	size            index.Size    // when the index was closed last
	work            index.Work    // of earlier openings
	settingsChanges int64         // how often settings was dropped
	build           *build        // nil unless it is being built
	mergeAt         time.Time     // when the closed index must be merged, so that deleted documents leave its files; zero: never

	// Only used by the indexing goroutine.
	batch   int     // changes per turn
	renewal renewal // what is indexed again
}

const unknown = -1

// raise records that change is committed, and reports whether that is new.
func (f *folder) raise(change int64) bool {
	for known := f.target.Load(); known < change; known = f.target.Load() {
		if f.target.CompareAndSwap(known, change) {
			return true
		}
	}
	return false
}

// lower records that no change after this one exists any more. A number that is raised at the same time is lost until the
// source is read again.
func (f *folder) lower(change int64) {
	f.handed.clear()
	for known := f.target.Load(); known > change; known = f.target.Load() {
		if f.target.CompareAndSwap(known, change) {
			return
		}
	}
}

// known returns the last known change of the workspace.
func (f *folder) known() int64 { return max(f.target.Load(), f.position.Load()) }

// sees returns the last state of which the index can contain changes.
func (f *folder) sees() document.State {
	if seen := f.seen.Load(); seen != nil {
		return *seen
	}
	return document.State{}
}

// doubtful reports whether the index can contain changes that the documents have lost.
func (f *folder) doubtful() bool { return f.settled.Load() < f.doubts.Load() }

// unusable reports whether the index is to be rebuilt when it is not in use.
func (f *folder) unusable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// announce wakes all requests that wait for the index.
func (f *folder) announce() {
	f.mu.Lock()
	close(f.moved)
	f.moved = make(chan struct{})
	f.mu.Unlock()
}

func (f *folder) nextMove() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moved
}

func (f *folder) waitFor(ctx context.Context, reached func() bool) error {
	for {
		move := f.nextMove()
		if reached() {
			return nil
		}
		select {
		case <-move:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open opens the index, or creates an empty one if the files cannot be read. The caller holds f.mu.
func (f *folder) open(o index.Options) (rebuilt error, err error) {
	f.index, err = openChecked(f.dir, o)
	if err != nil {
		rebuilt = err
		if err := os.RemoveAll(f.dir); err != nil {
			return nil, fmt.Errorf("remove an unreadable index: %w", err)
		}
		if f.index, err = openChecked(f.dir, o); err != nil {
			return nil, err
		}
	}
	snapshot := f.index.Snapshot()
	defer snapshot.Release()
	seen := document.State(snapshot.Seen())
	f.seen.Store(&seen)
	if snapshot.Change() == 0 {
		f.settled.Store(f.doubts.Load())
	}
	f.position.Store(snapshot.Change())
	return rebuilt, nil
}

// openChecked opens an index. Files are mapped into memory, and a read beyond the end of one that is truncated meanwhile is a
// fault, which would end the program.
func openChecked(dir string, o index.Options) (open *index.Index, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("open index: %v", cause)
		}
	}()
	return index.Open(dir, o)
}

// closeIndex closes the index if it is open. The caller holds f.mu, and the index is not in use.
func (f *folder) closeIndex() error {
	if f.index == nil {
		return nil
	}
	err := f.index.Flush()
	f.size, f.mergeAt = f.index.Size(), f.index.MergeAt()
	f.size.Memory = 0
	f.work.Add(f.index.Work())
	f.index.Abandon()
	f.index = nil
	f.position.Store(unknown)
	if f.size.Files == 0 { // nothing is left of it
		f.holds.Store(false)
		f.build = nil
	}
	return err
}

// snapshot returns a snapshot of the index, or nil if it is closed.
func (f *folder) snapshot() *index.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return nil
	}
	return f.index.Snapshot()
}

// discard closes the index and removes it, so that it is rebuilt. The caller holds f.mu, and the index is not in use.
func (f *folder) discard() error {
	if f.index != nil {
		f.work.Add(f.index.Work())
		f.index.Abandon() // the files are removed
		f.index = nil
		f.position.Store(unknown)
	}
	f.seen.Store(nil)
	f.size, f.mergeAt, f.build = index.Size{}, time.Time{}, nil
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("remove an index: %w", err)
	}
	f.broken = false
	return nil
}

// state returns the size of the index and what it has written so far. Of a closed index, it returns the last size.
func (f *folder) state() (size index.Size, work index.Work, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return f.size, f.work, false
	}
	work = f.work
	work.Add(f.index.Work())
	return f.index.Size(), work, true
}
