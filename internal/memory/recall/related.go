package recall

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/text"
)

// relatedFiles has a list of words that are related, in groups by topic, for each language of kinNames.
//
//go:embed related
var relatedFiles embed.FS

var kinNames = [text.Languages]string{text.English: "en", text.German: "de", text.Italian: "it", text.French: "fr", text.Spanish: "es", text.Portuguese: "pt", text.Dutch: "nl"}

// kin maps, in each language, a term to terms with nearly the same meaning in everyday language. The words of a line are synonyms.
// With "words >", the first words include the others, which are not synonyms of each other: a question about a pet can mean a dog,
// but a question about a dog does not mean a cat. With "words >>", a question about one of the others does not mean the
// first ones, either.
//
// The map of a language is built when the first question in it is asked, because most commands ask none. A language without a list
// has nil.
var kin = func() (lists [text.Languages]func() map[string][]kindred) {
	for l, name := range kinNames {
		lists[l] = sync.OnceValue(func() map[string][]kindred {
			if name == "" {
				return nil
			}
			list, err := relatedFiles.ReadFile("related/" + name + ".txt")
			if err != nil {
				panic(err) // the file is in the program
			}
			return readKin(text.Language(l), string(list))
		})
	}
	return lists
}()

func readKin(l text.Language, list string) map[string][]kindred {
	m := map[string][]kindred{}
	for line := range strings.Lines(list) {
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
	near := relatedTo(l, term)
	for _, k := range near {
		f(k.term, false)
	}
	for _, k := range near {
		for _, next := range relatedTo(l, k.term) {
			if next.term != term && (k.is != wholeOf || next.is != kindOf) {
				f(next.term, true)
			}
		}
	}
}

// relatedTo returns the terms that are related to a term. In German and Dutch, they include the other forms of a verb, and what is
// related to these: the stemmers leave each form a term of its own, so a list of forms would be as long as that of verbs.
func relatedTo(l text.Language, term string) []kindred {
	m := kin[l]()
	list := m[term]
	if l == text.German || l == text.Dutch {
		list = slices.Clip(list)
		for _, form := range verbForms(term) {
			list = append(append(list, kindred{form, sameAs}), m[form]...)
		}
	}
	return list
}

// verbForms returns the other terms that a regular verb has, if the term is that of a verb: kauft and gekauft for kauf in German, werkt
// and gewerkt for werk in Dutch.
func verbForms(term string) []string {
	const shortest = 3
	base, _ := strings.CutSuffix(term, "t")
	if base != term {
		base, _ = strings.CutPrefix(base, "ge")
	}
	if len(base) < shortest {
		return nil
	}
	forms := []string{base, base + "t", "ge" + base + "t"}
	return slices.DeleteFunc(forms, func(form string) bool { return form == term })
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
