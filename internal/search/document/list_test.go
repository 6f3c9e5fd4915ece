package document_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search/document"
)

// fill imports count documents d00000, d00001, … with their number and number modulo 7 in the metadata.
func fill(t *testing.T, b *bundle, count int) {
	t.Helper()
	all := make([]document.Line, count)
	for i := range all {
		all[i] = document.Line{ID: fmt.Sprintf("d%05d", i), Fields: document.Fields{Text: "x", Metadata: map[string]any{"n": float64(i), "mod": float64(i % 7)}}}
	}
	if got, err := b.Import(t.Context(), workspace, lines(all...), document.ImportOptions{}); err != nil || got.Created != count {
		t.Fatalf("imported %+v, %v", got, err)
	}
}

func compared(t *testing.T, filters ...string) document.Selection {
	t.Helper()
	var sel document.Selection
	for _, filter := range filters {
		c, ok := document.ParseComparison(filter)
		if !ok {
			t.Fatalf("%s is not a filter", filter)
		}
		sel.Metadata = append(sel.Metadata, c)
	}
	return sel
}

func TestPagesOfAFilterContainEachMatchOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const count = 1_200 // more than are read at once
	fill(t, b, count)
	rapid.Check(t, func(rt *rapid.T) {
		mod, limit := rapid.IntRange(0, 7).Draw(rt, "mod"), rapid.IntRange(1, 200).Draw(rt, "limit")
		sort := rapid.SampledFrom([]document.Sort{document.ByID, document.Oldest, document.Newest}).Draw(rt, "sort")
		sel := compared(t, fmt.Sprint("mod:eq:", mod))
		seen := map[string]bool{}
		var after *document.Position
		for {
			list, next, err := b.List(t.Context(), workspace, sel, sort, after, limit)
			if err != nil || len(list) > limit || next != nil && len(list) < limit {
				rt.Fatalf("a page has %d documents and more is %v, %v", len(list), next != nil, err)
			}
			for i := range list {
				if seen[list[i].ID] || list[i].Metadata["mod"] != float64(mod) {
					rt.Fatalf("%s is listed again or does not match", list[i].ID)
				}
				seen[list[i].ID] = true
			}
			if after = next; after == nil {
				break
			}
		}
		want := 0
		for i := range count {
			if i%7 == mod {
				want++
			}
		}
		if len(seen) != want {
			rt.Fatalf("%d documents, want %d", len(seen), want)
		}
	})
}

func TestAFilterThatMatchesLittleReadsABoundedPart(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const count = 21_000
	fill(t, b, count)
	sel := compared(t, fmt.Sprint("n:eq:", count-1))
	list, next, err := b.List(t.Context(), workspace, sel, document.ByID, nil, 10)
	if err != nil || len(list) != 0 || next == nil || next.ID != "d19999" {
		t.Fatalf("the first page is %+v, next %+v, %v; want no document and d19999", list, next, err)
	}
	list, next, err = b.List(t.Context(), workspace, sel, document.ByID, next, 10)
	if err != nil || len(list) != 1 || next != nil {
		t.Errorf("the second page is %+v, next %+v, %v; want the last document", list, next, err)
	}
}

func TestWhatASelectionMatchesIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const count = 1_200
	fill(t, b, count)
	if _, _, err := b.Put(t.Context(), "wsp_other", "d00003", document.Fields{Text: "x", Metadata: map[string]any{"mod": 3.0}}, document.Condition{}); err != nil {
		t.Fatal(err)
	}
	sel := compared(t, "mod:eq:3", "n:lt:1000")
	for _, want := range []struct {
		dryRun bool
		got    document.Deleted
	}{{true, document.Deleted{Matched: 143}}, {false, document.Deleted{Matched: 143, Deleted: 143}}, {false, document.Deleted{}}} {
		got, err := b.DeleteSelected(t.Context(), workspace, sel, want.dryRun)
		if err != nil || got != want.got {
			t.Fatalf("dry run %v: got %+v, %v; want %+v", want.dryRun, got, err, want.got)
		}
	}
	got, err := b.DeleteIDs(t.Context(), workspace, []string{"d00003", "d00004", "d00004", "none"}, false)
	if err != nil || got != (document.Deleted{Matched: 1, Deleted: 1}) {
		t.Errorf("deleted by ID: %+v, %v; want 1", got, err)
	}
	if _, err := b.Document(t.Context(), "wsp_other", "d00003"); err != nil {
		t.Errorf("another workspace's document: %v", err)
	}
	exported := 0
	for d, err := range b.Export(t.Context(), workspace, "") {
		if err != nil || d.Metadata["mod"] == 3.0 && d.Metadata["n"].(float64) < 1000 {
			t.Fatalf("export: %+v, %v", d, err)
		}
		exported++
	}
	if exported != count-144 {
		t.Errorf("%d documents are left, want %d", exported, count-144)
	}
}
