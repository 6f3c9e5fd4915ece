package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"keepsake/internal/base/text"
)

// batch turns documents into a segment. It is a log of spellings, which is sorted by counting.
type batch struct {
	lexicon *Lexicon
	terms   []batchTerm // by number; 0 is no term
	log     []occurrence
	sorted  []place
	ranks   []uint32            // of the documents of words, in the lists of their stems
	keys    map[string][]uint32 // documents by their terms that are not words
	rows    []batchRow

	compounds compounds // of the text that is added
}

// batchTerm is a stem or a word. The other one is the word of a stem, or the stem of a word.
type batchTerm struct {
	term  string
	count uint32 // of occurrences
	other uint32 // 0: there is none
	many  bool   // there are several others; or, of a word, it occurs without its stem
	end   uint32 // in sorted
	entry entry
	ranks []uint32 // of a word
}

// occurrence is a word at a position of a document. Until the language of the document is known, terms have their numbers in
// the lexicon.
type occurrence struct{ stem, word, marked, doc, position uint32 }

// place is where a term occurs.
type place struct{ doc, position, word uint32 }

type batchRow struct {
	document    *Document
	id          string
	titleEnd    uint32 // the last position in the title
	title, text int    // lengths
	language    text.Language
}

// maxScratch is how many occurrences the memory that a batch leaves to the next can hold.
const maxScratch = 1 << 20

// build returns a segment with the documents. Their IDs must differ.
func (l *Lexicon) build(seed uint64, ids []string, documents []*Document) (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	b := &l.scratch
	*b = batch{lexicon: l, terms: append(b.terms[:0], batchTerm{}), log: b.log[:0], sorted: b.sorted, ranks: b.ranks, keys: map[string][]uint32{}, rows: b.rows[:0]}
	for i, d := range documents {
		b.add(ids[i], d)
	}
	s, err := b.segment(seed)
	clear(b.terms)
	clear(b.rows)
	if b.keys = nil; cap(b.log) > maxScratch {
		l.scratch = batch{}
	}
	return s, err
}

// add logs a document.
func (b *batch) add(id string, d *Document) {
	r := batchRow{document: d, id: id}
	doc := uint32(len(b.rows))
	first := len(b.log)
	b.compounds.add = func(compound string) { b.addKey(compoundTerm(compound), doc) }
	r.title, r.titleEnd = b.addText(d.Title, doc, 0)
	r.text, _ = b.addText(d.Text, doc, r.titleEnd+1) // a position between title and text is free, so that no phrase crosses
	if d.Language != nil {
		r.language = *d.Language
	} else {
		r.language = b.lexicon.languageOf(b.log[first:])
	}
	end := len(b.log)
	if r.language == text.Vietnamese {
		b.countMarked(first)
	}
	b.count(b.log[first:end], r.language)
	for _, key := range d.Keys {
		b.addKey(key, doc)
	}
	for i := range d.Fields {
		b.addField(&d.Fields[i], r.language, doc)
	}
	b.rows = append(b.rows, r)
}

func (b *batch) addKey(key string, doc uint32) {
	if docs := b.keys[key]; len(docs) == 0 || docs[len(docs)-1] != doc {
		b.keys[key] = append(docs, doc)
	}
}

// addField adds the words of a searched entry of metadata, and the pairs of stems that follow each other.
func (b *batch) addField(f *Field, l text.Language, doc uint32) {
	b.compounds.add = func(compound string) { b.addKey(fieldTerm(f.Name, compoundTerm(compound)), doc) }
	for _, value := range f.Texts {
		before, beforeMarked, at := "", "", 0
		b.compounds.begin(value)
		text.Split(value, func(sp text.Spelling) bool {
			found := b.lexicon.of(sp.Word)
			if found.word == 0 {
				return true
			}
			w := &b.lexicon.terms[found.word]
			b.addKey(fieldTerm(f.Name, w.term), doc)
			b.compounds.next(&sp, w.term[1:], w.code)
			stem := found.stem
			switch {
			case sp.Pair != "":
				stem = b.lexicon.of(sp.Pair).stem
			case sp.Last:
				stem = 0
			case l != text.English && b.lexicon.terms[found.word].inflected:
				stem = b.lexicon.stemIn(l, found.word)
			}
			if stem == 0 {
				before = ""
				return true
			}
			term := b.lexicon.terms[stem].term
			b.addKey(fieldTerm(f.Name, term), doc)
			marked := term
			if l == text.Vietnamese && found.marked != found.word {
				marked = b.lexicon.terms[found.marked].term
				b.addKey(fieldTerm(f.Name, marked), doc)
			}
			if before != "" && sp.Pos == at+1 {
				b.addKey(pairTerm(f.Name, before, term), doc)
				if beforeMarked != before || marked != term {
					b.addKey(pairTerm(f.Name, before, marked), doc)
					b.addKey(pairTerm(f.Name, beforeMarked, term), doc)
					b.addKey(pairTerm(f.Name, beforeMarked, marked), doc)
				}
			}
			before, beforeMarked, at = term, marked, sp.Pos
			return true
		})
		b.compounds.end()
	}
}

