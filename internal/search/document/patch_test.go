package document_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
)

func TestAPatchChangesOnlyItsFields(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	whole := document.Fields{
		Collection: "notes", Title: "title", Text: "text", URL: "https://example.com/", Tags: []string{"x"},
		Metadata: map[string]any{"a": 1.0, "b": "two"},
	}
	d, _, err := b.Put(t.Context(), workspace, "d", whole, document.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	none, list := "", []string{"y", "y"}
	for _, c := range []struct {
		patch document.Patch
		apply func(d *document.Document)
	}{
		{document.Patch{}, func(*document.Document) {}},
		{document.Patch{Title: &none}, func(d *document.Document) { d.Title = "" }},
		{document.Patch{Collection: &none, URL: &none}, func(d *document.Document) { d.Collection, d.URL = document.DefaultCollection, "" }},
		{document.Patch{Tags: &list}, func(d *document.Document) { d.Tags = []string{"y"} }},
		{document.Patch{Metadata: &map[string]any{"b": nil, "c": true, "none": nil}}, func(d *document.Document) { d.Metadata = map[string]any{"a": 1.0, "c": true} }},
		{document.Patch{Metadata: new(map[string]any)}, func(d *document.Document) { d.Metadata = map[string]any{} }},
	} {
		want := *d
		c.apply(&want)
		want.Revision++
		want.Change++
		if d, err = b.Patch(t.Context(), workspace, "d", c.patch, []int64{d.Revision}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, d); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.patch, diff)
		}
		stored, err := b.Document(t.Context(), workspace, "d")
		if err != nil || cmp.Diff(d, stored) != "" {
			t.Errorf("%+v: %v %s", c.patch, err, cmp.Diff(d, stored))
		}
	}
	if _, err := b.Patch(t.Context(), workspace, "d", document.Patch{Text: &none}, nil); codeOf(err) != problem.CodeValidation {
		t.Errorf("a patch that leaves neither title nor text: %v", err)
	}
	if _, err := b.Patch(t.Context(), workspace, "d", document.Patch{}, []int64{1}); codeOf(err) != problem.CodeRevisionMismatch {
		t.Errorf("a patch of another revision: %v", err)
	}
	if _, err := b.Patch(t.Context(), "wsp_other", "d", document.Patch{}, nil); codeOf(err) != problem.CodeNotFound {
		t.Errorf("a patch of another workspace's document: %v", err)
	}
	if want := d.Change; b.changes[len(b.changes)-1] != want {
		t.Errorf("changes %v were reported, want the last to be %d", b.changes, want)
	}
}

// Patches of different fields that run at the same time are all in the result.
func TestParallelPatchesAreAllApplied(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *document.Options) { o.Changed = func(string, int64) {} })
	if _, _, err := b.Put(t.Context(), workspace, "d", document.Fields{Text: "text"}, document.Condition{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			entry := map[string]any{fmt.Sprint("m", i): float64(i)}
			if _, err := b.Patch(context.WithoutCancel(t.Context()), workspace, "d", document.Patch{Metadata: &entry}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d, err := b.Document(t.Context(), workspace, "d")
	if err != nil || len(d.Metadata) != 8 || d.Revision != 9 {
		t.Errorf("got %d entries in revision %d, %v; want 8 in 9", len(d.Metadata), d.Revision, err)
	}
}
