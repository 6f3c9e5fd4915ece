package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"keepsake/internal/testing/testtier"
)

// inflections are groups of words with the same stem.
var inflections = map[Language]string{
	Arabic:     "كتاب الكتاب|مدرسة المدرسة|مهندس مهندسون المهندسين|معلم معلمون المعلمين",
	Danish:     "kat katten katte kattene|bil biler bilen bilerne|regning regninger regningen|nøgle nøgler nøglen|møde møder mødet",
	Dutch:      "kat katten|huis huizen|boek boeken|sleutel sleutels|raam ramen|brief brieven|groot grote|auto auto's",
	English:    "cat cats|jump jumps jumping jumped|flies fly",
	Finnish:    "talo talot talossa talon|kissa kissat kissan|kirja kirjat kirjan|päivä päivät päivän",
	French:     "médicament médicaments|cheval chevaux|année années|première premier premiers|mangé mangée mangées|hôtel l'hôtel|activité activités|école d'école l’école",
	German:     "Katze Katzen|Haus Häuser|Apfel Äpfel|Straße Straßen|alt alten altes|Bücher Büchern Buch|Heizung Heizungen",
	Hungarian:  "ház házak házban|könyv könyvek könyvet|autó autók autót|virág virágok",
	Irish:      "fuinneog bhfuinneog",
	Italian:    "gatto gatti|casa case|amico amici|stazione stazioni|rosso rossa rossi rosse|acqua l'acqua dell'acqua",
	Norwegian:  "katt katten katter kattene|bil biler bilen bilene|regning regninger regningen|møte møter møtet",
	Portuguese: "gato gatos|situação situações situacao|coração corações|animal animais|papel papéis|homem homens|jardim jardins|lençol lençóis",
	Romanian:   "casă case casele|informație informații|carte cărți cărțile|factură facturi facturile|student studenți studenții",
	Russian:    "кошка кошки кошку|новый новая новое новые нового|история истории историю историй|ключ ключи ключей|русский русская русские",
	Spanish:    "gato gatos|canción canciones cancion|habitación habitaciones|lápiz lápices|ciudad ciudades|niño niña niños|árbol árboles",
	Swedish:    "katt katten katter katterna|bil bilar bilen|räkning räkningar räkningen|flicka flickor flickorna",
	Turkish:    "kedi kediler kediyi|ev evler evlerin|kitap kitaplar kitapları|göz gözler|kız kızlar|Ankara Ankara'da",
}

func TestInflectionsHaveOneStem(t *testing.T) {
	t.Parallel()
	for l := range stemmed {
		if inflections[l] == "" {
			t.Errorf("there are no words of language %d", l)
		}
		for group := range strings.SplitSeq(inflections[l], "|") {
			first := ""
			for i, word := range strings.Fields(group) {
				stem := StemIn(l, Fold(word))
				if i == 0 {
					first = stem
				}
				if stem != first {
					t.Errorf("language %d: the stem of %q is %q, want %q as of %q", l, word, stem, first, group)
				}
			}
		}
	}
}

// What is typed without accents has the same stem, because stems are made of folded words.
func TestStemsAreFolded(t *testing.T) {
	t.Parallel()
	for l := range Languages {
		for _, word := range strings.Fields(strings.ReplaceAll(inflections[l], "|", " ")) {
			if stem := StemIn(l, Fold(word)); stem != Fold(stem) || stem == "" {
				t.Errorf("language %d: the stem of %q is %q", l, word, stem)
			}
		}
	}
}

func TestWordsWithoutInflectionsHaveNoStem(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "a", "я", "7", "3.14", "2nd", "北京", "ภา", "🎉", "½x"} {
		for l := English + 1; l < Languages; l++ {
			if stem := StemIn(l, word); Inflected(word) || stem != word {
				t.Errorf("language %d: %q is inflected (%v) and has the stem %q", l, word, Inflected(word), stem)
			}
		}
	}
}

// Stemmers are code of others. Whatever the word is, they end with a stem, which is always the same.
func TestStemmersTakeAnyWord(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aeiouyáéíóúäöüåøñçßşığαбжйыьяאבגدمنيтعة'’'nsrtmdlkhbgčž\u0301\u0640i̇٣５")
	for range testtier.Rounds(2_000, 50_000) {
		var b strings.Builder
		for n := 1 + r.IntN(20); n > 0; n-- {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		spelling := b.String()
		if r.IntN(50) == 0 {
			spelling = strings.Repeat(spelling, 20)
		}
		word := Fold(spelling[:cut(spelling, maxWord)])
		for l := range Languages {
			stem := StemIn(l, word)
			if !utf8.ValidString(stem) || word != "" && stem == "" || stem != StemIn(l, word) {
				t.Fatalf("language %d: the stem of %q is %q", l, word, stem)
			}
		}
	}
}

func TestDifferentWordsTellTheLanguageOfADocument(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for _, c := range []struct {
		title, text string
		want        Language
	}{
		{"", "", English},
		{"", "The quick brown fox jumps over the lazy dog", English}, // "over" and "dog" are Danish, too
		{"", "dog dog dog over over", English},
		{"", "Best pasta al dente", English},
		{"Hot dog man", "door door want ten", English},
		{"", "und und und und", English}, // one word
		{"Rezept", "Äpfel mit Zimt und Zucker", German},
		{"Das Rezept für den Kuchen", "", German},
		{"README", "Der Fehler ist nicht in diesem Programm. Run make test and read the log.", German},
		{"", "Le médicament est dans la cuisine, à côté de la fenêtre.", French},
		{"", "Los gatos duermen en la cama con el perro.", Spanish},
		{"", "I gatti dormono nella stanza con il cane.", Italian},
		{"", "Os gatos dormem na cama com o cão.", Portuguese},
		{"", "De katten slapen op het bed met de hond.", Dutch},
		{"", "Katterna sover i sängen och hunden är här.", Swedish},
		{"", "Кошки спят на кровати, а собака под столом.", Russian},
		{"", "Kediler bu yatakta ve o köpek için bir ev var.", Turkish},
		{"", "A macskák az ágyon alszanak, és a kutya is ott van.", Hungarian},
		{"", "Kissat ovat sängyllä ja koira on tässä, mutta se ei nuku.", Finnish},
		{"", "Pisicile dorm pe pat, dar câinele este sub masă și nu doarme.", Romanian},
	} {
		if got := a.LanguageOf(c.title, c.text); got != c.want {
			t.Errorf("%q, %q has the language %d, want %d", c.title, c.text, got, c.want)
		}
	}
}

// Stop words of many languages at once decide for one, and always the same.
func TestStopWordsOfAllLanguagesTellOne(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	var all []string
	for word := range languagesOf {
		all = append(all, word)
	}
	want := a.LanguageOf("", strings.Join(all, " "))
	for range 5 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := a.LanguageOf(strings.Join(all[:10], " "), strings.Join(all[10:], " ")); got != want {
			t.Fatalf("the language is %d, in another order %d", want, got)
		}
	}
}

func TestHighlightsAreOfTheLanguage(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	w := &Wanted{Language: German, Terms: map[string]float64{StemIn(German, "haus"): 1}}
	if got := a.Mark("Die Häuser und das Haus", w); len(got) != 2 || got[0] != (Span{4, 10}) || got[1] != (Span{19, 23}) {
		t.Errorf("marked %v", got)
	}
	w.Language = English
	if got := a.Mark("Die Häuser und das Haus", w); len(got) != 1 {
		t.Errorf("marked %v in English", got)
	}
}