// addText logs a title or a text, and returns the number of its words, and the last position.
func (b *batch) addText(s string, doc, before uint32) (words int, last uint32) {
	last = before
	b.compounds.begin(s)
	text.Split(s, func(sp text.Spelling) bool {
		last = before + uint32(sp.Pos)
		words += b.addSpelling(&sp, doc, last)
		return true
	})
	b.compounds.end()
	return words, last
}

// addSpelling logs a spelling, and returns the number of words in it: 1, or 0 if nothing remains when it is folded.
func (b *batch) addSpelling(sp *text.Spelling, doc, position uint32) int {
	found := b.lexicon.of(sp.Word)
	if found.word == 0 {
		return 0
	}
	w := &b.lexicon.terms[found.word]
	b.compounds.next(sp, w.term[1:], w.code)
	o := occurrence{stem: found.stem, word: found.word, marked: found.marked, doc: doc, position: position}
	switch {
	case sp.Pair != "":
		o.stem = b.lexicon.of(sp.Pair).stem
	case sp.Last:
		o.stem = 0
	}
	b.log = append(b.log, o)
	return 1
}

// count counts the occurrences of a document in a language, and gives their terms the numbers in the batch.
func (b *batch) count(log []occurrence, l text.Language) {
	for i := range log {
		o := &log[i]
		stem := o.stem
		if l != text.English && b.lexicon.terms[o.word].inflected {
			stem = b.lexicon.stemIn(l, o.word)
		}
		o.word = b.number(o.word)
		w := &b.terms[o.word]
		w.count++
		if stem == 0 {
			w.many = true
			continue
		}
		o.stem = b.number(stem)
		w = &b.terms[o.word] // number can move the terms
		s := &b.terms[o.stem]
		s.count++
		s.addOther(o.word)
		w.addOther(o.stem)
	}
}

// countMarked logs and counts a second term for each word with marks of a Vietnamese document, which are in the log from the first on.
// Marks distinguish words in that language.
func (b *batch) countMarked(first int) {
	for _, o := range b.log[first:] {
		if o.marked == o.word {
			continue
		}
		o.stem, o.word = b.number(o.marked), b.number(o.word)
		b.terms[o.stem].count++
		b.terms[o.word].count++
		b.terms[o.stem].addOther(o.word)
		b.terms[o.word].addOther(o.stem)
		b.log = append(b.log, o)
	}
}

func (t *batchTerm) addOther(number uint32) {
	if t.other == 0 {
		t.other = number
	}
	t.many = t.many || t.other != number
}

// number returns the number in the batch of a term of the lexicon.
func (b *batch) number(inLexicon uint32) uint32 {
	t := &b.lexicon.terms[inLexicon]
	if t.batch != b.lexicon.batch {
		t.batch, t.number = b.lexicon.batch, uint32(len(b.terms))
		b.terms = append(b.terms, batchTerm{term: t.term})
	}
	return t.number
}

// segment writes everything that was added.
func (b *batch) segment(seed uint64) (*segment, error) {
	var data bytes.Buffer
	data.Grow(len(b.log)*6 + len(b.rows)*64 + 1024)
	w := &segmentWriter{out: output{Writer: &data}, columns: columnWriter{docs: len(b.rows)}}
	if err := b.writeKeys(w); err != nil {
		return nil, err
	}
	order, words := b.order()
	b.makeRanks(order[words:])
	if err := b.writeStems(w, order[:words]); err != nil {
		return nil, err
	}
	if err := b.writeWords(w, order[words:]); err != nil {
		return nil, err
	}
	var r row
	err := w.finish(seed, func(do func(*row)) {
		for i := range b.rows {
			from := &b.rows[i]
			r.title, r.text, r.time, r.language = codeOf(from.title), codeOf(from.text), from.document.UpdatedAt, from.language
			r.id = append(r.id[:0], from.id...)
			do(&r)
		}
	})
	if err != nil {
		return nil, err
	}
	return readSegment(data.Bytes())
}

// order returns the numbers of the terms in the order of the terms, and the index of the first word.
func (b *batch) order() (order []uint32, words int) {
	type keyed struct {
		begin  uint64 // the first bytes of the term, which are enough to compare most terms
		number uint32
	}
	sorted := make([]keyed, 0, len(b.terms))
	for number := 1; number < len(b.terms); number++ {
		var begin [8]byte
		copy(begin[:], b.terms[number].term)
		sorted = append(sorted, keyed{binary.BigEndian.Uint64(begin[:]), uint32(number)})
		if begin[0] < byte(wordKind) {
			words++
		}
	}
	slices.SortFunc(sorted, func(x, y keyed) int {
		if x.begin != y.begin {
			return cmp.Compare(x.begin, y.begin)
		}
		return strings.Compare(b.terms[x.number].term, b.terms[y.number].term)
	})
	order = make([]uint32, len(sorted))
	for i := range sorted {
		order[i] = sorted[i].number
	}
	return order, words
}

