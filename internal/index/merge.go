package index

import (
	"io"
	"slices"
	"sync/atomic"
)

// source is a segment that is merged, without its dead documents.
type source struct {
	*segment
	live  bitmap // nil: all
	first uint32 // number of the first document in the new segment

	terms   terms
	more    bool
	offsets []uint32 // of the lists of stems, rising
	stems   []uint32 // their stems in the new segment
}

// liveDocs returns the number of live documents.
func (s *source) liveDocs() int { return int(countLive(s.live, s.docs)) }

// merge writes a segment with the live documents of the sources, in their order. It reads and writes one posting list after
// the other. It ends early when stop, which can be nil, is true.
func merge(out io.Writer, seed uint64, sources []*source, stop *atomic.Bool) error {
	m := &merger{sources: sources, w: &segmentWriter{out: output{Writer: out}}, stop: stop}
	first := uint32(0)
	for _, s := range sources {
		s.first = first
		first += uint32(s.liveDocs())
		s.more = s.dictionary.seek(&s.terms, "")
	}
	if err := m.mergeTerms(); err != nil {
		return err
	}
	return m.w.finish(seed, m.rows)
}

type merger struct {
	sources []*source
	w       *segmentWriter
	stems   []entry // in the new segment
	list    list
	same    []*source // with the current term
	term    []byte
	stop    *atomic.Bool
}

func (m *merger) mergeTerms() error {
	for {
		m.same = m.same[:0]
		for _, s := range m.sources {
			switch {
			case !s.more:
			case len(m.same) == 0 || string(s.terms.term) < string(m.same[0].terms.term):
				m.same = append(m.same[:0], s)
			case string(s.terms.term) == string(m.same[0].terms.term):
				m.same = append(m.same, s)
			}
		}
		if len(m.same) == 0 {
			return nil
		}
		if m.stop != nil && m.stop.Load() {
			return errClosed
		}
		m.term = append(m.term[:0], m.same[0].terms.term...)
		if err := m.mergeTerm(); err != nil {
			return err
		}
		for _, s := range m.same {
			s.more = s.terms.advance()
		}
	}
}

// mergeTerm merges the lists of a term. A term without live documents is left out.
func (m *merger) mergeTerm() error {
	w := m.w
	positional := kind(m.term[0]) == stemKind
	w.list.reset(positional)
	for _, s := range m.same {
		m.list.open(s.lists, s.terms.entry)
		m.copyList(s, positional)
	}
	if positional {
		return m.endStem()
	}
	if w.list.count == 0 {
		return nil
	}
	if stem, ok := m.sharedStem(); ok && stem.count == uint32(w.list.count) {
		w.addWord(m.term, stem)
		return nil
	}
	_, err := w.addList(m.term)
	return err
}

// copyList adds the live documents of m.list.
func (m *merger) copyList(s *source, positional bool) {
	w := &m.w.list
	rank := ranker{live: s.live}
	for doc := m.list.seek(0); doc != noDoc; doc = m.list.next() {
		if s.live != nil && !s.live.has(doc) {
			continue
		}
		if !positional {
			w.add(s.first+rank.of(doc), 0, 0)
			continue
		}
		w.positions = append(w.positions, m.list.rawPositions()...)
		title, text := m.list.frequencies()
		w.add(s.first+rank.of(doc), title, text)
	}
}

// endStem writes the list of a stem, and remembers it for the words that shared its old lists.
func (m *merger) endStem() error {
	number := uint32(len(m.stems))
	e := entry{}
	if m.w.list.count > 0 {
		var err error
		if e, err = m.w.addList(m.term); err != nil {
			return err
		}
	}
	m.stems = append(m.stems, e)
	for _, s := range m.same {
		s.offsets = append(s.offsets, s.terms.entry.offset)
		s.stems = append(s.stems, number)
	}
	return nil
}

// sharedStem returns the new list of the stem of the current word, if the word shared its list in all sources.
func (m *merger) sharedStem() (entry, bool) {
	if kind(m.term[0]) != wordKind {
		return entry{}, false
	}
	number := uint32(0)
	for i, s := range m.same {
		e := s.terms.entry
		if e.form != sharedList {
			return entry{}, false
		}
		at, ok := slices.BinarySearch(s.offsets, e.offset)
		if !ok || i > 0 && s.stems[at] != number {
			return entry{}, false
		}
		number = s.stems[at]
	}
	return m.stems[number], true
}

// rows visits the live documents.
func (m *merger) rows(do func(*row)) {
	var r row
	for _, s := range m.sources {
		for doc := range s.docs {
			if s.live == nil || s.live.has(doc) {
				r = row{title: s.lengths[2*doc], text: s.lengths[2*doc+1], language: s.language(doc), time: s.time(doc), id: s.id(doc)}
				do(&r)
			}
		}
	}
}

// ranker counts the live documents before a document. Its questions must rise.
type ranker struct {
	live   bitmap
	word   int
	before uint32
}

func (r *ranker) of(doc uint32) uint32 {
	if r.live == nil {
		return doc
	}
	for ; r.word < int(doc/64); r.word++ {
		r.before += ones(r.live[r.word])
	}
	return r.before + ones(r.live[r.word]&(1<<(doc%64)-1))
}
