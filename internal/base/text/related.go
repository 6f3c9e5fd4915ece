package text

import (
	_ "embed"
	"iter"
	"strings"
)

// Lists of words that are related, in groups by topic. Their first lines say which words enter.
var (
	//go:embed related/en.txt
	relatedEnglish string
	//go:embed related/de.txt
	relatedGerman string
)

// Relation says how the words of a Related are related.
type Relation uint8

// The relations.
const (
	Synonyms  Relation = iota // the words of Words are synonyms, and Kinds is empty
	KindsOf                   // each of Words, which are synonyms, includes all of Kinds, which are not synonyms of each other
	OnlyKinds                 // as KindsOf, but who asks for one of Kinds does not mean Words
)

// Related is a line of a list: words with nearly the same meaning in everyday language.
type Related struct {
	Words    []string
	Kinds    []string
	Relation Relation
}

// RelatedWords yields the list of a language, which is empty for most.
func RelatedWords(l Language) iter.Seq[Related] {
	list := [Languages]string{English: relatedEnglish, German: relatedGerman}[l]
	return func(yield func(Related) bool) {
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				continue
			}
			var r Related
			words, kinds, includes := strings.Cut(line, ">")
			if includes {
				if r.Relation = KindsOf; strings.HasPrefix(kinds, ">") {
					r.Relation, kinds = OnlyKinds, kinds[1:]
				}
				r.Kinds = strings.Fields(kinds)
			}
			if r.Words = strings.Fields(words); !yield(r) {
				return
			}
		}
	}
}
