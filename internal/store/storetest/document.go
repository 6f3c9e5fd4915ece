package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

func testDocument(t *testing.T, setup setup) {
	t.Run("ADocumentComesBackAsItWas", func(t *testing.T) {
		s := setup(t)
		full := &document.Document{
			ID: "a.b:c-1", Collection: "notes", Title: "Öl", Text: strings.Repeat("wörter 世界 ", 20_000), URL: "https://example.com/a",
			Tags: []string{"b", "a"}, Metadata: map[string]any{"n": 2.5, "s": "x", "b": false}, Language: "de", UpdatedAt: documentTime(time.Second),
		}
		plain := newDocument("plain")
		plain.Tags = nil
		for _, d := range []*document.Document{full, newDocument("tagged"), plain} {
			created, err := s.Documents.PutDocument(t.Context(), "wsp_a", d, put())
			noError(t, err)
			if !created || d.Revision != 1 || !d.CreatedAt.Equal(d.UpdatedAt) {
				t.Errorf("%s: created %v, revision %d, created at %v", d.ID, created, d.Revision, d.CreatedAt)
			}
			got, err := s.Documents.Document(t.Context(), "wsp_a", d.ID)
			noError(t, err)
			wantDocument(t, got, d)
		}
	})

	t.Run("AReplacementKeepsTheCreationAndRaisesTheRevision", func(t *testing.T) {
		s := setup(t)
		_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("d"), put())
		noError(t, err)
		next := newDocument("d")
		next.Title, next.Tags, next.UpdatedAt = "second", []string{"new"}, documentTime(time.Hour)
		created, err := s.Documents.PutDocument(t.Context(), "wsp_a", next, document.Put{IfRevision: []int64{7, 1}, IfNotRevision: []int64{2}})
		noError(t, err)
		if created || next.Revision != 2 || next.Change != 2 || !next.CreatedAt.Equal(documentTime(0)) {
			t.Errorf("created %v, revision %d, change %d, created at %v", created, next.Revision, next.Change, next.CreatedAt)
		}
		got, err := s.Documents.Document(t.Context(), "wsp_a", "d")
		noError(t, err)
		wantDocument(t, got, next)
		last := newDocument("d")
		last.UpdatedAt = documentTime(-time.Minute) // the clock was set back
		_, err = s.Documents.PutDocuments(t.Context(), "wsp_a", []document.Write{{Document: last}})
		noError(t, err)
		if got, err = s.Documents.Document(t.Context(), "wsp_a", "d"); err != nil || !got.CreatedAt.Equal(documentTime(0)) || !got.UpdatedAt.Equal(last.UpdatedAt) {
			t.Errorf("replaced again: %+v, %v", got, err)
		}
	})

	t.Run("ConditionsAreCheckedBeforeAnythingIsWritten", func(t *testing.T) {
		s := setup(t)
		_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("d"), document.Put{Max: new(int64(1))})
		noError(t, err)
		for _, c := range []struct {
			name string
			id   string
			put  document.Put
			kind problem.Kind
			code string
		}{
			{"create what exists", "d", document.Put{CreateOnly: true}, problem.Conflict, problem.CodeConflict},
			{"another revision", "d", document.Put{IfRevision: []int64{7}}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"a revision of nothing", "e", document.Put{IfRevision: []int64{1}}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"one of some revisions of nothing", "e", document.Put{IfRevision: []int64{0, 1}}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"none of some revisions", "d", document.Put{IfRevision: []int64{7, 8}}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"what must be absent", "d", document.Put{Absent: true}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"a revision that must not be", "d", document.Put{IfNotRevision: []int64{7, 1}}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"nothing that must exist", "e", document.Put{Exists: true}, problem.Mismatch, problem.CodeRevisionMismatch},
			{"one too many", "e", document.Put{Max: new(int64(1))}, problem.Conflict, problem.CodeLimitReached},
		} {
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument(c.id), c.put)
			if p, ok := problem.As(err); !ok || p.Kind != c.kind || p.Code != c.code {
				t.Errorf("%s: got %v, want %s", c.name, err, c.code)
			}
		}
		_, err = s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("d"), document.Put{Max: new(int64(1))}) // replacing adds none
		noError(t, err)
		// Another workspace's documents do not count.
		_, err = s.Documents.PutDocument(t.Context(), "wsp_b", newDocument("d"), document.Put{Max: new(int64(1)), CreateOnly: true})
		noError(t, err)
		wantChange(t, s, "wsp_a", 2)
		wantCount(t, s, "wsp_a", 1)
		noError(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "d", nil))
		wantCount(t, s, "wsp_a", 0)
		wantCount(t, s, "wsp_unknown", 0)
		_, err = s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("e"), document.Put{Max: new(int64(1))}) // there is room again
		noError(t, err)
	})

	t.Run("AFailingLineOfABulkLeavesTheOthers", func(t *testing.T) {
		s := setup(t)
		var refused int
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			refused = 0
			for i := range 10 {
				_, err := s.Documents.PutDocument(ctx, "wsp_a", newDocument(fmt.Sprintf("d%d", i)), document.Put{Max: new(int64(6))})
				if p, ok := problem.As(err); ok && p.Code == problem.CodeLimitReached {
					refused++
				} else if err != nil {
					return err
				}
			}
			return nil
		}))
		list, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{Limit: 100})
		noError(t, err)
		if refused != 4 || len(list) != 6 {
			t.Errorf("%d refused, %d stored; want 4 and 6", refused, len(list))
		}
		wantChange(t, s, "wsp_a", 6)
	})

	t.Run("ADeletedDocumentIsMissingAndLeavesItsChange", func(t *testing.T) {
		s := setup(t)
		_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("d"), put())
		noError(t, err)
		wantProblem(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "d", []int64{9}), problem.Mismatch, problem.CodeRevisionMismatch)
		wantProblem(t, s.Documents.DeleteDocument(t.Context(), "wsp_b", "d", nil), problem.NotFound, problem.CodeNotFound)
		noError(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "d", []int64{1}))
		wantProblem(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "d", nil), problem.NotFound, problem.CodeNotFound)
		_, err = s.Documents.Document(t.Context(), "wsp_a", "d")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		changes, _, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{Limit: 10})
		noError(t, err)
		if diff := cmp.Diff([]document.Change{{Number: 2, ID: "d"}}, changes); diff != "" {
			t.Error(diff)
		}
		again := newDocument("d")
		created, err := s.Documents.PutDocument(t.Context(), "wsp_a", again, put())
		noError(t, err)
		if !created || again.Revision != 1 || again.Change != 3 {
			t.Errorf("written again: created %v, revision %d, change %d", created, again.Revision, again.Change)
		}
		changes, _, err = s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{Limit: 10})
		noError(t, err)
		if len(changes) != 1 || changes[0].Document == nil || changes[0].Number != 3 {
			t.Errorf("changes after it was written again: %+v", changes)
		}
	})

	t.Run("DocumentsAreReadByManyIDs", func(t *testing.T) {
		s := setup(t)
		ids := []string{"none"}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			for i := range 250 {
				if _, err := s.Documents.PutDocument(ctx, "wsp_a", newDocument(fmt.Sprintf("d%d", i)), put()); err != nil {
					return err
				}
			}
			return nil
		}))
		for i := range 230 {
			ids = append(ids, fmt.Sprintf("d%d", i))
		}
		got, err := s.Documents.Documents(t.Context(), "wsp_a", ids)
		noError(t, err)
		foreign, err := s.Documents.Documents(t.Context(), "wsp_b", ids)
		noError(t, err)
		if len(got) != 230 || len(foreign) != 0 {
			t.Errorf("%d documents, %d of another workspace; want 230 and 0", len(got), len(foreign))
		}
	})

	t.Run("ListsNarrowByCollectionAndTagsAndContinue", func(t *testing.T) {
		s := setup(t)
		for i := range 30 {
			d := newDocument(fmt.Sprintf("d%02d", i))
			d.Collection = []string{"a", document.DefaultCollection}[i%2]
			d.Tags = nil
			for _, m := range []int{3, 5} {
				if i%m == 0 {
					d.Tags = append(d.Tags, fmt.Sprintf("m%d", m))
				}
			}
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", d, put())
			noError(t, err)
		}
		moved := newDocument("d15")
		moved.Tags = nil
		_, err := s.Documents.PutDocument(t.Context(), "wsp_a", moved, put())
		noError(t, err)
		for _, c := range []struct {
			filter document.Filter
			want   string
		}{
			{document.Filter{Collection: "a", After: &document.Position{ID: "d20"}}, "d22 d24 d26 d28"},
			{document.Filter{Tags: []string{"m3"}}, "d00 d03 d06 d09 d12 d18 d21 d24 d27"},
			{document.Filter{Tags: []string{"m5", "m3"}}, "d00"},
			{document.Filter{Tags: []string{"m3"}, Collection: document.DefaultCollection, After: &document.Position{ID: "d04"}}, "d09 d21 d27"},
			{document.Filter{Collection: document.DefaultCollection, After: &document.Position{ID: "d24"}}, "d25 d27 d29"},
			{document.Filter{Tags: []string{"none"}}, ""},
		} {
			var got []string
			f := c.filter
			f.Limit = 2
			for {
				page, err := s.Documents.ListDocuments(t.Context(), "wsp_a", f)
				noError(t, err)
				for _, d := range page {
					got = append(got, d.ID)
				}
				if len(page) < f.Limit {
					break
				}
				f.After = &document.Position{ID: page[len(page)-1].ID}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v: got %v, want %s", c.filter, got, c.want)
			}
		}
	})

	t.Run("ListsAreSortedAndContinue", func(t *testing.T) {
		s := setup(t)
		for i := range 12 { // three documents of each time
			d := newDocument(fmt.Sprintf("d%02d", i))
			d.UpdatedAt, d.Tags, d.Metadata = documentTime(time.Duration(i%4)*time.Second), []string{"all"}, map[string]any{"i": float64(i)}
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", d, put())
			noError(t, err)
		}
		oldest := strings.Fields("d00 d04 d08 d01 d05 d09 d02 d06 d10 d03 d07 d11")
		newest := slices.Clone(oldest)
		slices.Reverse(newest)
		for _, tags := range [][]string{nil, {"all"}} {
			for sort, want := range map[document.Sort][]string{document.Oldest: oldest, document.Newest: newest, document.ByID: slices.Sorted(slices.Values(oldest))} {
				var got []string
				f := document.Filter{Sort: sort, Tags: tags, Limit: 5, Brief: true}
				for {
					page, err := s.Documents.ListDocuments(t.Context(), "wsp_a", f)
					noError(t, err)
					for _, d := range page {
						got = append(got, d.ID)
						if d.Title != "" || d.Text != "" || d.Metadata["i"] == nil {
							t.Errorf("a brief document is %+v", d)
						}
					}
					if len(page) < f.Limit {
						break
					}
					last := page[len(page)-1]
					f.After = &document.Position{ID: last.ID, UpdatedAt: last.UpdatedAt}
				}
				if !slices.Equal(got, want) {
					t.Errorf("by %s with tags %v: got %v, want %v", sort, tags, got, want)
				}
			}
		}
		some, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{IDs: []string{"d03", "none", "d01"}, Limit: 10})
		noError(t, err)
		if len(some) != 2 || some[0].ID != "d01" || some[1].ID != "d03" {
			t.Errorf("by IDs: %+v", some)
		}
	})

	t.Run("ParallelWritersNumberWithoutGaps", func(t *testing.T) {
		s := setup(t)
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 20 {
					err := s.Run(t.Context(), func(ctx context.Context) error {
						for j := range 3 {
							if _, err := s.Documents.PutDocument(ctx, "wsp_a", newDocument(fmt.Sprintf("d%d-%d-%d", w, i, j)), put()); err != nil {
								return err
							}
						}
						if i%5 == 4 {
							return errRefused
						}
						return nil
					})
					if err != nil && !errors.Is(err, errRefused) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		changes, _, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{Limit: 10_000})
		noError(t, err)
		if len(changes) != 8*16*3 {
			t.Errorf("%d changes, want %d", len(changes), 8*16*3)
		}
		for i, c := range changes {
			if c.Number != int64(i+1) {
				t.Fatalf("change %d has the number %d", i+1, c.Number)
			}
		}
		now, err := s.Documents.DocumentState(t.Context(), "wsp_a")
		noError(t, err)
		changed, err := s.Documents.ChangedWorkspaces(t.Context())
		noError(t, err)
		if diff := cmp.Diff(map[string]document.State{"wsp_a": now}, changed); diff != "" || now.Change != 8*16*3 {
			t.Errorf("%v: %s", now, diff)
		}
	})

	testDocumentBatch(t, setup)
}

var errRefused = errors.New("refused")

func newDocument(id string) *document.Document {
	return &document.Document{ID: id, Collection: "default", Title: "title", Text: "text", Tags: []string{"tag"}, UpdatedAt: documentTime(0)}
}

// documentTime is after as a time of a document.
func documentTime(d time.Duration) time.Time { return after(d).Truncate(time.Millisecond) }

func put() document.Put { return document.Put{} }

func wantDocument(t *testing.T, got, want *document.Document) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func wantCount(t *testing.T, s *store.Store, workspaceID string, want int64) {
	t.Helper()
	n, err := s.Documents.DocumentCount(t.Context(), workspaceID)
	noError(t, err)
	if n != want {
		t.Errorf("documents of %s: got %d, want %d", workspaceID, n, want)
	}
}

func wantChange(t *testing.T, s *store.Store, workspaceID string, want int64) {
	t.Helper()
	now, err := s.Documents.DocumentState(t.Context(), workspaceID)
	noError(t, err)
	if now.Change != want {
		t.Errorf("last change: got %d, want %d", now.Change, want)
	}
}
