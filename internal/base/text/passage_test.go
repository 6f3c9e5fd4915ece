package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func passagesOf(s string, w *Wanted, n, size int) []string {
	var all []string
	for _, p := range NewAnalyzer().Passages(s, w, n, size) {
		all = append(all, p.Text)
	}
	return all
}

func TestPassagesAreWholeSentencesBestFirst(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("There is nothing of note in here at all. ", 30)
	fox, both := "A fox ran by.", "The red fox saw a blue fox."
	for _, c := range []struct {
		name string
		text string
		w    *Wanted
		n    int
		size int
		want []string
	}{
		{"AShortTextIsWhole", " A red fox. It ran.\n", wanted("fox"), 3, 1000, []string{"A red fox. It ran."}},
		{"TheBestIsFirst", fox + " " + filler + both + " " + filler + fox, wanted("red", "blue", "fox"), 2, 30, []string{both, fox}},
		{"AsManyAsThereAre", fox + " " + filler + both, wanted("fox"), 5, 30, []string{both, fox}},
		{"SentencesAroundFillTheRoom", "Aa bb. Cc dd. Ee fox. Gg hh. Ii jj.", wanted("fox"), 1, 22, []string{"Ee fox. Gg hh. Ii jj."}},
		{"WithoutAMatchTheBeginning", "Aa bb. Cc dd. Ee ff.", wanted("zebra"), 3, 15, []string{"Aa bb. Cc dd."}},
		{"NoTextNoPassage", " \n", wanted("zebra"), 3, 15, nil},
		{"ALongSentenceIsCutBetweenWords", strings.Repeat("word ", 20) + "fox " + strings.Repeat("more ", 20), wanted("fox"), 1, 20, []string{"word fox more more"}},
		{"WithoutBlanksBetweenCharacters", strings.Repeat("か\u3099", 50) + "黒猫", &Wanted{Terms: map[string]float64{"黒猫": 1}}, 1, 7, []string{"か\u3099か\u3099黒猫"}},
		{"PlainWordsAddNoPassages", "The end. " + filler + fox, &Wanted{Terms: map[string]float64{"fox": 1, "the": 0.01}}, 5, 30, []string{fox}},
		{"ChineseSentences", "天气很好。我有一只黑猫。它很可爱。", &Wanted{Terms: map[string]float64{"黑猫": 1}}, 1, 8, []string{"我有一只黑猫。"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := passagesOf(c.text, c.w, c.n, c.size); !slices.Equal(got, c.want) {
				t.Errorf("passages\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

// Whatever the text, passages are where they say, fit, begin and end with a character that is not white space, and do not overlap.
func TestPassagesFitAndDoNotOverlap(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"fox", "red ", "Zeit", " ", "\n", "\n\n", "\r\n", ". ", "Dr. ", "… ", "。", "؟ ", "黒猫", "ไทย", "ลาว ", "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "क्षि", "\u200b", "-", "9.5 ", "(", ")\" ",
	})
	analyzer := NewAnalyzer()
	rapid.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 120).Draw(r, "pieces"), "")
		n, size := rapid.IntRange(1, 5).Draw(r, "n"), rapid.IntRange(1, 80).Draw(r, "size")
		w := wanted("fox", "red")
		w.Terms["黒猫"] = 2
		found := analyzer.Passages(s, w, n, size)
		if len(found) > n || len(found) == 0 && strings.TrimSpace(s) != "" {
			r.Fatalf("%d passages of %q, want 1 to %d", len(found), s, n)
		}
		points := []rune(s)
		for i, p := range found {
			if p.Text != string(points[p.Start:p.End]) {
				r.Fatalf("passage %+v is not at its place in %q", p, s)
			}
			if length := utf8.RuneCountInString(p.Text); length > size || length == 0 {
				r.Fatalf("passage %q of %q has %d code points, want 1 to %d", p.Text, s, length, size)
			}
			if strings.TrimFunc(p.Text, unicode.IsSpace) != p.Text {
				r.Fatalf("passage %q begins or ends with white space", p.Text)
			}
			for _, other := range found[:i] {
				if p.Start < other.End && other.Start < p.End {
					r.Fatalf("passages %+v and %+v of %q overlap", p, other, s)
				}
			}
		}
	})
}

func BenchmarkPassages(b *testing.B) {
	a := NewAnalyzer()
	s := strings.Repeat("There is nothing of note in here, and a reader who looks for more will not find it at all. ", 100) +
		"The red fox saw a blue fox. " + strings.Repeat("There is nothing of note in here at all. ", 100)
	w := wanted("red", "fox", "note")
	b.Run("Excerpt", func(b *testing.B) {
		for b.Loop() {
			a.Excerpt(s, w, 240)
		}
	})
	b.Run("One", func(b *testing.B) {
		for b.Loop() {
			a.Passages(s, w, 1, 1000)
		}
	})
	b.Run("Five", func(b *testing.B) {
		for b.Loop() {
			a.Passages(s, w, 5, 1000)
		}
	})
}
