package search

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/document"
)

// How many changes a turn brings in: few where documents are long, so that a turn stays short and its memory small.
const (
	firstBatch = 64
	minBatch   = 16
	maxBatch   = 1_024
	longTurn   = 4 << 20 // bytes of text that ask for fewer
	shortTurn  = 1 << 20 // bytes of text that allow more
	atOnce     = 1 << 20 // bytes of text that are indexed together: while they are, they take some twenty times as much
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
		for rest := changes; len(rest) > 0 && err == nil; {
			var some []document.Change
			some, rest = cut(rest, atOnce)
			position, err = index.apply(x.analyzer, some)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	f.raise(position) // what was committed while the changes were read is in, too
	f.position.Store(position)
	f.announce()
	f.adapt(changes)
	// A writer must not run away from the disk.
	index.settle(x.unwritten(), 2*time.Second)
	return position < f.target.Load(), nil
}

// unwritten is how many bytes of entries an index can have in memory that are not on disk yet.
func (x *Indexer) unwritten() int64 {
	const most = 64 << 20
	if x.o.Memory == 0 {
		return most
	}
	return min(most, x.o.Memory/32)
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

// checkAhead has f's index rebuilt if it is ahead of the store, as after the restore of an older database.
func (x *Indexer) checkAhead(ctx context.Context, f *folder) (again bool, err error) {
	last, err := x.o.Source.DocumentChange(ctx, f.workspaceID)
	if err != nil {
		return false, fmt.Errorf("read the number of the last change: %w", err)
	}
	f.raise(last)
	if f.position.Load() <= last {
		return true, nil
	}
	x.o.Log.Warn("rebuilding an index that is ahead of its documents", "workspace", f.workspaceID)
	f.mu.Lock()
	f.broken = true
	f.mu.Unlock()
	return true, nil
}

// fail has the next turn bring in fewer changes, in case there were too many to be read or written in time.
func (f *folder) fail() { f.batch = max(minBatch, f.batch/2) }

// cut takes changes off a list whose texts have no more bytes than most, and one at least.
func cut(changes []document.Change, most int) (some, rest []document.Change) {
	n, bytes := 0, 0
	for n < len(changes) {
		bytes += textBytes(&changes[n])
		if n > 0 && bytes > most {
			break
		}
		n++
	}
	return changes[:n], changes[n:]
}

func textBytes(c *document.Change) int {
	if c.Document == nil {
		return 0
	}
	return len(c.Document.Title) + len(c.Document.Text)
}

// adapt sets how many changes the next turn brings in.
func (f *folder) adapt(changes []document.Change) {
	bytes := 0
	for i := range changes {
		bytes += textBytes(&changes[i])
	}
	switch {
	case bytes > longTurn:
		f.batch = max(minBatch, f.batch/2)
	case bytes < shortTurn && len(changes) == f.batch:
		f.batch = min(maxBatch, f.batch*2)
	}
}

// paceLag is how many changes an import may be ahead of its index: about what is indexed while a search waits.
const paceLag = 512

// Pace waits until the workspace's index is no more than a little behind its documents, or for as long as a search
// would: then the error says so.
func (x *Indexer) Pace(ctx context.Context, workspaceID string) error {
	f := x.have(workspaceID)
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	enough := f.target.Load() - paceLag
	return f.waitFor(ctx, func() bool { return f.position.Load() >= enough })
}
