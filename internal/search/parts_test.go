package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/search"
)

// A word that no document has finds documents with words that share parts with it.
func TestPartsOfWordsAreFoundIfNoDocumentHasTheWord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"key", "Haustürschlüssel nachmachen", "cats", "Katzenfutter kaufen", "greek", "Οι μαθητές του σχολείου", "turkish", "kitapçılarımızdan",
		"room", "Schlafzimmer streichen", "none", "Garten und Hof",
	)
	for _, c := range []struct{ query, want string }{
		{"Schlüssel", "key"},
		{"Futter", "cats"},
		{"Zimmer", "room"},
		{"μαθητών", "greek"},
		{"kitapçı", "turkish"},
		{"Garten Schlüssel", "none key"}, // a document with a word as it was typed comes first
		{`"Schlüssel"`, ""},
		{"-Schlüssel", "cats greek key none room turkish"},
		{"Haus", "key"}, // the beginning of a word
		{"Wolkenkratzer", ""},
	} {
		answer := b.find(search.Request{Query: c.query, Repair: true, Highlight: true})
		if got := strings.Join(idsOf(answer), " "); got != c.want || answer.Suggestion != "" {
			t.Errorf("%s finds %q and suggests %q, want %q", c.query, got, answer.Suggestion, c.want)
		}
		if c.query == "Schlüssel" && (len(answer.Results) == 0 || !slices.Equal(answer.Results[0].Highlights, []search.Highlight{{Field: "snippet", Start: 0, End: 16}})) {
			t.Errorf("the highlights are %+v", answer.Results)
		}
		if strings.HasPrefix(c.query, "-") || c.query == "Haus" {
			continue
		}
		if got := strings.Join(idsOf(b.find(search.Request{Query: c.query})), " "); got != "" && got != "none" && c.query != "kitapçı" {
			t.Errorf("without repair, %s finds %s", c.query, got)
		}
	}
}

// Parts of words that documents have change the order only.
func TestPartsOfWordsRaiseRanks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"a", "tea and water in the morning", "b", "tea and watering in the garden", "c", "tea and waterfalls of the north", "d", "tea and coffee of the south",
		"e", "a dark house", "f", "waterproof boots",
	)
	for _, q := range []string{"tea water", "tea", `"tea and" water`, "tea waterfall -coffee", "water"} {
		with := b.find(search.Request{Query: q, Repair: true, Facets: []string{"collection"}})
		without := b.find(search.Request{Query: q, Facets: []string{"collection"}})
		got, want := idsOf(with), idsOf(without)
		slices.Sort(got)
		slices.Sort(want)
		if with.Total != without.Total || !slices.Equal(got, want) || fmt.Sprint(with.Facets) != fmt.Sprint(without.Facets) {
			t.Errorf("%s finds %v in place of %v", q, got, want)
		}
	}
	got := b.find(search.Request{Query: "tea waterfall", Repair: true})
	if ids := idsOf(got); ids[0] != "c" || ids[len(ids)-1] != "d" {
		t.Errorf("the order is %v", ids)
	}
}

// The words that share parts are those of the first page, whatever is written meanwhile.
func TestPagesOfPartsStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(40, func(i int) string {
		return "stone " + strings.Repeat("sand ", i%3) + []string{"waterfall", "underwater", "water"}[i%3]
	})
	for _, q := range []string{"stone water", "waters stone", "waterfowl"} {
		before := idsOf(b.find(search.Request{Query: q, Limit: 100, Repair: true}))
		if len(before) < 13 {
			t.Fatalf("%s finds %v", q, before)
		}
		written := 0
		ids := b.pages(search.Request{Query: q, Limit: 7, Repair: true}, func(int) {
			written++
			b.text(fmt.Sprint("new", q[:3], written), "stone and watering or waterproof waterways")
		})
		seen := map[string]int{}
		for _, id := range ids {
			seen[id]++
		}
		for _, id := range before {
			if seen[id] != 1 {
				t.Errorf("%s: %s was seen %d times", q, id, seen[id])
			}
		}
	}
}
