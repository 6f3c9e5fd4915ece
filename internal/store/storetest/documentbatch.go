package storetest

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

func testDocumentBatch(t *testing.T, setup setup) {
	t.Run("DocumentsWrittenTogetherAreWrittenAsOneByOne", func(t *testing.T) {
		s := setup(t)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			together(t, rt, s, fmt.Sprintf("wsp_many_%d", n), fmt.Sprintf("wsp_one_%d", n))
		})
	})

	t.Run("ManyDocumentsWrittenTogetherComeBack", func(t *testing.T) {
		s := setup(t)
		const count = 700 // several statements of each kind
		for round := range 3 {
			var writes []document.Write
			for i := range count {
				d := newDocument(fmt.Sprintf("d%03d", i))
				d.Title, d.Tags = fmt.Sprint("title ", round), []string{fmt.Sprint("tag", round), "x"}
				writes = append(writes, document.Write{Document: d})
			}
			written, err := s.Documents.PutDocuments(t.Context(), "wsp_a", writes)
			noError(t, err)
			for i, w := range written {
				if w.Refused != nil || w.Created != (round == 0) {
					t.Fatalf("round %d, document %d: %+v", round, i, w)
				}
			}
			wantChange(t, s, "wsp_a", int64(count*(round+1)))
			list, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{Tags: []string{fmt.Sprint("tag", round)}, Limit: 1_000})
			noError(t, err)
			if len(list) != count || list[count-1].Revision != int64(round+1) {
				t.Fatalf("round %d: %d documents have the new tag", round, len(list))
			}
			old, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{Tags: []string{fmt.Sprint("tag", round-1)}, Limit: 1_000})
			noError(t, err)
			if len(old) != 0 {
				t.Fatalf("round %d: %d documents still have the old tag", round, len(old))
			}
		}
	})

	t.Run("ManyDocumentsAreDeletedTogether", func(t *testing.T) {
		s := setup(t)
		var writes []document.Write
		var ids []string
		for i := range 250 {
			d := newDocument(fmt.Sprintf("d%03d", i))
			d.Tags = []string{"x", "y"}
			writes, ids = append(writes, document.Write{Document: d}), append(ids, d.ID)
		}
		_, err := s.Documents.PutDocuments(t.Context(), "wsp_a", writes)
		noError(t, err)
		none, err := s.Documents.DeleteDocuments(t.Context(), "wsp_b", ids)
		noError(t, err)
		deleted, err := s.Documents.DeleteDocuments(t.Context(), "wsp_a", append(ids[:240:240], "none"))
		noError(t, err)
		again, err := s.Documents.DeleteDocuments(t.Context(), "wsp_a", ids[:240])
		noError(t, err)
		if none != 0 || deleted != 240 || again != 0 {
			t.Errorf("%d of another workspace, %d and then %d were deleted; want 0, 240 and 0", none, deleted, again)
		}
		wantChange(t, s, "wsp_a", 490)
		left, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{Tags: []string{"y"}, Limit: 1_000})
		noError(t, err)
		if len(left) != 10 {
			t.Errorf("%d documents are left, want 10", len(left))
		}
		_, err = s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("d000"), document.Put{Max: new(int64(11))}) // ten count
		noError(t, err)
	})

	t.Run("FollowingTheChangesGivesTheDocuments", func(t *testing.T) {
		s := setup(t)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			follow(t, rt, s, fmt.Sprintf("wsp_%d", n))
		})
	})
}

