package index

import (
	"math"
	"strings"
	"sync"
	"unicode"

	"keepsake/internal/base/text"
)

// Lexicon contains the stems and words of the spellings that were indexed last, so that each spelling is folded and stemmed
// only once. The indexes of a process share one. It is safe for concurrent use.
type Lexicon struct {
	mu       sync.Mutex
	short    map[uint64]spelling // by spellings of at most eight bytes, which most are; found and stored faster than strings
	long     map[string]spelling
	terms    []lexiconTerm
	text     strings.Builder     // of the last terms
	numbers  map[string]spelling // by terms without their kind
	foreign  []foreignStem       // 0 is none
	batch    uint32              // number of the current batch
	document uint32              // number of the current document
	scratch  batch               // memory for the next batch
}

// spelling contains the numbers of the terms of a spelling. Number 0 is no term.
type spelling struct {
	stem   uint32 // the English one
	word   uint32
	marked uint32 // the word with its marks; word if there are none
}

// foreignStem is the stem of a word in another language than English.
type foreignStem struct {
	stem     uint32
	next     uint32 // of the same word, in another language
	language text.Language
}

// lexiconTerm is a stem or a word. A batch numbers its terms itself.
type lexiconTerm struct {
	term   string
	batch  uint32 // the last batch that contains it
	number uint32 // in that batch

	// Of a word, or of a word with its marks:
	votes    text.Vote // for its language
	document uint32    // the last document for whose language it voted

	// Of a word:
	code      bool   // it has digits
	inflected bool   // it has other stems in other languages
	foreign   uint32 // the first of its stems in other languages than English
}

// maxSpellings is the number of spellings, and of stems in other languages than English, above which the lexicon is emptied.
const maxSpellings = 192 << 10

// textBytes is how many bytes of terms are allocated together.
const textBytes = 64 << 10

// NewLexicon returns an empty Lexicon.
func NewLexicon() *Lexicon {
	l := &Lexicon{}
	l.clear()
	return l
}

func (l *Lexicon) clear() {
	l.short, l.long, l.numbers = map[uint64]spelling{}, map[string]spelling{}, map[string]spelling{}
	l.text = strings.Builder{}
	l.terms, l.foreign = make([]lexiconTerm, 1), make([]foreignStem, 1)
}

// forget empties the lexicon and releases its memory.
func (l *Lexicon) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.scratch = batch{}
}

// begin begins a batch. The caller holds l.mu.
func (l *Lexicon) begin() {
	if len(l.short)+len(l.long) > maxSpellings || len(l.foreign) > maxSpellings {
		l.clear()
	}
	if l.batch++; l.batch == 0 || l.document > math.MaxUint32/2 { // they wrap around
		l.clear()
		l.batch, l.document = 1, 0
	}
}

// of returns the terms of a spelling.
func (l *Lexicon) of(raw string) spelling {
	if len(raw) > 8 {
		s, ok := l.long[raw]
		if !ok {
			s = l.read(raw)
			l.long[strings.Clone(raw)] = s // raw is a part of a text
		}
		return s
	}
	key := packedSpelling(raw)
	s, ok := l.short[key]
	if !ok {
		s = l.read(raw)
		l.short[key] = s
	}
	return s
}

// packedSpelling returns the bytes of a spelling, of which none is zero, as a number.
func packedSpelling(raw string) (key uint64) {
	for i := range len(raw) {
		key = key<<8 | uint64(raw[i])
	}
	return key
}

// read folds and stems a spelling.
func (l *Lexicon) read(raw string) spelling {
	word, stem := text.Form(raw)
	if word == "" {
		return spelling{}
	}
	s, ok := l.numbers[word]
	if s.word == 0 {
		s.word = l.add(wordTerm(word))
		w := &l.terms[s.word]
		w.votes, w.inflected, w.code = text.VotesOf(word, word), text.Inflected(word), strings.ContainsFunc(word, unicode.IsDigit)
		ok = false
	}
	if stem == word && s.stem == 0 { // as of many words
		s.stem = l.add(stemTerm(text.English, stem))
		ok = false
	}
	if !ok {
		l.numbers[l.terms[s.word].term[1:]] = s
	}
	if stem != word {
		s.stem = l.stem(text.English, stem)
	}
	s.marked = s.word
	if marked := text.Marked(raw); marked != word {
		s.marked = l.stem(text.Vietnamese, marked)
		l.terms[s.marked].votes = text.VotesOf(word, marked)
	}
	return s
}

// stemIn returns the stem of a word in another language than English, both by their numbers.
func (l *Lexicon) stemIn(language text.Language, word uint32) uint32 {
	first := l.terms[word].foreign
	for i := first; i != 0; i = l.foreign[i].next {
		if l.foreign[i].language == language {
			return l.foreign[i].stem
		}
	}
	stem := l.stem(language, text.StemIn(language, l.terms[word].term[1:]))
	l.terms[word].foreign = uint32(len(l.foreign))
	l.foreign = append(l.foreign, foreignStem{stem: stem, next: first, language: language})
	return stem
}

// languageOf returns the language of a document, for which its different words vote.
func (l *Lexicon) languageOf(log []occurrence) text.Language {
	var votes text.Votes
	l.document++
	for i := range log {
		if w := &l.terms[log[i].marked]; w.document != l.document {
			w.document = l.document
			votes.Add(w.votes)
		}
	}
	return votes.Language()
}

// stem returns the number of a stem.
func (l *Lexicon) stem(language text.Language, stem string) uint32 {
	term := stemTerm(language, stem)
	s := l.numbers[term[1:]]
	if s.stem == 0 {
		s.stem = l.add(term)
		l.numbers[term[1:]] = s
	}
	return s.stem
}

// add adds a term. Its bytes are behind those of the term before, which takes an import 4 % less processor time than a string of its
// own (the built program, medians of three runs in turns): there are fewer objects to collect.
func (l *Lexicon) add(term string) uint32 {
	if l.text.Cap()-l.text.Len() < len(term) {
		l.text = strings.Builder{}
		l.text.Grow(max(textBytes, len(term)))
	}
	begin := l.text.Len()
	l.text.WriteString(term)
	l.terms = append(l.terms, lexiconTerm{term: l.text.String()[begin:]})
	return uint32(len(l.terms) - 1)
}
