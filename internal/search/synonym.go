package search

import (
	"slices"
	"sync"

	"keepsake/internal/base/text"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/index"
)

// maxOthers is how many words and phrases are found in place of a word because of synonyms.
const maxOthers = 24

// synonyms are the synonyms of a collection, by the first word of what they stand for. Only one step is taken: what is found in place
// of a word is not replaced again.
type synonyms struct {
	language text.Language
	byFirst  map[string][]synonymRule
}

// synonymRule says what is found in place of one word, or of several that follow each other.
type synonymRule struct {
	from []string // keys of words
	to   []index.Phrase
}

// synonymsOf prepares rows of synonyms. language is that of the collection's documents.
func synonymsOf(a *text.Analyzer, rows []collection.Synonym, language text.Language) *synonyms {
	if len(rows) == 0 {
		return nil
	}
	s := &synonyms{language: language, byFirst: map[string][]synonymRule{}}
	for i := range rows {
		switch row := &rows[i]; {
		case row.List == collection.English:
			for first, rules := range englishSynonyms(a) {
				s.byFirst[first] = append(s.byFirst[first], rules...)
			}
		case row.From != "":
			s.add(tokensOf(a, row.From), entriesOf(a, row.To))
		default:
			entries := entriesOf(a, row.Words)
			for _, from := range entries {
				s.add(from, entries)
			}
		}
	}
	return s
}

func entriesOf(a *text.Analyzer, words []string) [][]text.Token {
	entries := make([][]text.Token, len(words))
	for i, word := range words {
		entries[i] = tokensOf(a, word)
	}
	return entries
}

// add adds a rule. What it finds is not what it stands for.
func (s *synonyms) add(from []text.Token, to [][]text.Token) {
	if len(from) == 0 {
		return
	}
	rule := synonymRule{from: s.keys(from)}
	for _, tokens := range to {
		if len(tokens) > 0 && !slices.Equal(s.keys(tokens), rule.from) {
			rule.to = append(rule.to, phraseOf(tokens))
		}
	}
	if len(rule.to) > 0 {
		s.byFirst[rule.from[0]] = append(s.byFirst[rule.from[0]], rule)
	}
}

func (s *synonyms) keys(tokens []text.Token) []string {
	keys := make([]string, len(tokens))
	for i, t := range tokens {
		keys[i] = s.key(t)
	}
	return keys
}

// key is equal for words that are forms of one word.
func (s *synonyms) key(t text.Token) string {
	if t.Term == "" {
		return t.Word
	}
	return stemIn(s.language, t.Term, t.Word)
}

// of returns for each word what is found in its place. A word of several that have synonyms together is found by these, too.
func (s *synonyms) of(words []text.Token) [][]index.Phrase {
	if s == nil {
		return nil
	}
	var others [][]index.Phrase
	keys := s.keys(words)
	for i := range words {
		for _, rule := range s.byFirst[keys[i]] {
			n := len(rule.from)
			if len(keys)-i < n || !slices.Equal(keys[i:i+n], rule.from) {
				continue
			}
			if others == nil {
				others = make([][]index.Phrase, len(words))
			}
			for j := i; j < i+n; j++ {
				others[j] = addOthers(others[j], rule.to)
			}
		}
	}
	return others
}

func addOthers(list, more []index.Phrase) []index.Phrase {
	for _, p := range more {
		if len(list) == maxOthers {
			break
		}
		if !slices.ContainsFunc(list, func(o index.Phrase) bool { return samePhrase(o, p) }) {
			list = append(list, p)
		}
	}
	return list
}

func samePhrase(a, b index.Phrase) bool {
	return slices.EqualFunc(a, b, func(x, y index.PhraseWord) bool { return x.Word.Word == y.Word.Word && x.Offset == y.Offset })
}

var english struct {
	once  sync.Once
	rules map[string][]synonymRule
}

// englishSynonyms returns the rules of the program's list of related English words.
func englishSynonyms(a *text.Analyzer) map[string][]synonymRule {
	english.once.Do(func() {
		s := &synonyms{language: text.English, byFirst: map[string][]synonymRule{}}
		for line := range text.RelatedWords(text.English) {
			words, kinds := entriesOf(a, line.Words), entriesOf(a, line.Kinds)
			for _, from := range words {
				s.add(from, slices.Concat(words, kinds))
			}
			for _, from := range kinds {
				if line.Relation == text.KindsOf {
					s.add(from, words)
				}
			}
		}
		english.rules = s.byFirst
	})
	return english.rules
}
