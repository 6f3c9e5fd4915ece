package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
)

// written puts a query together again: words, "must", -"not".
func written(q query) string {
	var parts []string
	terms := func(tokens []text.Token) string {
		var list []string
		for _, t := range tokens {
			list = append(list, t.Term)
		}
		return strings.Join(list, " ")
	}
	for _, t := range q.words {
		parts = append(parts, t.Term)
	}
	for _, tokens := range q.must {
		parts = append(parts, `"`+terms(tokens)+`"`)
	}
	for _, tokens := range q.not {
		parts = append(parts, `-"`+terms(tokens)+`"`)
	}
	return strings.Join(parts, " ")
}

func TestParse(t *testing.T) {
	t.Parallel()
	a := text.NewAnalyzer()
	for _, c := range []struct{ q, want string }{
		{"red fox", "red fox"},
		{"red red Red foxes fox", "red fox"},
		{`"red fox" dog`, `dog "red fox"`},
		{`dog"red fox"cat`, `dog cat "red fox"`},
		{`""`, ""},
		{`"`, ""},
		{`a "b`, "a b"},
		{`"a" "b" c"`, `c "a" "b"`},
		{"-red", `-"red"`},
		{"--red", `-"red"`},
		{"- red", "red"},
		{"red-fox -blue-fox", `red fox -"blue fox"`},
		{`-"red fox"`, `-"red fox"`},
		{`red -`, "red"},
		{`-`, ""},
		{"+red ~fox* title:dog", "red fox titl dog"},
		{"黒猫が", "黒猫 猫が"},
		{`"黒猫"`, `"黒猫"`},
		{"-\"\" fox", "fox"},
		{`"red fox" "Red Foxes" "fox red" -dog -"dog" -dogs`, `"red fox" "fox red" -"dog"`},
	} {
		parsed := parse(a, c.q)
		if diff := cmp.Diff(c.want, written(parsed)); diff != "" {
			t.Errorf("parse %s (-want +got):\n%s", c.q, diff)
		}
	}
}

func TestOnlyABareLastWordIsTypedSoFar(t *testing.T) {
	t.Parallel()
	a := text.NewAnalyzer()
	for q, want := range map[string]bool{
		"red fo": true, "fox red fox ": true, `fox "red"`: false, "fox -red": false, `"red" fo`: true, "!": false,
	} {
		if got := parse(a, q); got.lastBare != want {
			t.Errorf("%s: %v, want %v", q, got.prefix, want)
		}
	}
	if q := parse(a, "fox red fox"); q.words[len(q.words)-1].Word != "fox" {
		t.Errorf("the word typed last is %q", q.words[len(q.words)-1].Word)
	}
}

func TestALongPhraseIsComparedByItsFirstWords(t *testing.T) {
	t.Parallel()
	a := text.NewAnalyzer()
	for _, c := range []struct {
		before, word, after string
	}{{`"`, "a ", `"`}, {`-"`, "fox ", `"`}, {"-", "b.", "x"}, {`fox "`, "猫", `犬" dog`}, {`"1 2" "`, "n't ", `" -c`}} {
		phrases := func(n int) [][]text.Token {
			q := parse(a, c.before+strings.Repeat(c.word, n)+c.after)
			return append(q.must, q.not...)
		}
		long, longer := phrases(40), phrases(200)
		for i, phrase := range long {
			if n := len(phrase); n > maxPhrase || i == 0 && n < 2 {
				t.Errorf("%s: a phrase of %d words", c.word, n)
			}
		}
		if diff := cmp.Diff(long, longer, cmp.Comparer(func(a, b text.Token) bool { return a.Term == b.Term && a.Word == b.Word })); diff != "" {
			t.Errorf("%s: what follows the first words decides, too: %s", c.word, diff)
		}
	}
	if q := parse(a, strings.Repeat("a ", 512)); len(q.words) != 1 {
		t.Errorf("words outside a phrase: %d", len(q.words))
	}
}

// Whatever is typed, it is taken apart into words that can be searched, and taking those apart again gives no others.
func FuzzParse(f *testing.F) {
	for _, q := range []string{`a "b c" -d`, `-"x`, `""-"`, "黒猫 -猫", "don't -e-mail"} {
		f.Add(q)
	}
	a := text.NewAnalyzer()
	f.Fuzz(func(t *testing.T, q string) {
		if !utf8.ValidString(q) {
			return
		}
		parsed := parse(a, q)
		spellingsOf(a, parsed)
		seen := map[string]bool{}
		for _, w := range parsed.words {
			if w.Term == "" || seen[w.Term] {
				t.Fatalf("%q: word %+v is empty or twice there", q, w)
			}
			seen[w.Term] = true
		}
		for _, tokens := range append(parsed.must, parsed.not...) {
			if len(tokens) == 0 || tokens[0].Term == "" || len(tokens) > maxPhrase {
				t.Fatalf("%q: a phrase of nothing: %+v", q, tokens)
			}
		}
	})
}
