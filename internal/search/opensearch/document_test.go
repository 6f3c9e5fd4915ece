package opensearch

import (
	"strings"
	"testing"

	"keepsake/internal/search/index"
)

func TestADocumentBecomesTokens(t *testing.T) {
	t.Parallel()
	w := NewWriter(index.NewLexicon())
	body, words := w.Document("a", &index.Document{
		Title: "Red foxes", Text: "The red fox", Keys: []string{index.Collection("default"), index.Number("n", 2.5)}, UpdatedAt: 7,
		Fields: []index.Field{{Name: "colour", Texts: []string{"Dark blue"}}},
	})
	for _, part := range []string{
		`"id":"a"`, `"updated":7`, `"language":0`, `"titleLength":2`, `"textLength":3`, `"title":"red fox"`, `"text":"the red fox"`,
		`"words":"red foxes the fox"`,
	} {
		if !strings.Contains(string(body), part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
	if got := strings.Join(words, " "); got != "blue dark red foxes the fox" {
		t.Errorf("words %q", got)
	}
}

// Several stems are at one position in Vietnamese, and the last character of a run without spaces has none.
func TestPlacesHaveHolesAndStacks(t *testing.T) {
	t.Parallel()
	got := places([]index.Occurrence{{Term: "\x07a", Position: 2}, {Term: "\x07\x11b", Position: 2}, {Term: "\x07c", Position: 4}})
	if want := "| a&Rb | c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What the script unpacks is what was packed, but large frequencies are rounded.
func TestFrequenciesAreExactWhereTheyAreSmall(t *testing.T) {
	t.Parallel()
	last := -1
	for n := range 2000 {
		code := frequencyCode(n)
		if code != last && code != last+1 || code >= textFrequencies {
			t.Fatalf("the code of %d is %d after %d", n, code, last)
		}
		last = code
		value := code
		if code >= exactInText {
			value = (16 + (code-exactInText)%16) << (2 + (code-exactInText)/16)
		}
		if value > n || n < exactInText && value != n || n < 600 && n-value > n/16 {
			t.Fatalf("%d becomes %d", n, value)
		}
	}
	if most := packed(1000, 100_000, 255, 255); most >= 1<<24 {
		t.Errorf("%d does not fit into 24 bits", most)
	}
}

func TestTermsKeepTheirBytesAndOrder(t *testing.T) {
	t.Parallel()
	low, high := index.Number("ü", -3), index.Number("ü", 2)
	if unlatin(latin(low)) != low || latin(low) >= latin(high) {
		t.Errorf("%q and %q become %q and %q", low, high, latin(low), latin(high))
	}
}
