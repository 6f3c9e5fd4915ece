package index

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// A column contains which values of a facet each document has, so that a search counts a facet in one pass over the matching
// documents, whatever the number of values. A facet is what the terms of collections, of tags, or of one metadata entry of one
// type begin with.
//
// A document can have several values, so a column does not contain values but sets of values. Set 0 is empty. Each other set
// consists of an earlier set, its parent, and one value more, which is the last of the set in the order of the terms. A column
// consists of the sets, and of the number of the set of each document in as few bits as the last set needs.
//
// A segment has a column for a facet only if it pays: counting the lists of the values is as fast if the segment has few
// documents or few of them have a value, and a column with nearly as many sets as documents is not worth its size.

const (
	// leastColumn is the number of documents from which a segment has columns.
	leastColumn = 64
	// leastShare is the number of documents for which a facet with a column has at least one value.
	leastShare = 4
	// mostSets is the maximum number of sets of a column.
	mostSets = 1<<16 - 1
)

// setsFor returns how many sets a column of a segment with so many documents can have.
func setsFor(docs int) int { return min(mostSets, leastColumn+docs/8) }

// facetOf returns the beginning of a term that says to which facet it belongs.
func facetOf(term []byte) []byte {
	if k := kind(term[0]); k == collectionKind || k == tagKind {
		return term[:1]
	}
	size, n := binary.Uvarint(term[1:])
	return term[:1+n+int(size)]
}

// columnWriter finds the sets of the documents, facet after facet.
type columnWriter struct {
	docs    int
	sets    []uint32 // by document, plus before; at most before: the empty set
	before  uint32   // sets of the facets before
	encoded []byte   // the sets, see appendSet
	n       int      // sets without the empty one
	bigger  []uint32 // by set: the set with the current value more, if that is not smaller than first
	first   int      // the first set with the current value
	values  int64    // of all documents
	tooMany bool     // sets

	facet     []byte
	directory []byte // of the columns that were written
}

// begin begins a value of a facet. It returns false if the facet is not the one of the value before, which must be ended first.
func (w *columnWriter) begin(facet []byte) bool {
	if len(w.facet) > 0 && string(w.facet) != string(facet) {
		return false
	}
	w.facet = append(w.facet[:0], facet...)
	w.first = w.n + 1
	return true
}

// add adds the current value to the set of a document.
func (w *columnWriter) add(doc uint32) {
	if w.docs < leastColumn || w.tooMany {
		return
	}
	if w.sets == nil {
		w.sets, w.bigger = make([]uint32, w.docs), []uint32{0}
	}
	w.values++
	parent := uint32(0)
	if set := w.sets[doc]; set > w.before {
		parent = set - w.before
	}
	set := w.bigger[parent]
	if int(set) < w.first {
		if w.n == setsFor(w.docs) {
			w.tooMany = true
			return
		}
		w.n++
		set = uint32(w.n)
		w.bigger[parent] = set
		w.bigger = append(w.bigger, 0)
		w.encoded = appendSet(w.encoded, parent, w.n == w.first)
	}
	w.sets[doc] = w.before + set
}

// appendSet encodes a set. isFirst tells whether it is the first one with its last value.
func appendSet(out []byte, parent uint32, isFirst bool) []byte {
	v := uint64(parent) << 1
	if isFirst {
		v |= 1
	}
	return binary.AppendUvarint(out, v)
}

// end ends the facet, and writes its column if it pays.
func (w *columnWriter) end(out *output) error {
	var err error
	if w.n > 0 && !w.tooMany && w.values*leastShare >= int64(w.docs) {
		err = w.write(out)
	}
	if w.before += uint32(w.n); w.before > math.MaxUint32-2*mostSets {
		clear(w.sets)
		w.before = 0
	}
	w.facet, w.encoded, w.n, w.values, w.tooMany = w.facet[:0], w.encoded[:0], 0, 0, false
	if w.bigger != nil {
		w.bigger = append(w.bigger[:0], 0)
	}
	return err
}

func (w *columnWriter) write(out *output) error {
	if out.size > math.MaxUint32 {
		return errors.New("the posting lists of a segment are longer than 4 GiB")
	}
	w.directory = binary.AppendUvarint(w.directory, uint64(len(w.facet)))
	w.directory = append(w.directory, w.facet...)
	w.directory = binary.AppendUvarint(w.directory, uint64(out.size))
	w.directory = binary.AppendUvarint(w.directory, uint64(w.n))
	if _, err := out.Write(w.encoded); err != nil {
		return err
	}
	_, err := out.Write(w.pack())
	return err
}

// pack returns the packed numbers of the sets of the documents.
func (w *columnWriter) pack() []byte {
	width := bits.Len(uint(w.n))
	data := make([]byte, 0, w.docs*width/8+8)
	buffer, filled := uint64(0), 0
	for _, set := range w.sets {
		if set > w.before {
			buffer |= uint64(set-w.before) << filled
		}
		if filled += width; filled >= 32 {
			data = binary.LittleEndian.AppendUint32(data, uint32(buffer))
			buffer >>= 32
			filled -= 32
		}
	}
	for ; filled > 0; filled -= 8 {
		data = append(data, byte(buffer))
		buffer >>= 8
	}
	return data
}

// column reads a column.
type column struct {
	sets   int // without the empty one
	data   []byte
	packed []byte // numbers of the sets of the documents
	width  int
}

// column returns the column of a facet, which is the range of its terms, or false if there is none.
func (s *segment) column(facet Range) (c column, ok bool) {
	for data := s.columns; len(data) > 0; {
		size, n := uvarint(data)
		name := data[n:][:size]
		data = data[n+int(size):]
		offset, n := uvarint(data)
		data = data[n:]
		sets, n := uvarint(data)
		data = data[n:]
		if string(name) != facet.From {
			continue
		}
		if sets > mostSets { // a corrupt segment; the lists say the same
			return column{}, false
		}
		return column{sets: int(sets), data: s.lists[offset:], width: bits.Len(uint(sets))}, true
	}
	return column{}, false
}

// columnCounts counts the values of a column.
type columnCounts struct {
	sets    []uint32 // documents by set
	parents []uint32 // by set
	values  []uint32 // by set: its last value
	byValue []int64
}

// open begins to count in a column.
func (n *columnCounts) open(c *column) {
	n.sets = append(n.sets[:0], make([]uint32, c.sets+1)...)
	n.parents, n.values, n.byValue = append(n.parents[:0], 0), append(n.values[:0], 0), n.byValue[:0]
	data := c.data
	for range c.sets {
		v, size := uvarint(data)
		data = data[size:]
		if v&1 == 1 {
			n.byValue = append(n.byValue, 0)
		}
		n.parents = append(n.parents, uint32(v>>1))
		n.values = append(n.values, uint32(len(n.byValue)-1))
	}
	c.packed = data
}

// add counts the sets of the documents of a word of a bitmap, which begins with first.
func (n *columnCounts) add(c *column, first int, word uint64) {
	mask := uint64(1)<<c.width - 1
	for ; word != 0; word &= word - 1 {
		at := (first + bits.TrailingZeros64(word)) * c.width
		n.sets[binary.LittleEndian.Uint64(c.packed[at>>3:])>>(at&7)&mask]++
	}
}

// sum computes byValue. A set counts for its last value and for those of its parent.
func (n *columnCounts) sum() {
	for set := len(n.sets) - 1; set > 0; set-- {
		n.byValue[n.values[set]] += int64(n.sets[set])
		n.sets[n.parents[set]] += n.sets[set]
	}
}
