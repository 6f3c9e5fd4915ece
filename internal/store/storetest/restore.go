package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

// remember stores n memories of a subject, whose key is of generation 1, as the domain does.
func remember(t *testing.T, s *store.Store, workspaceID string, subject memory.Hash, n int) (ids []string) {
	t.Helper()
	k := seal.SubjectKey{
		WorkspaceID: workspaceID, SubjectGeneration: seal.SubjectGeneration{Subject: subject, Generation: 1},
		Wrapped: []byte("wrapped"), With: wrapping1, CreatedAt: epoch,
	}
	_, err := s.SubjectKeys.AddSubjectKeys(t.Context(), workspaceID, []seal.SubjectKey{k})
	noError(t, err)
	noError(t, s.Run(t.Context(), func(ctx context.Context) error {
		held, err := s.Memories.LockMemorySubjects(ctx, workspaceID, []memory.Hash{subject}, epoch)
		if err != nil {
			return err
		}
		row := held[0]
		row.Change++
		row.SealedID = []byte("a name")
		var rows []*memory.Row
		ids = nil
		for i := range n {
			ids = append(ids, fmt.Sprintf("mem_%x%05d", subject[0], i))
			rows = append(rows, &memory.Row{
				ID: ids[i], Subject: subject, Generation: 1, Kind: "fact", At: epoch, CreatedAt: epoch, UpdatedAt: epoch, Size: 7,
				DedupHash: memory.Hash{byte(i)}, Revision: 1, Change: row.Change, Sealed: []byte("sealed"), OwnKey: ownKey(1),
			})
		}
		row.Memories, row.Bytes = int64(n), int64(7*n)
		if err := s.Memories.InsertMemories(ctx, workspaceID, rows); err != nil {
			return err
		}
		if err := s.Memories.SaveMemorySubjects(ctx, workspaceID, held); err != nil {
			return err
		}
		return s.Memories.AddMemoryCount(ctx, workspaceID, int64(n))
	}))
	return ids
}

