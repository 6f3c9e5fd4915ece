package search

import (
	"context"
	"errors"
	"fmt"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// The number of changes of a turn. It is small if documents are long, so that a turn is short and needs little memory.
const (
	firstBatch = 64
	minBatch   = 16
	maxBatch   = 4_096
	longTurn   = 4 << 20 // bytes of text above which the next turn has fewer
	shortTurn  = 1 << 20 // bytes of text below which the next turn has more
	atOnce     = 1 << 20 // bytes of text that are indexed together: about 40 ms of work
)

// catchUp adds the next batch of changes to f's index, or has it rebuilt. again means that there are more.
func (x *Indexer) catchUp(ctx context.Context, f *folder) (again bool, err error) {
	again, err = x.addNext(ctx, f)
	if errors.Is(err, document.ErrLost) {
		f.lose(x.o.Log)
		return true, nil
	}
	return again, err
}

func (x *Indexer) addNext(ctx context.Context, f *folder) (again bool, err error) {
	if err := x.ask(ctx, f); err != nil {
		return false, err
	}
	if x.elsewhere(f.workspaceID) {
		return false, x.leave(f)
	}
	if err := x.replace(ctx, f); err != nil {
		return true, err
	}
	if keeps, err := x.keeps(ctx, f); !keeps {
		return false, err
	}
	s, err := x.loadSettings(ctx, f)
	if err != nil {
		return false, err
	}
	open, err := x.acquire(f)
	if open == nil {
		return false, err
	}
	defer x.release(f)
	if err := x.count(ctx, f); err != nil {
		return false, err
	}
	if err := x.planRenewal(f, open, s); err != nil {
		return false, err
	}
	position, target := f.position.Load(), f.target.Load()
	if f.doubtful() || position > target {
		return true, f.settle(ctx, x.o.Source)
	}
	if position == target {
		return x.renew(ctx, f, open)
	}
	// Changes after target, as of an import, wait until they are reported or searched for, because many at once take less time.
	limit := int(min(int64(f.batch), target-position))
	changes, now, err := f.next(ctx, x.o.Source, position, limit)
	if err != nil {
		return false, fmt.Errorf("read changes after %d: %w", position, err)
	}
	if len(changes) == 0 {
		return false, fmt.Errorf("there are no changes after %d, though the last is %d", position, target)
	}
	changed := f.noteSettings(changes)
	if changed {
		if s, err = x.loadSettings(ctx, f); err != nil {
			return false, err
		}
		if err := x.planRenewal(f, open, s); err != nil {
			return false, err
		}
	}
	f.seen.Store(&now)
	err = x.guard(f, func() error {
		position, err = x.apply(ctx, open, s, changes, now)
		return err
	})
	if err != nil {
		return false, err
	}
	if changed {
		if err := x.renewFew(ctx, f, open); err != nil {
			return false, err
		}
	}
	f.raise(position) // changes that were committed during the read are included
	f.position.Store(position)
	if took, built := f.advance(x.o.Now()); built {
		x.builds.add(took)
	}
	f.announce()
	f.batch = nextBatch(f.batch, changes)
	return position < target || len(f.renewal.collections) > 0, nil
}

// fewBytes is the size of the texts of a few changes, for which a client perhaps waits.
const fewBytes = 64 << 10

// apply adds changes to an index, and returns the number of the last. The documents had them in the state now. Many changes, as of an
// import, are background work.
func (x *Indexer) apply(ctx context.Context, to *index.Index, s *settings, changes []document.Change, now document.State) (position int64, err error) {
	if err := to.SetSeen(index.Seen(now)); err != nil {
		return 0, err
	}
	for rest := changes; len(rest) > 0; {
		var some []document.Change
		some, rest = cut(rest, atOnce)
		piece := func() error { return to.Apply(changesOf(some, s)) }
		if sizeOf(some) > fewBytes {
			err = x.o.Background(ctx, piece)
		} else {
			err = piece()
		}
		switch {
		case errors.Is(err, index.ErrFull):
			return 0, errBehind.Because(err)
		case err != nil:
			return 0, err
		}
		position = some[len(some)-1].Number
	}
	return position, nil
}

// ask raises f's target if only the store knows it.
func (x *Indexer) ask(ctx context.Context, f *folder) error {
	asked := f.asked.Load()
	if f.answered.Load() == asked {
		return nil
	}
	now, err := x.o.Source.DocumentState(ctx, f.workspaceID)
	if err != nil {
		return fmt.Errorf("read the state of the documents: %w", err)
	}
	f.raise(now.Change)
	f.answered.Store(asked)
	f.announce()
	return nil
}

// fail reduces the next turn, because there were perhaps too many changes to be read or written in time.
func (f *folder) fail() { f.batch = max(minBatch, f.batch/2) }

// cut splits off the first changes, whose texts have at most the given bytes, and at least one change.
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

func sizeOf(changes []document.Change) int {
	bytes := 0
	for i := range changes {
		bytes += textBytes(&changes[i])
	}
	return bytes
}

func textBytes(c *document.Change) int {
	if c.Document == nil {
		return 0
	}
	return len(c.Document.Title) + len(c.Document.Text)
}

// nextBatch returns the number of changes of the turn after one with these.
func nextBatch(batch int, changes []document.Change) int {
	switch bytes := sizeOf(changes); {
	case bytes > longTurn:
		return max(minBatch, batch/2)
	case bytes < shortTurn && len(changes) == batch:
		return min(maxBatch, batch*2)
	}
	return batch
}

// Pace waits until the workspace's index has a change, if the process holds it. It returns an error if that takes longer than a
// search would wait.
func (x *Indexer) Pace(ctx context.Context, workspaceID string, change int64) error {
	f := x.have(workspaceID)
	if f == nil || !f.followed(x.o.Shared) || x.elsewhere(workspaceID) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	return f.waitFor(ctx, func() bool { return f.position.Load() >= change || !f.followed(x.o.Shared) })
}
