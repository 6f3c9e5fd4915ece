package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

func TestQueriesFindWhatTheySay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"fox", "The quick brown fox jumps over the lazy dog",
		"dog", "A dog that sleeps all day",
		"foxes", "Two foxes and a brown bear",
		"cat", "黒猫が好きです",
		"tokyo", "東京の猫",
		"mail", "Send an e-mail to the café",
	)
	b.put("titled", document.Fields{Title: "Lazy afternoons", Text: "Nothing else"})
	for _, c := range []struct {
		name  string
		query string
		want  []string
	}{
		{"AnyWordMatchesMoreRankHigher", "brown fox lazy", []string{"fox", "foxes", "titled"}},
		{"StemsMatch", "jumping", []string{"fox"}},
		{"CaseAndAccentsDoNotMatter", "CAFE", []string{"mail"}},
		{"PhraseMustOccur", `"brown fox"`, []string{"fox"}},
		{"PhraseDoesNotSkipWords", `"quick fox"`, []string{}},
		{"PhraseIsRequiredWordsAreNot", `"lazy dog" bear`, []string{"fox"}},
		{"AllPhrasesMustOccur", `"brown fox" "brown bear"`, []string{}},
		{"PhraseOfOneWordMustOccur", `"dog" fox`, []string{"fox", "dog"}},
		{"PhraseInTitle", `"lazy afternoon"`, []string{"titled"}},
		{"ExcludedWordMustNotOccur", "dog -fox", []string{"dog"}},
		{"ExcludedStemsToo", "brown -foxes", []string{}},
		{"ExcludedPhrase", `brown -"brown bear"`, []string{"fox"}},
		{"OnlyExclusionsGiveAllOthers", "-dog -猫 -brown", []string{"mail", "titled"}},
		{"HyphenInsideIsNotAnExclusion", "e-mail", []string{"mail"}},
		{"ExcludedCompoundIsAPhrase", "send -e-mail", []string{}},
		{"LoneMinusIsNothing", "- dog -", []string{"dog", "fox"}},
		{"UnclosedQuoteIsNothing", `"brown bear`, []string{"foxes", "fox"}},
		{"OtherSyntaxIsText", "title:dog AND (fox* OR ~bear^2)", []string{"foxes", "fox", "dog"}},
		{"PairsOfCharacters", "黒猫", []string{"cat"}},
		{"SingleCharacterInsideRuns", "猫", []string{"cat", "tokyo"}},
		{"ExcludedCharacter", "猫 -黒", []string{"tokyo"}},
		{"PhraseOfCharacters", `"東京の猫"`, []string{"tokyo"}},
		{"NothingToSearchFor", "?!", []string{}},
		{"UnknownWord", "zebra", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, b.ids(c.query)); diff != "" {
				t.Errorf("ids for %s (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func TestMoreMatchingWordsWinOverFrequentAndShort(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 30 {
		b.text(fmt.Sprintf("common%02d", i), "crossing")
	}
	b.text("often", strings.Repeat("zebra ", 50), "both", "zebra "+strings.Repeat("filler words ", 500)+" crossing")
	if got := b.ids("zebra crossing"); len(got) == 0 || got[0] != "both" {
		t.Errorf("first of %v, want both", got)
	}
}

func TestATitleTellsMoreThanAText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Title: "Bread", Text: "zebra"})
	b.put("b", document.Fields{Title: "Zebra", Text: "bread"})
	if got := b.ids("zebra"); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("got %v", got)
	}
}

func TestFiltersNarrow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Collection: "blue", Text: "stone", Tags: []string{"old", "round"}})
	b.put("b", document.Fields{Collection: "blue", Text: "stone", Tags: []string{"old"}})
	b.put("c", document.Fields{Text: "stone", Tags: []string{"old", "round"}})
	for _, c := range []struct {
		r    search.Request
		want []string
	}{
		{search.Request{Query: "stone", Collection: "blue"}, []string{"a", "b"}},
		{search.Request{Query: "stone", Tags: []string{"old", "round"}}, []string{"a", "c"}},
		{search.Request{Query: "stone", Collection: "default", Tags: []string{"round"}}, []string{"c"}},
		{search.Request{Query: "-pebble", Collection: "blue"}, []string{"a", "b"}},
		{search.Request{Query: "!", Collection: "blue"}, []string{}},
		{search.Request{Query: "stone", Collection: "Blue"}, []string{}},
	} {
		if diff := cmp.Diff(c.want, idsOf(b.find(c.r))); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.r, diff)
		}
	}
}

func TestPrefixCompletesTheLastWord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("a", "searching the sea", "b", "the search", "c", "other")
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"searchi", []string{"a"}},
		{"SEAR", []string{"a", "b"}},
		{"searchi other", []string{"c"}},
		{"othe searchin", []string{"a"}},
		{`"sea`, []string{"a", "b"}},
	} {
		answer := b.find(search.Request{Query: c.query, Prefix: search.PrefixTrue})
		got := idsOf(answer)
		slices.Sort(got)
		if !slices.Equal(got, c.want) || !answer.Exact {
			t.Errorf("%s: got %v, exact %v, want %v", c.query, got, answer.Exact, c.want)
		}
	}
	if got := idsOf(b.find(search.Request{Query: "searchi", Prefix: search.PrefixFalse})); len(got) != 0 {
		t.Errorf("without prefix searchi found %v", got)
	}
}

