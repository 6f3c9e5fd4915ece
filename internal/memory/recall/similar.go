package recall

import (
	"cmp"
	"slices"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
)

// A word of the query that no admitted memory contains is replaced by the words that are nearest to it by their vectors: cello for
// violin. Words that memories contain are not, because their synonyms bring in more that is wrong than right.
const (
	mostSimilar = 24 // words for one of the query
	fewOf       = 16 // a word that more than one memory of so many contains is left out: it says little and takes the most time
)

// similarMeanings returns the words of the index that replace a word that no admitted memory contains, with the share of their
// score that they have.
func (s *search) similarMeanings(p *plan, wd *wanted) []related {
	x := s.x
	if s.w.Similar == 0 || !x.compares(p.language) || slices.ContainsFunc(wd.numbers, func(n int32) bool { return s.has(&x.words[n]) }) {
		return nil
	}
	meaning := x.table.Find(wd.shown)
	if meaning == (vectors.Word{}) || !s.step(len(x.words)) {
		return nil
	}
	s.like.dots = sized(s.like.dots, len(x.words))
	x.table.Products(meaning, x.meanings, s.like.dots)
	least := leastCosine + (1-leastCosine)*min(1, fewMemories/float64(s.count)) // up to fewMemories, nothing is replaced
	var list []related
	for i, product := range s.like.dots {
		if cosine := float64(product) / (vectors.One * vectors.One); cosine > least {
			list = append(list, related{int32(i), s.w.Similar * (cosine - least) / (1 - least)})
		}
	}
	slices.SortFunc(list, func(a, b related) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(x.words[a.word].term, x.words[b.word].term))
	})
	kept := list[:0]
	for _, r := range list {
		if len(kept) == mostSimilar || !s.step(8+len(x.words[r.word].postings)/4) {
			break
		}
		if df := s.frequency(x.words[r.word].postings); df > 0 && df <= max(1, s.count/fewOf) {
			kept = append(kept, r)
		}
	}
	return kept
}

// meaningOf returns the vector of a term, or that of none. It depends on the term alone, not on how memories spell it, so the word is
// one whose stem is the word itself.
func meaningOf(table *vectors.Table, term string) vectors.Word {
	if stopword(text.English, term) {
		return vectors.Word{}
	}
	return table.Find(term)
}
