package usage

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// cell contains the dimensions of a count, sum the counts.
type cell struct {
	minute  uint32 // Unix minute
	owner   Owner
	route   Route
	status  uint16
	version uint8
	surface Surface
	took    uint16 // the bucket of the duration, from 1; 0 for none
}

type sum struct {
	requests, charged, bytesIn, bytesOut int64
}

func (s *sum) add(o sum) {
	s.requests += o.requests
	s.charged += o.charged
	s.bytesIn += o.bytesIn
	s.bytesOut += o.bytesOut
}

// stripe counts some of the events. Requests on different cores use different stripes, so its lock is only contended by
// the flush.
type stripe struct {
	mu    sync.Mutex
	cells sumTable
	_     [64]byte // two stripes share no cache line
}

// sumTable is a set of sums. The map contains indexes into the slice, so that counting needs one lookup.
type sumTable struct {
	places map[cell]uint32
	sums   []sum
	last   cell // the cell counted last, which is often the next one too
	at     uint32
}

func newSumTable() sumTable { return sumTable{places: map[cell]uint32{}} }

func (t *sumTable) add(c cell, s sum) {
	if c == t.last && len(t.sums) > 0 {
		t.sums[t.at].add(s)
		return
	}
	at, known := t.places[c]
	if !known && len(t.sums) >= maxCells {
		c.took, c.route = 0, otherRoute
		at, known = t.places[c]
	}
	if !known {
		at = uint32(len(t.sums))
		t.places[c] = at
		t.sums = append(t.sums, sum{})
	}
	t.sums[at].add(s)
	t.last, t.at = c, at
}

// maxCells is how many cells a sumTable can have before it counts new ones without their route and duration. It limits memory
// while a flush hangs.
const maxCells = 1 << 16

// maxKept is the number of cells that an emptied sumTable keeps memory for.
const maxKept = 4096

// reset empties t. After a burst it releases the memory, because clearing a map takes time in proportion to its size.
func (t *sumTable) reset() {
	if len(t.sums) > maxKept {
		*t = newSumTable()
		return
	}
	clear(t.places)
	t.sums = t.sums[:0]
}

// stripes are the stripes of a recorder.
type stripes struct {
	all  []stripe
	next atomic.Uint32
	// nearby contains stripes by core: sync.Pool returns what was last put back on the same core. If a garbage
	// collection empties it, cores only choose their stripes again.
	nearby sync.Pool
	spare  sumTable // replaces the next emptied stripe; only for the flush
}

func newStripes() *stripes {
	s := &stripes{all: make([]stripe, 4*runtime.GOMAXPROCS(0)), spare: newSumTable()}
	for i := range s.all {
		s.all[i].cells = newSumTable()
	}
	s.nearby.New = func() any { return &s.all[s.next.Add(1)%uint32(len(s.all))] }
	return s
}

func (s *stripes) add(c cell, amount sum) {
	near := s.nearby.Get().(*stripe)
	near.mu.Lock()
	near.cells.add(c, amount)
	near.mu.Unlock()
	s.nearby.Put(near)
}

// drain calls fn for all counts and removes them. Only one goroutine at a time can call it.
func (s *stripes) drain(fn func(c cell, amount *sum)) {
	for i := range s.all {
		one := &s.all[i]
		one.mu.Lock()
		one.cells, s.spare = s.spare, one.cells
		one.mu.Unlock()
		for c, at := range s.spare.places {
			fn(c, &s.spare.sums[at])
		}
		s.spare.reset()
	}
}
