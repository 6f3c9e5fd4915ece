package recall

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
)

// sentences are in several languages, and share spellings.
var sentences = strings.Split(strings.TrimSpace(`
The bus station is far from here, and the information was wrong.
Die Stationen sind weit von hier, und die Information war falsch.
Les stations sont loin d'ici et l'information était fausse.
La stazione è lontana da qui e le informazioni erano sbagliate.
Máy này có bảo hành hai năm, còn máy cũ thì không.
tết xong rồi hai ông bà còn sống hông
piec kaflowy w kuchni działa, dymi, ale działa, a klucz zapasowy leży w ogrodzie za płotem
Новые книги не у нас, а у врача на столе.
猫喜欢在车站睡觉
stations information
`), "\n")

// The language and the terms of a memory depend on its own text alone, whatever was analyzed before it.
func TestAMemorysLanguageIsThatOfItsTextAlone(t *testing.T) {
	t.Parallel()
	analyzer := text.NewAnalyzer()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(sentences), 1, 12).Draw(t, "memories")
		together := New(analyzer, vectors.Builtin(), 0).Adder()
		for _, s := range list {
			it := Item{Text: s, Tags: []string{"stations"}}
			among, amongTerms := together.analyze(&it), termsOf(together)
			apart := New(analyzer, vectors.Builtin(), 0).Adder()
			alone, aloneTerms := apart.analyze(&it), termsOf(apart)
			if among != alone || !slices.Equal(amongTerms, aloneTerms) {
				t.Fatalf("%q has the language %d and the terms %q, alone %d and %q", s, among.language, amongTerms, alone.language, aloneTerms)
			}
		}
	})
}

// termsOf returns the terms of the memory that was analyzed last.
func termsOf(a *Adder) (terms []string) {
	for _, ref := range a.terms {
		s := &a.list[ref.spelling]
		if ref.pair {
			terms = append(terms, s.pair.text)
		} else {
			terms = append(terms, s.term.text)
		}
	}
	return terms
}

func TestMemoriesWithoutAStemmerGetNone(t *testing.T) {
	t.Parallel()
	want := map[string]text.Language{
		sentences[0]: text.English, sentences[1]: text.German, sentences[2]: text.French, sentences[3]: text.Italian,
		sentences[4]: text.Vietnamese, sentences[5]: text.Vietnamese, sentences[6]: text.Plain, sentences[7]: text.Russian,
	}
	a := New(text.NewAnalyzer(), vectors.Builtin(), 0).Adder()
	for s, l := range want {
		if got := a.analyzeText(s).language; got != l {
			t.Errorf("%q has the language %d, want %d", s, got, l)
		}
	}
}
