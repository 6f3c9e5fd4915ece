package index

import (
	"cmp"
	"math/bits"
	"slices"

	"keepsake/internal/base/text"
)

// This file finds other spellings of words: several words in place of one, such as wi fi for wifi, or one in place of several.

// A word that documents have is searched as several words only if the rarest of them is in at most so many documents, or in not
// many more than the word. Otherwise, finding the few documents with all of them next to each other would take longer than the rest
// of the search.
const (
	apartDocs   = 512
	apartFactor = 2
)

// apart are the documents with words next to each other.
type apart struct {
	parts [][]occurred // by the number of the part
	exact int32        // score of a document that has the compounds, too
	docs  []occurred   // of the part that is searched
	at    int          // index in docs

	phrases   phrases
	scorer    *scorer
	entries   [][][]string // by searched entry of metadata: a document with all terms of a list has the words there
	fields    []FieldWeight
	compounds []string // terms
}

// occurred tells how often words next to each other occur in the title and in the text of a document.
type occurred struct {
	doc, title, text uint32
	entry            float64 // the highest weight of the searched entries of metadata that have the words next to each other
	compound         bool    // the document has the compounds, too
	score            int32
}

// readOthers reads the other spellings of a word that own documents have as it was asked for, and returns how many documents have
// one of the spellings; a document with several counts for each.
func (w *word) readOthers(own int64) (count int64, err error) {
	r := w.run
	own = r.ranking.count(own)
	count = own
	for i, p := range slices.Concat(w.Others, w.synonyms) {
		isSynonym := i >= len(w.Others)
		if len(p) == 1 && p[0].Form == Compound {
			docs, err := w.readCompound(p[0].Word.Word)
			if err != nil {
				return 0, err
			}
			if count += docs; docs > 0 {
				w.used = append(w.used, i)
			}
			continue
		}
		words, rarest, err := r.readOther(p)
		if err != nil {
			return 0, err
		}
		if rarest = r.ranking.count(rarest); rarest == 0 || !isSynonym && len(p) > 1 && own > 0 && rarest > max(apartDocs, apartFactor*own) {
			continue
		}
		if words == nil { // it is known from the first page only
			if words, _, err = r.readPhrase(p); err != nil {
				return 0, err
			}
		}
		if !isSynonym {
			w.used = append(w.used, i)
		}
		if len(words) == 1 {
			w.otherStems = append(w.otherStems, words[0].stems)
			count += rarest
			continue
		}
		a, docs, err := r.apart(words)
		if err != nil {
			return 0, err
		}
		w.apart = append(w.apart, a)
		count += docs
	}
	w.others = len(w.used) > 0
	return count, r.steps(len(w.Others) * len(r.parts))
}

// readCompound reads how many documents have a compound.
func (w *word) readCompound(compound string) (docs int64, err error) {
	r, term := w.run, compoundTerm(compound)
	if len(r.fields) > 0 || r.away != nil || r.inDictionary(term) {
		if docs, err = r.frequency(term); err != nil {
			return 0, err
		}
		inFields, err := r.fieldDocs(term)
		if err != nil {
			return 0, err
		}
		docs += inFields
	}
	if docs = r.ranking.count(docs); docs > 0 {
		w.compounds = append(w.compounds, term)
	}
	return docs, nil
}

// readOther is readPhrase for another spelling. It returns no words if documents lack one. It reads the longest first, which is most
// often the one that they lack.
func (r *search) readOther(p Phrase) (words []readWord, rarest int64, err error) {
	if r.away != nil { // all questions are asked together
		return r.readPhrase(p)
	}
	order := make([]int, len(p))
	for i := range p {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(len(p[j].Word.Word), len(p[i].Word.Word)) })
	words = make([]readWord, len(p))
	for _, i := range order {
		if words[i], err = r.readWord(&p[i]); err != nil || words[i].docs == 0 {
			return nil, 0, err
		}
	}
	return words, rarestOf(words), nil
}

func (r *search) inDictionary(term string) bool {
	for i := range r.parts {
		if _, ok := r.parts[i].dictionary.find(term); ok {
			return true
		}
	}
	return false
}

// newGlued returns words next to each other, which are words of the query, too. It counts as much as they do together.
func (r *search) newGlued(q *Glued) (*word, error) {
	p := q.Phrase
	w := &word{Word: &Word{}, run: r}
	words, _, err := r.readPhrase(p)
	if err != nil {
		return nil, err
	}
	w.others = true
	for i := range words {
		n := r.ranking.count(words[i].docs)
		w.others = w.others && n > 0
		w.weight += weightOf(r.ranking.idfOf(n), text.StopwordIn(p[i].Word.Word)&r.languages != 0)
	}
	if !w.others {
		return w, nil
	}
	a, _, err := r.apart(words)
	if err != nil {
		return nil, err
	}
	for _, compound := range q.Compounds {
		a.compounds = append(a.compounds, compoundTerm(compound))
	}
	if err := r.markCompounds(a); err != nil {
		return nil, err
	}
	a.exact = 1
	a.weigh(r, &scorer{ranking: r.ranking, weight: w.weight})
	w.apart, w.highest = []*apart{a}, w.weight
	return w, nil
}

