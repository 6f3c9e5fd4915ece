package index

import (
	"cmp"
	"slices"

	"keepsake/internal/base/text"
)

// phrase finds the documents with several words at fixed distances.
type phrase struct {
	words    []phraseWord // rarest first
	weight   float64
	ranking  *ranking
	part     *searchedPart
	compared int // positions in the last document
}

// phraseWord is a word of a phrase, or of several places of it.
type phraseWord struct {
	term      string
	offset    uint32
	list      *list // shared by equal words
	positions []uint32
	next      int // index of the next position to compare
}

// readWord is a word of a phrase with its statistics.
type readWord struct {
	stems     []stem
	docs      int64
	inflected bool
	idf       float64
	offset    uint32
}

// newPhrase returns a phrase that is required or excluded.
func (r *search) newPhrase(q Phrase) (clause, error) {
	words, _, err := r.readPhrase(q)
	if err != nil {
		return nil, err
	}
	for i := range words {
		words[i].idf = r.ranking.idf(words[i].docs)
	}
	all := r.phrasesOf(words)
	if len(all) == 1 {
		return r.withFields(all[0], words), nil
	}
	return r.withFields(all, words), nil
}

// readPhrase reads how many documents have each word, and the rarest of them.
func (r *search) readPhrase(q Phrase) (words []readWord, rarest int64, err error) {
	for i := range q {
		if q[i].Stem == "" {
			continue
		}
		w, err := r.readWord(&q[i])
		if err != nil {
			return nil, 0, err
		}
		words = append(words, w)
	}
	return words, rarestOf(words), nil
}

func (r *search) readWord(q *PhraseWord) (w readWord, err error) {
	w = readWord{inflected: text.Inflected(q.Word.Word), offset: q.Offset}
	w.stems, w.docs, err = r.stems(q.Stem, q.Word.Word, q.Marked)
	return w, err
}

// rarestOf returns how many documents have the rarest word.
func rarestOf(words []readWord) (docs int64) {
	for i := range words {
		if i == 0 || words[i].docs < docs {
			docs = words[i].docs
		}
	}
	return docs
}

// phrasesOf returns a phrase of words. Words with inflections must be of one language, so there is a phrase for each language in
// which documents have all of them.
func (r *search) phrasesOf(words []readWord) (all phrases) {
	languages, inflected := r.languages, false
	for i := range words {
		if words[i].inflected {
			languages &= languagesOf(words[i].stems)
			inflected = true
		}
	}
	if !inflected {
		languages = 1 << text.English
	}
	for l := range languages.All {
		all = append(all, r.phraseIn(l, words))
	}
	return all
}

// phraseIn returns a phrase in the documents of a language.
func (r *search) phraseIn(l text.Language, words []readWord) *phrase {
	p := &phrase{ranking: r.ranking}
	lists := map[string]*list{}
	for _, w := range words {
		s := w.stems[0]
		for _, other := range w.stems[1:] {
			if other.language == l {
				s = other
			}
		}
		p.weight += weightOf(w.idf, s.stopword)
		if lists[s.term] == nil {
			lists[s.term] = &list{}
		}
		p.words = append(p.words, phraseWord{term: s.term, offset: w.offset, list: lists[s.term]})
	}
	return p
}

// open implements clause.
func (p *phrase) open(part *searchedPart) {
	p.part = part
	for i := range p.words {
		part.open(p.words[i].list, p.words[i].term)
	}
	slices.SortStableFunc(p.words, func(a, b phraseWord) int { return cmp.Compare(a.list.count, b.list.count) })
}

func (p *phrase) count() int {
	if len(p.words) == 0 {
		return 0
	}
	return p.words[0].list.count
}

// seek returns the next document that has all words.
func (p *phrase) seek(target uint32) uint32 {
	if len(p.words) == 0 {
		return noDoc
	}
	for i := 0; i < len(p.words) && target != noDoc; {
		if doc := p.words[i].list.seek(target); doc > target {
			target, i = doc, 0
			continue
		}
		i++
	}
	return target
}

// score implements clause.
func (p *phrase) score(doc uint32) (int32, bool) {
	title, text := p.occurrences()
	if title+text == 0 {
		return 0, false
	}
	s := scorer{ranking: p.ranking, weight: p.weight}
	return s.compute(title, text, p.part.lengths[2*doc], p.part.lengths[2*doc+1]), true
}

// occurrences returns how often the phrase is in the title and in the text of the document at which seek stopped. It compares the
// positions of the words. Those of each word rise, so that each is read once.
func (p *phrase) occurrences() (title, text uint32) {
	for i := range p.words {
		w := &p.words[i]
		w.positions, w.next = w.list.positionsInto(w.positions[:0]), 0
	}
	rarest := &p.words[0]
	inTitle, _ := rarest.list.frequencies()
	p.compared = 0
	for i, position := range rarest.positions {
		if position <= rarest.offset || !p.at(position-rarest.offset) {
			continue
		}
		if uint32(i) < inTitle {
			title++
		} else {
			text++
		}
	}
	return title, text
}

// at reports whether the phrase begins at a position. The positions of successive calls rise.
func (p *phrase) at(first uint32) bool {
	for i := 1; i < len(p.words); i++ {
		w := &p.words[i]
		want := first + w.offset
		begin := w.next
		for w.next < len(w.positions) && w.positions[w.next] < want {
			w.next++
		}
		p.compared += 1 + w.next - begin
		if w.next == len(w.positions) || w.positions[w.next] != want {
			return false
		}
	}
	return true
}

// cost implements clause.
func (p *phrase) cost() int { return p.compared }

// phrases is a phrase in several languages. A document has one language, so it can have only one of them.
type phrases []*phrase

func (all phrases) open(part *searchedPart) {
	for _, p := range all {
		p.open(part)
	}
}

func (all phrases) count() (sum int) {
	for _, p := range all {
		sum += p.count()
	}
	return sum
}

func (all phrases) seek(target uint32) uint32 {
	doc := uint32(noDoc)
	for _, p := range all {
		doc = min(doc, p.seek(target))
	}
	return doc
}

func (all phrases) score(doc uint32) (int32, bool) {
	for _, p := range all {
		if p.seek(doc) == doc {
			return p.score(doc)
		}
	}
	return 0, false
}

// occurrences is described at phrase.
func (all phrases) occurrences(doc uint32) (title, text uint32) {
	for _, p := range all {
		if p.seek(doc) == doc {
			return p.occurrences()
		}
	}
	return 0, 0
}

func (all phrases) cost() (sum int) {
	for _, p := range all {
		sum += p.compared
		p.compared = 0
	}
	return sum
}
