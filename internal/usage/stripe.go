package usage

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// cell is what events are counted under, and sum what they come to.
type cell struct {
	minute  uint32 // Unix minute
	owner   Owner
	route   Route
	status  uint16
	version uint8
	surface Surface
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

// stripe counts some of the events. Its lock is there for the flush: requests on different cores use different stripes.
type stripe struct {
	mu    sync.Mutex
	cells tally
	_     [64]byte // two stripes share no cache line
}

// tally is a set of sums. The map holds places in the slice, so that counting is one look into the map.
type tally struct {
	places map[cell]uint32
	sums   []sum
	last   cell // the one counted last, which is often the next one too
	at     uint32
}

func newTally() tally { return tally{places: map[cell]uint32{}} }

func (t *tally) add(c cell, s sum) {
	if c == t.last && len(t.sums) > 0 {
		t.sums[t.at].add(s)
		return
	}
	at, known := t.places[c]
	if !known {
		at = uint32(len(t.sums))
		t.places[c] = at
		t.sums = append(t.sums, sum{})
	}
	t.sums[at].add(s)
	t.last, t.at = c, at
}

// most is how many cells an emptied tally keeps room for.
const most = 4096

// reset empties t. After a burst it gives the room back, because emptying a map takes as long as it is large.
func (t *tally) reset() {
	if len(t.sums) > most {
		*t = newTally()
		return
	}
	clear(t.places)
	t.sums = t.sums[:0]
}

// stripes are the stripes of a recorder.
type stripes struct {
	all  []stripe
	next atomic.Uint32
	// nearby holds stripes by core: sync.Pool gives a goroutine what was last put back on the core it runs on. Losing
	// its content, at a garbage collection, only means that cores choose again.
	nearby sync.Pool
	spare  tally // what the next emptied stripe gets in exchange; the flush's own
}

func newStripes() *stripes {
	s := &stripes{all: make([]stripe, 4*runtime.GOMAXPROCS(0)), spare: newTally()}
	for i := range s.all {
		s.all[i].cells = newTally()
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

// drain moves everything counted so far into a map. One goroutine at a time may call it.
func (s *stripes) drain(into map[cell]sum) {
	for i := range s.all {
		one := &s.all[i]
		one.mu.Lock()
		one.cells, s.spare = s.spare, one.cells
		one.mu.Unlock()
		for c, at := range s.spare.places {
			total := into[c]
			total.add(s.spare.sums[at])
			into[c] = total
		}
		s.spare.reset()
	}
}
