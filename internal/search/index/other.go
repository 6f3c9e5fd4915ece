package index

import (
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
	docs  []occurred   // of the part that is searched
	at    int          // index in docs

	phrases phrases
	scorer  *scorer
}

// occurred tells how often words next to each other occur in the title and in the text of a document.
type occurred struct {
	doc, title, text uint32
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
		var words []readWord
		rarest := int64(0)
		if isSynonym || r.mayHave(p) {
			if words, rarest, err = r.readPhrase(p); err != nil {
				return 0, err
			}
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
		a, docs, err := r.apart(r.phrasesOf(words))
		if err != nil {
			return 0, err
		}
		w.apart = append(w.apart, a)
		count += docs
	}
	w.others = len(w.used) > 0
	return count, r.steps(len(w.Others) * len(r.parts))
}

// mayHave reports whether each word of p is in the dictionaries, or one of its stems. It is faster than a count.
func (r *search) mayHave(p Phrase) bool {
	if len(r.fields) > 0 || r.away != nil {
		return true // in an entry of metadata, or elsewhere
	}
	for i := range p {
		w := &p[i].Word
		if !r.inDictionary(wordTerm(w.Word)) && !slices.ContainsFunc(stemsOf(w.Stem, w.Word, w.Marked, r.languages), func(s stem) bool { return r.inDictionary(s.term) }) {
			return false
		}
	}
	return true
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
func (r *search) newGlued(p Phrase) (*word, error) {
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
	a, _, err := r.apart(r.phrasesOf(words))
	if err != nil {
		return nil, err
	}
	a.weigh(r, &scorer{ranking: r.ranking, weight: w.weight})
	w.apart, w.highest = []*apart{a}, w.weight
	return w, nil
}

// apart finds the documents of the scope with a phrase, and counts them.
func (r *search) apart(all phrases) (a *apart, docs int64, err error) {
	a = &apart{parts: make([][]occurred, len(r.parts)), phrases: all}
	if r.away != nil {
		return a, r.away.Count(r.q.Scope, &Condition{Phrases: all.terms()}), nil
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
		docs += int64(len(a.parts[i]))
	}
	return a, docs, r.steps(len(r.parts))
}

// weigh computes the scores.
func (a *apart) weigh(r *search, s *scorer) {
	a.scorer = s
	for i, docs := range a.parts {
		lengths := r.parts[i].lengths
		for j := range docs {
			o := &docs[j]
			o.score = s.score(o.title, o.text, lengths[2*o.doc], lengths[2*o.doc+1])
		}
	}
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
		win.keep(doc-win.first, a.docs[a.at].score+bonus)
		n++
	}
	return n
}
