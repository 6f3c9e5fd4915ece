package index

import (
	"math/bits"

	"keepsake/internal/base/text"
)

// languageCounts counts documents by their languages.
type languageCounts [text.Languages]int64

// set returns the languages with documents.
func (c *languageCounts) set() (set text.LanguageSet) {
	for l, docs := range c {
		if docs > 0 {
			set.Add(text.Language(l))
		}
	}
	return set
}

// several reports whether there are documents of several languages.
func (c *languageCounts) several() bool {
	set := c.set()
	return set&(set-1) != 0
}

func (c *languageCounts) docs() (sum int64) {
	for _, docs := range c {
		sum += docs
	}
	return sum
}

// language returns the language of a document. Only a damaged segment, which the checksum finds later, has unknown ones.
func (s *segment) language(doc uint32) text.Language {
	if len(s.languages) > 0 {
		return min(text.Language(s.languages[doc]), text.Languages-1)
	}
	for l, docs := range s.byLanguage {
		if docs > 0 {
			return text.Language(l)
		}
	}
	return text.English // there are no documents
}

// stem is a stem in the documents of a language.
type stem struct {
	term     string
	language text.Language
	stopword bool  // the word hardly counts
	docs     int64 // of the scope
}

// stemsOf returns the stems of a word in the documents of some languages. A stem that does not depend on the language is one of
// English. In Vietnamese documents, the stem of a word with marks has its marks; marked is empty for a word without any.
func stemsOf(english, word, marked string, languages text.LanguageSet) []stem {
	if english == "" {
		return nil
	}
	stopword := text.StopwordIn(word) & languages
	if !text.Inflected(word) {
		return []stem{{term: stemTerm(text.English, english), stopword: stopword != 0}}
	}
	var stems []stem
	for l := range languages.All {
		s := stem{term: stemTerm(l, english), language: l, stopword: stopword.Has(l)}
		switch {
		case l == text.Vietnamese && marked != "":
			s.term = stemTerm(l, marked)
		case l != text.English:
			s.term = stemTerm(l, text.StemIn(l, word))
		}
		stems = append(stems, s)
	}
	return stems
}

// stems returns the stems of a word, and how many documents of the scope have one of them, in each field. A document has one
// language, so no document has two of them.
func (r *search) stems(english, word, marked string) (stems []stem, docs int64, err error) {
	stems = stemsOf(english, word, marked, r.languages)
	for i := range stems {
		if stems[i].docs, err = r.frequency(stems[i].term); err != nil {
			return nil, 0, err
		}
		inFields, err := r.fieldDocs(stems[i].term)
		if err != nil {
			return nil, 0, err
		}
		docs += stems[i].docs + inFields
	}
	return stems, docs, nil
}

// languagesOf returns the languages with documents that have a stem.
func languagesOf(stems []stem) (set text.LanguageSet) {
	for _, s := range stems {
		if s.docs > 0 {
			set.Add(s.language)
		}
	}
	return set
}

// languageOf returns the language of a query: the only one of the documents, or that of most of its stop words.
func languageOf(words []Word, languages text.LanguageSet) text.Language {
	if languages&(languages-1) == 0 && languages != 0 {
		return text.Language(bits.TrailingZeros32(uint32(languages)))
	}
	var votes text.Votes
	for i := range words {
		votes.Add(text.Vote{For: text.StopwordIn(words[i].Word) & languages})
	}
	return votes.Most()
}
