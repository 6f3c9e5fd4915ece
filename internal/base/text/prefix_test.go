package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"keepsake/internal/base/text"
)

func TestAPrefixEndsWithASentenceOrAWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		max  int
		want string
	}{
		{"She likes tea. She drinks it at noon.", 20, "She likes tea."},
		{"She likes tea. She drinks it at noon.", 34, "She likes tea. She drinks it at"},
		{"Yes. She drinks it at noon every day.", 20, "Yes. She drinks it"},
		{"She likes  tea", 11, "She likes"},
		{"She, well-known for tea", 9, "She,"},
		{"incomprehensibilities", 5, "incom"},
		{"猫が好きです。犬も好きです。毎朝散歩します。", 15, "猫が好きです。犬も好きです。"},
		{"猫が好きです。", 6, "猫が好きで"}, // 。 does not begin a line
		{"هل تحب الشاي؟ نعم تحبه كثيرا.", 18, "هل تحب الشاي؟"},
		{"สวัสดีครับ", 4, "สวัส"},
		{"a👩‍👩‍👧‍👦b", 5, "a"},
		{"👩‍👩‍👧‍👦", 3, ""},
		{"🇩🇪🇫🇷🇮🇹", 3, "🇩🇪"},
		{"noe\u0301l", 3, "no"},
		{"One.\r\nTwo", 5, "One."},
		{"short", 9, "short"},
		{"x", 0, ""},
	} {
		got := text.Prefix(c.s, func(p string) bool { return utf8.RuneCountInString(p) <= c.max })
		if got != c.want {
			t.Errorf("%d of %q: got %q, want %q", c.max, c.s, got, c.want)
		}
	}
}

// Whatever the text, a prefix is within its bound and ends between two characters; it ends inside a word only if no word fits.
func TestAPrefixNeverEndsInsideACharacter(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"a", "Zeit", " ", "\n", "\r\n", ". ", "…", "。", "؟ ", "猫", "한국", "ไทย", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "क्षि", "נ", "\u200b", "-", "/", "9.5", "(", ")", "\u0301",
	})
	rapid.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(r, "pieces"), "")
		most := rapid.IntRange(0, 40).Draw(r, "max")
		got := text.Prefix(s, func(p string) bool { return utf8.RuneCountInString(p) <= most })
		if !strings.HasPrefix(s, got) || utf8.RuneCountInString(got) > most {
			r.Fatalf("%d of %q is %q", most, s, got)
		}
		if got != strings.TrimRightFunc(got, unicode.IsSpace) {
			r.Fatalf("%q ends with white space", got)
		}
		ends := map[int]bool{0: true, len(s): true}
		at, state, rest := 0, -1, s
		for rest != "" {
			var cluster string
			cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
			ends[at] = true
			if first, _ := utf8.DecodeRuneInString(cluster); unicode.IsSpace(first) {
				for i := range cluster { // white space at the end is left out
					ends[at+i] = true
				}
			}
			at += len(cluster)
		}
		if !ends[len(got)] {
			r.Fatalf("%d of %q is %q", most, s, got)
		}
	})
}
