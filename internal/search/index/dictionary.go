package index

import "encoding/binary"

// The dictionary contains the terms of a segment in order, with their posting lists. Terms are in groups of 16; a term shares
// its beginning with the term before it in the group. A table contains where the groups begin.

const groupSize = 16

// form is how a posting list is encoded.
type form byte

const (
	plainList  form = iota // documents only
	fullList               // with frequencies and positions
	sharedList             // of a word: the list of its stem
	partList               // of a word: some documents of the list of its stem
)

// entry describes the posting list of a term.
type entry struct {
	count  uint32 // documents, including dead ones
	form   form
	offset uint32 // of the list; of a partList: of the ranks; of a sharedList: 0
	stem   uint32 // of a sharedList or a partList: offset of the stem's list
}

// dictionaryWriter encodes a dictionary.
type dictionaryWriter struct {
	groups []uint32
	data   []byte
	n      int
	last   []byte // term
	offset uint32 // of the last list that is not shared
	stem   uint32 // the last one
}

// add adds the next term.
func (w *dictionaryWriter) add(term []byte, e entry) {
	shared := 0
	if w.n%groupSize == 0 {
		w.groups = append(w.groups, uint32(len(w.data)))
		w.data = binary.AppendUvarint(w.data, uint64(w.offset))
		w.data = binary.AppendUvarint(w.data, uint64(w.stem))
	} else {
		shared = sharedPrefix(w.last, term)
	}
	w.n++
	w.data = binary.AppendUvarint(w.data, uint64(shared))
	w.data = binary.AppendUvarint(w.data, uint64(len(term)-shared))
	w.data = append(w.data, term[shared:]...)
	w.last = append(w.last[:0], term...)
	w.data = binary.AppendUvarint(w.data, uint64(e.count)<<2|uint64(e.form))
	if e.form != sharedList {
		w.data = binary.AppendUvarint(w.data, uint64(e.offset-w.offset))
		w.offset = e.offset
	}
	if e.ofStem() {
		w.data = binary.AppendVarint(w.data, int64(e.stem)-int64(w.stem))
		w.stem = e.stem
	}
}

// ofStem reports whether the documents are read from the list of a stem.
func (e *entry) ofStem() bool { return e.form == sharedList || e.form == partList }

func sharedPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// dictionary reads an encoded dictionary.
type dictionary struct {
	groups []byte // offsets, 4 bytes each
	data   []byte
	terms  int
}

// terms reads the terms of a dictionary in order.
type terms struct {
	d      *dictionary
	next   int // number of the next term
	data   []byte
	term   []byte
	shared int // bytes of term that are those of the term before it; 0 at the begin of a group
	offset uint32
	stem   uint32
	entry  entry
}

// find returns the entry of a term. It compares what terms of a group do not share with the one before, and builds none of them.
func (d *dictionary) find(term string) (entry, bool) {
	if d.terms == 0 {
		return entry{}, false
	}
	group := d.groupOf(term)
	data := d.group(group)
	offset, at := uvarint(data)
	stem, n := uvarint(data[at:])
	at += n
	same := 0 // bytes that the last term, which is smaller, shares with the one that is looked for
	for range min(groupSize, d.terms-group*groupSize) {
		shared, n := uvarint(data[at:])
		at += n
		size, n := uvarint(data[at:])
		at += n
		rest := data[at : at+int(size)]
		at += int(size)
		header, n := uvarint(data[at:])
		at += n
		e := entry{count: uint32(header >> 2), form: form(header & 3)}
		if e.form != sharedList {
			difference, n := uvarint(data[at:])
			at += n
			offset += difference
			e.offset = uint32(offset)
		}
		if e.ofStem() {
			difference, n := uvarint(data[at:])
			at += n
			stem += difference>>1 ^ -(difference & 1)
			e.stem = uint32(stem)
		}
		if int(shared) > same {
			continue // as the last term
		}
		if int(shared) < same {
			return entry{}, false
		}
		more := 0
		for more < len(rest) && same+more < len(term) && rest[more] == term[same+more] {
			more++
		}
		same += more
		switch {
		case more == len(rest) && same == len(term):
			return e, true
		case more < len(rest) && (same == len(term) || rest[more] > term[same]):
			return entry{}, false
		}
	}
	return entry{}, false
}

// seek moves t to the first term at or after from, and returns whether there is one.
func (d *dictionary) seek(t *terms, from string) bool {
	*t = terms{d: d, term: t.term[:0], next: d.groupOf(from) * groupSize}
	for t.advance() {
		if string(t.term) >= from {
			return true
		}
	}
	return false
}

// at moves t to the term with a number.
func (d *dictionary) at(t *terms, number int) {
	if begin := number / groupSize * groupSize; t.d != d || t.next <= begin || t.next > number { // not before it in the same group
		*t = terms{d: d, term: t.term[:0], next: begin}
	}
	for t.next <= number && t.advance() {
	}
}

// groupOf returns the last group that begins with a term up to term, or the first one.
func (d *dictionary) groupOf(term string) int {
	low, high := 0, len(d.groups)/4
	for low+1 < high {
		middle := int(uint(low+high) / 2)
		if string(d.first(middle)) <= term {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// first returns the first term of a group.
func (d *dictionary) first(group int) []byte {
	data := d.group(group)
	at := 0
	for range 3 { // the offsets of the lists and of the stems, and no shared bytes
		for data[at] >= 0x80 {
			at++
		}
		at++
	}
	size, n := uvarint(data[at:])
	return data[at+n:][:size]
}

func (d *dictionary) group(i int) []byte {
	return d.data[binary.LittleEndian.Uint32(d.groups[4*i:]):]
}

// advance moves to the next term and returns whether there is one.
func (t *terms) advance() bool {
	if t.next >= t.d.terms {
		return false
	}
	if t.next%groupSize == 0 {
		t.data = t.d.group(t.next / groupSize)
		t.offset = uint32(t.varint())
		t.stem = uint32(t.varint())
		t.term = t.term[:0]
	}
	t.next++
	t.shared = int(t.varint())
	size := t.varint()
	t.term = append(t.term[:t.shared], t.data[:size]...)
	t.data = t.data[size:]
	header := t.varint()
	t.entry = entry{count: uint32(header >> 2), form: form(header & 3)}
	if t.entry.form != sharedList {
		t.offset += uint32(t.varint())
		t.entry.offset = t.offset
	}
	if t.entry.ofStem() {
		difference := t.varint() // as binary.AppendVarint encodes it
		t.stem += uint32(difference>>1) ^ -uint32(difference&1)
		t.entry.stem = t.stem
	}
	return true
}

func (t *terms) varint() uint64 {
	v, n := uvarint(t.data)
	t.data = t.data[n:]
	return v
}

// each calls do for every term of a range until it returns false.
func (d *dictionary) each(r Range, do func(term []byte, e entry) bool) {
	var t terms
	for ok := d.seek(&t, r.From); ok; ok = t.advance() {
		if string(t.term) >= r.To || !do(t.term, t.entry) {
			return
		}
	}
}
