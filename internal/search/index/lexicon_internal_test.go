package index

import (
	"strings"
	"testing"

	"keepsake/internal/base/text"
)

// The lexicon gives every spelling the terms that folding and stemming gives it, whatever its length, and when it is asked again.
func TestLexiconKnowsEverySpelling(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for range 2 {
		for _, raw := range []string{"a", "Cats", "harbours", "harbour's", "internationalisation", "ÉCOLES", "кошками", "7", "12.50", "日", "日本", "😀"} {
			word, stem := text.Form(raw)
			got := l.of(raw)
			if l.terms[got.word].term != wordTerm(word) || l.terms[got.stem].term != stemTerm(text.English, stem) {
				t.Errorf("%q: got %q and %q", raw, l.terms[got.word].term, l.terms[got.stem].term)
			}
		}
	}
	if got := l.of("\u0301"); got != (spelling{}) {
		t.Errorf("a mark alone: got %+v, want no term", got)
	}
}

// A word keeps its stem in each language.
func TestLexiconStemsAWordInSeveralLanguages(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	words := strings.Fields("stationen katten informations")
	for range 2 {
		for language := text.English + 1; language < text.Languages; language++ {
			for _, word := range words {
				got := l.terms[l.stemIn(language, l.of(word).word)].term
				if want := stemTerm(language, text.StemIn(language, word)); got != want {
					t.Errorf("%s in language %d: got %q, want %q", word, language, got, want)
				}
			}
		}
	}
	if got, want := len(l.foreign)-1, len(words)*int(text.Languages-1); got != want {
		t.Errorf("%d stems in other languages are kept, want %d", got, want)
	}
}
