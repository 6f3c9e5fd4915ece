package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// pairs are words as two people write them.
var pairs = [][2]string{
	{"wi-fi", "wifi"},
	{"wi fi", "wifi"},
	{"e-mail", "email"},
	{"t-shirt", "tshirt"},
	{"x-ray", "xray"},
	{"check-in", "checkin"},
	{"TX-4410B", "tx4410b"},
	{"TX 4410 B", "tx4410b"},
	{"16 GB", "16gb"},
	{"USB-C", "usbc"},
	{"500 ml", "500ml"},
	{"4 K", "4k"},
	{"dish washer", "dishwasher"},
	{"key board", "keyboard"},
	{"wheel chair", "wheelchair"},
	{"sun glasses", "sunglasses"},
	{"tooth brush", "toothbrush"},
	{"Spider-Man", "spiderman"},
	{"star wars", "starwars"},
	{"X-Men", "xmen"},
	{"AC/DC", "acdc"},
	{"O'Neill", "oneill"},
	{"snake_case", "snakecase"},
	{"node.js", "nodejs"},
	{"Jean-Luc", "jeanluc"},
	{"log in", "login"},
	{"set-up", "setup"},
	{"follow-up", "followup"},
	{"Haus-Tür", "Haustür"},
	{"Winter Reifen", "Winterreifen"},
	{"can't", "cant"},
	{"micro-wave", "microwave"},
	{"555-1234", "5551234"},
}

// Each spelling of a pair finds the other, and the one that was typed is first, in a collection that has both.
func TestWordsTogetherAndApartFindEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, p := range pairs {
		collection := fmt.Sprint("c", i)
		b.put(fmt.Sprint(i, "-0"), document.Fields{Collection: collection, Title: "The " + p[0] + " manual"})
		b.put(fmt.Sprint(i, "-1"), document.Fields{Collection: collection, Title: "The " + p[1] + " manual"})
		b.put(fmt.Sprint(i, "-2"), document.Fields{Collection: collection, Title: "Something else", Text: "without these words"})
	}
	both := 0
	for i, p := range pairs {
		good := true
		for n, q := range p {
			for _, repair := range []bool{false, true} {
				got := idsOf(b.find(search.Request{Query: q, Collection: fmt.Sprint("c", i), Repair: repair, Prefix: search.PrefixFalse}))
				if want := []string{fmt.Sprint(i, "-", n), fmt.Sprint(i, "-", 1-n)}; !slices.Equal(got, want) {
					t.Errorf("%q with repair %t finds %v, want %v", q, repair, got, want)
					good = false
				}
			}
		}
		if good {
			both++
		}
	}
	t.Logf("both spellings of %d of %d pairs are found both ways", both, len(pairs))
}

// A collection that has only one of the spellings is searched for the other.
func TestTheOtherSpellingAloneIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, p := range pairs {
		for n := range p {
			collection := fmt.Sprint("c", i, "-", n)
			b.put(fmt.Sprint(i, "-", n), document.Fields{Collection: collection, Title: "The manual", Text: "Read about " + p[n] + " before."})
			answer := b.find(search.Request{Query: p[1-n], Collection: collection, Highlight: true, Repair: true})
			if answer.Total != 1 || answer.Suggestion != "" || len(answer.Results[0].Highlights) == 0 {
				t.Errorf("%q in place of %q: %d found, suggestion %q, results %+v", p[1-n], p[n], answer.Total, answer.Suggestion, answer.Results)
				continue
			}
			r := answer.Results[0]
			h := r.Highlights[0]
			marked := string([]rune(r.Snippet)[h.Start:h.End])
			if len(r.Highlights) != 1 || marked != p[n] {
				t.Errorf("%q in place of %q marks %q and %d more", p[1-n], p[n], marked, len(r.Highlights)-1)
			}
		}
	}
}

func TestOtherSpellingsDoNotTouchPhrasesAndExclusions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"apart", "the dish washer in the kitchen", "together", "the dishwasher in the kitchen", "dish", "a dish for the washer", "none", "the kitchen",
	)
	for _, c := range []struct {
		query string
		want  string
	}{
		{"dishwasher", "together apart"},
		{"dish washer", "dish apart together"},
		{`"dish washer"`, "apart"},
		{`"dishwasher"`, "together"},
		{`kitchen -"dish washer"`, "none together"},
		{"kitchen -dishwasher", "none apart"},
		{"kitchen dishwasher", "together apart none"},
		{"*", "apart dish none together"},
		{" * ", "apart dish none together"},
	} {
		if got := strings.Join(b.ids(c.query), " "); got != c.want {
			t.Errorf("%s finds %s, want %s", c.query, got, c.want)
		}
	}
}

