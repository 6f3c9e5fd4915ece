package index

import (
	"cmp"
	"slices"
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

// newPhrase reads how many documents have each word.
func (r *search) newPhrase(q Phrase) (*phrase, error) {
	p := &phrase{ranking: r.ranking}
	lists := map[string]*list{}
	for i := range q {
		if q[i].Stem == "" {
			continue
		}
		term := stemTerm(q[i].Stem)
		count, err := r.frequency(term)
		if err != nil {
			return nil, err
		}
		weight := r.ranking.idf(count)
		if q[i].Stopword {
			weight *= stopwordWeight
		}
		p.weight += weight
		if lists[term] == nil {
			lists[term] = &list{}
		}
		p.words = append(p.words, phraseWord{term: term, offset: q[i].Offset, list: lists[term]})
	}
	return p, nil
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

// score compares the positions of the words. Those of each word rise, so that each is read once.
func (p *phrase) score(doc uint32) (int32, bool) {
	for i := range p.words {
		w := &p.words[i]
		w.positions, w.next = w.list.positionsInto(w.positions[:0]), 0
	}
	rarest := &p.words[0]
	inTitle, _ := rarest.list.frequencies()
	title, text := uint32(0), uint32(0)
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
	if title+text == 0 {
		return 0, false
	}
	s := scorer{ranking: p.ranking, weight: p.weight}
	return s.compute(title, text, p.part.lengths[2*doc], p.part.lengths[2*doc+1]), true
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
