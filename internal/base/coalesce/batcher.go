// Package coalesce lets callers share a run: those that come while a run is under way make up the next one.
//
// Each caller gets the result of a run that began after its call, so that a write is done once and a read is never older than
// the call. (With singleflight a caller may join a run that has begun already.)
package coalesce

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Batcher shares runs. Each name, such as a workspace, has runs of its own, and names do not wait for each other. It is safe
// for concurrent use.
type Batcher[C any] struct {
	Options[C]
	mu    sync.Mutex
	names map[string]*name[C] // those with a run under way
}

// Options is what a Batcher needs.
type Options[C any] struct {
	// Run does the calls of a name. After an error none of them is done. Its context never ends and holds nothing of any
	// caller's context.
	Run func(ctx context.Context, name string, calls []C) error
	// Shared reports whether an error of Run holds for all of its calls, as when the database is down. After any other error
	// each call is run alone, so that a call that fails fails no other. Nil: every error holds for all.
	Shared func(err error) bool

	Runs  int              // of a name at once: while one waits for the disk, another is prepared; 0: 1
	Calls int              // that a run has at most; 0: no bound
	Bytes int              // after which a run takes no further call; 0: no bound
	Size  func(call C) int // in bytes; needed with Bytes

	// Pause is waited for before a run takes its calls. Nil: no pause.
	Pause func()
	// Abandon lets a caller leave whose run has begun, when the result is of no use to it. Otherwise it learns what came of
	// its call.
	Abandon bool
}

type name[C any] struct {
	runs    int
	waiting []*pending[C]
}

// pending is a call with its result.
type pending[C any] struct {
	call C
	err  error
	done chan struct{}
}

// New makes a Batcher.
func New[C any](o Options[C]) *Batcher[C] {
	o.Runs = max(1, o.Runs)
	return &Batcher[C]{Options: o, names: map[string]*name[C]{}}
}

// Do does a call in a run that it may share, and returns the run's error. If ctx ends before the run has begun, nothing was
// done.
func (b *Batcher[C]) Do(ctx context.Context, of string, call C) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &pending[C]{call: call, done: make(chan struct{})}
	if b.add(of, p) {
		go b.serve(of)
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	if b.remove(of, p) || b.Abandon {
		return ctx.Err()
	}
	<-p.done
	return p.err
}

// Waiting is how many calls of a name wait for a run.
func (b *Batcher[C]) Waiting(of string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.names[of]; n != nil {
		return len(n.waiting)
	}
	return 0
}

// add puts p into the queue; begin says that there is room for another run.
func (b *Batcher[C]) add(of string, p *pending[C]) (begin bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.names[of]
	if n == nil {
		n = &name[C]{}
		b.names[of] = n
	}
	n.waiting = append(n.waiting, p)
	if begin = n.runs < b.Runs; begin {
		n.runs++
	}
	return begin
}

// remove takes p out of the queue, unless a run has it already.
func (b *Batcher[C]) remove(of string, p *pending[C]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.names[of]
	if n == nil {
		return false
	}
	at := slices.Index(n.waiting, p)
	if at >= 0 {
		n.waiting = slices.Delete(n.waiting, at, at+1)
	}
	return at >= 0
}

// serve runs batch after batch until no call waits.
func (b *Batcher[C]) serve(of string) {
	for !b.idle(of) {
		if b.Pause != nil {
			b.Pause()
		}
		batch := b.take(of)
		if len(batch) > 0 {
			b.do(of, batch)
		}
		for _, p := range batch {
			close(p.done)
		}
	}
}

// idle reports that no call waits, and then there is one run less.
func (b *Batcher[C]) idle(of string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.names[of]
	if len(n.waiting) > 0 {
		return false
	}
	if n.runs--; n.runs == 0 {
		delete(b.names, of)
	}
	return true
}

// take takes the calls of the next run. There are none if their callers have left meanwhile.
func (b *Batcher[C]) take(of string) []*pending[C] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.names[of]
	count, bytes := 0, 0
	for count < len(n.waiting) && (b.Calls == 0 || count < b.Calls) && (b.Bytes == 0 || bytes < b.Bytes) {
		if b.Bytes > 0 {
			bytes += b.Size(n.waiting[count].call)
		}
		count++
	}
	taken := slices.Clone(n.waiting[:count])
	n.waiting = slices.Delete(n.waiting, 0, count)
	return taken
}

// do does a batch in one run, or else each of its calls in a run of its own.
func (b *Batcher[C]) do(of string, batch []*pending[C]) {
	err := b.run(of, batch)
	if err != nil && len(batch) > 1 && b.Shared != nil && !b.Shared(err) {
		for i := range batch {
			b.do(of, batch[i:i+1])
		}
		return
	}
	for _, p := range batch {
		p.err = err
	}
}

func (b *Batcher[C]) run(of string, batch []*pending[C]) (err error) {
	defer func() { // the goroutine is no caller's, so a panic would end the program
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a run of several calls: %v", cause)
		}
	}()
	calls := make([]C, len(batch))
	for i, p := range batch {
		calls[i] = p.call
	}
	return b.Run(context.Background(), of, calls)
}
