package index

import (
	"math/bits"
	"math/rand/v2"
)

// spelling contains the numbers of the terms of a spelling. Number 0 is no term.
type spelling struct{ stem, word uint32 } // stem is the English one

// shortSpellings is a hash table of spellings of at most eight bytes, which most are. With a built-in map in its place,
// BenchmarkFill takes about a tenth more time.
type shortSpellings struct {
	slots []shortSpelling // their number is a power of two; at most three of four are used
	n     int
	seed  uint64 // odd, so that a client cannot choose spellings with equal hashes
}

type shortSpelling struct {
	key uint64 // 0: the slot is free
	spelling
}

func newShortSpellings() shortSpellings {
	return shortSpellings{slots: make([]shortSpelling, 1024), seed: rand.Uint64() | 1}
}

// packedSpelling returns the bytes of a spelling, of which none is zero, as a number.
func packedSpelling(raw string) (key uint64) {
	for i := range len(raw) {
		key = key<<8 | uint64(raw[i])
	}
	return key
}

// slot returns the slot of a key, or the free one where it belongs.
func (t *shortSpellings) slot(key uint64) *shortSpelling {
	high, low := bits.Mul64(key, t.seed)
	mask := uint64(len(t.slots) - 1)
	for at := (high ^ low>>32) & mask; ; at = (at + 1) & mask {
		if s := &t.slots[at]; s.key == key || s.key == 0 {
			return s
		}
	}
}

func (t *shortSpellings) get(key uint64) (s spelling, ok bool) {
	slot := t.slot(key)
	return slot.spelling, slot.key != 0
}

// add adds a key that the table does not have.
func (t *shortSpellings) add(key uint64, s spelling) {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]shortSpelling, 2*len(old))
		for i := range old {
			if old[i].key != 0 {
				*t.slot(old[i].key) = old[i]
			}
		}
	}
	*t.slot(key) = shortSpelling{key, s}
	t.n++
}
