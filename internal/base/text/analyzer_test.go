package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func terms(s string) []string {
	var list []string
	NewAnalyzer().Scan(s, func(t Token) bool {
		list = append(list, t.Term)
		return true
	})
	return list
}

func TestScanFindsWordsOfAnyScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"StemsEnglish", "Running runners ran, the flies!", []string{"run", "runner", "ran", "the", "fli"}},
		{"FlagsAreOneWord", "🇩🇪🇫🇷 🇩", []string{"🇩🇪", "🇫🇷", "🇩"}},
		{"VariationsAreEqual", "❤️ ❤ 葛\U000E0100城", []string{"❤", "❤", "葛城", ""}},
		{"FoldsCaseAndAccents", "CAFÉ café Cafe\u0301", []string{"cafe", "cafe", "cafe"}},
		{"FoldsLettersWithoutDecomposition", "Straße Łódź Ærø", []string{"strass", "lodz", "aero"}},
		{"FoldsWidth", "ＡＢＣ１２３", []string{"abc123"}},
		{"KeepsApostrophesInside", "don't dogs' O’Brien", []string{"don't", "dog", "o'brien"}},
		{"KeepsNumbersWhole", "3.14 1,000,000 v2.", []string{"3.14", "1.000.000", "v2"}},
		{"SplitsAtHyphensAndUnderscores", "e-mail snake_case", []string{"e", "mail", "snake", "case"}},
		{"PairsCharactersOfJapanese", "黒猫が", []string{"黒猫", "猫が", ""}},
		{"KeepsASingleCharacter", "猫 a", []string{"猫", "a"}},
		{"SeparatesScripts", "Go言語", []string{"go", "言語", ""}},
		{"PairsHangulAndThai", "한국어 ไทย", []string{"한국", "국어", "", "ไท", "ทย", ""}},
		{"FoldsFinalSigma", "ΛΟΓΟΣ λόγος", []string{"λογοσ", "λογοσ"}},
		{"DropsArabicVowels", "كَتَبَ كتب", []string{"كتب", "كتب"}},
		{"TakesPictographsForWords", "well done 🎉", []string{"well", "done", "🎉"}},
		{"FindsNothingInPunctuation", " -- !? \"\" ", nil},
		{"PassesOverInvalidBytes", "a\xffb", []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, terms(c.text)); diff != "" {
				t.Errorf("terms of %q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestScanNumbersAndPlacesTokens(t *testing.T) {
	t.Parallel()
	var got []Token
	NewAnalyzer().Scan("Zürich, 東京 runs", func(tok Token) bool {
		got = append(got, tok)
		return true
	})
	want := []Token{
		{Term: "zurich", Word: "zurich", Marked: "zürich", Start: 0, End: 7, Pos: 1},
		{Term: "東京", Word: "東", Marked: "東", Start: 9, End: 15, Pos: 2},
		{Term: "", Word: "京", Marked: "京", Start: 12, End: 15, Pos: 3},
		{Term: "run", Word: "runs", Marked: "runs", Start: 16, End: 20, Pos: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestVeryLongWordsAreEqualWhenTheirBeginningIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	if got := terms(long + "x " + long + "y"); len(got) != 2 || got[0] != got[1] || len(got[0]) > maxWord {
		t.Errorf("terms of two words that differ after %d letters: %d, equal %v", 500, len(got), got[0] == got[len(got)-1])
	}
}

// Tokens are in order, inside the text and numbered without gaps, and a cached spelling has the same result as a new
// one.
func TestScanHoldsItsPromisesOnAnyText(t *testing.T) {
	t.Parallel()
	shared := NewAnalyzer()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("aZé'’.3 ,-猫ー々ไทย한\u0301\u3099🎉_\"")))).Draw(t, "text")
		checkScan(t, shared, s)
	})
}

func TestAForgottenWordIsReadAgain(t *testing.T) {
	t.Parallel()
	a := NewAnalyzer()
	remembered := func() (n int) {
		for i := range a.forms.slots {
			if a.forms.slots[i].Load() != nil {
				n++
			}
		}
		return n
	}
	checkScan(t, a, "canaries were singing")
	if remembered() == 0 {
		t.Error("no word is remembered")
	}
	a.Clear()
	if n := remembered(); n != 0 {
		t.Errorf("%d words are remembered", n)
	}
	checkScan(t, a, "canaries were singing")
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "don't stop", "黒猫 Café 3.14", "a\xff\u0301b", "ｶﾞ"} {
		f.Add(s)
	}
	shared := NewAnalyzer()
	f.Fuzz(func(t *testing.T, s string) { checkScan(t, shared, s) })
}

func checkScan(t interface{ Fatalf(string, ...any) }, shared *Analyzer, s string) {
	var tokens []Token
	shared.Scan(s, func(tok Token) bool {
		tokens = append(tokens, tok)
		return true
	})
	i, start := 0, -1
	NewAnalyzer().Scan(s, func(tok Token) bool {
		if i >= len(tokens) || tokens[i] != tok {
			t.Fatalf("token %d of %q differs on a new analyzer: %+v", i, s, tok)
		}
		if tok.Word == "" || tok.Start <= start || tok.End <= tok.Start || tok.End > len(s) || !utf8.ValidString(s[tok.Start:tok.End]) {
			t.Fatalf("token %d of %q is %+v after one at %d", i, s, tok, start)
		}
		start = tok.Start
		i++
		return true
	})
	if i != len(tokens) {
		t.Fatalf("%q has %d tokens, and %d on a new analyzer", s, len(tokens), i)
	}
}

func BenchmarkScan(b *testing.B) {
	a := NewAnalyzer()
	s := strings.Repeat("The quick brown foxes were jumping over the lazy dogs, while everybody's watching. ", 100)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		a.Scan(s, func(Token) bool { return true })
	}
}
