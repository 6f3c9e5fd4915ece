package text

import (
	"embed"
	"iter"
	"maps"
	"math/bits"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language is the language of a text, which decides how its words are compared.
type Language uint8

// The languages. English is that of short texts whose language is unknown.
const (
	English Language = iota
	Arabic
	Danish
	Dutch
	Finnish
	French
	German
	Hungarian
	Irish
	Italian
	Norwegian
	Portuguese
	Romanian
	Russian
	Spanish
	Swedish
	Turkish
	Vietnamese // has no inflections, so no stemmer, and no list of stop words
	Plain      // any other language of Latin letters: no stemmer and no stop words
	Languages  // their number
)

// stemmed is the number of languages with a stemmer and stop words, which are the first ones.
const stemmed = Vietnamese

// LanguageSet is a set of languages: bit 1<<Language.
type LanguageSet uint32

// Has reports whether l is in the set.
func (s LanguageSet) Has(l Language) bool { return s&(1<<l) != 0 }

// Add adds l to the set.
func (s *LanguageSet) Add(l Language) { *s |= 1 << l }

// All yields the languages of the set.
func (s LanguageSet) All(yield func(Language) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(Language(bits.TrailingZeros32(uint32(s)))) {
			return
		}
	}
}

// foreign are the languages but English. The lists of stop words are those of Snowball and of Jacques Savoy, under the BSD license;
// stopwords/NOTICE.md says more.
var foreign = [stemmed]struct {
	file string // of stop words
	stem func(*snowballstem.Env) bool
}{
	Arabic: {"ar", arabic.Stem}, Danish: {"da", danish.Stem}, Dutch: {"nl", dutch.Stem}, Finnish: {"fi", finnish.Stem},
	French: {"fr", french.Stem}, German: {"de", german.Stem}, Hungarian: {"hu", hungarian.Stem}, Irish: {"ga", irish.Stem},
	Italian: {"it", italian.Stem}, Norwegian: {"no", norwegian.Stem}, Portuguese: {"pt", portuguese.Stem},
	Romanian: {"ro", romanian.Stem}, Russian: {"ru", russian.Stem}, Spanish: {"es", spanish.Stem}, Swedish: {"sv", swedish.Stem},
	Turkish: {"tr", turkish.Stem},
}

//go:embed stopwords/*.txt
var stopwordFiles embed.FS

// languagesOf contains the languages of which a folded word is a stop word.
var languagesOf = func() map[string]LanguageSet {
	m := map[string]LanguageSet{}
	for word := range stopwords {
		m[word] |= 1 << English
	}
	for l := English + 1; l < stemmed; l++ {
		list, err := stopwordFiles.ReadFile("stopwords/" + foreign[l].file + ".txt")
		if err != nil {
			panic(err) // the file is in the program
		}
		for word := range strings.FieldsSeq(string(list)) {
			m[word] |= 1 << l
		}
	}
	return m
}()

// Stopword reports whether a folded word is so common in the language that it does not affect the rank.
func (l Language) Stopword(word string) bool { return languagesOf[word].Has(l) }

// Stopwords returns all stop words, folded, with the languages of which they are stop words.
func Stopwords() iter.Seq2[string, LanguageSet] { return maps.All(languagesOf) }

// StopwordIn returns the languages of which a folded word is a stop word.
func StopwordIn(word string) LanguageSet { return languagesOf[word] }

// voters contains the languages for which a folded word in a document votes.
var voters = func() map[string]LanguageSet {
	m := maps.Clone(languagesOf)
	for word := range strings.FieldsSeq(otherEnglish) {
		m[word] |= 1 << English
	}
	return m
}()

// Vote is what a folded word says of the language of its text.
type Vote struct {
	For     LanguageSet // also Plain, if the word has any marks or is of another script than Latin
	Against LanguageSet // do not write its letters
}

// VotesOf returns the vote of a folded word in a document: for those languages that it is a stop word of, and for English if it is a
// frequent English word. marked is Token.Marked.
func VotesOf(word, marked string) Vote { return voters[word].spelled(marked) }

// StopwordVotes returns the vote of a folded word in a short text: for those languages that it is a stop word of. marked is
// Token.Marked.
func StopwordVotes(word, marked string) Vote { return languagesOf[word].spelled(marked) }

