package search

import (
	"slices"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// planOf returns the query to the index. repaired contains words in place of those words of q that no document has.
func planOf(q query, r *Request, repaired map[int][]index.Similar, other spelled) *index.Query {
	p := &index.Query{Filters: filtersOf(r), Limit: r.Limit + 1, Facets: facetsOf(r.Facets), Scope: scopeOf(r), Glued: other.glued, Blank: other.blank, Everything: q.all}
	switch r.Sort {
	case NewestFirst:
		p.Sort = index.NewestFirst
	case OldestFirst:
		p.Sort = index.OldestFirst
	}
	for i, t := range q.words {
		w := wordOf(t)
		if q.prefix && i == len(q.words)-1 {
			w.Form = index.Prefix
		}
		w.Similar = repaired[i]
		if len(w.Similar) == 0 && i < len(other.others) {
			w.Others = other.others[i]
		}
		w.Parts = r.Repair
		p.Any = append(p.Any, w)
	}
	for _, tokens := range q.must {
		p.All = append(p.All, phraseOf(tokens))
	}
	for _, tokens := range q.not {
		p.Not = append(p.Not, phraseOf(tokens))
	}
	return p
}

// scopeOf returns the term of the collection that is searched, or nothing.
func scopeOf(r *Request) string {
	if r.Collection == "" {
		return ""
	}
	return index.Collection(r.Collection)
}

func wordOf(t text.Token) index.Word {
	w := index.Word{Stem: t.Term, Word: t.Word}
	if t.Marked != t.Word {
		w.Marked = t.Marked
	}
	if text.Unspaced(t.Word) && t.Term == t.Word {
		w.Form = index.AsIs
	}
	return w
}

func phraseOf(tokens []text.Token) index.Phrase {
	p := make(index.Phrase, len(tokens))
	for i, t := range tokens {
		p[i] = index.PhraseWord{Word: wordOf(t), Offset: uint32(t.Pos - tokens[0].Pos)}
	}
	return p
}

// wantedOf returns what to highlight in documents of a language: all words of the query, but stop words only if it has no others.
func wantedOf(l text.Language, q query, repaired map[int][]index.Similar, other spelled, found *index.Found) *text.Wanted {
	w := &text.Wanted{Language: l, Terms: map[string]float64{}, Words: map[string]float64{}, Marked: map[string]float64{}, Together: map[string]float64{}}
	want := func(t text.Token, weight float64) {
		switch {
		case l == text.Vietnamese && t.Marked != t.Word:
			w.Marked[t.Marked] = weight
		case t.Term != "":
			w.Terms[stemIn(l, t.Term, t.Word)] = weight
		}
		if t.Term == t.Word && text.Unspaced(t.Word) {
			w.Words[t.Word] = weight
		}
	}
	plain := func(t text.Token) bool { return l.Stopword(t.Word) }
	tells := len(q.must) > 0 || slices.ContainsFunc(q.words, func(t text.Token) bool { return !plain(t) })
	for i, t := range q.words {
		if tells && plain(t) {
			continue
		}
		weight := found.Weights[i]
		want(t, weight)
		for _, s := range repaired[i] {
			w.Terms[stemIn(l, s.Stem, s.Word)] = weight
		}
		for _, word := range found.Parts[i] {
			w.Words[word] = weight
		}
		for _, number := range found.Others[i] {
			wantOther(w, t, other.others[i][number], weight)
		}
	}
	if q.prefix {
		last := q.words[len(q.words)-1]
		if w.Prefix = last.Word; l == text.Vietnamese && last.Marked != last.Word {
			w.Prefix, w.MarkedPrefix = "", last.Marked
		}
	}
	for _, tokens := range q.must {
		for _, t := range tokens {
			want(t, 1)
		}
	}
	return w
}

// wantOther adds another spelling of a word. One of several words is the word without blanks.
func wantOther(w *text.Wanted, t text.Token, p index.Phrase, weight float64) {
	together := t.Word
	if len(p) == 1 {
		together = p[0].Word.Word
		w.Terms[stemIn(w.Language, p[0].Stem, together)] = weight
	}
	w.Together[text.Unsigned(together)] = weight
}

// stemIn returns the stem of a word in a language.
func stemIn(l text.Language, english, word string) string {
	if l == text.English || !text.Inflected(word) {
		return english
	}
	return text.StemIn(l, word)
}
