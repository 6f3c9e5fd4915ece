package search_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/testtier"
)

// many imports n documents d00000… at once.
func (b *bundle) many(n int, textOf func(i int) string) {
	b.t.Helper()
	i := 0
	imported, err := b.documents.Import(b.t.Context(), workspace, func() (document.Line, bool, error) {
		if i == n {
			return document.Line{}, false, nil
		}
		i++
		return document.Line{Number: i, ID: fmt.Sprintf("d%05d", i-1), Fields: document.Fields{Text: textOf(i - 1)}}, true, nil
	}, document.ImportOptions{})
	if err != nil || imported.Created+imported.Replaced != n {
		b.t.Fatalf("import: %+v, %v", imported, err)
	}
}

// pages follows cursors and gives all ids; between two pages it calls between.
func (b *bundle) pages(r search.Request, between func(page int)) []string {
	b.t.Helper()
	var ids []string
	for page := 0; ; page++ {
		answer := b.find(r)
		ids = append(ids, idsOf(answer)...)
		if answer.NextCursor == "" {
			return ids
		}
		r.Cursor = answer.NextCursor
		if between != nil {
			between(page)
		}
	}
}

func TestPagesReachEveryResultOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := testtier.Rounds(1_050, 10_500)
	b.many(n, func(i int) string { return fmt.Sprintf("stone number%d %s", i%7, "pebble sand"[:i%11]) })
	for r, want := range map[*search.Request]int{
		{Query: "stone number3 pebble", Limit: 100}:                     n,
		{Query: "number3", Limit: 90, Sort: search.NewestFirst}:         n / 7,
		{Query: "number3 -pebble", Limit: 90, Sort: search.OldestFirst}: 0,
	} {
		if want == 0 {
			want = int(b.find(*r).Total)
		}
		ids := b.pages(*r, nil)
		slices.Sort(ids)
		if len(ids) != want || len(slices.Compact(ids)) != want {
			t.Errorf("%+v: %d results over all pages, %d different, want %d", *r, len(ids), len(slices.Compact(ids)), want)
		}
	}
	one := b.find(search.Request{Query: "stone number3 pebble", Limit: 37})
	two := b.find(search.Request{Query: "stone number3 pebble", Limit: 20, Cursor: one.NextCursor})
	whole := b.find(search.Request{Query: "stone number3 pebble", Limit: 57})
	if got := append(idsOf(one), idsOf(two)...); !slices.Equal(got, idsOf(whole)) || one.Total != int64(n) || two.Total != int64(n) {
		t.Errorf("pages of 37 and 20 are not the first 57")
	}
}

// What is written between two pages moves no other document: each is seen once, whatever happens to the counts.
func TestPagesStayWhileDocumentsAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, step := testtier.Rounds(40, 300), testtier.Rounds(5, 20)
	b.many(n, func(i int) string { return fmt.Sprintf("stone %s%s", "pebble "[:7*(i%2)], fmt.Sprint("sand ", i%5)) })
	ids := b.pages(search.Request{Query: "stone pebble sand", Limit: step}, func(page int) {
		for i := range step {
			b.text(fmt.Sprintf("new%d-%d", page, i), "pebble and nothing that was asked for before, only pebble pebble pebble")
		}
	})
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	for i := range n {
		if id := fmt.Sprintf("d%05d", i); seen[id] != 1 {
			t.Errorf("%s was seen %d times", id, seen[id])
		}
	}
}

// The words in place of a misspelled one stay the same on all pages, even if there is a document with it by then.
func TestPagesOfARepairedSearchStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(40, func(i int) string { return "harbour " + "lantern "[:8*(i%2)] })
	r := search.Request{Query: "harbuor lantern", Repair: true, Limit: 7}
	cursor := b.find(r).NextCursor
	if decoded, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || len(decoded) == 0 || bytes.Contains(decoded, []byte("harb")) {
		t.Errorf("the cursor is %s, %v", decoded, err)
	}
	ids := b.pages(r, func(page int) {
		b.text(fmt.Sprint("new", page), "harbuor harbuors harbor lighthouse")
	})
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	for i := range 40 {
		if id := fmt.Sprintf("d%05d", i); seen[id] != 1 {
			t.Errorf("%s was seen %d times", id, seen[id])
		}
	}
}

func TestACursorBelongsToItsSearch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(30, func(int) string { return "stone" })
	first := search.Request{Query: "stone", Limit: 5, Highlight: true}
	cursor := b.find(first).NextCursor
	other := func(workspaceID string, change func(*search.Request)) error {
		r := first
		r.Cursor = cursor
		change(&r)
		_, err := b.search.Search(t.Context(), workspaceID, r)
		return err
	}
	for name, err := range map[string]error{
		"query":      other(workspace, func(r *search.Request) { r.Query = "stones" }),
		"collection": other(workspace, func(r *search.Request) { r.Collection = "default" }),
		"tag":        other(workspace, func(r *search.Request) { r.Tags = []string{"x"} }),
		"prefix":     other(workspace, func(r *search.Request) { r.Prefix = search.PrefixTrue }),
		"highlight":  other(workspace, func(r *search.Request) { r.Highlight = false }),
		"sort":       other(workspace, func(r *search.Request) { r.Sort = search.NewestFirst }),
		"workspace":  other("wsp_two", func(*search.Request) {}),
		"forged":     other(workspace, func(r *search.Request) { r.Cursor = "A" + r.Cursor[1:] + "A" }),
	} {
		var p *problem.Problem
		if !errors.As(err, &p) || p.Details.Field != "cursor" || p.Details.Issue != problem.InvalidVal {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := other(workspace, func(r *search.Request) { r.Limit = 7 }); err != nil {
		t.Errorf("another limit: %v", err)
	}
}
