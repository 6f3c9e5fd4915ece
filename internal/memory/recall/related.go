package recall

import (
	_ "embed"
	"slices"
	"strings"

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
var kin = func() map[string][]string {
	m := map[string][]string{}
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
					addKin(m, whole, t)
					if !oneWay {
						addKin(m, t, whole)
					}
				}
			}
			continue
		}
		for _, t := range terms {
			for _, other := range terms {
				addKin(m, t, other)
			}
		}
	}
	return m
}()

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

func addKin(m map[string][]string, term, other string) {
	if term != other && !slices.Contains(m[term], other) {
		m[term] = append(m[term], other)
	}
}
