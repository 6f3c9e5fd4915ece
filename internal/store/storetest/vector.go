package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/memory"
	"keepsake/internal/store"
)

const vectorModel = "m/3"

// putVectors writes vectors of memories for their current revision, as one change.
func putVectors(t *testing.T, s *store.Store, workspaceID, model string, change int64, rows ...*memory.Row) {
	t.Helper()
	list := make([]*memory.VectorRow, len(rows))
	for i, r := range rows {
		list[i] = &memory.VectorRow{MemoryID: r.ID, Subject: r.Subject, Revision: r.Revision, Change: change, Model: model, Sealed: []byte(r.ID + model)}
	}
	noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Memories.PutMemoryVectors(ctx, workspaceID, list) }))
}

func testVector(t *testing.T, setup setup) {
	vectors := func(t *testing.T, s *store.Store, workspaceID string, subject byte, generation, after int64, model string) (ids []string) {
		t.Helper()
		list, err := s.Memories.MemoryVectors(t.Context(), workspaceID, named(subject), generation, after, model)
		noError(t, err)
		for _, v := range list {
			ids = append(ids, v.MemoryID)
		}
		slices.Sort(ids)
		return ids
	}

	t.Run("AVectorComesBackAsItWas", func(t *testing.T) {
		s := setup(t)
		r := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", r, memoryRow(2, 1), memoryRow(3, 2))
		putVectors(t, s, "wsp_a", vectorModel, 4, r)
		putVectors(t, s, "wsp_a", vectorModel, 5, memoryRow(2, 1), memoryRow(3, 2))
		list, err := s.Memories.MemoryVectors(t.Context(), "wsp_a", named(1), 1, -1, vectorModel)
		noError(t, err)
		i := slices.IndexFunc(list, func(v *memory.VectorRow) bool { return v.MemoryID == r.ID })
		want := &memory.VectorRow{
			MemoryID: r.ID, Subject: r.Subject, Revision: 1, Change: 4, Model: vectorModel, Sealed: []byte("mem_001" + vectorModel), OwnKey: r.OwnKey,
		}
		if len(list) != 2 || i < 0 {
			t.Fatalf("got %d vectors", len(list))
		}
		if diff := cmp.Diff(want, list[i]); diff != "" {
			t.Error(diff)
		}
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, 4, vectorModel), "mem_002")
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, "other/3"))
		wantIDs(t, vectors(t, s, "wsp_a", 1, 2, -1, vectorModel))
		wantIDs(t, vectors(t, s, "wsp_b", 1, 1, -1, vectorModel))
	})

	t.Run("AnotherModelReplacesAVector", func(t *testing.T) {
		s := setup(t)
		r := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", r)
		putVectors(t, s, "wsp_a", vectorModel, 2, r)
		putVectors(t, s, "wsp_a", "other/3", 3, r)
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, vectorModel))
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, 2, "other/3"), r.ID)
	})

	t.Run("AVectorOfAnOlderRevisionIsLeftOut", func(t *testing.T) {
		s := setup(t)
		r := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", r)
		putVectors(t, s, "wsp_a", vectorModel, 2, r)
		next := memoryRow(1, 1)
		next.Revision, next.Change = 2, 3
		noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Memories.ReplaceMemories(ctx, "wsp_a", []*memory.Row{next}) }))
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, vectorModel))
		putVectors(t, s, "wsp_a", vectorModel, 4, next)
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, vectorModel), r.ID)
	})

	t.Run("AVectorGoesWithItsMemory", func(t *testing.T) {
		s := setup(t)
		rows := []*memory.Row{memoryRow(1, 1), memoryRow(2, 1), memoryRow(3, 1)}
		writeMemories(t, s, "wsp_a", rows...)
		writeMemories(t, s, "wsp_b", memoryRow(1, 1))
		putVectors(t, s, "wsp_a", vectorModel, 4, rows...)
		putVectors(t, s, "wsp_b", vectorModel, 4, memoryRow(1, 1))
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return s.Memories.EraseMemories(ctx, "wsp_a", named(1), []string{"mem_001"}, 9, epoch)
		}))
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, vectorModel), "mem_002", "mem_003")
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			_, err := s.Memories.EraseDeadMemories(ctx, &memory.Erasure{WorkspaceID: "wsp_a", Subject: named(1), Generation: 1, Change: 9}, 100, epoch)
			return err
		}))
		wantIDs(t, vectors(t, s, "wsp_a", 1, 1, -1, vectorModel))
		wantIDs(t, vectors(t, s, "wsp_b", 1, 1, -1, vectorModel), "mem_001")
	})

	t.Run("AVectorNeedsItsMemory", func(t *testing.T) {
		s := setup(t)
		err := s.Run(t.Context(), func(ctx context.Context) error {
			return s.Memories.PutMemoryVectors(ctx, "wsp_a", []*memory.VectorRow{{MemoryID: "mem_001", Subject: named(1), Revision: 1, Model: vectorModel}})
		})
		if err == nil {
			t.Error("a vector of no memory was stored")
		}
	})

	t.Run("SubjectsWaitUntilTheirMemoriesHaveVectors", func(t *testing.T) {
		s := setup(t)
		writeMemories(t, s, "wsp_a", memoryRow(1, 1), memoryRow(2, 2), memoryRow(3, 3), memoryRow(4, 3))
		writeMemories(t, s, "wsp_b", memoryRow(1, 9))
		want := func(model string, after byte, limit int, subjects ...byte) {
			t.Helper()
			list, err := s.Memories.SubjectsToEmbed(t.Context(), "wsp_a", model, named(after), limit)
			noError(t, err)
			var hashes []memory.Hash
			for _, n := range subjects {
				hashes = append(hashes, named(n))
			}
			if diff := cmp.Diff(hashes, list, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s behind %d: -want +got\n%s", model, after, diff)
			}
		}
		progress := func(want memory.EmbeddingProgress) {
			t.Helper()
			got, err := s.Memories.EmbeddingProgress(t.Context(), "wsp_a", vectorModel)
			noError(t, err)
			if got != want {
				t.Errorf("the progress is %+v, want %+v", got, want)
			}
		}
		embedded := func(subject byte, change int64) {
			t.Helper()
			noError(t, s.Run(t.Context(), func(ctx context.Context) error {
				return s.Memories.SetEmbedded(ctx, "wsp_a", named(subject), change, vectorModel)
			}))
			if got, err := s.Memories.Embedded(t.Context(), "wsp_a", named(subject), vectorModel); err != nil || got != change {
				t.Errorf("embedded up to %d, %v, want %d", got, err, change)
			}
		}
		want(vectorModel, 0, 10, 1, 2, 3)
		want(vectorModel, 0, 2, 1, 2)
		want(vectorModel, 2, 10, 3)
		progress(memory.EmbeddingProgress{Subjects: 3, Memories: 4, WaitingSubjects: 3, WaitingMemories: 4})
		embedded(3, 3)
		want(vectorModel, 0, 10, 1, 2, 3)
		embedded(3, 4)
		embedded(1, 1)
		want(vectorModel, 0, 10, 2)
		progress(memory.EmbeddingProgress{Subjects: 3, Memories: 4, WaitingSubjects: 1, WaitingMemories: 1})
		want("other/3", 0, 10, 1, 2, 3)
		for _, subject := range []byte{1, 2} {
			if got, err := s.Memories.Embedded(t.Context(), "wsp_a", named(subject), "other/3"); err != nil || got != -1 {
				t.Errorf("embedded up to %d, %v, by another model", got, err)
			}
		}
		writeMemories(t, s, "wsp_a", memoryRow(5, 1)) // a later release or an earlier one
		want(vectorModel, 0, 10, 1, 2)
	})

	t.Run("TextsOfADayAreCountedAsGranted", func(t *testing.T) {
		s := setup(t)
		for _, step := range []struct {
			day                int64
			workspaceID        string
			granted, own       int64
			wantTexts, wantOwn int64 // before
		}{
			{20000, "wsp_a", 6, 0, 0, 0},
			{20000, "wsp_a", 4, 3, 6, 0},
			{20000, "wsp_b", 0, 0, 10, 0},
			{20000, "wsp_b", 2, 2, 10, 0},
			{20000, "wsp_a", 1, 1, 12, 3},
			{20000, "wsp_a", 0, 0, 13, 4},
			{20001, "wsp_a", 1, 0, 0, 0},
			{20040, "wsp_a", 1, 1, 0, 0},
		} {
			got, err := s.Memories.CountEmbedded(t.Context(), step.day, step.workspaceID, func(texts, own int64) (int64, int64) {
				if texts != step.wantTexts || own != step.wantOwn {
					t.Errorf("%+v: %d texts were counted, %d as its own", step, texts, own)
				}
				return step.granted, step.own
			})
			noError(t, err)
			total, err := s.Memories.EmbeddedOn(t.Context(), step.day)
			noError(t, err)
			if got != step.granted || total != step.wantTexts+step.granted {
				t.Errorf("%+v: counted %v, now %d", step, got, total)
			}
		}
		if old, err := s.Memories.EmbeddedOn(t.Context(), 20001); err != nil || old != 0 {
			t.Errorf("the number of an old day is %d, %v", old, err)
		}
	})

	t.Run("TextsCountedAtOnceStayWithinTheLimit", func(t *testing.T) {
		s := setup(t)
		var counting sync.WaitGroup
		for range 8 {
			counting.Go(func() {
				for range 5 {
					_, err := s.Memories.CountEmbedded(t.Context(), 20000, "wsp_a", func(texts, _ int64) (int64, int64) {
						n := min(3, 50-texts)
						return n, n
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		counting.Wait()
		if total, err := s.Memories.EmbeddedOn(t.Context(), 20000); err != nil || total != 50 {
			t.Errorf("%d texts are counted, %v", total, err)
		}
	})
}
