package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func wanted(words ...string) *Wanted {
	w := &Wanted{Terms: map[string]float64{}}
	for _, word := range words {
		w.Terms[Stem(Fold(word))] = 1
	}
	return w
}

// shown puts brackets around highlighted words.
func shown(s string, spans []Span) string {
	points := []rune(s)
	var b strings.Builder
	at := 0
	for _, span := range spans {
		b.WriteString(string(points[at:span.Start]) + "[" + string(points[span.Start:span.End]) + "]")
		at = span.End
	}
	return b.String() + string(points[at:])
}

func TestExcerptShowsTheBestPassage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("nothing of note here at all ", 20)
	for _, c := range []struct {
		name string
		text string
		w    *Wanted
		size int
		want string
	}{
		{"WholeShortText", "A red fox.", wanted("fox"), 240, "A red [fox]."},
		{"StemsMatch", "He was running.", wanted("run"), 240, "He was [running]."},
		{"BeginningWithoutAMatch", "one two three four", wanted("zebra"), 8, "one two…"},
		{
			"PassageWithMoreDifferentWords", "fox fox fox " + filler + "red fox, blue " + filler, wanted("red", "fox", "blue"), 60,
			"…here at all [red] [fox], [blue] nothing of note here at all…",
		},
		{"WhiteSpaceIsMadeSingle", "a\n\n\tred   fox\r\n", wanted("fox"), 240, "a red [fox]"},
		{"CodePointsNotBytes", "žluťoučký kůň pěl ódy", wanted("ódy"), 240, "žluťoučký kůň pěl [ódy]"},
		{"PairsJoin", "これは黒猫です", &Wanted{Terms: map[string]float64{"黒猫": 1, "猫で": 1}}, 240, "これは[黒猫で]す"},
		{"ASingleCharacterIsMarkedAlone", "これは黒猫です", &Wanted{Words: map[string]float64{"猫": 1}}, 240, "これは黒[猫]です"},
		{"AWordThatIsCutOffIsNotMarked", "黒猫が好きred", wanted("red", "黒猫"), 7, "[黒猫]が好きre…"},
		{"CombiningMarksStayWithTheirLetter", "un cafe\u0301 noir", wanted("cafe"), 240, "un [cafe\u0301] noir"},
		{"ADevanagariWordIsWhole", "यह हिन्दी है", wanted("हिन्दी"), 240, "यह [हिन्दी] है"},
		{"ThaiVowelsStayWithTheirConsonant", "กินข้าวที่บ้าน", &Wanted{Terms: map[string]float64{"ข้า": 1}}, 240, "กิน[ข้า]วที่บ้าน"},
		{"ASkinToneStaysWithItsEmoji", "ok 👍🏽!", wanted("👍"), 240, "ok [👍🏽]!"},
		{"JoinedEmojiAreOneCharacter", "to 🧑‍🚀🚀 go", wanted("🚀"), 240, "to [🧑‍🚀🚀] go"},
		{"AFlagIsOneCharacter", "🇩🇪🇪🇩", wanted("🇪🇩"), 240, "🇩🇪[🇪🇩]"},
		{"AVariationSelectorStays", "I ❤️ it", wanted("❤"), 240, "I [❤️] it"},
		{"NoCharacterIsCutAtTheEnd", strings.Repeat("e\u0301", 20), wanted("zebra"), 9, strings.Repeat("e\u0301", 4) + "…"},
		{"NoEmojiIsCutAtTheEnd", strings.Repeat("🧑‍🚀", 9), wanted("zebra"), 8, "🧑‍🚀🧑‍🚀…"},
		{"NoCharacterIsCutAtTheStart", strings.Repeat("か\u3099", 30) + "黒猫", &Wanted{Terms: map[string]float64{"黒猫": 1}}, 9, "…か\u3099か\u3099か\u3099[黒猫]"},
		{"PrefixMarksLongerWords", "search and searching", &Wanted{Prefix: "searchi"}, 240, "search and [searching]"},
		{"EmptyText", "", wanted("fox"), 240, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			snippet, spans := NewAnalyzer().Excerpt(c.text, c.w, c.size)
			if got := shown(snippet, spans); got != c.want {
				t.Errorf("excerpt\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMarkGivesCodePoints(t *testing.T) {
	t.Parallel()
	title := "Über Füchse und fox foxes"
	if got := shown(title, NewAnalyzer().Mark(title, wanted("uber", "fox"))); got != "[Über] Füchse und [fox] [foxes]" {
		t.Errorf("marked %q", got)
	}
}

// For any text, an excerpt is at most as long as requested, not counting dots. Its spans are inside it, in order,
// disjoint, and on wanted words.
func TestExcerptHoldsItsPromisesOnAnyText(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	word := rapid.SampledFrom([]string{"red", "foxes", "猫", "黒猫が好き", "é", "  \n", "-", "zebra", "ｆｏｘ", "e\u0301", "🎉", "\u0000"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(word).Draw(t, "words"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "between"))
		size := rapid.IntRange(10, 60).Draw(t, "size")
		w := &Wanted{Terms: map[string]float64{"red": 1, "fox": 2, "黒猫": 1}, Words: map[string]float64{"猫": 1}, Prefix: "zeb"}
		snippet, spans := a.Excerpt(s, w, size)
		n := utf8.RuneCountInString(snippet)
		if n > size+2 {
			t.Fatalf("%d code points of at most %d", n, size)
		}
		end := -1
		for _, span := range spans {
			if span.Start <= end || span.End <= span.Start || span.End > n {
				t.Fatalf("span %+v after %d in %d code points", span, end, n)
			}
			end = span.End
			marked := string([]rune(snippet)[span.Start:span.End])
			found := false
			a.Scan(marked, func(tok Token) bool {
				_, _, _, ok := w.find(tok)
				found = found || ok
				return true
			})
			if !found {
				t.Fatalf("%q is marked", marked)
			}
		}
	})
}

// Excerpts skip English words by their first letter.
func TestEnglishStemsKeepTheFirstLetter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]string{"a", "B", "y", "Y", "s", "K", "7"}).Draw(t, "first")
		rest := rapid.StringOf(rapid.SampledFrom([]rune("aeiouyYsdngltkx'’é\u0301ßﬁ.9"))).Draw(t, "rest")
		Split(first+rest, func(sp Spelling) bool {
			c := sp.Word[0]
			if c >= utf8.RuneSelf {
				return true
			}
			word, stem := Form(sp.Word)
			lower := strings.ToLower(string(rune(c)))
			if !strings.HasPrefix(word, lower) || !strings.HasPrefix(stem, lower) {
				t.Fatalf("%q has the word %q and the stem %q", sp.Word, word, stem)
			}
			return true
		})
	})
}

func TestMarkFindsWordsOfAnyCaseAndLanguage(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	for _, test := range []struct {
		w    Wanted
		s    string
		want string
	}{
		{Wanted{Terms: map[string]float64{"lantern": 1}}, "Lanterns, LANTERN, ｌantern and a lamp", "[Lanterns], [LANTERN], [ｌantern] and a lamp"},
		{Wanted{Terms: map[string]float64{"3.5": 1}}, "3.5 or 3.6", "[3.5] or 3.6"},
		{Wanted{Prefix: "ec"}, "École, echo, Echo, ache", "[École], [echo], [Echo], ache"},
		{Wanted{Language: French, Terms: map[string]float64{StemIn(French, "arbre"): 1}}, "l'arbre", "[l'arbre]"},
	} {
		if got := shown(test.s, a.Mark(test.s, &test.w)); got != test.want {
			t.Errorf("marked %q, want %q", got, test.want)
		}
	}
}
