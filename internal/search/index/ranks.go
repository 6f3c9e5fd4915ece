package index

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// ranks reads which documents of a stem's list have a word: their ranks, which are 0, 1, 2 and so on in the order of the list. So a
// word needs less space than with a list of documents.
//
// The ranks are encoded as a bit for each document of the stem, or as differences in varints, whichever is shorter. The
// number of the stem's documents is before them; its lowest bit says that bits follow.
type ranks struct {
	bits []byte
	data []byte // differences
	left int    // in data
	next int    // rank
}

// noRank is the number after the last rank. It is not in any block.
const noRank = math.MaxInt

// appendRanks encodes some ranks, which rise, of the documents of a stem. There is at least one.
func appendRanks(out []byte, some []uint32, stem uint32) []byte {
	begin, size := len(out), int(stem+7)/8
	out = binary.AppendUvarint(out, uint64(stem)<<1)
	differences := len(out)
	next := uint32(0)
	for _, rank := range some {
		out = binary.AppendUvarint(out, uint64(rank-next))
		next = rank + 1
	}
	if len(out)-differences <= size {
		return out
	}
	out = binary.AppendUvarint(out[:begin], uint64(stem)<<1|1)
	at := len(out)
	out = append(out, make([]byte, size)...)
	for _, rank := range some {
		out[at+int(rank/8)] |= 1 << (rank % 8)
	}
	return out
}

// open begins to read ranks, and returns the number of the stem's documents. count is the number of ranks.
func (r *ranks) open(data []byte, count int) (stem int) {
	head, n := uvarint(data)
	data = data[n:]
	stem = int(head >> 1)
	if head&1 == 1 {
		*r = ranks{bits: data[:(stem+7)/8]}
		return stem
	}
	*r = ranks{data: data, left: count, next: -1}
	r.advance()
	return stem
}

// advance moves to the next difference.
func (r *ranks) advance() {
	if r.left == 0 {
		r.next = noRank
		return
	}
	difference, n := uvarint(r.data)
	r.data = r.data[n:]
	r.next += 1 + int(difference)
	r.left--
}

// block returns the first block of the stem's list, at or after one, with a document of the word. After the last, it returns a
// number that no block has.
func (r *ranks) block(from int) int {
	if r.bits != nil {
		for ; from*blockSize/8 < len(r.bits); from++ {
			if countBits(r.bitsOf(from)) > 0 {
				return from
			}
		}
		return noRank
	}
	for r.next < from*blockSize {
		r.advance()
	}
	return r.next / blockSize
}

// keep moves the documents of the word to the front of a block of the stem's list, and returns their number. It is called once
// for each block, after the method block.
func (r *ranks) keep(docs *block, block int) int {
	n := 0
	if r.bits != nil {
		for i, b := range r.bitsOf(block) {
			for ; b != 0; b &= b - 1 {
				docs[n] = docs[8*i+bits.TrailingZeros8(b)]
				n++
			}
		}
		return n
	}
	for ; r.next/blockSize == block; r.advance() {
		docs[n] = docs[r.next%blockSize]
		n++
	}
	return n
}

// each calls do for every rank. It is called before block.
func (r *ranks) each(do func(rank uint32)) {
	for i, b := range r.bits {
		for ; b != 0; b &= b - 1 {
			do(uint32(8*i + bits.TrailingZeros8(b)))
		}
	}
	if r.bits == nil {
		for ; r.next != noRank; r.advance() {
			do(uint32(r.next))
		}
	}
}

// bitsOf returns the bits of a block.
func (r *ranks) bitsOf(block int) []byte {
	begin := block * blockSize / 8
	return r.bits[begin:min(len(r.bits), begin+blockSize/8)]
}

func countBits(data []byte) int {
	n := 0
	for _, b := range data {
		n += bits.OnesCount8(b)
	}
	return n
}
