package usage

import (
	"math/bits"
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

// cellKey is a cell in two numbers, which are faster to build, hash and compare.
type cellKey struct{ when, what uint64 }

func (c cell) key() cellKey {
	return cellKey{
		uint64(c.minute)<<32 | uint64(c.owner),
		uint64(c.route)<<48 | uint64(c.status)<<32 | uint64(c.version)<<24 | uint64(c.surface)<<16 | uint64(c.took),
	}
}

func (k cellKey) cell() cell {
	return cell{
		uint32(k.when >> 32), Owner(k.when), Route(k.what >> 48), uint16(k.what >> 32), uint8(k.what >> 24), Surface(k.what >> 16), uint16(k.what),
	}
}

func (k cellKey) hash() uint64 {
	high, low := bits.Mul64(k.when^0x9e3779b97f4a7c15, k.what^0xd6e8feb86659fd93)
	return high ^ low
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

// sumTable is a set of sums: a hash table with open addressing, which is faster here than a map.
type sumTable struct {
	places  []uint32 // by hash: the index of an entry, plus 1; 0 for none. Their number is a power of two.
	entries []sumEntry
}

type sumEntry struct {
	key cellKey
	sum sum
}

const minPlaces = 64

func newSumTable() sumTable { return sumTable{places: make([]uint32, minPlaces)} }

// find returns the entry of k, or nil and the place for it.
func (t *sumTable) find(k cellKey) (e *sumEntry, place int) {
	mask := len(t.places) - 1
	for i := int(k.hash()) & mask; ; i = (i + 1) & mask {
		at := t.places[i]
		if at == 0 {
			return nil, i
		}
		if e := &t.entries[at-1]; e.key == k {
			return e, i
		}
	}
}

func (t *sumTable) add(k cellKey, s sum) {
	e, place := t.find(k)
	if e == nil && len(t.entries) >= maxCells {
		c := k.cell()
		c.took, c.route = 0, otherRoute
		k = c.key()
		e, place = t.find(k)
	}
	if e != nil {
		e.sum.add(s)
		return
	}
	t.entries = append(t.entries, sumEntry{k, s})
	t.places[place] = uint32(len(t.entries))
	if len(t.entries) > len(t.places)/2 {
		t.grow()
	}
}

func (t *sumTable) grow() {
	t.places = make([]uint32, 2*len(t.places))
	for i := range t.entries {
		_, place := t.find(t.entries[i].key)
		t.places[place] = uint32(i + 1)
	}
}

// maxCells is how many cells a sumTable can have before it counts new ones without their route and duration. It limits memory
// while a flush hangs.
const maxCells = 1 << 16

// maxKept is the number of cells that an emptied sumTable keeps memory for.
const maxKept = 1 << 14

// reset empties t. After a burst it releases the memory, because clearing it takes time in proportion to its size.
func (t *sumTable) reset() {
	if len(t.entries) > maxKept {
		*t = newSumTable()
		return
	}
	clear(t.places)
	t.entries = t.entries[:0]
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

func (s *stripes) add(k cellKey, amount sum) {
	near := s.nearby.Get().(*stripe)
	near.mu.Lock()
	near.cells.add(k, amount)
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
		for i := range s.spare.entries {
			fn(s.spare.entries[i].key.cell(), &s.spare.entries[i].sum)
		}
		s.spare.reset()
	}
}
