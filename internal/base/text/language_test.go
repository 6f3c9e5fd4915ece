package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
	for l := range stemmed {
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

// A text that consists of stop words of a language is never stemmed as if it were in another one that has fewer of them.
func TestStopWordsOfALanguageAreNotStemmedAsAnother(t *testing.T) {
	t.Parallel()
	of := [stemmed][]string{}
	for word, set := range Stopwords() {
		for l := range set.All {
			of[l] = append(of[l], word)
		}
	}
	for l := range of {
		slices.Sort(of[l])
	}
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.Map(rapid.IntRange(0, int(stemmed)-1), func(n int) Language { return Language(n) }).Draw(t, "language")
		words := rapid.SliceOfN(rapid.SampledFrom(of[l]), 2, 30).Draw(t, "words")
		var votes Votes
		for _, word := range words {
			votes.Add(StopwordVotes(word, word))
		}
		got := votes.Language()
		if got != l && got < stemmed && votes.Of(got) < votes.Of(l) {
			t.Fatalf("%q of language %d has the language %d", words, l, got)
		}
		if got == Plain || got == Vietnamese {
			t.Fatalf("%q of language %d has the language %d", words, l, got)
		}
	})
}

// The alphabet comes first: a word of another script than the language's is not stemmed.
func TestWordsOfOtherScriptsAreNotStemmed(t *testing.T) {
	t.Parallel()
	for _, word := range strings.Fields("γάτες κουζίνα кошками книги הספרים כלבים الكتاب مهندسون किताबें գրքեր წიგნები 한국어 ねこ แมว 北京") {
		word = Fold(word)
		for l := range Languages {
			stem := StemIn(l, word)
			if own := l == Russian && strings.ContainsRune("ки", []rune(word)[0]) || l == Arabic && strings.ContainsRune("ام", []rune(word)[0]); !own && stem != word {
				t.Errorf("language %d: the stem of %q is %q", l, word, stem)
			}
		}
	}
	for _, word := range strings.Fields("cats katzen gatos الكتاب") {
		if stem := StemIn(Russian, word); stem != word {
			t.Errorf("the Russian stem of %q is %q", word, stem)
		}
	}
}

func TestVietnameseIsKnownByItsLetters(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for s, want := range map[string]Language{
		"tết xong rồi hai ông bà còn sống hông": Vietnamese,
		"mập lên 3 ký": Vietnamese,
		"Phở Hòa":      Vietnamese,
		"đi đâu đó":    Vietnamese,
		"Máy này có bảo hành hai năm, còn máy cũ thì không.":               Vietnamese,
		"DE\u0302\u0301N LU\u031BO\u031B\u0323T TO\u0302I RO\u0302\u0300I": Vietnamese, // decomposed
		"We had phở at the new place on the corner.":                       English,
		"Nguyễn Thị Hường is my dentist and she is in Lisbon.":             English,
		"Pisicile dorm pe pat, dar câinele este sub masă și nu doarme.":    Romanian,
		"São os pães da mãe e não são da avó, mas não estão à mão.":        Portuguese,
	} {
		if got := a.LanguageOf("", s); got != want {
			t.Errorf("%q has the language %d, want %d", s, got, want)
		}
	}
	if a.LanguageOf("", "Anđela i Đorđe su juče kupili novu kuću pored reke, a onda su se preselili") == Vietnamese {
		t.Error("a Serbian text with a few đ is Vietnamese")
	}
}

// Languages with many endings have few stop words, but their letters tell them from others.
func TestFewStopWordsAreEnoughWithTheirLetters(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for s, want := range map[string]Language{
		"Pyörän etuvalo ja takavalo ladataan samalla johdolla. Lataus kestää kolme tuntia, ja kun akku on täynnä, sillä ajetaan viikko.":                   Finnish,
		"Bisikletin ön ve arka lambaları aynı kabloyla şarj edilir, dolum üç saat sürer ve dolu pil bir hafta yeter.":                                      Turkish,
		"Чтобы очистить фильтр, выключите насос, откройте верхнюю крышку, промойте губку тёплой водой, затем соберите корпус и проверьте его перед пуском": Russian,
		"Щоб очистити фільтр, вимкніть насос, відкрийте верхню кришку, промийте губку теплою водою, потім зберіть корпус і перевірте його":                 Plain,
		"نظف المرشح كل شهر بماء فاتر، ثم أعد تركيب الغطاء قبل تشغيل المضخة من جديد":                                                                        Arabic,
		"El gat dorm al sofà, però la gossa és a l'habitació perquè a fora plou i hi fa fred; això no els agrada.":                                         Plain,
		"Depuis São Paulo, le vol de la compagnie LOT dure douze heures, et celui pour Łódź part le soir avec une escale de deux heures.":                  French,
	} {
		if got := a.LanguageOf("", s); got != want {
			t.Errorf("%q has the language %d, want %d", s, got, want)
		}
	}
}

// No stemmer is better than a wrong one.
func TestLanguagesWithoutAStemmerGetNone(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for _, s := range []string{
		"Včera jsem byl u lékaře a ten mi řekl, že musím méně pracovat a víc spát.",
		"piec kaflowy w kuchni działa, dymi, ale działa, a klucz zapasowy leży w ogrodzie za płotem",
		"Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās. Viņi ir apveltīti ar saprātu.",
	} {
		if got := a.LanguageOf("", s); got != Plain {
			t.Errorf("%q has the language %d, want none", s, got)
		}
	}
	for _, s := range []string{"Katzen", "Kettle electric 1.7 litre stainless steel cordless 2200 W boil-dry protection grey brushed", ""} {
		if got := a.LanguageOf("", s); got != English {
			t.Errorf("%q has the language %d, want English", s, got)
		}
	}
	token := Token{Term: "run", Word: "runs", Marked: "runs"}
	for _, l := range []Language{Plain, Vietnamese} {
		if got := a.Stem(l, token); got != "runs" {
			t.Errorf("the stem in language %d is %q", l, got)
		}
	}
}
