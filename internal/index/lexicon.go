package index

import (
	"math"
	"strings"
	"sync"

	"keepsake/internal/text"
)

// Lexicon contains the stems and words of the spellings that were indexed last, so that each spelling is folded and stemmed
// only once. The indexes of a process share one. It is safe for concurrent use.
type Lexicon struct {
	mu        sync.Mutex
	spellings map[string]spelling
	terms     []lexiconTerm
	numbers   map[string]uint32      // of terms
	foreign   map[foreignWord]uint32 // stems of words in other languages than English
	batch     uint32                 // number of the current batch
	document  uint32                 // number of the current document
	scratch   batch                  // memory for the next batch
}

// spelling contains the numbers of the terms of a spelling. Number 0 is no term.
type spelling struct{ stem, word uint32 } // stem is the English one

// foreignWord is a word, by its number, in a language.
type foreignWord struct {
	language text.Language
	word     uint32
}

// lexiconTerm is a stem or a word. A batch numbers its terms itself.
type lexiconTerm struct {
	term   string
	batch  uint32 // the last batch that contains it
	number uint32 // in that batch

	// Of a word:
	votes     text.LanguageSet // languages for which it votes
	inflected bool             // it has other stems in other languages
	document  uint32           // the last document for whose language it voted
	language  text.Language    // the last one, other than English, in which it was stemmed
	stem      uint32           // in that language
}

// maxSpellings is the number of spellings above which the lexicon is emptied.
const maxSpellings = 128 << 10

// NewLexicon returns an empty Lexicon.
func NewLexicon() *Lexicon {
	l := &Lexicon{}
	l.clear()
	return l
}

func (l *Lexicon) clear() {
	l.spellings, l.numbers, l.foreign, l.terms = map[string]spelling{}, map[string]uint32{}, map[foreignWord]uint32{}, make([]lexiconTerm, 1)
}

// begin begins a batch. The caller holds l.mu.
func (l *Lexicon) begin() {
	if len(l.spellings) > maxSpellings || len(l.foreign) > maxSpellings {
		l.clear()
	}
	if l.batch++; l.batch == 0 || l.document > math.MaxUint32/2 { // they wrap around
		l.clear()
		l.batch, l.document = 1, 0
	}
}

// of returns the terms of a spelling.
func (l *Lexicon) of(raw string) spelling {
	s, ok := l.spellings[raw]
	if ok {
		return s
	}
	if word, stem := text.Form(raw); word != "" {
		s = spelling{stem: l.number(stemTerm(text.English, stem)), word: l.number(wordTerm(word))}
		w := &l.terms[s.word]
		w.votes, w.inflected = text.VotesOf(word), text.Inflected(word)
	}
	l.spellings[strings.Clone(raw)] = s // raw is a part of a text
	return s
}

// stemIn returns the stem of a word, both by their numbers. Most words are in documents of one language only.
func (l *Lexicon) stemIn(language text.Language, word uint32) uint32 {
	if w := &l.terms[word]; w.language == language && w.stem != 0 {
		return w.stem
	}
	f := foreignWord{language, word}
	stem, ok := l.foreign[f]
	if !ok {
		stem = l.number(stemTerm(language, text.StemIn(language, l.terms[word].term[1:])))
		l.foreign[f] = stem
	}
	w := &l.terms[word] // number can move the terms
	w.language, w.stem = language, stem
	return stem
}

// languageOf returns the language of a document, for which most of its different words vote.
func (l *Lexicon) languageOf(log []occurrence) text.Language {
	var votes text.Votes
	l.document++
	for i := range log {
		if w := &l.terms[log[i].word]; w.votes != 0 && w.document != l.document {
			w.document = l.document
			votes.AddSet(w.votes)
		}
	}
	return votes.Language()
}

func (l *Lexicon) number(term string) uint32 {
	n, ok := l.numbers[term]
	if !ok {
		n = uint32(len(l.terms))
		l.terms = append(l.terms, lexiconTerm{term: term})
		l.numbers[term] = n
	}
	return n
}