// together writes the same documents to two workspaces: all at once to one, one after another to the other.
func together(t *testing.T, rt *rapid.T, s *store.Store, many, one string) {
	ctx := t.Context()
	for range rapid.IntRange(1, 4).Draw(rt, "batches") {
		if id := rapid.SampledFrom([]string{"a", "b", ""}).Draw(rt, "delete"); id != "" {
			errMany, errOne := s.Documents.DeleteDocument(ctx, many, id, nil), s.Documents.DeleteDocument(ctx, one, id, nil)
			if (errMany == nil) != (errOne == nil) {
				rt.Fatalf("delete %s: %v and %v", id, errMany, errOne)
			}
		}
		var writes []document.Write
		var want []document.Written
		var kept []document.Document
		for i := range rapid.IntRange(0, 8).Draw(rt, "writes") {
			id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(rt, "id")
			d := newDocument(id)
			d.Title, d.UpdatedAt = fmt.Sprint("title ", i), documentTime(time.Duration(i)*time.Second)
			d.Tags = rapid.SampledFrom([][]string{nil, {"x"}, {"y", "x"}, {"z"}}).Draw(rt, "tags")
			p := document.Put{
				Max: new(int64(4)), CreateOnly: rapid.IntRange(0, 4).Draw(rt, "create only") == 0, Exists: rapid.IntRange(0, 4).Draw(rt, "exists") == 0,
				Absent: rapid.IntRange(0, 4).Draw(rt, "absent") == 0,
			}
			if rapid.IntRange(0, 4).Draw(rt, "if revision") == 0 {
				p.IfRevision = []int64{int64(rapid.IntRange(1, 3).Draw(rt, "revision"))}
			}
			same := *d
			writes = append(writes, document.Write{Document: &same, Put: p})
			created, err := s.Documents.PutDocument(ctx, one, d, p)
			if _, ok := problem.As(err); err != nil && !ok {
				rt.Fatal(err)
			}
			want = append(want, document.Written{Created: created, Refused: err})
			kept = append(kept, *d)
		}
		got, err := s.Documents.PutDocuments(ctx, many, writes)
		if err != nil || len(got) != len(want) {
			rt.Fatalf("put %d documents: %d answers, error %v", len(writes), len(got), err)
		}
		for i := range got {
			g, gok := problem.As(got[i].Refused)
			w, wok := problem.As(want[i].Refused)
			if gok != wok || gok && g.Code != w.Code || got[i].Created != want[i].Created {
				rt.Fatalf("write %d: got %+v, want %+v", i, got[i], want[i])
			}
			if diff := cmp.Diff(kept[i], *writes[i].Document, cmpopts.EquateEmpty()); !gok && diff != "" {
				rt.Fatalf("write %d: %s", i, diff)
			}
		}
	}
	for _, f := range []document.Filter{{Limit: 10}, {Limit: 10, Tags: []string{"x"}}, {Limit: 10, Tags: []string{"z"}}} {
		a, errA := s.Documents.ListDocuments(ctx, many, f)
		b, errB := s.Documents.ListDocuments(ctx, one, f)
		if diff := cmp.Diff(b, a, cmpopts.EquateEmpty()); errA != nil || errB != nil || diff != "" {
			rt.Fatalf("listed by %v: %v, %v: %s", f.Tags, errA, errB, diff)
		}
	}
	a, _, errA := s.Documents.FollowDocuments(ctx, many, document.Following{Limit: 100})
	b, _, errB := s.Documents.FollowDocuments(ctx, one, document.Following{Limit: 100})
	if diff := cmp.Diff(b, a, cmpopts.EquateEmpty()); errA != nil || errB != nil || diff != "" {
		rt.Fatalf("changes: %v, %v: %s", errA, errB, diff)
	}
}

// follow changes a workspace's documents at random and follows its changes from time to time, as an index does. At the
// end the follower, a map of all changes, and the store have the same content.
func follow(t *testing.T, rt *rapid.T, s *store.Store, workspaceID string) {
	ctx := t.Context()
	model, seen := map[string]string{}, map[string]string{}
	changes, at := int64(0), int64(0)
	catchUp := func(limit int) int {
		page, _, err := s.Documents.FollowDocuments(ctx, workspaceID, document.Following{After: at, Limit: limit})
		if err != nil {
			rt.Fatal(err)
		}
		for _, c := range page {
			if c.Number <= at {
				rt.Fatalf("change %d after %d", c.Number, at)
			}
			at = c.Number
			if c.Document == nil {
				delete(seen, c.ID)
			} else {
				seen[c.ID] = c.Document.Title
			}
		}
		return len(page)
	}
	for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "id")
		_, there := model[id]
		switch rapid.SampledFrom([]string{"put", "put", "delete", "delete many", "follow"}).Draw(rt, "step") {
		case "delete many":
			ids := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})).Draw(rt, "ids"))))
			want := 0
			for _, id := range ids {
				if _, there := model[id]; there {
					delete(model, id)
					want++
				}
			}
			if got, err := s.Documents.DeleteDocuments(ctx, workspaceID, ids); err != nil || got != want {
				rt.Fatalf("delete %v: %d, error %v; want %d", ids, got, err, want)
			}
			changes += int64(want)
		case "put":
			d := newDocument(id)
			d.Title = fmt.Sprint("title ", i)
			created, err := s.Documents.PutDocument(ctx, workspaceID, d, document.Put{Max: new(int64(3))})
			if p, ok := problem.As(err); ok && p.Code == problem.CodeLimitReached && !there && len(model) == 3 {
				continue
			}
			if err != nil || created == there {
				rt.Fatalf("put %s: created %v, there before %v, error %v", id, created, there, err)
			}
			model[id] = d.Title
			if changes++; d.Change != changes {
				rt.Fatalf("put %s has the change %d, want %d", id, d.Change, changes)
			}
		case "delete":
			err := s.Documents.DeleteDocument(ctx, workspaceID, id, nil)
			if (err == nil) != there {
				rt.Fatalf("delete %s, there before %v: %v", id, there, err)
			}
			if there {
				delete(model, id)
				changes++
			}
		case "follow":
			catchUp(rapid.IntRange(1, 3).Draw(rt, "limit"))
		}
	}
	for catchUp(2) > 0 {
	}
	if !maps.Equal(seen, model) {
		rt.Fatalf("followed: %v, want %v", seen, model)
	}
	list, err := s.Documents.ListDocuments(ctx, workspaceID, document.Filter{Limit: 10})
	if err != nil {
		rt.Fatal(err)
	}
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	if want := slices.Sorted(maps.Keys(model)); !sort.StringsAreSorted(ids) || !slices.Equal(ids, want) {
		rt.Fatalf("listed: %v, want %v", ids, want)
	}
	if now, err := s.Documents.DocumentState(ctx, workspaceID); err != nil || now.Change != changes {
		rt.Fatalf("last change %d (error %v), want %d", now.Change, err, changes)
	}
}
