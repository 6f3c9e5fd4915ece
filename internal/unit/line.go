package unit

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Line has single writes that come while a unit is under way make up the next one: they have one commit, where each would
// otherwise wait for the commits of all before it, and hold a connection meanwhile. There is a line a name, such as a
// workspace, and those of several names do not wait for each other.
type Line[W any] struct {
	LineOptions[W]
	mu   sync.Mutex
	busy map[string]*busy[W] // names with a unit under way
}

// LineOptions is what a Line needs.
type LineOptions[W any] struct {
	Units  int // of one name that may be under way: while one waits for the disk, another is made ready
	Writes int // that a unit has at most
	Bytes  int // after which it takes no further write
	Size   func(w W) int
	// Run does writes of a name in one unit. An error has done none of them. Its context is nobody's: what the context of one
	// of the writers knows is not for the others.
	Run func(ctx context.Context, name string, writes []W) error
	// Common reports whether an error of Run is everybody's, as of a database that is away. After any other one each write is
	// tried alone, so that one that fails fails nobody else.
	Common func(err error) bool
}

type busy[W any] struct {
	units   int
	waiting []*wish[W]
}

// wish is a write that somebody wants to have done.
type wish[W any] struct {
	write W
	err   error
	done  chan struct{}
}

// NewLine makes a Line.
func NewLine[W any](o LineOptions[W]) *Line[W] {
	return &Line[W]{LineOptions: o, busy: map[string]*busy[W]{}}
}

// Do does a write in a unit that it may share, and returns what became of it. Whoever leaves before the unit has begun is
// not waited for, and then nothing was done.
func (l *Line[W]) Do(ctx context.Context, name string, write W) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &wish[W]{write: write, done: make(chan struct{})}
	if l.join(name, w) {
		go l.serve(name)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if l.leave(name, w) {
			return ctx.Err()
		}
		<-w.done
	}
	return w.err
}

// Waiting is how many writes of a name wait for a unit.
func (l *Line[W]) Waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.busy[name]; b != nil {
		return len(b.waiting)
	}
	return 0
}

// join puts w into the line; begin says that there is room for another unit.
func (l *Line[W]) join(name string, w *wish[W]) (begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy[name]
	if b == nil {
		b = &busy[W]{}
		l.busy[name] = b
	}
	b.waiting = append(b.waiting, w)
	if begin = b.units < l.Units; begin {
		b.units++
	}
	return begin
}

// leave takes w out of the line, unless a unit has it already.
func (l *Line[W]) leave(name string, w *wish[W]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy[name]
	if b == nil {
		return false
	}
	at := slices.Index(b.waiting, w)
	if at >= 0 {
		b.waiting = slices.Delete(b.waiting, at, at+1)
	}
	return at >= 0
}

// next takes the wishes of the next unit; none when nobody waits, and then there is one unit less.
func (l *Line[W]) next(name string) []*wish[W] {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy[name]
	n, bytes := 0, 0
	for ; n < len(b.waiting) && n < l.Writes && bytes < l.Bytes; n++ {
		bytes += l.Size(b.waiting[n].write)
	}
	if n == 0 {
		if b.units--; b.units == 0 {
			delete(l.busy, name)
		}
		return nil
	}
	taken := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return taken
}

// serve runs unit after unit until nobody waits.
func (l *Line[W]) serve(name string) {
	for wishes := l.next(name); len(wishes) > 0; wishes = l.next(name) {
		l.grant(name, wishes)
		for _, w := range wishes {
			close(w.done)
		}
	}
}

// grant does wishes in one unit, or else each in one of its own.
func (l *Line[W]) grant(name string, wishes []*wish[W]) {
	err := l.run(name, wishes)
	if err != nil && len(wishes) > 1 && !l.Common(err) {
		for i := range wishes {
			l.grant(name, wishes[i:i+1])
		}
		return
	}
	for _, w := range wishes {
		w.err = err
	}
}

func (l *Line[W]) run(name string, wishes []*wish[W]) (err error) {
	defer func() { // it is nobody's goroutine who could be told
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a unit of several writes: %v", cause)
		}
	}()
	writes := make([]W, len(wishes))
	for i, w := range wishes {
		writes[i] = w.write
	}
	return l.Run(context.Background(), name, writes)
}
