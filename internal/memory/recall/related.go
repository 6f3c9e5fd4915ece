package recall

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/base/text"
)

// Lists of words that are related, in groups by topic.
var (
	//go:embed related/en.txt
	relatedEnglish string
	//go:embed related/de.txt
	relatedGerman string
)

// kin maps, in each language, a term to terms with nearly the same meaning in everyday language. The words of a line are synonyms.
// With "words >", the first words include the others, which are not synonyms of each other: a question about a pet can mean a dog,
// but a question about a dog does not mean a cat. With "words >>", a question about one of the others does not mean the
// first ones, either.
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
	lists := [text.Languages]string{text.English: relatedEnglish, text.German: relatedGerman}
	m := map[string][]kindred{}
	for line := range strings.Lines(lists[l]) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, covered, isA := strings.Cut(line, ">")
		terms := kinTerms(l, head)
		if isA {
			list, oneWay := strings.CutPrefix(covered, ">")
			for _, t := range kinTerms(l, list) {
				for _, whole := range terms {
					addKin(m, whole, kindred{t, kindOf})
					if !oneWay {
						addKin(m, t, kindred{whole, wholeOf})
					}
				}
			}
			continue
		}
		for _, t := range terms {
			for _, other := range terms {
				addKin(m, t, kindred{other, sameAs})
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
func kinTerms(l text.Language, words string) (terms []string) {
	for w := range strings.FieldsSeq(words) {
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
