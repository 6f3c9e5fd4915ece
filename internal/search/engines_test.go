package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/testtier"
)

// Whatever order the same documents were written in, and whatever else was written and deleted meanwhile, every search
// gives the same results in the same order on both engines and in every process: scores and ties, over all pages, also
// where each page is asked of another.
func TestSearchIsTheSameOnBothEngines(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	url := migrated(t)
	all := []*bundle{setup(t), onPostgres(t, url, time.Minute), onPostgres(t, url, time.Minute)}
	round, searches := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		workspaceID := fmt.Sprintf("wsp_%d", round)
		final := drawDocuments(r)
		for i, b := range all[:2] {
			writeInSomeOrder(t, r, b, workspaceID, final, i)
		}
		for range 5 {
			q := drawRequest(r)
			want := pagesFrom(t, r, workspaceID, q, all[0])
			for _, from := range [][]*bundle{all[1:2], all[2:], all} {
				searches++
				if diff := cmp.Diff(want, pagesFrom(t, r, workspaceID, q, from...)); diff != "" {
					r.Fatalf("%+v (-SQLite +PostgreSQL or in turns):\n%s", q, diff)
				}
			}
		}
	})
	if searches < testtier.Rounds(50, 100) {
		t.Errorf("only %d searches were compared", searches)
	}
}

// filed is a document as it stands in the end.
type filed struct {
	id     string
	fields document.Fields
	at     time.Time
}

// words are so few that many documents are alike.
var words = append([]string{"redder", "redden", "the", "foxes", "猫", "der", "und", "Katze", "Katzen", "los", "una", "gatos"}, vocabulary...)

func drawWords(r *rapid.T, least, most int, what string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), least, most).Draw(r, what), " ")
}

func drawDocuments(r *rapid.T) []filed {
	var list []filed
	for i := range rapid.IntRange(1, 30).Draw(r, "documents") {
		list = append(list, filed{
			id: fmt.Sprintf("d%d", i),
			fields: document.Fields{
				Title: drawWords(r, 0, 3, "title"), Text: drawWords(r, 1, 6, "text"),
				Collection: rapid.SampledFrom([]string{"", "notes"}).Draw(r, "collection"),
				Tags:       rapid.SampledFrom([][]string{nil, {"x"}, {"x", "y"}}).Draw(r, "tags"),
				Metadata:   rapid.SampledFrom([]map[string]any{nil, {"n": 1.0}, {"n": 2.5, "s": "a"}, {"n": "2", "s": true}}).Draw(r, "metadata"),
			},
			at: time.Date(2026, 11, rapid.IntRange(1, 4).Draw(r, "day"), 0, 0, 0, 0, time.UTC),
		})
	}
	return list
}

// writeInSomeOrder writes the documents one by one or together, over others that were there before.
func writeInSomeOrder(t *testing.T, r *rapid.T, b *bundle, workspaceID string, final []filed, which int) {
	order := rapid.Permutation(final).Draw(r, fmt.Sprintf("order %d", which))
	for _, d := range order {
		if rapid.IntRange(0, 3).Draw(r, "before") > 0 {
			continue
		}
		b.clock = d.at.Add(time.Hour)
		id := d.id
		if rapid.Bool().Draw(r, "deleted") {
			id = "gone-" + id
		}
		_, _, err := b.documents.Put(t.Context(), workspaceID, id, document.Fields{Text: drawWords(r, 1, 9, "text before")}, document.Condition{})
		if err == nil && id != d.id {
			err = b.documents.Delete(t.Context(), workspaceID, id, nil)
		}
		if err != nil {
			r.Fatal(err)
		}
		if rapid.Bool().Draw(r, "searched between") { // a segment of its own
			if _, err := b.search.Search(t.Context(), workspaceID, search.Request{Query: "red"}); err != nil {
				r.Fatal(err)
			}
		}
	}
	for _, d := range order {
		b.clock = d.at
		if _, _, err := b.documents.Put(t.Context(), workspaceID, d.id, d.fields, document.Condition{}); err != nil {
			r.Fatal(err)
		}
	}
}

func drawRequest(r *rapid.T) search.Request {
	q := search.Request{
		Limit:      rapid.IntRange(1, 10).Draw(r, "limit"),
		Prefix:     rapid.SampledFrom([]search.Prefix{"", search.PrefixAuto, search.PrefixTrue, search.PrefixFalse}).Draw(r, "prefix"),
		Collection: rapid.SampledFrom([]string{"", "", "default", "notes"}).Draw(r, "of collection"),
		Tags:       rapid.SampledFrom([][]string{nil, nil, {"x"}, {"y", "x"}}).Draw(r, "of tags"),
		Sort:       rapid.SampledFrom([]search.Sort{"", "", search.NewestFirst, search.OldestFirst}).Draw(r, "sort"),
		Highlight:  rapid.Bool().Draw(r, "highlight"),
		Repair:     rapid.Bool().Draw(r, "repair"),
		Facets:     rapid.SampledFrom([][]string{nil, {"tag", "collection"}, {"n", "s", "none"}}).Draw(r, "facets"),
		Metadata: rapid.SampledFrom([][]document.Comparison{
			nil, nil, {document.Compare("n", document.Greater, "1")}, {document.Compare("s", document.NotEqual, "a")},
		}).Draw(r, "comparisons"),
	}
	parts := strings.Fields(drawWords(r, 0, 6, "query"))
	if phrase := drawWords(r, 0, 2, "phrase"); phrase != "" {
		parts = append(parts, `"`+phrase+`"`)
	}
	if word := drawWords(r, 0, 1, "without"); word != "" {
		parts = append(parts, "-"+word)
	}
	parts = append(parts, rapid.SampledFrom([]string{"re", "fo", "zeb", "red", "zebre", "pebblle", "katzem", "gato"}).Draw(r, "typed so far"))
	q.Query = strings.Join(parts, " ")
	return q
}

// place is a result as a caller sees it.
type place struct {
	ID         string
	Score      float64
	Snippet    string
	Highlights []search.Highlight
}

type pages struct {
	Total      int64
	Exact      bool
	Facets     map[string][]search.FacetValue
	Suggestion string
	Places     []place
}

// pagesFrom follows a search to its end, each page from the next of the processes.
func pagesFrom(t *testing.T, r *rapid.T, workspaceID string, q search.Request, from ...*bundle) pages {
	var all pages
	for n := 0; ; n++ {
		answer, err := from[n%len(from)].search.Search(t.Context(), workspaceID, q)
		if err != nil {
			r.Fatalf("search %+v: %v", q, err)
		}
		all.Total, all.Exact, all.Facets, all.Suggestion = answer.Total, answer.Exact, answer.Facets, answer.Suggestion
		for _, found := range answer.Results {
			all.Places = append(all.Places, place{found.Document.ID, found.Score, found.Snippet, slices.Clone(found.Highlights)})
		}
		if q.Cursor = answer.NextCursor; q.Cursor == "" {
			return all
		}
	}
}