// What was typed without a blank is searched as words, and ranks as a phrase.
func TestWordsWithoutABlankRankAsAPhrase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"date", "The invoice of 2024-05-03 is open.", "dates", "03 of 05 in 2024, then 2024 and 03 and 05, 2024, 05",
		"mail", "Write to jane.doe@example.com about it.", "mails", "doe jane com example doe jane com example",
		"half", "See 5/12 for the page.", "halves", "12 of 5 and 12 by 5 or 12", "number", "Room 512",
	)
	for q, want := range map[string]string{
		"2024-05-03": "date dates", "jane.doe@example.com": "mail mails", "5/12": "half halves",
	} {
		if got := strings.Join(b.ids(q), " "); got != want {
			t.Errorf("%s finds %s, want %s", q, got, want)
		}
	}
}

func TestAnAsteriskFindsEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 25 {
		b.put(fmt.Sprintf("d%02d", i), document.Fields{Title: fmt.Sprint("Number ", i), Collection: []string{"a", "b"}[i%2], Tags: []string{"x"}})
	}
	answer := b.find(search.Request{Query: "*", Facets: []string{"collection"}, Limit: 10})
	if answer.Total != 25 || len(answer.Results) != 10 || answer.Results[0].Document.ID != "d00" || answer.Facets["collection"][0].Count != 13 {
		t.Errorf("found %d, %v, facets %v", answer.Total, idsOf(answer), answer.Facets)
	}
	ids := b.pages(search.Request{Query: "*", Limit: 7}, func(int) {})
	if !slices.IsSorted(ids) || len(ids) != 25 {
		t.Errorf("the pages are %v", ids)
	}
	if got := b.find(search.Request{Query: "*", Collection: "a"}).Total; got != 13 {
		t.Errorf("%d in a collection", got)
	}
	if got := idsOf(b.find(search.Request{Query: "*", Sort: search.OldestFirst})); len(got) != 10 {
		t.Errorf("by time: %v", got)
	}
}

// By default, the last word is a beginning only if no document has it as a word.
func TestTheLastWordIsABeginningIfNoDocumentHasIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("boil", document.Fields{Collection: "a", Text: "boil the water"})
	b.put("boiler", document.Fields{Collection: "a", Text: "repair the boiler"})
	b.put("other", document.Fields{Collection: "b", Text: "a boiler and boilers"})
	for _, c := range []struct {
		query, collection string
		prefix            search.Prefix
		want              string
	}{
		{"boil", "a", "", "boil"},
		{"boil", "a", search.PrefixTrue, "boil boiler"},
		{"boi", "a", "", "boil boiler"},
		{"boi", "a", search.PrefixFalse, ""},
		{"boil", "b", "", "other"}, // what another collection has does not matter
		{"boi water", "a", "", "boil"},
		{`"boi"`, "a", "", ""},
		{"-boi", "a", "", "boil boiler"},
	} {
		got := strings.Join(idsOf(b.find(search.Request{Query: c.query, Collection: c.collection, Prefix: c.prefix, Repair: true})), " ")
		if got != c.want {
			t.Errorf("%+v finds %q", c, got)
		}
	}
}

func TestOnlyProbableTyposAreRepaired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"1", "We bake bread.", "2", "The accommodation was fine.", "3", "The accommodation was good.", "4", "Our accomodation was bad.",
		"5", "Ask the technician.", "6", "Thermostat and radiator", "7", "receive parcels", "8", "receive letters",
	)
	for _, c := range []struct{ query, want, suggestion string }{
		{"bike", "", ""}, // a real word
		{"bakke", "1", "bake"},
		{"accomodation", "4", "accommodation"}, // a word that a document has is found as it is
		{"accommodation", "2 3", ""},
		{"dechnician", "5", "technician"}, // a wrong first letter counts as two edits
		{"echnician", "5", "technician"},
		{"ttechnician", "5", "technician"},
		{"etchnician", "5", "technician"},
		{"beceive", "7 8", ""},  // it has seven letters, so it is no typo; but parts of it are right
		{"dexhnician", "5", ""}, // as are parts of this
		{"thermosatt", "6", "thermostat"},
	} {
		answer := b.find(search.Request{Query: c.query, Repair: true})
		if got := strings.Join(idsOf(answer), " "); got != c.want || answer.Suggestion != c.suggestion {
			t.Errorf("%s finds %q and suggests %q, want %q and %q", c.query, got, answer.Suggestion, c.want, c.suggestion)
		}
	}
}