// spelled returns the vote of a stop word of some languages with these marks. It is for Vietnamese alone if it has letters that only
// Vietnamese has, and not for English if it has any marks.
func (s LanguageSet) spelled(marked string) Vote {
	switch {
	case isASCII(marked):
		return Vote{For: s}
	case isVietnamese(marked):
		return Vote{For: 1<<Vietnamese | 1<<Plain, Against: strangers(marked)}
	}
	return Vote{For: s&^(1<<English) | 1<<Plain, Against: strangers(marked)}
}

// Votes counts the words of a text that vote for its language.
type Votes struct {
	words     int // all
	languages [Languages]int
	against   [stemmed]int
}

// Add counts a word.
func (v *Votes) Add(vote Vote) {
	v.words++
	for s := vote.For; s != 0; s &= s - 1 {
		v.languages[bits.TrailingZeros32(uint32(s))]++
	}
	for s := vote.Against; s != 0; s &= s - 1 {
		v.against[bits.TrailingZeros32(uint32(s))]++
	}
}

// Of returns the number of votes for a language. No word votes for Plain.
func (v *Votes) Of(l Language) int {
	if l == Plain {
		return 0
	}
	return v.languages[l]
}

// The shares of a text's words that must vote for a language. Of a long text, so many words count as if they were all: it repeats its
// stop words, and a list of them is short.
const (
	leastShare      = 0.15
	leastWritten    = 0.04 // if the letters are those of the language
	leastVietnamese = 0.15
	leastMarked     = 0.1 // English has fewer words with marks
	mostWords       = 40
	fewWords        = 12 // a text of fewer words is short
	mostAgainst     = 5  // of so many words with marks, one with other letters can be a name
)

// Language returns the language of a text by its own words alone.
//
// It is Vietnamese if enough words have letters that only Vietnamese has. Otherwise it is the language with the most votes, if that
// has at least two, and more than English. If too few of the words vote for it, no stemmer is better than a wrong one, and the
// language is Plain. Fewer are enough if the text has words with marks, nearly all of them with letters of the language: languages with
// many endings have few stop words. If too many have other letters, the language is Plain, too. A text in which nothing votes for
// another language is English, such as a list of things, unless it is long and many words have marks.
func (v *Votes) Language() Language {
	words := float64(min(v.words, mostWords))
	enough := func(l Language, share float64) bool { return float64(v.languages[l]) >= share*words }
	if v.languages[Vietnamese] > 2*v.languages[English] && enough(Vietnamese, leastVietnamese) {
		return Vietnamese
	}
	best := v.Most()
	switch {
	case best == English && enough(best, leastShare):
		return best
	case best == English && (v.words < fewWords || !enough(Plain, leastMarked)):
		return English
	case best == English, v.against[best] > 1 && v.against[best]*mostAgainst > max(v.languages[Plain], 2*v.languages[best]):
		return Plain
	case enough(best, leastShare), enough(best, leastWritten) && enough(Plain, leastMarked):
		return best
	}
	return Plain
}

// Most returns the language with the most votes. It is English unless another one has at least two, and more than English.
func (v *Votes) Most() Language {
	best := English
	for l := English + 1; l < stemmed; l++ {
		if n := v.languages[l]; n >= 2 && n > v.languages[best] {
			best = l
		}
	}
	return best
}

// LanguageOf returns the language of a document, for which its different words vote.
func (a *Analyzer) LanguageOf(title, text string) Language {
	var v Votes
	counted := map[string]bool{}
	count := func(t Token) bool {
		if !counted[t.Marked] {
			counted[t.Marked] = true
			v.Add(VotesOf(t.Word, t.Marked))
		}
		return true
	}
	a.Scan(title, count)
	a.Scan(text, count)
	return v.Language()
}

// stems caches stems of recent words of a language.
type stems [Languages]atomic.Pointer[formCache]

// Stem returns the stem of a token in a language. It caches stems like Scan.
func (a *Analyzer) Stem(l Language, t Token) string {
	if l == English || t.Term == "" || !Inflected(t.Word) {
		return t.Term
	}
	if l >= stemmed {
		return t.Word
	}
	cache := a.stems[l].Load()
	if cache == nil {
		cache = &formCache{seed: a.forms.seed, form: func(word string) (string, string) { return word, StemIn(l, word) }}
		if !a.stems[l].CompareAndSwap(nil, cache) {
			cache = a.stems[l].Load()
		}
	}
	return cache.of(t.Word).stem
}
