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
)

// repairOf finds similar words for the words that no document of the collection has, or for those of the page before.
func repairOf(s *index.Snapshot, q query, r *Request, before *cursor, step index.Step) (repair, error) {
	out := repair{similar: map[int][]index.Similar{}}
	better := map[string]string{}
	languages := s.Languages()
	for i, t := range q.words {
		edits := editsOf(t, languages)
		if edits == 0 || q.prefix && i == len(q.words)-1 || len(better) == maxRepaired {
			continue
		}
		var kept []keptSimilar
		if before != nil {
			if kept = before.Repair[i]; kept == nil {
				continue
			}
		} else if has, err := s.Has(t.Term, t.Word, scopeOf(r), step); has || err != nil {
			if err != nil {
				return out, err
			}
			continue
		}
		near, err := s.Near(t.Word, edits, scopeOf(r), step)
		if err != nil {
			return out, err
		}
		sortByCloseness(near)
		switch {
		case kept != nil:
			out.similar[i] = keptOf(kept, near)
		case len(near) > 0:
			out.similar[i] = similarOf(near)
		}
		if len(near) > 0 {
			better[t.Word] = near[0].Word
		}
	}
	if len(better) > 0 {
		out.suggestion = suggest(r.Query, better)
	}
	return out, nil
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
