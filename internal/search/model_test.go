package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// vocabulary are words that are their own stems and no stop words.
var vocabulary = []string{"red", "fox", "dog", "sand", "pebbl", "zebra"}

// asked is a query and what it means.
type asked struct{ any, must, not []string }

func (a asked) String() string {
	parts := slices.Clone(a.any)
	for _, phrase := range a.must {
		parts = append(parts, `"`+phrase+`"`)
	}
	for _, phrase := range a.not {
		parts = append(parts, `-"`+phrase+`"`)
	}
	return strings.Join(parts, " ")
}

func has(d document.Fields, phrase string) bool {
	return strings.Contains(" "+d.Title+" ", " "+phrase+" ") || strings.Contains(" "+d.Text+" ", " "+phrase+" ")
}

func (a asked) count(d document.Fields) int {
	n := 0
	for _, word := range a.any {
		if has(d, word) {
			n++
		}
	}
	return n
}

func (a asked) matches(d document.Fields) bool {
	lacks := func(phrase string) bool { return !has(d, phrase) }
	switch {
	case slices.ContainsFunc(a.must, lacks), slices.ContainsFunc(a.not, func(phrase string) bool { return has(d, phrase) }):
		return false
	case len(a.must) > 0:
		return true
	case len(a.any) > 0:
		return a.count(d) > 0
	}
	return len(a.not) > 0
}

// Whatever is written and deleted in whatever order, each search finds exactly the documents that match, over however
// many pages; those with more of a few words come first.
func TestSearchAgreesWithReadingEveryDocument(t *testing.T) {
	t.Parallel()
	words := func(least, most int) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(vocabulary), least, most), func(s []string) string { return strings.Join(s, " ") })
	}
	round := 0
	b := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		round++
		workspaceID := fmt.Sprintf("wsp_%d", round)
		model := map[string]document.Fields{}
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			id := fmt.Sprintf("d%d", rapid.IntRange(0, 12).Draw(r, "id"))
			if _, there := model[id]; there && rapid.Bool().Draw(r, "delete") {
				if err := b.documents.Delete(t.Context(), workspaceID, id, nil); err != nil {
					r.Fatalf("delete: %v", err)
				}
				delete(model, id)
				continue
			}
			// Stop words decide the language, in which the other words have stems of their own.
			language := rapid.SampledFrom([]string{"", " the and with", " der und nicht", " les une est"}).Draw(r, "language")
			f := document.Fields{Title: words(0, 3).Draw(r, "title"), Text: words(1, 8).Draw(r, "text") + language}
			if _, _, err := b.documents.Put(t.Context(), workspaceID, id, f, document.Condition{}); err != nil {
				r.Fatalf("put: %v", err)
			}
			model[id] = f
		}
		q := asked{
			any:  slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 4).Draw(r, "any")))),
			must: rapid.SliceOfN(words(1, 2), 0, 2).Draw(r, "must"),
			not:  rapid.SliceOfN(words(1, 2), 0, 2).Draw(r, "not"),
		}
		if q.String() == "" {
			return
		}
		var got []string
		for req := (search.Request{Query: q.String(), Limit: rapid.IntRange(1, 5).Draw(r, "limit")}); ; {
			answer, err := b.search.Search(t.Context(), workspaceID, req)
			if err != nil {
				r.Fatalf("search %s: %v", q, err)
			}
			got = append(got, idsOf(answer)...)
			if req.Cursor = answer.NextCursor; req.Cursor == "" {
				if answer.Total != int64(len(got)) {
					r.Fatalf("%s: total %d, found %d", q, answer.Total, len(got))
				}
				break
			}
		}
		if len(q.must) == 0 && len(q.any) <= 3 {
			for i := 1; i < len(got); i++ {
				if q.count(model[got[i-1]]) < q.count(model[got[i]]) {
					r.Fatalf("%s: %s stands before %s in %v", q, got[i-1], got[i], model)
				}
			}
		}
		var want []string
		for id := range maps.Keys(model) {
			if q.matches(model[id]) {
				want = append(want, id)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Fatalf("%s: found %v, want %v in %v", q, got, want, model)
		}
	})
}
