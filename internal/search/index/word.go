package index

import (
	"cmp"
	"math/bits"
	"slices"
)

// word finds the documents with a word.
type word struct {
	*Word
	run       *search
	stopword  bool       // in the language of the query
	terms     []wordList // its stems, and those of the similar words
	flatScore int32      // of a document that has another form only: like one occurrence in a text of average length
	bonus     int32      // of every document with the word
	weight    float64
	highest   float64 // weight of a stem; it does not depend on which of them documents have

	flats []bitmap // documents with another form, by part; nil: no form is asked for

	part *searchedPart
	flat bitmap // of the part
	at   uint32 // where the last window ended
}

// wordList is the list of a stem.
type wordList struct {
	stem
	*scorer
	bonus int32 // of every document of the list
	list
}

// newWord reads how many documents have the word.
func (r *search) newWord(q *Word) (*word, error) {
	stems, count, err := r.stems(q.Stem, q.Word)
	if err != nil {
		return nil, err
	}
	w := &word{Word: q, run: r, stopword: r.language.Stopword(q.Word)}
	if len(stems) == 1 {
		w.stopword = stems[0].stopword
	}
	if q.Form != Stemmed {
		forms, err := w.countForms()
		if err != nil {
			return nil, err
		}
		count = max(count, forms)
	}
	idf := r.ranking.idf(count)
	w.weight = weightOf(idf, w.stopword)
	w.flatScore = units(w.weight * saturated(1))
	w.addLists(stems, idf)
	for _, s := range q.Similar {
		stems, count, err := r.stems(s.Stem, s.Word)
		if err != nil {
			return nil, err
		}
		for i := range stems {
			stems[i].stopword = false // not as it was asked for
		}
		w.addLists(stems, r.ranking.idf(count)*s.Weight)
	}
	return w, nil
}

func weightOf(idf float64, stopword bool) float64 {
	if stopword {
		return idf * stopwordWeight
	}
	return idf
}

// addLists adds the lists of stems that documents have.
func (w *word) addLists(stems []stem, idf float64) {
	var shared [2]*scorer // of words, and of stop words
	for _, s := range stems {
		weight := weightOf(idf, s.stopword)
		if w.highest = max(w.highest, weight); s.docs == 0 {
			continue
		}
		kind := 0
		if s.stopword {
			kind = 1
		}
		if shared[kind] == nil {
			shared[kind] = &scorer{ranking: w.run.ranking, weight: weight}
		}
		w.terms = append(w.terms, wordList{stem: s, scorer: shared[kind]})
	}
}

// most is the score, without a bonus, that no document reaches.
func (w *word) most() int32 {
	return max(w.flatScore+1, mostOf(w.highest))
}

// setBonus makes documents with the word worth so much more, except where it is a stop word.
func (w *word) setBonus(bonus int32) {
	switch {
	case w.stopword || len(w.Similar) > 0:
	case w.flats != nil:
		w.bonus = bonus
	default:
		for i := range w.terms {
			if !w.terms[i].stopword {
				w.terms[i].bonus = bonus
			}
		}
	}
}

// forms selects the words as they stand.
func (w *word) forms() Range {
	if w.Form == Prefix {
		return prefixed(wordTerm(w.Word.Word))
	}
	return Only(wordTerm(w.Word.Word))
}

// countForms returns how many documents of the scope have a word as it stands.
func (w *word) countForms() (int64, error) {
	n := int64(0)
	for i := range w.run.parts {
		p := &w.run.parts[i]
		docs, err := w.run.withAny(p, []Range{w.forms()})
		if err != nil {
			return 0, err
		}
		w.flats = append(w.flats, docs)
		n += int64(docs.countAnd(p.scope))
	}
	return n, nil
}

// open begins to read the lists of a part.
func (w *word) open(p *searchedPart) {
	w.part, w.flat, w.at = p, nil, 0
	if w.flats != nil {
		w.flat = w.flats[p.number]
	}
	for i := range w.terms {
		t := &w.terms[i]
		p.open(&t.list, t.term)
	}
}

func (w *word) count() int {
	n := w.flat.count()
	for i := range w.terms {
		n += w.terms[i].list.count
	}
	return n
}

// next returns the first document after the last window.
func (w *word) next() uint32 {
	doc := w.flat.next(w.at)
	for i := range w.terms {
		l := &w.terms[i].list
		doc = min(doc, l.seek(w.at))
	}
	return doc
}

// addTo adds the word's scores to a window, and returns the number of documents.
func (w *word) addTo(win *window) int {
	w.at = win.first + windowSize
	if w.disjoint() {
		n := 0
		for i := range w.terms {
			t := &w.terms[i]
			n += win.add(&t.list, t.scorer, w.part, t.bonus)
		}
		return n
	}
	n := windowSize / 64
	for i := range w.terms {
		t := &w.terms[i]
		n += win.compare(&t.list, t.scorer, w.part)
	}
	win.addBest(w.flat, w.flatScore, w.bonus)
	return n
}

func (w *word) seek(target uint32) uint32 {
	doc := w.flat.next(target)
	for i := range w.terms {
		doc = min(doc, w.terms[i].list.seek(target))
	}
	return doc
}

// score implements clause.
func (w *word) score(doc uint32) (int32, bool) {
	score, found := int32(0), false
	for i := range w.terms {
		t := &w.terms[i]
		if t.list.doc() == doc {
			title, text := t.frequencies()
			score = max(score, t.scorer.score(title, text, w.part.lengths[2*doc], w.part.lengths[2*doc+1])+t.bonus)
			found = true
		}
	}
	if !found {
		score = w.flatScore
	}
	return score + w.bonus, true
}

// cost implements clause.
func (w *word) cost() int { return 0 }

// next returns the first document at or after target.
func (b bitmap) next(target uint32) uint32 {
	at := int(target / 64)
	if at >= len(b) {
		return noDoc
	}
	for word := b[at] &^ (1<<(target%64) - 1); ; word = b[at] {
		if word != 0 {
			return uint32(at*64 + bits.TrailingZeros64(word))
		}
		if at++; at == len(b) {
			return noDoc
		}
	}
}

// sortedByCount returns clauses from the rarest to the most frequent.
func sortedByCount(clauses []clause) []clause {
	sorted := slices.Clone(clauses)
	slices.SortStableFunc(sorted, func(a, b clause) int { return cmp.Compare(a.count(), b.count()) })
	return sorted
}
