package index

import (
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
	numbers   map[string]uint32 // of terms
	batch     uint32            // number of the current batch
	scratch   batch             // memory for the next batch
}

// spelling contains the numbers of the terms of a spelling. Number 0 is no term.
type spelling struct{ stem, word uint32 }

// lexiconTerm is a stem or a word. A batch numbers its terms itself.
type lexiconTerm struct {
	term   string
	batch  uint32 // the last batch that contains it
	number uint32 // in that batch
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
	l.spellings, l.numbers, l.terms = map[string]spelling{}, map[string]uint32{}, make([]lexiconTerm, 1)
}

// begin begins a batch. The caller holds l.mu.
func (l *Lexicon) begin() {
	if len(l.spellings) > maxSpellings {
		l.clear()
	}
	if l.batch++; l.batch == 0 { // it has wrapped around
		l.clear()
		l.batch = 1
	}
}

// of returns the terms of a spelling.
func (l *Lexicon) of(raw string) spelling {
	s, ok := l.spellings[raw]
	if ok {
		return s
	}
	if word, stem := text.Form(raw); word != "" {
		s = spelling{stem: l.number(stemTerm(stem)), word: l.number(wordTerm(word))}
	}
	l.spellings[strings.Clone(raw)] = s // raw is a part of a text
	return s
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
