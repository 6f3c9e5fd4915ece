package search

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/text"
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
	if q.prefix {
		parts = append(parts, "*")
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
		if diff := cmp.Diff(c.want, written(parse(a, c.q, false))); diff != "" {
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
		if got := parse(a, q, true); got.prefix != want {
			t.Errorf("%s: prefix %v, want %v", q, got.prefix, want)
		}
	}
	if q := parse(a, "fox red fox", true); q.words[len(q.words)-1].Word != "fox" {
		t.Errorf("the word typed last is %q", q.words[len(q.words)-1].Word)
	}
}

func TestLongPhraseIsCut(t *testing.T) {
	t.Parallel()
	a := text.NewAnalyzer()
	numbers := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, strconv.Itoa(i+100))
		}
		return strings.Join(list, " ")
	}
	lengths := func(phrases [][]text.Token) (list []int) {
		for _, tokens := range phrases {
			list = append(list, len(tokens))
		}
		return list
	}
	for name, c := range map[string]struct {
		q         string
		must, not []int
	}{
		"as long as possible":      {`"` + numbers(32) + `"`, []int{32}, nil},
		"one word more":            {`"` + numbers(33) + `"`, []int{32, 1}, nil},
		"three parts":              {`fox "` + numbers(80) + `" dog`, []int{32, 32, 16}, nil},
		"equal parts":              {`"` + strings.Repeat("a ", 511) + `"`, []int{32, 31}, nil},
		"an excluded one":          {`-"` + numbers(80) + `"`, nil, []int{32}},
		"an excluded dotted word":  {"-" + strings.Repeat("b.", 40) + "x", nil, []int{32}},
		"characters with pairs":    {`"` + strings.Repeat("猫犬", 20) + `"`, []int{32, 7}, nil},
		"a cut before a last one":  {`"` + numbers(31) + ` 猫犬 1"`, []int{32, 1}, nil},
		"excluded characters":      {"-" + strings.Repeat("猫犬", 20), nil, []int{32}},
		"words outside of phrases": {numbers(80), nil, nil},
	} {
		q := parse(a, c.q, false)
		if got := lengths(q.must); !slices.Equal(got, c.must) {
			t.Errorf("%s: quoted phrases of %v words, want %v", name, got, c.must)
		}
		if got := lengths(q.not); !slices.Equal(got, c.not) {
			t.Errorf("%s: excluded phrases of %v words, want %v", name, got, c.not)
		}
		for _, tokens := range append(q.must, q.not...) {
			if tokens[0].Term == "" {
				t.Errorf("%s: a phrase begins with a character without a pair", name)
			}
		}
	}
	if q := parse(a, strings.Repeat("a ", 512), false); len(q.words) != 1 {
		t.Errorf("words outside a phrase: %d", len(q.words))
	}
}

// Whatever is typed, it is taken apart into words that can be searched, and taking those apart again gives no others.
func FuzzParse(f *testing.F) {
	for _, q := range []string{`a "b c" -d`, `-"x`, `""-"`, "黒猫 -猫", "don't -e-mail"} {
		f.Add(q, true)
	}
	a := text.NewAnalyzer()
	f.Fuzz(func(t *testing.T, q string, prefix bool) {
		if !utf8.ValidString(q) {
			return
		}
		parsed := parse(a, q, prefix)
		if parsed.prefix && (!prefix || len(parsed.words) == 0) {
			t.Fatalf("%q: no word to complete", q)
		}
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
