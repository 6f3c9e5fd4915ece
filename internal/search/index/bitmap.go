package index

import "math/bits"

// bitmap is a set of documents.
type bitmap []uint64

func newBitmap(docs uint32) bitmap { return make(bitmap, (docs+63)/64) }

// full returns the set of all documents.
func full(docs uint32) bitmap {
	b := newBitmap(docs)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if rest := docs % 64; rest > 0 {
		b[len(b)-1] = 1<<rest - 1
	}
	return b
}

func (b bitmap) has(doc uint32) bool { return b[doc/64]&(1<<(doc%64)) != 0 }

func (b bitmap) add(doc uint32) { b[doc/64] |= 1 << (doc % 64) }

func (b bitmap) remove(doc uint32) { b[doc/64] &^= 1 << (doc % 64) }

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// countAnd counts what is also in other; nil is everything.
func (b bitmap) countAnd(other bitmap) int {
	if other == nil {
		return b.count()
	}
	n := 0
	for i, w := range b {
		n += bits.OnesCount64(w & other[i])
	}
	return n
}

// and keeps what is also in other; nil is everything.
func (b bitmap) and(other bitmap) {
	if other == nil {
		return
	}
	for i := range b {
		b[i] &= other[i]
	}
}

// or adds what is in other.
func (b bitmap) or(other bitmap) {
	for i := range other {
		b[i] |= other[i]
	}
}

// without removes what is in other.
func (b bitmap) without(other bitmap) {
	for i := range b {
		b[i] &^= other[i]
	}
}

func ones(word uint64) uint32 { return uint32(bits.OnesCount64(word)) }

// each calls do for every document.
func (b bitmap) each(do func(doc uint32)) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			do(uint32(i*64 + bits.TrailingZeros64(word)))
		}
	}
}

// addList adds all documents of a list.
func (b bitmap) addList(l *list) {
	for doc := l.seek(0); doc != noDoc; doc = l.next() {
		b.add(doc)
	}
}

// withoutList removes all documents of a list.
func (b bitmap) withoutList(l *list) {
	for doc := l.seek(0); doc != noDoc; doc = l.next() {
		b.remove(doc)
	}
}
