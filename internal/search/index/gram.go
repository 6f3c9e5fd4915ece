package index

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
)

// A segment has a table of the grams of its words: of four letters next to each other, where the beginning and the end of a word count
// as letters. It finds words that have a part in common, such as Schlüssel and Haustürschlüssel, or Katze and Katzen.
//
// The table has a power of two of slots. A gram's slot, which it can share with others, has the numbers of the terms in the
// dictionary with the gram, as differences in varints.

const (
	gramLetters  = 4
	shortestPart = 4  // letters of a word that has grams
	longestPart  = 24 // so that long strings take no more space than words
	gramsEach    = 8  // of a slot, on average and at least
)

// gramsOf appends the hashes of the grams of a folded word, each once. There are none if it is no word of an alphabet.
func gramsOf(grams []uint32, word []byte) []uint32 {
	var letters [longestPart + 2]rune
	n := 1
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if n > longestPart || !unicode.IsLetter(r) || r >= 0x0E00 && text.Unspaced(string(r)) {
			return grams
		}
		letters[n] = r
		i, n = i+size, n+1
	}
	if n-1 < shortestPart {
		return grams
	}
	n++ // the end
	begin := len(grams)
	for i := 0; i+gramLetters <= n; i++ {
		h := uint32(2166136261)
		for _, r := range letters[i : i+gramLetters] {
			h = (h ^ uint32(r)) * 16777619
			h ^= h >> 15
		}
		if h *= 0x9e3779b1; !slices.Contains(grams[begin:], h) {
			grams = append(grams, h)
		}
	}
	return grams
}

// gramWriter makes the table.
type gramWriter struct {
	all   []gramOf
	grams []uint32
}

type gramOf struct{ gram, term uint32 }

// add adds the word with the number of its term.
func (w *gramWriter) add(word []byte, term int) {
	w.grams = gramsOf(w.grams[:0], word)
	for _, gram := range w.grams {
		w.all = append(w.all, gramOf{gram, uint32(term)})
	}
}

// table returns where the slots begin, and their contents.
func (w *gramWriter) table() (begins, contents []byte) {
	if len(w.all) == 0 {
		return nil, nil
	}
	slots := 1 << bits.Len(uint(len(w.all)/gramsEach/2))
	shift := gramShift(slots)
	ends := make([]uint32, slots+1)
	for _, g := range w.all {
		ends[g.gram>>shift+1]++
	}
	for i := range slots {
		ends[i+1] += ends[i]
	}
	sorted := make([]uint32, len(w.all))
	at := slices.Clone(ends[:slots])
	for _, g := range w.all {
		slot := g.gram >> shift
		sorted[at[slot]] = g.term
		at[slot]++
	}
	begins = make([]byte, 0, 4*(slots+1))
	for i := range slots {
		begins = binary.LittleEndian.AppendUint32(begins, uint32(len(contents)))
		next := uint32(0)
		for j, term := range sorted[ends[i]:ends[i+1]] {
			if j > 0 && term < next { // another gram of the same word
				continue
			}
			contents = binary.AppendUvarint(contents, uint64(term-next))
			next = term + 1
		}
	}
	return binary.LittleEndian.AppendUint32(begins, uint32(len(contents))), contents
}

// gramShift is by how many bits a gram is shifted to become its slot.
func gramShift(slots int) int { return 32 - bits.Len(uint(slots-1)) }

// grams reads the table.
type grams struct{ begins, contents []byte }

func (g *grams) valid() bool {
	slots := len(g.begins)/4 - 1
	return len(g.begins) == 0 && len(g.contents) == 0 || len(g.begins)%4 == 0 && slots > 0 && slots&(slots-1) == 0
}

// each calls do for the numbers of the terms in the slot of a gram, and returns how many there are.
func (g *grams) each(gram uint32, do func(term uint32)) (n int) {
	if len(g.begins) == 0 {
		return 0
	}
	slot := 0
	if slots := len(g.begins)/4 - 1; slots > 1 {
		slot = int(gram >> gramShift(slots))
	}
	data := g.contents[binary.LittleEndian.Uint32(g.begins[4*slot:]):binary.LittleEndian.Uint32(g.begins[4*slot+4:])]
	for next := uint32(0); len(data) > 0; n++ {
		difference, size := uvarint(data)
		data = data[size:]
		next += uint32(difference)
		do(next)
		next++
	}
	return n
}

// gramCounter counts how many grams of a word the terms of a segment have.
type gramCounter struct {
	counts  []uint8 // by the number of the term
	touched []uint32
	enough  []uint32
}

var gramCounters = sync.Pool{New: func() any { return &gramCounter{} }}

// maxAlike is how many words of a segment that share most grams are read. Fewer of them are searched.
const maxAlike = 64

// alike is a word of a segment that shares grams with another one.
type alike struct {
	word   string
	shared int
	entry  entry
}

// alike returns the words of the segment that have at least so many of the grams, and whether there are more. It counts its steps.
func (s *segment) alike(of []uint32, least int, steps *int) (list []alike, more bool) {
	c := gramCounters.Get().(*gramCounter)
	if len(c.counts) < s.dictionary.terms {
		c.counts = make([]uint8, s.dictionary.terms)
	}
	for _, gram := range of {
		*steps += s.grams.each(gram, func(term uint32) {
			n := c.counts[term] + 1
			if c.counts[term] = n; n == 1 {
				c.touched = append(c.touched, term)
			}
			if int(n) == least {
				c.enough = append(c.enough, term)
			}
		})
	}
	slices.SortFunc(c.enough, func(a, b uint32) int { return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b)) })
	var t terms
	var grams []uint32
	for _, number := range c.enough[:min(len(c.enough), maxAlike)] {
		s.dictionary.at(&t, int(number))
		grams = gramsOf(grams[:0], t.term[1:])
		shared := 0
		for _, gram := range grams {
			if slices.Contains(of, gram) {
				shared++
			}
		}
		if shared >= least { // else another gram has the same slot
			list = append(list, alike{string(t.term[1:]), shared, t.entry})
		}
	}
	more = len(c.enough) > maxAlike
	*steps += groupSize * min(len(c.enough), maxAlike)
	for _, term := range c.touched {
		c.counts[term] = 0
	}
	c.touched, c.enough = c.touched[:0], c.enough[:0]
	gramCounters.Put(c) // not after a panic about a corrupt segment
	return list, more
}
