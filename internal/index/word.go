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
	terms     []wordList // its stem, and the similar words
	flatScore int32      // of a document that has another form only: like one occurrence in a text of average length
	bonus     int32
	weight    float64

	flats []bitmap // documents with another form, by part; nil: no form is asked for

	part *searchedPart
	flat bitmap // of the part
	at   uint32 // where the last window ended
}

// wordList is the list of a stem.
type wordList struct {
	term string
	scorer
	list
}

// newWord reads how many documents have the word.
func (r *search) newWord(q *Word) (*word, error) {
	w := &word{Word: q, run: r}
	count := int64(0)
	if q.Stem != "" {
		var err error
		if count, err = r.frequency(stemTerm(q.Stem)); err != nil {
			return nil, err
		}
	}
	if q.Form != Stemmed {
		forms, err := w.countForms()
		if err != nil {
			return nil, err
		}
		count = max(count, forms)
	}
	w.weight = r.ranking.idf(count)
	if q.Stopword {
		w.weight *= stopwordWeight
	}
	w.flatScore = units(w.weight * saturated(1))
	if q.Stem != "" {
		w.addList(q.Stem, w.weight)
	}
	for _, s := range q.Similar {
		count, err := r.frequency(stemTerm(s.Stem))
		if err != nil {
			return nil, err
		}
		w.addList(s.Stem, r.ranking.idf(count)*s.Weight)
	}
	return w, nil
}

func (w *word) addList(stem string, weight float64) {
	w.terms = append(w.terms, wordList{term: stemTerm(stem), scorer: scorer{ranking: w.run.ranking, weight: weight}})
}

// most is the score that no document reaches.
func (w *word) most() int32 {
	most := w.flatScore + 1
	for i := range w.terms {
		most = max(most, w.terms[i].most())
	}
	return most
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
	if w.single() {
		t := &w.terms[0]
		return win.add(&t.list, &t.scorer, w.part, w.bonus)
	}
	n := windowSize / 64
	for i := range w.terms {
		t := &w.terms[i]
		n += win.compare(&t.list, &t.scorer, w.part)
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
			score = max(score, t.scorer.score(title, text, w.part.lengths[2*doc], w.part.lengths[2*doc+1]))
			found = true
		}
	}
	if !found {
		score = w.flatScore
	}
	return score, true
}

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
