package search_test

import (
	"slices"
	"strings"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
)

// in puts documents into a collection: id, text, id, text ….
func (b *bundle) in(name string, pairs ...string) {
	b.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		b.put(pairs[i], document.Fields{Collection: name, Text: pairs[i+1]})
	}
}

// want checks what a query finds in a collection, or in all if name is empty, in order.
func (b *bundle) want(name, q, want string) {
	b.t.Helper()
	if got := strings.Join(idsOf(b.find(search.Request{Query: q, Collection: name, Repair: true})), " "); got != want {
		b.t.Errorf("%q in %q finds %q, want %q", q, name, got, want)
	}
}

func rowOf(list ...string) collection.Synonym { return collection.Synonym{Words: list} }

func TestSynonymsFindEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "a", "a red sofa", "b", "a red couch", "c", "a red lamp", "d", "the television set", "e", "a settee for two")
	b.want("shop", "sofa", "a")
	b.tune("shop", collection.Settings{Synonyms: []collection.Synonym{rowOf("sofa", "couch", "settee"), {From: "tv", To: []string{"television"}}}})
	for q, want := range map[string]string{
		"sofa": "a b e", "couches": "b a e", "tv": "d", "television": "d", "red settee": "b a e c",
		`"sofa"`: "a", "lamp -sofa": "c", "red -sofa": "b c", "sofa lamp": "a b e c",
	} {
		got := idsOf(b.find(search.Request{Query: q, Collection: "shop"}))
		wanted := strings.Fields(want)
		if q == "sofa" || q == "couches" || q == "red settee" || q == "sofa lamp" || q == "red -sofa" { // scores decide among the others
			slices.Sort(got[1:])
			slices.Sort(wanted[1:])
		}
		if q == "red settee" || q == "red -sofa" || q == "sofa lamp" {
			slices.Sort(got)
			slices.Sort(wanted)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%q finds %v, want %v", q, got, wanted)
		}
	}
	b.tune("shop", collection.Settings{})
	b.want("shop", "sofa", "a")
}

func TestSynonymsCanBeSeveralWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "a", "a washing machine with a door", "b", "a washer", "c", "a machine for washing up", "d", "a sewing machine")
	b.tune("shop", collection.Settings{Synonyms: []collection.Synonym{rowOf("washing machine", "washer")}})
	b.want("shop", "washer", "b a")
	if got := idsOf(b.find(search.Request{Query: "washing machine", Collection: "shop"})); len(got) != 4 || slices.Index(got, "b") > slices.Index(got, "d") {
		t.Errorf("the phrase finds %v", got)
	}
}

func TestAWordWithSynonymsIsNotRepaired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "a", "flumpx water", "b", "a couch")
	b.want("shop", "flumbx", "a")
	b.tune("shop", collection.Settings{Synonyms: []collection.Synonym{rowOf("flumbx", "couch")}})
	b.want("shop", "flumbx", "b")
	b.want("shop", "cuoch", "b")
}

func TestSynonymsAreHighlighted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "b", "a red couch")
	b.tune("shop", collection.Settings{Synonyms: []collection.Synonym{rowOf("sofa", "couch")}})
	found := b.find(search.Request{Query: "sofa", Collection: "shop", Highlight: true})
	if len(found.Results) != 1 || len(found.Results[0].Highlights) != 1 || found.Results[0].Highlights[0].Start != 6 {
		t.Errorf("got %+v", found.Results)
	}
}

func TestTheProgramsListIsOffByDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("help", "a", "The doctor will see you.", "b", "The physician will see you.")
	b.want("help", "physicians", "b")
	b.tune("help", collection.Settings{Synonyms: []collection.Synonym{{List: collection.English}}})
	b.want("help", "physicians", "b a")
}

func TestSynonymsInCirclesEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("x", "a", "one", "b", "two", "c", "three")
	b.tune("x", collection.Settings{Synonyms: []collection.Synonym{
		{From: "one", To: []string{"two"}}, {From: "two", To: []string{"three", "two"}}, {From: "three", To: []string{"one"}}, rowOf("one", "one"),
	}})
	b.want("x", "one", "a b")
	b.want("x", "three", "c a")
}

