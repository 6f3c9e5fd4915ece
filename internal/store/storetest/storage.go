package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// stored is the number of bytes that a workspace stores.
func stored(t *testing.T, s *store.Store, workspaceID string) (used int64) {
	t.Helper()
	noError(t, s.Run(t.Context(), func(ctx context.Context) error {
		left, err := s.Storage.StorageRoom(ctx, workspaceID, 0)
		used = -left
		return err
	}))
	return used
}

func wantStored(t *testing.T, s *store.Store, workspaceID string, want int64) {
	t.Helper()
	if got := stored(t, s, workspaceID); got != want {
		t.Errorf("%s stores %d bytes, want %d", workspaceID, got, want)
	}
}

// documentBytes is the size of a document with the tags a and b, or none, and without metadata.
func documentBytes(d *document.Document) int64 {
	tags := `[]`
	if d.Tags != nil {
		tags = `["a","b"]`
	}
	return int64(len(d.ID) + len(d.Collection) + len(d.Title) + len(d.Text) + len(d.URL) + len(tags) + len(`{}`) + len(d.Language))
}

func testStorage(t *testing.T, setup setup) {
	ctx := func(t *testing.T) context.Context { return t.Context() }
	text := func(n int) *document.Document {
		return &document.Document{
			ID: "d", Collection: "c", Title: "Title", Text: strings.Repeat("ü", n), URL: "https://e.example", Tags: []string{"a", "b"}, Language: "de",
			Metadata: map[string]any{}, UpdatedAt: epoch,
		}
	}

	t.Run("DocumentsAreCountedAndGivenBack", func(t *testing.T) {
		s := setup(t)
		small, large := text(10), text(1000)
		_, err := s.Documents.PutDocument(ctx(t), "wsp_a", text(10), document.Put{})
		noError(t, err)
		_, err = s.Documents.PutDocument(ctx(t), "wsp_b", text(1000), document.Put{})
		noError(t, err)
		wantStored(t, s, "wsp_a", documentBytes(small))
		_, err = s.Documents.PutDocument(ctx(t), "wsp_a", text(1000), document.Put{})
		noError(t, err)
		wantStored(t, s, "wsp_a", documentBytes(large))
		_, err = s.Documents.PutDocument(ctx(t), "wsp_a", text(10), document.Put{})
		noError(t, err)
		wantStored(t, s, "wsp_a", documentBytes(small))
		noError(t, s.Documents.DeleteDocument(ctx(t), "wsp_a", "d", nil))
		wantStored(t, s, "wsp_a", 0)
		wantStored(t, s, "wsp_b", documentBytes(large))
	})

	t.Run("WhatMostDocumentsHaveIsCounted", func(t *testing.T) {
		s := setup(t)
		plain, other := text(10), text(10)
		plain.Collection, plain.Tags = document.DefaultCollection, nil
		other.Collection, other.ID = document.DefaultCollection, "e"
		full := documentBytes(plain) + documentBytes(other)
		put := document.Put{MaxBytes: &full}
		for range 2 {
			_, err := s.Documents.PutDocument(ctx(t), "wsp_a", plain, put)
			noError(t, err)
			written, err := s.Documents.PutDocuments(ctx(t), "wsp_a", []document.Write{{Document: other, Put: put}, {Document: plain, Put: put}})
			noError(t, err)
			if written[0].Refused != nil || written[1].Refused != nil {
				t.Errorf("refused: %+v", written)
			}
			wantStored(t, s, "wsp_a", full)
			_, err = s.Documents.PutDocument(ctx(t), "wsp_a", text(10), document.Put{}) // another collection, and tags
			noError(t, err)
			wantStored(t, s, "wsp_a", documentBytes(text(10))+documentBytes(other))
		}
		full--
		larger := *other
		larger.Title += "."
		_, err := s.Documents.PutDocument(ctx(t), "wsp_a", &larger, put)
		wantProblem(t, err, problem.Conflict, problem.CodeLimitReached)
	})

	t.Run("DocumentsOverTheLimitAreRefused", func(t *testing.T) {
		s := setup(t)
		most := 3*documentBytes(text(100)) + 5
		put := document.Put{MaxBytes: &most}
		var writes []document.Write
		for i := range 5 {
			d := text(100)
			d.ID = fmt.Sprint(i)
			writes = append(writes, document.Write{Document: d, Put: put})
		}
		written, err := s.Documents.PutDocuments(ctx(t), "wsp_a", writes)
		noError(t, err)
		for i, w := range written {
			p, full := problem.As(w.Refused)
			if full != (i >= 3) || full && (p.Code != problem.CodeLimitReached || p.Details.Limit != "storage") {
				t.Errorf("document %d: %v", i, w.Refused)
			}
		}
		wantStored(t, s, "wsp_a", 3*documentBytes(text(100)))
		_, err = s.Documents.PutDocument(ctx(t), "wsp_a", func() *document.Document { d := text(103); d.ID = "0"; return d }(), put)
		wantProblem(t, err, problem.Conflict, problem.CodeLimitReached)
		_, err = s.Documents.PutDocument(ctx(t), "wsp_a", func() *document.Document { d := text(102); d.ID = "0"; return d }(), put)
		noError(t, err)
		most = 0
		_, err = s.Documents.PutDocument(ctx(t), "wsp_a", func() *document.Document { d := text(1); d.ID = "0"; return d }(), put) // it becomes smaller
		noError(t, err)
	})

	t.Run("MemoriesAndRevisionsAreCounted", func(t *testing.T) {
		s := setup(t)
		r := memoryRow(1, 1)
		r.Sealed = make([]byte, 1000)
		writeMemories(t, s, "wsp_a", r)
		wantStored(t, s, "wsp_a", 1000)
		older := *r
		r.Revision, r.Sealed = 2, make([]byte, 300)
		noError(t, s.Run(ctx(t), func(ctx context.Context) error {
			if err := s.Memories.ReplaceMemories(ctx, "wsp_a", []*memory.Row{r}); err != nil {
				return err
			}
			return s.Memories.AddMemoryRevisions(ctx, "wsp_a", []*memory.Row{&older})
		}))
		wantStored(t, s, "wsp_a", 1300)
		noError(t, s.Run(ctx(t), func(ctx context.Context) error {
			return s.Memories.EraseMemories(ctx, "wsp_a", r.Subject, []string{r.ID}, 9, epoch)
		}))
		wantStored(t, s, "wsp_a", 0)
	})

	t.Run("TheOldestRevisionsGo", func(t *testing.T) {
		s := setup(t)
		r := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", r)
		base := stored(t, s, "wsp_a")
		var older []*memory.Row
		for i := range 10 {
			o := *r
			o.Revision, o.Sealed = int64(i+1), make([]byte, 100+i)
			older = append(older, &o)
		}
		noError(t, s.Run(ctx(t), func(ctx context.Context) error {
			if err := s.Memories.AddMemoryRevisions(ctx, "wsp_a", older); err != nil {
				return err
			}
			n, err := s.Memories.TrimmedBytes(ctx, "wsp_a", r.ID, 7)
			if n != 100+101+102 {
				t.Errorf("%d bytes would be given back", n)
			}
			if err != nil {
				return err
			}
			if err := s.Memories.TrimMemoryRevisions(ctx, "wsp_a", r.ID, 7); err != nil {
				return err
			}
			return s.Memories.TrimMemoryRevisions(ctx, "wsp_a", r.ID, 8)
		}))
		left, err := s.Memories.MemoryRevisions(ctx(t), "wsp_a", []string{r.ID}, 0, 0)
		noError(t, err)
		if len(left) != 7 || left[0].Revision != 10 || left[6].Revision != 4 {
			t.Errorf("%d revisions are left", len(left))
		}
		wantStored(t, s, "wsp_a", base+103+104+105+106+107+108+109)
	})

	t.Run("ACredentialKeepsItsNewestPlans", func(t *testing.T) {
		s := setup(t)
		keep := func(id, credential string) {
			t.Helper()
			noError(t, s.Run(ctx(t), func(ctx context.Context) error {
				return s.Memories.SaveMemoryPlan(ctx, "wsp_a", &memory.StoredPlan{
					Plan:    memory.Plan{ID: id, MemoryIDs: []string{"mem_1", "mem_2"}, ExpiresAt: after(time.Hour)},
					Subject: named(1), Generation: 1, Credential: credential,
				}, 3)
			}))
		}
		keep("pln_0", "key_b")
		for i := range 5 {
			keep(fmt.Sprintf("pln_%d", i+1), "key_a")
		}
		for i, want := range []bool{true, false, false, true, true, true} {
			err := s.Run(ctx(t), func(ctx context.Context) error {
				_, err := s.Memories.LockMemoryPlan(ctx, "wsp_a", fmt.Sprintf("pln_%d", i))
				return err
			})
			if (err == nil) != want {
				t.Errorf("plan %d: %v", i, err)
			}
		}
		wantStored(t, s, "wsp_a", 4*int64(len(`["mem_1","mem_2"]`)))
		noError(t, s.Run(ctx(t), func(ctx context.Context) error { return s.Memories.DeleteMemoryPlan(ctx, "wsp_a", "pln_3") }))
		noError(t, s.Run(ctx(t), func(ctx context.Context) error { return s.Memories.PruneMemoryPlans(ctx, after(2*time.Hour)) }))
		wantStored(t, s, "wsp_a", 0)
	})

	t.Run("KeptAnswersAreCounted", func(t *testing.T) {
		s := setup(t)
		most := int64(1000)
		answer := func(n byte, size int) *idempotency.Answer {
			return &idempotency.Answer{
				WorkspaceID: "wsp_a", MaxBytes: &most, Claim: [32]byte{n}, Status: 200, Body: make([]byte, size), CreatedAt: epoch,
				ExpiresAt: after(time.Hour),
			}
		}
		noError(t, s.Idempotency.KeepAnswer(ctx(t), answer(1, 600)))
		sealed := answer(2, 0)
		sealed.Sealed, sealed.SealedBy, sealed.Own = make([]byte, 300), "how", bytes.Repeat([]byte{7}, 32)
		sealed.Subjects = []idempotency.KeyName{{WorkspaceID: "wsp_a", Subject: [16]byte{1}, Generation: 1}}
		noError(t, s.Idempotency.KeepAnswer(ctx(t), sealed))
		wantStored(t, s, "wsp_a", 903)
		wantProblem(t, s.Idempotency.KeepAnswer(ctx(t), answer(3, 98)), problem.Conflict, problem.CodeLimitReached)
		own := func() []byte {
			t.Helper()
			a, err := s.Idempotency.KeptAnswer(ctx(t), sealed.Claim, epoch)
			noError(t, err)
			return a.Own
		}
		if !bytes.Equal(own(), sealed.Own) {
			t.Errorf("the answer's own key is %x", own())
		}
		noError(t, s.Idempotency.DropAnswers(ctx(t), "wsp_a", [16]byte{1}))
		if own() != nil {
			t.Errorf("the own key of an answer that was dropped is %x", own())
		}
		wantStored(t, s, "wsp_a", 603)
		noError(t, s.Idempotency.KeepAnswer(ctx(t), answer(3, 397)))
		noError(t, s.Idempotency.PruneAnswers(ctx(t), after(time.Hour)))
		wantStored(t, s, "wsp_a", 0)
	})
}
