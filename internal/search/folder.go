package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	bleveindex "github.com/blevesearch/bleve_index_api"
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
	used     atomic.Int64 // rises with every use; the smallest is evicted first

	mu        sync.Mutex // guards the rest; held while the index is opened and closed
	index     *workspaceIndex
	users     int
	broken    bool // rebuild the index when it is not in use
	rebuiltAt time.Time
	moved     chan struct{} // closed and replaced when position or answered changes

	// Only used by the indexing goroutine.
	batch   int  // changes per turn
	awaited bool // it was never up to date since the start
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
	for known := f.target.Load(); known > change; known = f.target.Load() {
		if f.target.CompareAndSwap(known, change) {
			return
		}
	}
}

// known returns the last known change of the workspace.
func (f *folder) known() int64 { return max(f.target.Load(), f.position.Load()) }

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
func (f *folder) open(queue *bleveindex.AnalysisQueue) (rebuilt error, err error) {
	index, change, err := openChecked(f.dir, queue)
	if err != nil && !errors.Is(err, bolterrors.ErrTimeout) { // an index that another process has opened is not broken
		rebuilt = err
		if err := os.RemoveAll(f.dir); err != nil {
			return nil, fmt.Errorf("remove an unreadable index: %w", err)
		}
		index, change, err = openChecked(f.dir, queue)
	}
	if err != nil {
		return nil, err
	}
	f.index = index
	f.position.Store(change)
	return rebuilt, nil
}

// openChecked opens an index and reads its state. The library can panic on truncated files. It maps them into memory, and a
// read beyond their end is a fault, which would end the program.
func openChecked(dir string, queue *bleveindex.AnalysisQueue) (index *workspaceIndex, change int64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("open index: %v", cause)
		}
	}()
	if index, err = openIndex(dir, queue); err != nil {
		return nil, 0, err
	}
	v, err := index.view()
	if err != nil {
		_ = index.engine.Close()
		return nil, 0, err
	}
	defer v.Close()
	return index, v.state.Change, nil
}

// closeIndex closes the index if it is open. The caller holds f.mu, and the index is not in use.
func (f *folder) closeIndex() error {
	if f.index == nil {
		return nil
	}
	err := f.index.close()
	f.index = nil
	f.position.Store(unknown)
	return err
}

// discard closes the index and removes it, so that it is rebuilt. The caller holds f.mu, and the index is not in use.
func (f *folder) discard() error {
	if f.index != nil {
		_ = f.index.engine.Close() // the files are removed in any case
		f.index = nil
		f.position.Store(unknown)
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("remove an index: %w", err)
	}
	f.broken = false
	return nil
}

// bytes returns the size of the index on disk.
func (f *folder) bytes() int64 {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
