package search

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/search/index"
)

// repair is what is searched for words that no document has.
type repair struct {
	similar    map[int][]index.Similar // by the numbers of the query's words
	suggestion string
}

// keptSimilar identifies a similar word in a cursor, so that all pages have the same results. Clients can read cursors, so the
// word itself is not in it.
type keptSimilar struct {
	Hash   uint16  `json:"h"` // of the English stem
	Weight float64 `json:"w"`
}

func hashOf(stem string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(stem))
	return uint16(h.Sum32())
}

// keep returns what a cursor contains of the repair.
func (r repair) keep() map[int][]keptSimilar {
	kept := map[int][]keptSimilar{}
	for i, list := range r.similar {
		for _, s := range list {
			kept[i] = append(kept[i], keptSimilar{hashOf(s.Stem), s.Weight})
		}
	}
	return kept
}

// keptOf returns the similar words that a cursor contains. One that is in no document any more finds nothing, but keeps its
// place, because the frequencies in the cursor are in the same order.
func keptOf(kept []keptSimilar, near []index.Neighbour) []index.Similar {
	list := make([]index.Similar, len(kept))
	for i, k := range kept {
		list[i] = index.Similar{Weight: k.Weight}
		for _, n := range near {
			if _, stem := text.Form(n.Word); hashOf(stem) == k.Hash {
				list[i].Stem, list[i].Word = stem, n.Word
				break
			}
		}
	}
	return list
}

const (
	shortestRepaired = 4 // letters
	oneEdit          = 7 // letters of the longest word that is repaired with one edit; longer words with two
	maxSimilar       = 3 // similar words of a word
	maxRepaired      = 8 // words of a query

	// A word that so few documents have can be a misspelling, if some times as many have a similar one. As many letters of it are right.
	fewDocs     = 3
	manyTimes   = 5
	rightLetter = 2
)

// repairer finds similar words.
type repairer struct {
	reader    Reader
	scope     string
	languages text.LanguageSet
	step      index.Step
	better    map[string]string // words of the suggestion
}

// repairOf finds similar words for the words that no document of the collection has, or for those of the page before. Words that
// few documents have are replaced in the suggestion only.
func repairOf(s Reader, q query, r *Request, other spelled, before *cursor, step index.Step) (repair, error) {
	out := repair{similar: map[int][]index.Similar{}}
	languages, err := s.Languages()
	if err != nil {
		return out, err
	}
	x := &repairer{reader: s, scope: scopeOf(r), languages: languages, step: step, better: map[string]string{}}
	for i, t := range q.words {
		edits := editsOf(t, x.languages)
		if edits == 0 || q.prefix && i == len(q.words)-1 || len(x.better) == maxRepaired {
			continue
		}
		docs, err := s.Count(t.Term, t.Word, x.scope, step)
		if err != nil {
			return out, err
		}
		var kept []keptSimilar
		if before != nil {
			kept = before.Repair[i]
		}
		switch {
		case kept == nil && docs > 0:
			err = x.suggest(t, docs, edits)
		case kept == nil && before != nil:
		default:
			out.similar[i], err = x.repair(t, edits, kept, other.inPlaceOf(i))
		}
		if err != nil {
			return out, err
		}
		if len(out.similar[i]) == 0 {
			delete(out.similar, i)
		}
	}
	if len(x.better) > 0 {
		out.suggestion = suggest(r.Query, x.better)
	}
	return out, nil
}

// repair returns similar words for a word that no document has, unless documents have another spelling of it, or those of the page
// before.
func (x *repairer) repair(t text.Token, edits int, kept []keptSimilar, others []index.Phrase) ([]index.Similar, error) {
	if kept == nil {
		if other, err := hasOther(x.reader, t, others, x.scope, x.step); other || err != nil {
			return nil, err
		}
	}
	near, err := x.reader.Near(t.Word, edits, 1, x.scope, x.step)
	if err != nil {
		return nil, err
	}
	near = withoutReal(t.Word, near)
	sortByCloseness(near)
	if len(near) > 0 {
		x.better[t.Word] = near[0].Word
	}
	switch {
	case kept != nil:
		return keptOf(kept, near), nil
	case len(near) > 0:
		return similarOf(near), nil
	}
	return nil, nil
}

