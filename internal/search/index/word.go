package index

import (
	"cmp"
	"math/bits"
	"slices"

	"keepsake/internal/base/text"
)

// word finds the documents with a word.
type word struct {
	*Word
	run       *search
	stopword  bool       // in the language of the query
	terms     []wordList // its stems, and those of the similar words and of other spellings
	flatScore int32      // of a document that has another form only: like one occurrence in a text of average length
	flatBonus int32      // of a document that has another form only
	weight    float64
	highest   float64 // weight of a stem; it does not depend on which of them documents have

	flats    []bitmap   // documents with another form, by part; nil: no form is asked for
	asked    *Condition // selects them elsewhere
	inFields bool       // there are lists of searched entries of metadata

	others     bool     // there are other spellings
	used       []int    // their numbers
	otherStems [][]stem // of one word, until they are in terms
	apart      []*apart // of several words
	apartBonus int32    // of every document of apart
	compounds  []string // terms of compounds, until they are in terms

	parts      []sharing // words that share parts with it
	grams      int       // of the word
	partMost   int32     // the highest score of parts
	partCount  int64     // documents with parts, if they are found because no document has the word
	raised     []uint32  // documents of the part that is searched, by parts
	runs       []raised  // of raised, the best first
	nextRaised uint32    // the first document at or after the last target of seekRaised

	part *searchedPart
	flat bitmap // of the part
	at   uint32 // where the last window ended
}

// wordList is the list of a stem.
type wordList struct {
	stem
	*scorer
	other bool  // another spelling
	flat  int32 // score of every document of the list; 0: that of its frequencies
	bonus int32 // of every document of the list
	list
}