func TestStopWordsAreMarkedOnlyIfTheyAreAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("tire", document.Fields{Text: "A flat tire is a tire without air."})
	b.put("tea", document.Fields{Text: "A cup of tea."})
	for query, want := range map[string]map[string]int{
		"how do i fix a flat tire": {"tire": 3},
		"a":                        {"tire": 2, "tea": 1},
	} {
		for _, r := range b.find(search.Request{Query: query, Highlight: true}).Results {
			if got := len(r.Highlights); got != want[r.Document.ID] {
				t.Errorf("%s: %s has %d highlights, want %d: %+v", query, r.Document.ID, got, want[r.Document.ID], r.Highlights)
			}
		}
	}
}

func TestResultsShowWhyTheyWereFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Title: "Žluté lišky", Text: "V lese žijí lišky.", URL: "https://example.org/a", Metadata: map[string]any{"n": 1.5}})
	answer := b.find(search.Request{Query: "lisky", Highlight: true})
	if len(answer.Results) != 1 || answer.Total != 1 || !answer.Exact || answer.NextCursor != "" {
		t.Fatalf("got %+v", answer)
	}
	got := answer.Results[0]
	want := []search.Highlight{{Field: "snippet", Start: 12, End: 17}, {Field: "title", Start: 6, End: 11}}
	if diff := cmp.Diff(want, got.Highlights); diff != "" || got.Snippet != "V lese žijí lišky." || got.Score <= 0 {
		t.Errorf("got %+v, highlights (-want +got):\n%s", got, diff)
	}
	if got.Document.URL != "https://example.org/a" || got.Document.Metadata["n"] != 1.5 || !got.Document.UpdatedAt.Equal(b.clock) {
		t.Errorf("document is %+v", got.Document)
	}
	if plain := b.find(search.Request{Query: "lisky"}).Results[0]; len(plain.Highlights) != 0 || plain.Snippet != got.Snippet {
		t.Errorf("without highlights: %+v", plain)
	}
}

// Passages are in the text as it is stored, and a cursor leads only to pages with as many of them.
func TestResultsHavePassages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Text: "\n Zde nic není. V lese žijí lišky. " + strings.Repeat("Zde nic není. ", 100) + "Lišky!"})
	b.put("b", document.Fields{Title: "Lišky", Text: "Nic."})
	b.put("c", document.Fields{Title: "Lišky"})
	answer := b.find(search.Request{Query: "lišky lese", Passages: 2})
	got := map[string][]text.Passage{}
	for _, r := range answer.Results {
		got[r.Document.ID] = r.Passages
	}
	if a := got["a"]; len(a) != 2 || a[0].Start != 2 || !strings.HasPrefix(a[0].Text, "Zde nic není. V lese žijí lišky.") || !strings.HasSuffix(a[1].Text, " Lišky!") {
		t.Errorf("passages are %+v", a)
	}
	if diff := cmp.Diff([]text.Passage{{Text: "Nic.", Span: text.Span{Start: 0, End: 4}}}, got["b"]); diff != "" || got["c"] != nil {
		t.Errorf("passages of %+v (-want +got):\n%s", got, diff)
	}
	first := b.find(search.Request{Query: "lišky", Limit: 1, Passages: 2})
	_, err := b.search.Search(t.Context(), workspace, search.Request{Query: "lišky", Limit: 1, Passages: 1, Cursor: first.NextCursor})
	if p, ok := problem.As(err); !ok || p.Kind != problem.Invalid {
		t.Errorf("a cursor with other passages: %v", err)
	}
}

func TestOrdersByTimeAndTiesById(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, id := range []string{"d", "b", "c", "a"} {
		b.text(id, "same")
		b.clock = b.clock.Add(time.Duration(i%2) * time.Millisecond) // d b at one moment, c a at the next
	}
	for _, c := range []struct {
		sort search.Sort
		want []string
	}{
		{search.ByRelevance, []string{"a", "b", "c", "d"}},
		{search.NewestFirst, []string{"a", "c", "b", "d"}},
		{search.OldestFirst, []string{"b", "d", "a", "c"}},
	} {
		got := idsOf(b.find(search.Request{Query: "same", Sort: c.sort}))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.sort, got, c.want)
		}
	}
}

func TestQueriesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		query string
		issue problem.Issue
	}{
		{" \t\u00a0", problem.Required},
		{strings.Repeat("ž", 1025), problem.TooLong},
		{"a\xff", problem.Format},
	} {
		_, err := b.search.Search(t.Context(), workspace, search.Request{Query: c.query})
		var p *problem.Problem
		if !errors.As(err, &p) || p.Kind != problem.Invalid || p.Details.Field != "q" || p.Details.Issue != c.issue {
			t.Errorf("%.20q: got %v, want q %s", c.query, err, c.issue)
		}
	}
	b.find(search.Request{Query: strings.Repeat("ž", 1024)})
}

func TestAWriteIsInTheNextSearch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 20
	for i := range n {
		id := fmt.Sprintf("d%d", i)
		b.text(id, "unicorn")
		if got := b.find(search.Request{Query: "unicorn"}).Total; got != int64(i+1) {
			t.Fatalf("after %d documents found %d", i+1, got)
		}
	}
	b.text("d0", "horse")
	if got := b.find(search.Request{Query: "unicorn"}).Total; got != n-1 {
		t.Errorf("after a replacement found %d, want %d", got, n-1)
	}
	if err := b.documents.Delete(t.Context(), workspace, "d1", nil); err != nil {
		t.Fatal(err)
	}
	if got := b.find(search.Request{Query: "unicorn"}).Total; got != n-2 {
		t.Errorf("after a deletion found %d, want %d", got, n-2)
	}
}

func TestWorkspacesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("mine", "unicorn")
	answer, err := b.search.Search(t.Context(), "wsp_two", search.Request{Query: "unicorn"})
	if err != nil || answer.Total != 0 {
		t.Errorf("another workspace found %+v, %v", answer, err)
	}
}
