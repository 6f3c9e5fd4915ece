package index

import (
	"encoding/binary"
	"sort"
)

// noDoc is the number after the last document.
const noDoc = 1<<32 - 1

// list reads a posting list. The zero value is an empty list.
type list struct {
	count      int // documents
	stored     int // documents in the blocks and the rest; more than count if the list is a part
	part       bool
	ranks      ranks // of a part: the documents that it has
	positional bool
	skips      []byte
	body       []byte // full blocks, the rest, and everything after them
	positions  []byte

	block   int // that is loaded; -1: none
	n       int // documents of the block
	at      int // the current one
	docs    block
	titles  block
	texts   block
	pending int // where the frequencies of a full block begin in body; -1: they are unpacked

	counted  int // documents of the block before position
	position int // where the positions of the document after them begin
}

// open begins to read the list of e in lists.
func (l *list) open(lists []byte, e entry) {
	l.count, l.stored, l.positional = int(e.count), int(e.count), e.form != plainList
	l.block, l.n, l.at = -1, 0, 0
	if l.part = e.form == partList; e.count == 0 {
		return
	}
	at := e.offset
	if e.ofStem() {
		at = e.stem
	}
	if l.part {
		l.stored = l.ranks.open(lists[e.offset:], l.count)
	}
	data := lists[at:]
	skips := l.stored / blockSize * skipSize
	if l.positional {
		size, n := uvarint(data)
		data = data[n:]
		l.positions = data[size:]
	}
	l.skips, l.body = data[:skips], data[skips:]
}

// doc returns the current document, or noDoc. It is valid after seek.
func (l *list) doc() uint32 {
	if l.at >= l.n {
		return noDoc
	}
	return l.docs[l.at]
}

// seek moves to the first document at or after target, and returns it. target must not fall.
func (l *list) seek(target uint32) uint32 {
	if l.at < l.n && l.docs[l.at] >= target {
		return l.docs[l.at]
	}
	if l.at >= l.n || l.docs[l.n-1] < target {
		if !l.load(l.blockOf(target)) {
			return noDoc
		}
		if l.docs[l.n-1] < target && !l.load(l.block+1) { // only a part ends earlier than its block
			return noDoc
		}
	}
	return l.seekInside(target)
}

// seekInside moves inside the block, whose last document is at or after target if the list has such a document.
func (l *list) seekInside(target uint32) uint32 {
	at, end := l.at, l.n
	for step := 1; at+step < end && l.docs[at+step] < target; step *= 2 { // near documents are found faster than by halves
		at += step
	}
	for at < end && l.docs[at] < target {
		at++
		if rest := end - at; rest > 8 {
			at += sort.Search(rest, func(i int) bool { return l.docs[at+i] >= target })
		}
	}
	l.at = at
	return l.doc()
}

// next moves to the next document.
func (l *list) next() uint32 {
	if l.at++; l.at < l.n {
		return l.docs[l.at]
	}
	if !l.load(l.block + 1) {
		return noDoc
	}
	return l.doc()
}

// blockOf returns the first block at or after the current one whose last document is at or after target.
func (l *list) blockOf(target uint32) int {
	first := max(0, l.block)
	if l.n > 0 && l.at >= l.n {
		first = l.block + 1
	}
	full := l.stored / blockSize
	return first + sort.Search(max(0, full-first), func(i int) bool { return l.lastOf(first+i) >= target })
}

func (l *list) lastOf(block int) uint32 {
	return binary.LittleEndian.Uint32(l.skips[block*skipSize:])
}

// bounds returns where a block and its positions begin.
func (l *list) bounds(block int) (body, positions int) {
	if block == 0 {
		return 0, 0
	}
	e := l.skips[(block-1)*skipSize:]
	return int(binary.LittleEndian.Uint32(e[4:])), int(binary.LittleEndian.Uint32(e[8:]))
}

// load unpacks the documents of a block and moves to the first. It returns false after the last block.
func (l *list) load(block int) bool {
	if l.block == block {
		return l.at < l.n
	}
	if l.part {
		block = l.ranks.block(block)
	}
	full := l.stored / blockSize
	if block > full || block == full && l.stored%blockSize == 0 {
		l.n, l.at, l.block = 0, 0, full+1
		return false
	}
	last := int64(-1)
	if block > 0 {
		last = int64(l.lastOf(block - 1))
	}
	at, positions := l.bounds(block)
	l.block, l.at, l.counted, l.position = block, 0, 0, positions
	if block == full {
		l.loadRest(at, last)
	} else {
		l.loadFull(at, last)
	}
	if l.part {
		l.n = l.ranks.keep(&l.docs, block)
	}
	return true
}

func (l *list) loadFull(at int, last int64) {
	l.n = blockSize
	if !l.positional {
		l.docs.unpack(l.body[at+1:], int(l.body[at]))
	} else {
		l.pending = at
		l.docs.unpack(l.body[at+3:], int(l.body[at]))
	}
	l.docs.addUp(last)
}

func (l *list) loadRest(at int, last int64) {
	l.n, l.pending = l.stored%blockSize, -1
	data := l.body[at:]
	next := uint32(last + 1)
	for i := range l.n {
		v, n := uvarint(data)
		data = data[n:]
		if l.positional {
			title, text := uint64(0), uint64(1)
			if v&1 == 0 {
				title, n = uvarint(data)
				data = data[n:]
				text, n = uvarint(data)
				data = data[n:]
			}
			l.titles[i], l.texts[i] = uint32(title), uint32(text)
			v >>= 1
		}
		l.docs[i] = next + uint32(v)
		next = l.docs[i] + 1
	}
}

// unpackFrequencies makes titles and texts of the block valid.
func (l *list) unpackFrequencies() {
	if l.pending < 0 || !l.positional {
		return
	}
	at := l.pending
	docs, titles, texts := int(l.body[at]), int(l.body[at+1]), int(l.body[at+2])
	at += 3 + packed(docs)
	l.titles.unpack(l.body[at:], titles)
	l.texts.unpack(l.body[at+packed(titles):], texts)
	l.pending = -1
}

// frequencies returns how often the term occurs in the title and in the text of the current document. The list must be that of a
// stem.
func (l *list) frequencies() (title, text uint32) {
	l.unpackFrequencies()
	return l.titles[l.at], l.texts[l.at]
}

// rawPositions returns the encoded positions of the current document. The list must be that of a stem.
func (l *list) rawPositions() []byte {
	l.unpackFrequencies()
	for ; l.counted < l.at; l.counted++ {
		l.position += sizeOfVarints(l.positions[l.position:], l.titles[l.counted]+l.texts[l.counted])
	}
	rest := l.positions[l.position:]
	return rest[:sizeOfVarints(rest, l.titles[l.at]+l.texts[l.at])]
}

// positionsInto appends the positions of the current document.
func (l *list) positionsInto(positions []uint32) []uint32 {
	position := uint32(0)
	for raw := l.rawPositions(); len(raw) > 0; {
		difference, n := uvarint(raw)
		position += uint32(difference)
		positions, raw = append(positions, position), raw[n:]
	}
	return positions
}

// sizeOfVarints returns the size of the first n varints in data.
func sizeOfVarints(data []byte, n uint32) int {
	size := 0
	for ; n > 0; n-- {
		for data[size] >= 0x80 {
			size++
		}
		size++
	}
	return size
}

// uvarint reads a varint. Unlike binary.Uvarint, it fails like any read beyond the end of a slice if data ends too early.
func uvarint(data []byte) (v uint64, size int) {
	for shift := 0; ; shift += 7 {
		b := data[size]
		size++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, size
		}
	}
}
