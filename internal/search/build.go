package search

import (
	"context"
	"fmt"
	"sync"
	"time"

	"keepsake/internal/base/problem"
)

// An index is being built from its opening until it has the changes that it lacked then. Searches wait for one that is built
// soon, as long as their requests have time; others are refused, and the building goes on.

// build is the building of an index.
type build struct {
	began     time.Time
	anew      bool  // from nothing; otherwise the index lacked some changes
	to        int64 // the change that ends it
	documents int64 // that the workspace had at the beginning; unknown until they were counted
	done      int64 // documents in the index, after the last turn
}

// begin notes that f's index, which was just opened, lacks changes. The caller holds f.mu.
func (f *folder) begin(now time.Time) {
	position, target := f.position.Load(), f.target.Load()
	if f.build == nil && position < target {
		f.build = &build{began: now, anew: position == 0, to: target, documents: unknown, done: f.index.Size().Docs}
	}
}

// underway returns a copy of what is known of the building of f's index, or nil.
func (f *folder) underway() *build {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.build == nil {
		return nil
	}
	b := *f.build
	return &b
}

// count reads how many documents an index that is being built will have, once.
func (x *Indexer) count(ctx context.Context, f *folder) error {
	if b := f.underway(); b == nil || b.documents != unknown {
		return nil
	}
	n, err := x.o.Source.DocumentCount(ctx, f.workspaceID)
	if err != nil {
		return fmt.Errorf("count documents: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.build != nil {
		f.build.documents = n
	}
	return nil
}

// advance notes the position of f's index after a turn, and returns how long its building took if that is over. What was committed
// during a long build belongs to it.
func (f *folder) advance(now time.Time) (took time.Duration, built bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.build
	if b == nil || f.index == nil {
		return 0, false
	}
	position, target := f.position.Load(), f.target.Load()
	b.done = f.index.Size().Docs
	switch {
	case position < b.to:
	case target-position > maxBatch:
		b.to = target
	default:
		f.build = nil
		return now.Sub(b.began), b.anew
	}
	return 0, false
}

// left returns about how many documents are still to be indexed.
func (b *build) left(position int64) int64 {
	left := max(0, b.to-position) // each document has a change of its own
	switch {
	case b.documents == unknown:
		return left
	case b.anew:
		return min(left, max(0, b.documents-b.done))
	}
	return min(left, b.documents)
}

// perSecond is how many documents a process surely indexes in a second.
const perSecond = 10_000

// maxRetry is the longest time after which a client is asked to try again.
const maxRetry = 30 * time.Second

// problem returns the error of a search that does not wait until left documents are indexed.
func (b *build) problem(left int64) *problem.Problem {
	const message = "The search index of this workspace is being built, with about %d documents to go; try again in a moment."
	return problem.NotAvailable(fmt.Sprintf(message, left), min(maxRetry, time.Duration(1+left/perSecond)*time.Second))
}

// awaitBuilt waits until f's index has every change that was committed when it was called. For an index that is being built, it
// waits as long as ctx allows, or not at all.
func (x *Indexer) awaitBuilt(ctx, waiting context.Context, f *folder) error {
	if err := x.count(waiting, f); err != nil {
		return err
	}
	b := f.underway()
	if b == nil {
		if err := x.await(waiting, f); err != nil {
			return errBehind.Because(err)
		}
		return nil
	}
	if left := b.left(f.position.Load()); left > x.o.Foreground {
		return b.problem(left)
	}
	patient, cancel := patience(ctx)
	defer cancel()
	if err := x.await(patient, f); err != nil {
		if b = f.underway(); b == nil {
			return errBehind.Because(err)
		}
		return b.problem(b.left(f.position.Load())).Because(err)
	}
	return nil
}

// patience returns a context that ends so early before ctx does that an index can still be searched.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	const untimed = 9 * time.Second
	wait := untimed
	if deadline, ok := ctx.Deadline(); ok {
		wait = time.Until(deadline)
		wait -= min(wait/10, time.Second)
	}
	return context.WithTimeout(ctx, wait)
}

// BuildBounds are the upper bounds of Builds.Counts.
var BuildBounds = []time.Duration{
	100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second, 300 * time.Second,
}

// Builds is how many indexes were built since the start, and how long that took.
type Builds struct {
	Counts []int64 // by BuildBounds, and above them
	Sum    time.Duration
}

// Total returns the number of all.
func (b *Builds) Total() (n int64) {
	for _, count := range b.Counts {
		n += count
	}
	return n
}

// builds counts indexes that were built.
type builds struct {
	mu  sync.Mutex
	all Builds
}

func (b *builds) add(took time.Duration) {
	took = max(0, took) // the clock can be set back
	at := 0
	for at < len(BuildBounds) && took > BuildBounds[at] {
		at++
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all.Counts == nil {
		b.all.Counts = make([]int64, len(BuildBounds)+1)
	}
	b.all.Counts[at]++
	b.all.Sum += took
}

func (b *builds) read() Builds {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := make([]int64, len(BuildBounds)+1)
	copy(counts, b.all.Counts)
	return Builds{Counts: counts, Sum: b.all.Sum}
}
