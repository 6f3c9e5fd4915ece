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

// Language is a language with a stemmer and stop words.
type Language uint8

// The languages. English is that of texts whose language is unknown.
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
	Languages // their number
)

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
var foreign = [Languages]struct {
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
	for l := English + 1; l < Languages; l++ {
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

// VotesOf returns the languages for which a folded word in a document votes: those that it is a stop word of, and English if it
// is a frequent English word.
func VotesOf(word string) LanguageSet { return voters[word] }

// Votes counts the stop words of a text by language.
type Votes [Languages]int

// Add counts a folded word.
func (v *Votes) Add(word string) { v.AddSet(languagesOf[word]) }

// AddSet counts a stop word of these languages.
func (v *Votes) AddSet(s LanguageSet) {
	for ; s != 0; s &= s - 1 {
		v[bits.TrailingZeros32(uint32(s))]++
	}
}

// Language returns the language with the most votes. It is English unless another one has at least two, and more than English.
func (v *Votes) Language() Language {
	best := English
	for l := English + 1; l < Languages; l++ {
		if v[l] >= 2 && v[l] > v[best] {
			best = l
		}
	}
	return best
}

// LanguageOf returns the language of a document, for which most of its different words vote.
func (a *Analyzer) LanguageOf(title, text string) Language {
	var v Votes
	counted := map[string]bool{}
	count := func(t Token) bool {
		if set := voters[t.Word]; set != 0 && !counted[t.Word] {
			counted[t.Word] = true
			v.AddSet(set)
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
	cache := a.stems[l].Load()
	if cache == nil {
		cache = &formCache{seed: a.forms.seed, form: func(word string) (string, string) { return word, StemIn(l, word) }}
		if !a.stems[l].CompareAndSwap(nil, cache) {
			cache = a.stems[l].Load()
		}
	}
	return cache.of(t.Word).stem
}
