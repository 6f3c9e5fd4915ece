package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// olderDocuments are the documents of a workspace, by ID.
func olderDocuments() []document.Document {
	at := documentTime(0)
	return []document.Document{
		{
			ID: "all", Collection: "news", Title: "Öl", Text: "words of 世界", URL: "https://example.com/a", Tags: []string{"x", "y"},
			Metadata: map[string]any{"n": 1.5}, CreatedAt: at.Add(-time.Hour), UpdatedAt: at.Add(time.Millisecond), Revision: 3, Change: 4,
		},
		{ID: "back", Collection: "default", Text: "c", Tags: []string{"x"}, CreatedAt: at, UpdatedAt: at.Add(-time.Minute), Revision: 2, Change: 3},
		{ID: "plain", Collection: "default", Text: "a", CreatedAt: at, UpdatedAt: at, Revision: 1, Change: 1},
		{ID: "same", Collection: "default", Title: "b", CreatedAt: at, UpdatedAt: at, Revision: 1, Change: 2},
	}
}

var olderWorkspaces = []string{"wsp_a", "wsp_b"}

// WriteOlderDocuments writes documents as a program with schema 23 did. schema is "" or the name of the schema with a dot.
func WriteOlderDocuments(t *testing.T, schema string, exec func(statement string)) {
	t.Helper()
	jsonOf := func(v any, none string) string {
		text, err := json.Marshal(v)
		noError(t, err)
		if string(text) == "null" {
			return none
		}
		return string(text)
	}
	for i, w := range olderWorkspaces {
		exec(fmt.Sprintf(`INSERT INTO %sdocument_head (number, workspace_id, change, documents) VALUES (%d, '%s', 5, 4)`, schema, i+1, w))
		exec(fmt.Sprintf(`INSERT INTO %sdocument_tombstone (workspace, id, change) VALUES (%d, 'gone', 5)`, schema, i+1))
		for _, d := range olderDocuments() {
			exec(fmt.Sprintf(`
				INSERT INTO %sdocument (workspace, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change)
				VALUES (%d, '%s', '%s', '%s', '%s', '%s', '%s', '%s', %d, %d, %d, %d)`,
				schema, i+1, d.ID, d.Collection, d.Title, d.Text, d.URL, jsonOf(d.Tags, "[]"), jsonOf(d.Metadata, "{}"),
				d.CreatedAt.UnixMicro(), d.UpdatedAt.UnixMicro(), d.Revision, d.Change))
			for _, tag := range d.Tags {
				exec(fmt.Sprintf(`INSERT INTO %sdocument_tag (workspace, tag, document_id) VALUES (%d, '%s', '%s')`, schema, i+1, tag, d.ID))
			}
		}
	}
}

// CheckOlderDocuments checks that the documents of WriteOlderDocuments, and what they are counted with, are the same on a newer
// schema.
func CheckOlderDocuments(t *testing.T, s *store.Store) {
	t.Helper()
	for _, w := range olderWorkspaces {
		for _, c := range []struct {
			filter document.Filter
			want   []int
		}{
			{document.Filter{}, []int{0, 1, 2, 3}},
			{document.Filter{Sort: document.Newest}, []int{0, 3, 2, 1}},
			{document.Filter{Sort: document.Oldest}, []int{1, 2, 3, 0}},
			{document.Filter{Collection: "default"}, []int{1, 2, 3}},
			{document.Filter{Collection: "news"}, []int{0}},
			{document.Filter{Tags: []string{"x"}}, []int{0, 1}},
		} {
			var want, got []document.Document
			for _, i := range c.want {
				want = append(want, olderDocuments()[i])
			}
			f := c.filter
			f.Limit = 1
			for {
				list, err := s.ListDocuments(t.Context(), w, f)
				noError(t, err)
				if len(list) == 0 {
					break
				}
				got = append(got, list...)
				f.After = &document.Position{ID: list[0].ID, UpdatedAt: list[0].UpdatedAt}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %+v: %s", w, c.filter, diff)
			}
		}
		changes, err := s.DocumentChanges(t.Context(), w, 0, 10)
		noError(t, err)
		if len(changes) != 5 || changes[4].ID != "gone" || changes[4].Document != nil {
			t.Errorf("changes of %s: %+v", w, changes)
		}
	}

	const w = "wsp_a"
	bytes := int64(0)
	for _, d := range olderDocuments() {
		bytes += int64(len(d.ID + d.Collection + d.Title + d.Text + d.URL))
	}
	bytes += int64(len(`["x","y"]` + `{"n":1.5}` + `["x"]` + `{}` + `[]` + `{}` + `[]` + `{}`))
	wantStored(t, s, w, bytes)
	next := &document.Document{ID: "plain", Collection: "default", Text: "longer", UpdatedAt: documentTime(time.Hour)}
	_, err := s.PutDocument(t.Context(), w, next, document.Put{})
	noError(t, err)
	if !next.CreatedAt.Equal(documentTime(0)) || next.Revision != 2 || next.Change != 6 {
		t.Errorf("replaced: %+v", next)
	}
	wantStored(t, s, w, bytes+5)
	again := &document.Document{ID: "all", Collection: "default", UpdatedAt: documentTime(time.Hour)}
	_, err = s.PutDocuments(t.Context(), w, []document.Write{{Document: again}})
	noError(t, err)
	wantStored(t, s, w, int64(len("back"+"plain"+"same"+"all")+4*len("default")+len("c"+"longer"+"b"+`["x"]`)+3*len(`[]`)+4*len(`{}`)))
	if n, err := s.DeleteDocuments(t.Context(), w, []string{"all", "back", "plain", "same"}); err != nil || n != 4 {
		t.Errorf("%d deleted, %v", n, err)
	}
	wantStored(t, s, w, 0)
	wantStored(t, s, "wsp_b", bytes)
}