// newWord reads how many documents have the word.
func (r *search) newWord(q *Word) (*word, error) {
	stems, count, err := r.stems(q.Stem, q.Word, q.Marked)
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
	if len(q.Others)+len(q.synonyms) > 0 {
		if count, err = w.readOthers(count); err != nil {
			return nil, err
		}
	}
	if q.Parts && q.Form == Stemmed && len(q.Similar) == 0 && !w.stopword {
		if err := w.readParts(count); err != nil {
			return nil, err
		}
	}
	idf := r.ranking.idf(max(count, w.partCount))
	w.addLists(stems, idf)
	w.weigh(idf)
	w.weighParts()
	for _, s := range q.Similar {
		stems, count, err := r.stems(s.Stem, s.Word, "")
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

// otherWeight is the weight of another spelling of a word, relative to the word.
const otherWeight = 0.9

// weigh computes weights from the inverse document frequency of the word.
func (w *word) weigh(idf float64) {
	w.weight = weightOf(idf, w.stopword)
	w.flatScore = units(w.weight * saturated(1))
	own := len(w.terms)
	for _, stems := range w.otherStems {
		w.addLists(stems, idf*otherWeight)
	}
	var s *scorer // which is large
	if len(w.compounds)+len(w.apart) > 0 {
		s = &scorer{ranking: w.run.ranking, weight: w.weight * otherWeight}
	}
	for _, term := range w.compounds {
		w.addCompound(term, s)
	}
	for i := own; i < len(w.terms); i++ {
		w.terms[i].other = true
	}
	for _, a := range w.apart {
		w.highest = max(w.highest, s.weight)
		a.weigh(w.run, s)
	}
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
		w.highest = max(w.highest, weight)
		if s.docs == 0 && len(w.run.fields) == 0 {
			continue
		}
		kind := 0
		if s.stopword {
			kind = 1
		}
		if shared[kind] == nil {
			shared[kind] = &scorer{ranking: w.run.ranking, weight: weight}
		}
		if s.docs > 0 {
			w.terms = append(w.terms, wordList{stem: s, scorer: shared[kind]})
		}
		for _, f := range w.run.fields {
			in := s
			in.term = fieldTerm(f.Name, s.term)
			w.terms = append(w.terms, wordList{stem: in, scorer: shared[kind], flat: shared[kind].inEntry(f.Weight)})
			w.inFields = true
		}
	}
}

// addCompound adds the lists of a compound. They have no frequencies.
func (w *word) addCompound(term string, s *scorer) {
	w.terms = append(w.terms, wordList{stem: stem{term: term}, scorer: s, flat: s.inEntry(1)})
	for _, f := range w.run.fields {
		w.terms = append(w.terms, wordList{stem: stem{term: fieldTerm(f.Name, term)}, scorer: s, flat: s.inEntry(f.Weight)})
	}
	w.inFields = w.inFields || len(w.run.fields) > 0
	w.highest = max(w.highest, s.weight)
}

// most is the score, without a bonus, that no document reaches.
func (w *word) most() int32 {
	return max(w.flatScore+1, mostOf(w.highest)) + w.partMost
}

// setBonus makes documents with the word worth so much more, except where it is a stop word, and those that have it as it was asked
// for as much as exact in addition.
func (w *word) setBonus(bonus, exact int32) {
	if w.stopword || len(w.Similar) > 0 {
		return
	}
	if w.flats != nil {
		w.flatBonus = bonus + exact
	}
	w.apartBonus = bonus
	for i := range w.terms {
		switch t := &w.terms[i]; {
		case t.other:
			t.bonus = bonus
		case !t.stopword || w.flats != nil:
			t.bonus = bonus + exact
		}
	}
}

// forms selects the words as they stand.
func (w *word) forms() []Range { return w.formsOf(wordTerm(w.Word.Word)) }

// formsOf selects a term, or all that begin with it, in titles and texts and in searched entries of metadata.
func (w *word) formsOf(term string) []Range {
	of := Only
	if w.Form == Prefix {
		of = prefixed
	}
	ranges := []Range{of(term)}
	for _, f := range w.run.fields {
		ranges = append(ranges, of(fieldTerm(f.Name, term)))
	}
	return ranges
}

// countForms returns how many documents of the scope have a word as it stands.
func (w *word) countForms() (int64, error) {
	if w.run.away != nil {
		w.flats, w.asked = []bitmap{}, &Condition{Any: w.forms()}
		if w.Marked != "" && w.run.languages.Has(text.Vietnamese) {
			w.asked.Marked = w.formsOf(stemTerm(text.Vietnamese, w.Marked))
		}
		return w.run.away.Count(w.run.q.Scope, w.asked), nil
	}
	n := int64(0)
	for i := range w.run.parts {
		p := &w.run.parts[i]
		docs, err := w.run.withAny(p, w.forms())
		if err == nil && w.Marked != "" {
			err = w.markForms(p, docs)
		}
		if err != nil {
			return 0, err
		}
		w.flats = append(w.flats, docs)
		n += int64(docs.countAnd(p.scope))
	}
	return n, nil
}

// markForms replaces the Vietnamese documents with a form of the word by those that have it with its marks.
func (w *word) markForms(p *searchedPart, docs bitmap) error {
	if !w.run.languages.Has(text.Vietnamese) {
		return nil
	}
	term := stemTerm(text.Vietnamese, w.Marked)
	marked, err := w.run.withAny(p, w.formsOf(term))
	if err != nil {
		return err
	}
	docs.each(func(doc uint32) {
		if p.language(doc) == text.Vietnamese {
			docs.remove(doc)
		}
	})
	for i := range docs {
		docs[i] |= marked[i]
	}
	return w.run.steps(docs.count())
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
	for _, a := range w.apart {
		a.open(p.number)
	}
	w.openParts(p)
}

func (w *word) count() int {
	n := w.flat.count()
	for i := range w.terms {
		n += w.terms[i].list.count
	}
	for _, a := range w.apart {
		n += len(a.docs)
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
	for _, a := range w.apart {
		doc = min(doc, a.seek(w.at))
	}
	if w.finds() {
		doc = min(doc, w.seekRaised(w.at))
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
	own := w.own()
	for i := range w.terms {
		if i == own {
			win.keepFlat(w.flat, w.flatScore+w.flatBonus)
		}
		t := &w.terms[i]
		if t.flat > 0 {
			n += win.compareFlat(&t.list, t.flat+t.bonus)
		} else {
			n += win.compare(&t.list, t.scorer, w.part, t.bonus)
		}
	}
	if own == len(w.terms) {
		win.keepFlat(w.flat, w.flatScore+w.flatBonus)
	}
	for _, a := range w.apart {
		n += win.compareApart(a, w.apartBonus)
	}
	if w.finds() {
		n += w.compareParts(win)
	}
	win.addBest()
	return n
}

// own returns the number of terms before those of other spellings.
func (w *word) own() int {
	n := len(w.terms)
	for n > 0 && w.terms[n-1].other {
		n--
	}
	return n
}

func (w *word) seek(target uint32) uint32 {
	doc := w.flat.next(target)
	for i := range w.terms {
		doc = min(doc, w.terms[i].list.seek(target))
	}
	for _, a := range w.apart {
		doc = min(doc, a.seek(target))
	}
	if w.finds() {
		doc = min(doc, w.seekRaised(target))
	}
	return doc
}

// score implements clause.
func (w *word) score(doc uint32) (int32, bool) {
	score, found := int32(0), false
	own := w.own()
	for i := range w.terms {
		t := &w.terms[i]
		if i == own && !found && w.flat.next(doc) == doc {
			score, found = w.flatScore+w.flatBonus, true
		}
		if t.flat > 0 {
			if t.list.doc() == doc {
				score, found = max(score, t.flat+t.bonus), true
			}
			continue
		}
		if t.list.doc() == doc {
			title, text := t.frequencies()
			score = max(score, t.scorer.score(title, text, w.part.lengths[2*doc], w.part.lengths[2*doc+1])+t.bonus)
			found = true
		}
	}
	if own == len(w.terms) && !found && w.flat.next(doc) == doc {
		score = w.flatScore + w.flatBonus
	}
	for _, a := range w.apart {
		if a.at < len(a.docs) && a.docs[a.at].doc == doc {
			score = max(score, a.scoreAt(w.apartBonus))
		}
	}
	if w.finds() {
		score = max(score, w.partScore(doc))
	}
	return score, true
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
