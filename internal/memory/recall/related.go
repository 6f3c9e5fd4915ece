package recall

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/text"
)

// relatedWords is a list of English words that are related, in groups by topic.
//
//go:embed related.txt
var relatedWords string

// kin maps a term to terms with nearly the same meaning in everyday language. The words of a line are synonyms. With
// "words >", the first words include the others, which are not synonyms of each other: a question about a pet can mean a dog,
// but a question about a dog does not mean a cat. With "words >>", a question about one of the others does not mean the
// first ones, either.
//
// It is built when the first question is asked, because most commands ask none.
var kin = sync.OnceValue(func() map[string][]kindred {
	m := map[string][]kindred{}
	for line := range strings.Lines(relatedWords) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, covered, isA := strings.Cut(line, ">")
		terms := kinTerms(head)
		if isA {
			list, oneWay := strings.CutPrefix(covered, ">")
			for _, t := range kinTerms(list) {
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
})

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

// eachKin calls f with each term that is related to a term, and then with each one that is related to these: far is true. Two kinds
// of one thing are not related through it.
func eachKin(term string, f func(other string, far bool)) {
	related := kin()
	for _, k := range related[term] {
		f(k.term, false)
	}
	for _, k := range related[term] {
		for _, next := range related[k.term] {
			if next.term != term && (k.is != wholeOf || next.is != kindOf) {
				f(next.term, true)
			}
		}
	}
}

func kinTerms(words string) (terms []string) {
	for w := range strings.FieldsSeq(words) {
		if t, ok := regular[w]; ok {
			terms = append(terms, t)
		} else {
			terms = append(terms, text.Stem(w))
		}
	}
	return terms
}

func addKin(m map[string][]kindred, term string, k kindred) {
	if term != k.term && !slices.ContainsFunc(m[term], func(o kindred) bool { return o.term == k.term }) {
		m[term] = append(m[term], k)
	}
}