// A search over several collections uses the settings of each.
func TestEachDocumentIsSearchedByTheSettingsOfItsCollection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "s1", "a couch", "s2", "a sofa")
	b.in("other", "o1", "a couch", "o2", "a sofa")
	b.in("plain", "p1", "a couch", "p2", "a sofa")
	b.put("x1", document.Fields{Collection: "fields", Text: "nothing", Metadata: map[string]any{"by": "A sofa"}})
	b.put("x2", document.Fields{Collection: "fields", Text: "sofa", Metadata: map[string]any{"by": "nobody"}})
	b.tune("shop", collection.Settings{Synonyms: []collection.Synonym{rowOf("sofa", "couch")}})
	b.tune("other", collection.Settings{Synonyms: []collection.Synonym{rowOf("chair", "stool")}})
	b.tune("fields", collection.Settings{Fields: map[string]float64{"metadata.by": 1}})
	found := b.find(search.Request{Query: "sofa", Facets: []string{"collection"}})
	got := idsOf(found)
	slices.Sort(got)
	if want := []string{"o2", "p2", "s1", "s2", "x1"}; !slices.Equal(got, want) || found.Total != 5 {
		t.Errorf("found %v of %d, want %v", got, found.Total, want)
	}
	counts := int64(0)
	for _, f := range found.Facets["collection"] {
		counts += f.Count
	}
	if len(found.Facets["collection"]) != 4 || counts != 5 {
		t.Errorf("facets are %v", found.Facets)
	}
	var paged []string
	r := search.Request{Query: "sofa", Limit: 2}
	for {
		page := b.find(r)
		paged = append(paged, idsOf(page)...)
		if page.NextCursor == "" {
			break
		}
		r.Cursor = page.NextCursor
	}
	if all := idsOf(found); !slices.Equal(paged, all) {
		t.Errorf("pages have %v, want %v", paged, all)
	}
}

func TestFieldsHaveWeights(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(id, title, text, author string) {
		b.put(id, document.Fields{Collection: "books", Title: title, Text: text, Metadata: map[string]any{"author": author, "year": 1854.0}})
	}
	put("title", "Walden", "It is a book.", "Henry Thoreau")
	put("text", "Novel", "It is about Walden.", "Somebody Else")
	put("author", "Poems", "It is a book.", "Mary Walden")
	b.want("books", "walden", "title text")
	b.want("books", "thoreau", "")
	b.tune("books", collection.Settings{Fields: map[string]float64{"title": 3, "text": 1, "metadata.author": 2}})
	b.want("books", "walden", "title author text")
	b.tune("books", collection.Settings{Fields: map[string]float64{"title": 1, "text": 3, "metadata.author": 10}})
	b.want("books", "walden", "author text title")
	b.tune("books", collection.Settings{Fields: map[string]float64{"title": 1, "metadata.author": 1, "metadata.year": 1}})
	for q, want := range map[string]string{
		"thoreau": "title", "thoreaus": "title", `"mary walden"`: "author", `"walden mary"`: "", "poems -mary": "", "thoerau": "title", "novel": "text",
	} {
		b.want("books", q, want)
	}
	if got := b.find(search.Request{Query: "1854", Collection: "books"}).Total; got != 3 {
		t.Errorf("a number in metadata finds %d documents", got)
	}
	if got := b.find(search.Request{Query: "about", Collection: "books"}).Total; got != 0 {
		t.Errorf("a text that is not searched finds %d documents", got)
	}
	if got := idsOf(b.find(search.Request{Query: "thor", Collection: "books", Prefix: search.PrefixTrue})); !slices.Equal(got, []string{"title"}) {
		t.Errorf("a beginning finds %v", got)
	}
	b.tune("books", collection.Settings{})
	b.want("books", "thoreau", "")
	b.want("books", "walden", "title text")
}

func TestAPreviewUsesOtherSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in("shop", "a", "a sofa", "b", "a couch")
	preview := &collection.Settings{Synonyms: []collection.Synonym{rowOf("sofa", "couch")}}
	if got := idsOf(b.find(search.Request{Query: "sofa", Collection: "shop", Preview: preview})); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the preview finds %v", got)
	}
	b.want("shop", "sofa", "a")
}
