package index

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"sync/atomic"
)

// source is a segment that is merged, without its dead documents.
type source struct {
	*segment
	live  bitmap // nil: all
	first uint32 // number of the first document in the new segment

	terms terms
	more  bool
	stems []sourceStem // in the order of their lists
	found int          // index of the stem that was found last
}

// sourceStem is a stem of a source whose list is in the new segment, for the words that refer to it.
type sourceStem struct {
	offset uint32 // of the list
	count  uint32 // documents, including dead ones
	number uint32 // of the stem in the new segment
	first  uint32 // rank of the first document in the new list
	live   uint32 // documents that are in the new list
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
		m.w.columns.docs = int(first)
		s.more = s.dictionary.seek(&s.terms, "")
		s.stems = make([]sourceStem, 0, s.dictionary.terms/2+1) // most stems have a word or more
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
	ranks   []uint32  // of the current word, in the new list of its stem
	moved   []uint32  // see movedRanks
	same    []*source // with the current term
	term    []byte
	stop    *atomic.Bool
}

func (m *merger) mergeTerms() error {
	for {
		m.same = m.same[:0]
		for _, s := range m.sources {
			if !s.more {
				continue
			}
			order := -1
			if len(m.same) > 0 {
				order = bytes.Compare(s.terms.term, m.same[0].terms.term)
			}
			switch {
			case order < 0:
				m.same = append(m.same[:0], s)
			case order == 0:
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
	switch kind(m.term[0]) {
	case compoundKind:
	case stemKind:
		return m.mergeStem()
	case wordKind:
		if stem, ok := m.stemOfWord(); ok {
			return m.mergeWord(stem)
		}
	default:
		return m.mergeKey()
	}
	m.w.list.reset(false)
	for _, s := range m.same {
		m.list.open(s.lists, s.terms.entry)
		m.copyList(s, false)
	}
	if m.w.list.count == 0 {
		return nil
	}
	_, err := m.w.addList(m.term)
	return err
}

// mergeKey merges the lists of a term that is not a word.
func (m *merger) mergeKey() error {
	if err := m.w.beginKey(m.term); err != nil {
		return err
	}
	for _, s := range m.same {
		m.list.open(s.lists, s.terms.entry)
		rank := ranker{live: s.live}
		for doc := m.list.seek(0); doc != noDoc; doc = m.list.next() {
			if s.live == nil || s.live.has(doc) {
				m.w.addKey(s.first + rank.of(doc))
			}
		}
	}
	return m.w.endKey(m.term)
}

// mergeStem merges the lists of a stem, and remembers them for its words.
func (m *merger) mergeStem() error {
	m.w.list.reset(true)
	for _, s := range m.same {
		e := s.terms.entry
		stem := sourceStem{offset: e.offset, count: e.count, number: uint32(len(m.stems)), first: uint32(m.w.list.count)}
		m.list.open(s.lists, e)
		m.copyList(s, true)
		stem.live = uint32(m.w.list.count) - stem.first
		s.stems = append(s.stems, stem)
	}
	var e entry
	if m.w.list.count > 0 {
		var err error
		if e, err = m.w.addList(m.term); err != nil {
			return err
		}
	}
	m.stems = append(m.stems, e)
	return nil
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

// stem returns the stem whose list e refers to, or nil. The words of a dictionary are nearly in the order of their stems.
func (s *source) stem(e entry) *sourceStem {
	if !e.ofStem() {
		return nil
	}
	for at := s.found; at < min(s.found+2, len(s.stems)); at++ {
		if s.stems[at].offset == e.stem {
			s.found = at
			return &s.stems[at]
		}
	}
	at, ok := slices.BinarySearchFunc(s.stems, e.stem, func(stem sourceStem, offset uint32) int { return cmp.Compare(stem.offset, offset) })
	if !ok {
		return nil
	}
	s.found = at
	return &s.stems[at]
}

// stemOfWord returns the number of the current word's stem in the new segment. ok is false if the word has a list of its own
// or another stem in one of the sources.
func (m *merger) stemOfWord() (number uint32, ok bool) {
	for i, s := range m.same {
		stem := s.stem(s.terms.entry)
		if stem == nil || i > 0 && stem.number != number {
			return 0, false
		}
		number = stem.number
	}
	return number, true
}

// mergeWord merges which documents of a stem have the current word.
func (m *merger) mergeWord(number uint32) error {
	stem := m.stems[number]
	if stem.count == 0 {
		return nil
	}
	shared := uint32(0) // documents
	for _, s := range m.same {
		if e := s.terms.entry; e.form == sharedList {
			shared += s.stem(e).live
		}
	}
	if shared == stem.count {
		return m.w.addShared(m.term, stem)
	}
	m.ranks = m.ranks[:0]
	for _, s := range m.same {
		m.addRanks(s)
	}
	if len(m.ranks) == 0 {
		return nil
	}
	return m.w.addPart(m.term, stem, m.ranks)
}

// addRanks adds the ranks in the new list of the live documents of a source that have the current word.
func (m *merger) addRanks(s *source) {
	e := s.terms.entry
	stem := s.stem(e)
	add := func(rank uint32) { m.ranks = append(m.ranks, stem.first+rank) }
	if stem.live < stem.count {
		moved := m.movedRanks(s, stem)
		add = func(rank uint32) {
			if moved[rank] != noDoc {
				m.ranks = append(m.ranks, stem.first+moved[rank])
			}
		}
	}
	if e.form == sharedList {
		for rank := range e.count {
			add(rank)
		}
		return
	}
	var all ranks
	all.open(s.lists[e.offset:], int(e.count))
	all.each(add)
}

// movedRanks returns, for each rank in the list of a stem, the number of live documents before it, or noDoc if its document is
// dead.
func (m *merger) movedRanks(s *source, stem *sourceStem) []uint32 {
	m.moved = m.moved[:0]
	live := uint32(0)
	m.list.open(s.lists, entry{count: stem.count, form: fullList, offset: stem.offset})
	for doc := m.list.seek(0); doc != noDoc; doc = m.list.next() {
		if s.live.has(doc) {
			m.moved = append(m.moved, live)
			live++
		} else {
			m.moved = append(m.moved, noDoc)
		}
	}
	return m.moved
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
