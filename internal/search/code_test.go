package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
)

// codes are numbers and codes as two people write them.
var codes = [][2]string{
	{"2024-05-03", "20240503"},
	{"2024.05.03", "20240503"},
	{"03/05/2024", "03.05.2024"},
	{"DE89 3704 0044 0532 0130 00", "DE89370400440532013000"},
	{"978-3-16-148410-0", "9783161484100"},
	{"978-3161484100", "9783161484100"},
	{"901820-17", "90182017"},
	{"4711-0815-23", "4711081523"},
	{"4711 0815 23", "4711-081523"},
	{"v1.2.3", "1.2.3"},
	{"v 1.2.3", "v1.2.3"},
	{"50mm", "50 mm"},
	{"10,5cm", "10.5 cm"},
	{"A4", "A 4"},
	{"3,5", "3.5"},
	{"20.000", "20000"},
	{"20 000", "20,000"},
	{"USB 3.0", "usb3.0"},
	{"00:1a:2b:3c:4d:5e", "001a2b3c4d5e"},
	{"VC-9112/07", "VC9112/07"},
	{"VC 9112", "VC-9112"},
	{"follow-up", "follow up"},
	{"snake_case", "snake case"},
	{"node.js", "node js"},
}

// Each spelling of a number or a code finds the other, also in metadata that is searched.
func TestCodesAreFoundAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, p := range codes {
		for n := range p {
			for _, in := range []string{"text", "metadata"} {
				name := fmt.Sprint(in, i, "-", n)
				f := document.Fields{Collection: name, Title: "The manual", Text: "Read about " + p[n] + " before."}
				if in == "metadata" {
					f.Text, f.Metadata = "Read it before.", map[string]any{"number": p[n]}
					b.tune(name, collection.Settings{Fields: map[string]float64{"title": 2, "text": 1, "metadata.number": 1}})
				}
				b.put(name, f)
				answer := b.find(search.Request{Query: p[1-n], Collection: name, Highlight: true, Prefix: search.PrefixFalse})
				if answer.Total != 1 {
					t.Errorf("%q does not find %q in %s", p[1-n], p[n], in)
				}
				if in == "text" && answer.Total == 1 && len(answer.Results[0].Highlights) == 0 {
					t.Errorf("%q in place of %q has the highlights %+v", p[1-n], p[n], answer.Results[0].Highlights)
				}
			}
		}
	}
}

// The spelling that was typed comes first.
func TestCodesAsTypedAreFirst(t *testing.T) {
	t.Parallel()
	ofThisProcess(t) // docs/search.md says so
	b := setup(t)
	for i, p := range codes {
		collection := fmt.Sprint("c", i)
		for n := range p {
			b.put(fmt.Sprint(i, "-", 1-n), document.Fields{Collection: collection, Title: "The " + p[1-n] + " manual"})
		}
		b.put(fmt.Sprint(i, "-2"), document.Fields{Collection: collection, Title: "Something else", Text: "without these words"})
		if p[0] == "3,5" || strings.Count(p[0], " ") > 2 {
			continue // it is the same word, or a longer query, in which another spelling counts nearly as much
		}
		for n, q := range p {
			got := idsOf(b.find(search.Request{Query: q, Collection: collection, Prefix: search.PrefixFalse}))
			if want := []string{fmt.Sprint(i, "-", n), fmt.Sprint(i, "-", 1-n)}; !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", q, got, want)
			}
		}
	}
}

// Numbers that only look alike do not find each other.
func TestOtherNumbersAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"half", "page 5/12", "number", "room 512", "decimal", "4.5 mm", "ages", "children of 4-5 years", "list", "rows 1 2 3 4 5 6 7 8 9 10",
	)
	for q, want := range map[string][]string{"512": {"number"}, "4.5": {"decimal"}, "45": {}, "123456": {}} {
		if got := b.find(search.Request{Query: q, Prefix: search.PrefixFalse}); !slices.Equal(idsOf(got), want) {
			t.Errorf("%q finds %v, want %v", q, idsOf(got), want)
		}
	}
}

// A synonym of several words is found in metadata that is searched.
func TestSynonymsOfSeveralWordsAreFoundInMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Collection: "shop", Title: "Model 12", Metadata: map[string]any{"kind": "a washing machine with a door"}})
	b.put("b", document.Fields{Collection: "shop", Title: "Model 13", Metadata: map[string]any{"kind": "a machine for washing up"}})
	b.put("c", document.Fields{Collection: "shop", Title: "Washer", Metadata: map[string]any{"kind": []any{"washing", "machine"}}})
	b.tune("shop", collection.Settings{
		Synonyms: []collection.Synonym{rowOf("washing machine", "washer")}, Fields: map[string]float64{"title": 2, "metadata.kind": 1},
	})
	b.want("shop", "washer", "c a")
	b.want("shop", "machine washer", "c a b")
}