func (b *batch) writeKeys(w *segmentWriter) error {
	for _, key := range slices.Sorted(maps.Keys(b.keys)) {
		term, docs := []byte(key), b.keys[key]
		if kind(term[0]) == compoundKind {
			if err := writeDocs(w, term, docs); err != nil {
				return err
			}
			continue
		}
		if err := w.beginKey(term); err != nil {
			return err
		}
		for _, doc := range docs {
			w.addKey(doc)
		}
		if err := w.endKey(term); err != nil {
			return err
		}
	}
	return nil
}

// writeDocs writes the list of a term that is no value of a facet.
func writeDocs(w *segmentWriter, term []byte, docs []uint32) error {
	w.list.reset(false)
	for _, doc := range docs {
		w.list.add(doc, 0, 0)
	}
	_, err := w.addList(term)
	return err
}

func (b *batch) writeStems(w *segmentWriter, order []uint32) error {
	b.sort(order, func(o *occurrence) uint32 { return o.stem })
	for _, number := range order {
		t := &b.terms[number]
		w.list.reset(true)
		all := b.places(t)
		if t.many {
			b.addRanks(all)
		}
		for len(all) > 0 {
			doc := all[0].doc
			titleEnd := b.rows[doc].titleEnd
			title, text, last := uint32(0), uint32(0), uint32(0)
			for len(all) > 0 && all[0].doc == doc {
				position := all[0].position
				w.list.appendPosition(position, last)
				if last = position; position <= titleEnd {
					title++
				} else {
					text++
				}
				all = all[1:]
			}
			w.list.add(doc, title, text)
		}
		var err error
		if t.entry, err = w.addList([]byte(t.term)); err != nil {
			return err
		}
	}
	return nil
}

// hasRanks reports whether a word has ranks: all its documents are in the list of one stem, which has other words.
func (b *batch) hasRanks(t *batchTerm) bool { return !t.many && b.terms[t.other].many }

// makeRanks makes room for the ranks of words.
func (b *batch) makeRanks(words []uint32) {
	n := 0
	for _, number := range words {
		if t := &b.terms[number]; b.hasRanks(t) {
			n += int(t.count)
		}
	}
	b.ranks = slices.Grow(b.ranks[:0], n)[:n]
	rest := b.ranks
	for _, number := range words {
		if t := &b.terms[number]; b.hasRanks(t) {
			t.ranks, rest = rest[:0:t.count], rest[t.count:]
		}
	}
}

// addRanks adds the ranks of the documents of a stem to its words.
func (b *batch) addRanks(all []place) {
	rank := uint32(0)
	for i, p := range all {
		if i > 0 && p.doc != all[i-1].doc {
			rank++
		}
		if w := &b.terms[p.word]; !w.many && (len(w.ranks) == 0 || w.ranks[len(w.ranks)-1] != rank) {
			w.ranks = append(w.ranks, rank)
		}
	}
}

func (b *batch) writeWords(w *segmentWriter, order []uint32) error {
	var many []uint32
	for _, number := range order {
		if b.terms[number].many {
			many = append(many, number)
		}
	}
	b.sort(many, func(o *occurrence) uint32 {
		if b.terms[o.word].many {
			return o.word
		}
		return 0
	})
	for _, number := range order {
		t := &b.terms[number]
		var err error
		switch stem := b.terms[t.other].entry; {
		case t.many:
			err = b.writeWord(w, t)
		case b.hasRanks(t):
			err = w.addPart([]byte(t.term), stem, t.ranks)
		default:
			err = w.addShared([]byte(t.term), stem)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeWord writes a word with a list of its documents.
func (b *batch) writeWord(w *segmentWriter, t *batchTerm) error {
	w.list.reset(false)
	last := int64(-1)
	for _, p := range b.places(t) {
		if int64(p.doc) != last {
			w.list.add(p.doc, 0, 0)
			last = int64(p.doc)
		}
	}
	_, err := w.addList([]byte(t.term))
	return err
}

// sort sorts the places of the terms in order by term, document and position. by returns the term of an occurrence, which is
// left out if it is 0.
func (b *batch) sort(order []uint32, by func(*occurrence) uint32) {
	end := uint32(0)
	for _, number := range order {
		b.terms[number].end = end // of the term before; it moves while occurrences are added
		end += b.terms[number].count
	}
	b.sorted = slices.Grow(b.sorted[:0], int(end))[:end]
	for i := range b.log {
		o := &b.log[i]
		if number := by(o); number != 0 {
			t := &b.terms[number]
			b.sorted[t.end] = place{o.doc, o.position, o.word}
			t.end++
		}
	}
}

// places returns where a term occurs, in order.
func (b *batch) places(t *batchTerm) []place { return b.sorted[t.end-t.count : t.end] }