// apart finds the documents of the scope with a phrase, and counts them.
func (r *search) apart(words []readWord) (a *apart, docs int64, err error) {
	all := r.phrasesOf(words)
	a = &apart{parts: make([][]occurred, len(r.parts)), phrases: all, entries: make([][][]string, len(r.fields)), fields: r.fields}
	for i, f := range r.fields {
		a.entries[i] = r.entryTerms(f.Name, words)
	}
	if r.away != nil {
		return a, r.away.Count(r.q.Scope, &Condition{Phrases: all.terms(), All: slices.Concat(a.entries...)}), nil
	}
	for i := range r.parts {
		p := &r.parts[i]
		all.open(p)
		for doc := all.seek(0); doc != noDoc; doc = all.seek(doc + 1) {
			if err := r.steps(4); err != nil {
				return nil, 0, err
			}
			if p.scope != nil && !p.scope.has(doc) {
				continue
			}
			title, text := all.occurrences(doc)
			if err := r.steps(all.cost()); err != nil {
				return nil, 0, err
			}
			if title+text > 0 {
				a.parts[i] = append(a.parts[i], occurred{doc: doc, title: title, text: text})
			}
		}
		for j, f := range r.fields {
			found, err := r.withAll(p, a.entries[j])
			if err != nil {
				return nil, 0, err
			}
			a.addEntry(i, found, p.scope, f.Weight)
		}
		docs += int64(len(a.parts[i]))
	}
	return a, docs, r.steps(len(r.parts))
}

// addEntry adds the documents of a part that have the words next to each other in a searched entry of metadata.
func (a *apart) addEntry(part int, found, scope bitmap, weight float64) {
	if scope != nil {
		found.and(scope)
	}
	docs := a.parts[part]
	known := len(docs)
	at := 0
	found.each(func(doc uint32) {
		for at < known && docs[at].doc < doc {
			at++
		}
		if at < known && docs[at].doc == doc {
			docs[at].entry = max(docs[at].entry, weight)
		} else {
			docs = append(docs, occurred{doc: doc, entry: weight})
		}
	})
	slices.SortFunc(docs, func(x, y occurred) int { return cmp.Compare(x.doc, y.doc) })
	a.parts[part] = docs
}

// markCompounds notes which documents have all compounds.
func (r *search) markCompounds(a *apart) error {
	if len(a.compounds) == 0 {
		return nil
	}
	for i, docs := range a.parts {
		if len(docs) == 0 {
			continue
		}
		p := &r.parts[i]
		all, err := r.withAll(p, [][]string{a.compounds})
		if err != nil {
			return err
		}
		for j := range docs {
			docs[j].compound = docs[j].title+docs[j].text > 0 && all.has(docs[j].doc)
		}
	}
	return nil
}

// weigh computes the scores.
func (a *apart) weigh(r *search, s *scorer) {
	a.scorer = s
	for i, docs := range a.parts {
		lengths := r.parts[i].lengths
		for j := range docs {
			o := &docs[j]
			if o.title+o.text > 0 {
				o.score = s.score(o.title, o.text, lengths[2*o.doc], lengths[2*o.doc+1])
			}
			if o.entry > 0 {
				o.score = max(o.score, s.inEntry(o.entry))
			}
		}
	}
}

// gluedFirst makes documents with words next to each other, which were typed without a blank, worth so much more, and again those
// with the compounds.
func (w *word) gluedFirst(exact int32) {
	w.apartBonus = exact
	for _, a := range w.apart {
		a.exact = max(a.exact, exact)
	}
}

// scoreAt returns the score of the document at which seek stopped.
func (a *apart) scoreAt(bonus int32) int32 {
	o := &a.docs[a.at]
	if o.compound {
		bonus += a.exact
	}
	return o.score + bonus
}

// open begins a part.
func (a *apart) open(number int) { a.docs, a.at = a.parts[number], 0 }

// seek moves to the first document at or after target, and returns it. target must not fall.
func (a *apart) seek(target uint32) uint32 {
	for ; a.at < len(a.docs); a.at++ {
		if doc := a.docs[a.at].doc; doc >= target {
			return doc
		}
	}
	return noDoc
}

// keepFlat gives documents of flat a score that have none.
func (win *window) keepFlat(flat bitmap, score int32) {
	for i := range win.touched {
		at := int(win.first/64) + i
		if at >= len(flat) {
			return
		}
		for rest := flat[at] &^ win.touched[i]; rest != 0; rest &= rest - 1 {
			win.keep(uint32(i*64+bits.TrailingZeros64(rest)), score)
		}
	}
}

// compareApart keeps the best scores of the documents that are in the window, and returns how many there were.
func (win *window) compareApart(a *apart, bonus int32) int {
	n := 0
	for doc := a.seek(win.first); doc < win.first+windowSize; doc = a.seek(doc + 1) {
		win.keep(doc-win.first, a.scoreAt(bonus))
		n++
	}
	return n
}