// hasOther reports whether a document has another spelling of a word that no document has.
func hasOther(s Reader, t text.Token, others []index.Phrase, scope string, step index.Step) (bool, error) {
	if len(others) == 0 {
		return false, nil
	}
	w := wordOf(t)
	w.Others = others
	found, err := s.Search(&index.Query{Any: []index.Word{w}, Scope: scope}, step)
	return found != nil && found.Total > 0, err
}

// suggest puts a better word in place of one that few documents have, if it is probably misspelled.
func (x *repairer) suggest(t text.Token, docs int64, edits int) error {
	if docs > fewDocs || isReal(t.Word) {
		return nil
	}
	near, err := x.reader.Near(t.Word, edits, rightLetter, x.scope, x.step)
	if err != nil {
		return err
	}
	near = slices.DeleteFunc(near, func(n index.Neighbour) bool {
		_, stem := text.Form(n.Word)
		return stem == t.Term || n.Docs <= docs || !isReal(n.Word) && n.Docs < manyTimes*docs
	})
	sortByCloseness(near)
	if len(near) > 0 {
		x.better[t.Word] = near[0].Word
	}
	return nil
}

// isReal reports whether a folded word is one of the English words that the program knows.
func isReal(word string) bool { return vectors.Builtin().Find(word) != vectors.Word{} }

// withoutReal leaves out real words in place of a real word.
func withoutReal(word string, near []index.Neighbour) []index.Neighbour {
	if !isReal(word) {
		return near
	}
	return slices.DeleteFunc(near, func(n index.Neighbour) bool { return isReal(n.Word) })
}

// editsOf returns with how many edits a word is repaired that is searched in documents of some languages.
func editsOf(t text.Token, languages text.LanguageSet) int {
	letters := utf8.RuneCountInString(t.Word)
	switch {
	case letters < shortestRepaired, text.StopwordIn(t.Word)&languages != 0, text.Unspaced(t.Word), strings.ContainsFunc(t.Word, unicode.IsDigit):
		return 0
	case letters <= oneEdit:
		return 1
	}
	return 2
}

// closeness is the weight of a similar word: less with more edits, and less if few documents have it.
func closeness(n index.Neighbour) float64 {
	return math.Log(1+float64(n.Docs)) * []float64{0, 1, 0.25}[n.Edits]
}

func sortByCloseness(near []index.Neighbour) {
	slices.SortFunc(near, func(a, b index.Neighbour) int {
		return cmp.Or(cmp.Compare(closeness(b), closeness(a)), cmp.Compare(a.Word, b.Word))
	})
}

// similarOf returns the stems of the closest words, whose weights are relative to the first.
func similarOf(near []index.Neighbour) []index.Similar {
	const mostWeight = 0.8 // less than a word that is spelled as in the query
	var list []index.Similar
	for _, n := range near {
		_, stem := text.Form(n.Word)
		if slices.ContainsFunc(list, func(s index.Similar) bool { return s.Stem == stem }) {
			continue
		}
		list = append(list, index.Similar{Stem: stem, Word: n.Word, Weight: mostWeight * closeness(n) / closeness(near[0])})
		if len(list) == maxSimilar {
			break
		}
	}
	return list
}

// suggest returns the query with better words.
func suggest(q string, better map[string]string) string {
	var b strings.Builder
	end := 0
	text.Split(q, func(sp text.Spelling) bool {
		word, _ := text.Form(sp.Word)
		if other, ok := better[word]; ok {
			b.WriteString(q[end:sp.Start] + other)
			end = sp.End
		}
		return true
	})
	return b.String() + q[end:]
}
