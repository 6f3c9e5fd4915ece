package recall

import (
	"slices"
	"strings"
	"sync"

	"keepsake/internal/base/text"
)

// kin maps, in each language, a term to terms with nearly the same meaning in everyday language. A question about a pet can mean a dog,
// but a question about a dog does not mean a cat.
//
// The map of a language is built when the first question in it is asked, because most commands ask none. That of a language without a
// list is empty.
var kin = func() (maps [text.Languages]func() map[string][]kindred) {
	for l := range maps {
		maps[l] = sync.OnceValue(func() map[string][]kindred { return readKin(text.Language(l)) })
	}
	return maps
}()

func readKin(l text.Language) map[string][]kindred {
	m := map[string][]kindred{}
	for line := range text.RelatedWords(l) {
		words := kinTerms(l, line.Words)
		if line.Relation == text.Synonyms {
			for _, t := range words {
				for _, other := range words {
					addKin(m, t, kindred{other, sameAs})
				}
			}
			continue
		}
		for _, t := range kinTerms(l, line.Kinds) {
			for _, whole := range words {
				addKin(m, whole, kindred{t, kindOf})
				if line.Relation == text.KindsOf {
					addKin(m, t, kindred{whole, wholeOf})
				}
			}
		}
	}
	return m
}

// kindred is a term that is related to another one.
type kindred struct {
	term string
	is   relation
}

type relation uint8

const (
	sameAs  relation = iota
	kindOf           // what the other one includes
	wholeOf          // what includes the other one
)

// eachKin calls f with each term of a language that is related to a term, and then with each one that is related to these: far is
// true. Two kinds of one thing are not related through it.
func eachKin(l text.Language, term string, f func(other string, far bool)) {
	m := kin[l]()
	near := relatedTo(m, l, term)
	for _, k := range near {
		f(k.term, false)
	}
	for _, k := range near {
		for _, next := range relatedTo(m, l, k.term) {
			if next.term != term && (k.is != wholeOf || next.is != kindOf) {
				f(next.term, true)
			}
		}
	}
}

// relatedTo returns the terms that are related to a term. In German and Dutch, they include the other forms of a regular verb, and
// what is related to these, because the stemmers leave each form a term of its own: kauf, kauft and gekauft.
func relatedTo(m map[string][]kindred, l text.Language, term string) []kindred {
	list := m[term]
	if l != text.German && l != text.Dutch {
		return list
	}
	base, cut := strings.CutSuffix(term, "t")
	if cut {
		base = strings.TrimPrefix(base, "ge")
	}
	const shortest = 3
	if len(base) >= shortest {
		list = slices.Clip(list)
		for _, form := range [...]string{base, base + "t", "ge" + base + "t"} {
			list = append(append(list, kindred{form, sameAs}), m[form]...)
		}
	}
	return list
}

// kinTerms returns the terms of words, as termIn does.
func kinTerms(l text.Language, words []string) (terms []string) {
	for _, w := range words {
		if t, ok := regular[w]; ok && l == text.English {
			terms = append(terms, t)
		} else {
			terms = append(terms, text.StemIn(l, text.Fold(w)))
		}
	}
	return terms
}

func addKin(m map[string][]kindred, term string, k kindred) {
	if term != k.term && !slices.ContainsFunc(m[term], func(o kindred) bool { return o.term == k.term }) {
		m[term] = append(m[term], k)
	}
}