// testRestore tests that a restored backup does not bring back what was erased after it.
func testRestore(t *testing.T, setup setup) {
	ann, bob, zoe := memory.Hash{1}, memory.Hash{2}, memory.Hash{3}
	keysOf := func(t *testing.T, s *store.Store, subject memory.Hash) (living, destroyed int) {
		t.Helper()
		keys, err := s.SubjectKeys.SubjectKeys(t.Context(), "wsp_a", []seal.SubjectHash{subject})
		noError(t, err)
		for _, k := range keys {
			if len(k.Wrapped) > 0 {
				living++
			} else {
				destroyed++
			}
		}
		return living, destroyed
	}
	there := func(t *testing.T, s *store.Store, ids []string) int {
		t.Helper()
		rows, err := s.Memories.MemoriesByID(t.Context(), "wsp_a", ids)
		noError(t, err)
		return len(rows)
	}
	count := func(t *testing.T, s *store.Store) int64 {
		t.Helper()
		n, err := s.Memories.MemoryCount(t.Context(), "wsp_a")
		noError(t, err)
		return n
	}
	answer := func(t *testing.T, s *store.Store, n byte, of memory.Hash) {
		t.Helper()
		noError(t, s.Idempotency.KeepAnswer(t.Context(), &idempotency.Answer{
			Claim: hash(n), CreatedAt: epoch, ExpiresAt: after(time.Hour), Sealed: []byte("sealed"), SealedBy: "a key",
			Subjects: []idempotency.KeyName{{WorkspaceID: "wsp_a", Subject: of, Generation: 1}},
		}))
	}
	answered := func(t *testing.T, s *store.Store, n byte) bool {
		t.Helper()
		a, err := s.Idempotency.KeptAnswer(t.Context(), hash(n), epoch)
		noError(t, err)
		return a.Sealed != nil
	}

	t.Run("ASubjectIsErasedOnceMore", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		newWorkspace(t, s, "wsp_a")
		hers := remember(t, s, "wsp_a", ann, 1700)
		his := remember(t, s, "wsp_a", bob, 3)
		answer(t, s, 1, ann)
		answer(t, s, 2, bob)
		for i := range 2 {
			// As if there had been one more generation than in the backup.
			again, err := s.Restore.EraseAgain(t.Context(), "wsp_a", ann, 2, false, after(time.Minute))
			noError(t, err)
			if again != (i == 0) {
				t.Errorf("time %d: it was to be done: %v", i, again)
			}
		}
		if n := there(t, s, hers); n != 0 {
			t.Errorf("%d memories are there before the rows are gone", n)
		}
		noError(t, s.Restore.FinishErasures(t.Context(), after(time.Hour)))
		if left, err := s.Memories.Erasures(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("%d erasures are under way, %v", len(left), err)
		}
		row, err := s.Memories.MemorySubject(t.Context(), "wsp_a", ann)
		noError(t, err)
		if row.Generation != 3 || row.SealedID != nil || row.Memories != 0 || row.Bytes != 0 || row.ErasedAt == nil || !row.ErasedAt.Equal(after(time.Minute)) {
			t.Errorf("the subject is %+v", row)
		}
		if living, destroyed := keysOf(t, s, ann); living != 0 || destroyed != 1 {
			t.Errorf("%d keys live, %d are destroyed", living, destroyed)
		}
		if living, _ := keysOf(t, s, bob); living != 1 || there(t, s, his) != 3 || count(t, s) != 3 || !answered(t, s, 2) || answered(t, s, 1) {
			t.Errorf("another subject: %d keys, %d memories of %d", living, there(t, s, his), count(t, s))
		}
		erased, err := s.Memories.MemoryTombstones(t.Context(), "wsp_a", slices.Concat(hers, his))
		noError(t, err)
		if len(erased) != len(hers) {
			t.Errorf("%d of %d ids are known as erased", len(erased), len(hers))
		}
	})

	t.Run("AnErasureTakesWhateverGenerationThereIs", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		newWorkspace(t, s, "wsp_a")
		_, err := s.Restore.EraseAgain(t.Context(), "wsp_a", ann, 4, false, epoch)
		noError(t, err)
		noError(t, s.Restore.FinishErasures(t.Context(), epoch))
		for _, c := range []struct {
			all  bool
			want int64 // the generation that continues
		}{{false, 5}, {true, 6}} {
			again, err := s.Restore.EraseAgain(t.Context(), "wsp_a", ann, 1, c.all, after(time.Minute))
			noError(t, err)
			noError(t, s.Restore.FinishErasures(t.Context(), after(time.Minute)))
			row, err := s.Memories.MemorySubject(t.Context(), "wsp_a", ann)
			noError(t, err)
			if again != c.all || row.Generation != c.want {
				t.Errorf("all is %v: it was to be done: %v, generation %d, want %d", c.all, again, row.Generation, c.want)
			}
		}
	})

	t.Run("ASubjectThatTheBackupDoesNotKnowBeginsWithTheNextGeneration", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		again, err := s.Restore.EraseAgain(t.Context(), "wsp_a", zoe, 4, true, epoch)
		noError(t, err)
		noError(t, s.Restore.FinishErasures(t.Context(), epoch))
		row, err := s.Memories.MemorySubject(t.Context(), "wsp_a", zoe)
		noError(t, err)
		if !again || row.Generation != 5 || row.SealedID != nil || count(t, s) != 0 {
			t.Errorf("%v, %+v", again, row)
		}
	})

	t.Run("MemoriesAreForgottenOnceMore", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		newWorkspace(t, s, "wsp_a")
		hers, his := remember(t, s, "wsp_a", ann, 5), remember(t, s, "wsp_a", bob, 2)
		answer(t, s, 1, ann)
		gone := append(slices.Clone(hers[1:3]), "mem_of_after_the_backup")
		for i, want := range []int{2, 0} {
			n, err := s.Restore.ForgetAgain(t.Context(), "wsp_a", ann, gone, after(time.Minute))
			noError(t, err)
			if n != want {
				t.Errorf("time %d: %d were there, want %d", i, n, want)
			}
		}
		if n := there(t, s, hers); n != 3 || there(t, s, his) != 2 || count(t, s) != 5 || answered(t, s, 1) {
			t.Errorf("%d of hers are there, %d of his, %d in all", n, there(t, s, his), count(t, s))
		}
		row, err := s.Memories.MemorySubject(t.Context(), "wsp_a", ann)
		noError(t, err)
		if row.Memories != 3 || row.Bytes != 21 || row.Generation != 1 {
			t.Errorf("the subject is %+v", row)
		}
		erased, err := s.Memories.MemoryTombstones(t.Context(), "wsp_a", append(hers, gone[2]))
		noError(t, err)
		slices.Sort(erased)
		if !slices.Equal(erased, []string{hers[1], hers[2], gone[2]}) {
			t.Errorf("known as erased are %v", erased)
		}
		if living, _ := keysOf(t, s, ann); living != 1 {
			t.Error("the key is gone")
		}
	})
}
