package text

import (
	"strings"
	"testing"
)

func TestStopWordsTellTheLanguage(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for s, want := range map[string]Language{
		"She lives with her sister in Lisbon.": English,
		"Penicillin.":                          English,
		"":                                     English,
		"Ich habe gestern mit meiner Schwester telefoniert.":  German,
		"Je ne bois pas de café après le dîner.":              French,
		"Ella vive con su hermana en un piso pequeño.":        Spanish,
		"Non bevo più caffè dopo la cena con gli amici.":      Italian,
		"Eu não gosto de café depois do jantar com a família": Portuguese,
		"Ik heb gisteren met mijn zus gebeld.":                Dutch,
		"Я не пью кофе после ужина":                           Russian,
	} {
		if got := a.LanguageOf("", s); got != want {
			t.Errorf("%q has the language %d, want %d", s, got, want)
		}
	}
}

func TestInflectionsHaveOneStemInTheirLanguage(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for l, words := range map[Language]string{
		German: "Katze Katzen", French: "médicament médicaments", Spanish: "gatos gato", Italian: "gatti gatto", Portuguese: "gatos gato",
		Dutch: "katten kat", Swedish: "katter katten", Russian: "кошка кошки", English: "cat cats", Turkish: "kedi kediler",
	} {
		stems := map[string]bool{}
		a.Scan(words, func(token Token) bool {
			stems[a.Stem(l, token)] = true
			return true
		})
		if len(stems) != 1 {
			t.Errorf("%q has the stems %v", words, stems)
		}
	}
}

func TestEveryLanguageHasStopWords(t *testing.T) {
	t.Parallel()
	for l := range Languages {
		n := 0
		for word := range languagesOf {
			if l.Stopword(word) {
				n++
			}
			if word != Fold(word) || strings.TrimSpace(word) == "" {
				t.Errorf("%q is not folded", word)
			}
		}
		if n < 50 {
			t.Errorf("language %d has %d stop words", l, n)
		}
	}
}

// Words of people must not stay in memory when they are cleared.
func TestStemsOfOtherLanguagesAreCleared(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	a.Stem(German, Token{Term: "katzen", Word: "katzen"})
	a.Clear()
	for i := range a.stems[German].Load().slots {
		if a.stems[German].Load().slots[i].Load() != nil {
			t.Fatal("a stem is still there")
		}
	}
}
