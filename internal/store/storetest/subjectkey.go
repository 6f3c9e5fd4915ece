package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

const (
	wrapping1 = "subject-keys/1"
	wrapping2 = "subject-keys/2"
)

// withWrappings adds two wrapping secrets.
func withWrappings(t *testing.T, s *store.Store) {
	t.Helper()
	noError(t, s.Secrets.AddSecrets(context.WithoutCancel(t.Context()), []seal.Wrapped{
		{Name: wrapping1, Sealed: []byte{1}, CreatedAt: epoch}, {Name: wrapping2, Sealed: []byte{2}, CreatedAt: epoch},
	}))
}

func subjectKey(workspaceID string, subject byte, generation int64, wrapped string) seal.SubjectKey {
	return seal.SubjectKey{
		WorkspaceID: workspaceID, SubjectGeneration: seal.SubjectGeneration{Subject: seal.SubjectHash{subject}, Generation: generation},
		Wrapped: []byte(wrapped), With: wrapping1, CreatedAt: epoch,
	}
}

// destroyed is what remains of a destroyed key.
func destroyed(k seal.SubjectKey, at time.Time) seal.SubjectKey {
	k.Wrapped, k.With, k.CreatedAt = []byte{}, "", at
	return k
}

// wantSubjectKeys checks all keys of some subjects of a workspace.
func wantSubjectKeys(t *testing.T, s *store.Store, workspaceID string, subjects []byte, want ...seal.SubjectKey) {
	t.Helper()
	var hashes []seal.SubjectHash
	for _, b := range subjects {
		hashes = append(hashes, seal.SubjectHash{b})
	}
	got, err := s.SubjectKeys.SubjectKeys(t.Context(), workspaceID, hashes)
	noError(t, err)
	compareSubjectKeys(t, got, want)
}

func compareSubjectKeys(t *testing.T, got, want []seal.SubjectKey) {
	t.Helper()
	order := func(a, b seal.SubjectKey) int {
		return slices.Compare(append(a.Subject[:], byte(a.Generation)), append(b.Subject[:], byte(b.Generation)))
	}
	slices.SortFunc(got, order)
	for i := range got {
		got[i].Wrapped = append([]byte{}, got[i].Wrapped...) // an engine can return nil for empty bytes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func testSubjectKey(t *testing.T, setup setup) {
	t.Run("KeysAreAddedWhereThereIsNone", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		a, b, other := subjectKey("wsp_a", 1, 1, "a"), subjectKey("wsp_a", 2, 1, "b"), subjectKey("wsp_b", 1, 1, "other")
		for _, k := range []seal.SubjectKey{a, other} {
			got, err := s.SubjectKeys.AddSubjectKeys(t.Context(), k.WorkspaceID, []seal.SubjectKey{k})
			noError(t, err)
			compareSubjectKeys(t, got, []seal.SubjectKey{k})
		}
		again := subjectKey("wsp_a", 1, 1, "another")
		got, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{again, b})
		noError(t, err)
		compareSubjectKeys(t, got, []seal.SubjectKey{a, b})
		wantSubjectKeys(t, s, "wsp_a", []byte{1, 2, 3}, a, b)
		wantSubjectKeys(t, s, "wsp_b", []byte{1, 2, 3}, other)
	})

	t.Run("KeysUnderASecretThatIsGoneAreNotAdded", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		good, bad := subjectKey("wsp_a", 1, 1, "a"), subjectKey("wsp_a", 2, 1, "b")
		bad.With = "subject-keys/0"
		if _, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{good, bad}); !errors.Is(err, seal.ErrWrappingGone) {
			t.Errorf("got %v", err)
		}
		wantSubjectKeys(t, s, "wsp_a", []byte{1, 2})
	})

	t.Run("DestroyedKeysStayDestroyed", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		one, two, three := subjectKey("wsp_a", 1, 1, "1"), subjectKey("wsp_a", 1, 2, "2"), subjectKey("wsp_a", 1, 3, "3")
		neighbour, other := subjectKey("wsp_a", 2, 1, "n"), subjectKey("wsp_b", 1, 1, "o")
		for _, k := range []seal.SubjectKey{one, two, neighbour, other} {
			_, err := s.SubjectKeys.AddSubjectKeys(t.Context(), k.WorkspaceID, []seal.SubjectKey{k})
			noError(t, err)
		}
		noError(t, s.SubjectKeys.DestroySubjectKeys(t.Context(), "wsp_a", one.Subject, 2, after(time.Second)))
		noError(t, s.SubjectKeys.DestroySubjectKeys(t.Context(), "wsp_a", one.Subject, 2, after(time.Minute)))
		gone := destroyed(two, after(time.Second))
		got, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{one, two, three})
		noError(t, err)
		compareSubjectKeys(t, got, []seal.SubjectKey{gone, three})
		wantSubjectKeys(t, s, "wsp_a", []byte{1, 2}, gone, three, neighbour)
		wantSubjectKeys(t, s, "wsp_b", []byte{1}, other)

		// A generation that never existed can no longer be created.
		noError(t, s.SubjectKeys.DestroySubjectKeys(t.Context(), "wsp_a", seal.SubjectHash{9}, 1, epoch))
		never := subjectKey("wsp_a", 9, 1, "never")
		got, err = s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{never})
		noError(t, err)
		compareSubjectKeys(t, got, []seal.SubjectKey{destroyed(never, epoch)})

		var all []string
		noError(t, s.SubjectKeys.EachDestroyedKey(t.Context(), func(k *seal.SubjectKey) error {
			all = append(all, fmt.Sprint(k.WorkspaceID, k.Subject[0], k.Generation))
			return nil
		}))
		if diff := cmp.Diff([]string{"wsp_a1 2", "wsp_a9 1"}, all); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("ManyAtOnce", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		const n = 1100
		var keys []seal.SubjectKey
		var subjects []seal.SubjectHash
		for i := range n {
			k := subjectKey("wsp_a", 0, 1, fmt.Sprint(i))
			k.Subject = seal.SubjectHash{byte(i >> 8), byte(i)}
			keys, subjects = append(keys, k), append(subjects, k.Subject)
		}
		got, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", keys)
		noError(t, err)
		compareSubjectKeys(t, got, keys)
		got, err = s.SubjectKeys.SubjectKeys(t.Context(), "wsp_a", subjects)
		noError(t, err)
		compareSubjectKeys(t, got, keys)
		got, err = s.SubjectKeys.SubjectKeys(t.Context(), "wsp_a", nil)
		noError(t, err)
		compareSubjectKeys(t, got, nil)

		var walked []seal.SubjectKey
		var last *seal.SubjectKey
		for {
			some, err := s.SubjectKeys.SubjectKeysWith(t.Context(), wrapping1, last, 500)
			noError(t, err)
			if len(some) == 0 {
				break
			}
			walked = append(walked, some...)
			last = &some[len(some)-1]
		}
		if diff := cmp.Diff(keys, walked); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("KeysAreRewrappedUnlessDestroyed", func(t *testing.T) {
		s := setup(t)
		withWrappings(t, s)
		a, b := subjectKey("wsp_a", 1, 1, "a"), subjectKey("wsp_a", 2, 1, "b")
		_, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{a, b})
		noError(t, err)
		wantProblem(t, s.Secrets.RemoveSecret(t.Context(), wrapping1), problem.Conflict, problem.CodeConflict)
		noError(t, s.SubjectKeys.DestroySubjectKeys(t.Context(), "wsp_a", b.Subject, 1, epoch))
		newA, newB := a, b
		newA.Wrapped, newA.With = []byte("a2"), wrapping2
		newB.Wrapped, newB.With = []byte("b2"), wrapping2
		never := subjectKey("wsp_a", 3, 1, "c2")
		never.With = wrapping2
		noError(t, s.SubjectKeys.RewrapSubjectKeys(t.Context(), wrapping1, []seal.SubjectKey{newA, newB, never}))
		wantSubjectKeys(t, s, "wsp_a", []byte{1, 2, 3}, newA, destroyed(b, epoch))
		noError(t, s.SubjectKeys.RewrapSubjectKeys(t.Context(), wrapping1, []seal.SubjectKey{a}))
		wantSubjectKeys(t, s, "wsp_a", []byte{1}, newA)
		noError(t, s.Secrets.RemoveSecret(t.Context(), wrapping1))
		wantProblem(t, s.Secrets.RemoveSecret(t.Context(), wrapping2), problem.Conflict, problem.CodeConflict)
	})
}

func testSubjectKeysSideBySide(t *testing.T, setup pairSetup) {
	t.Run("ASubjectHasOneKeyOfAGeneration", func(t *testing.T) {
		p := setup(t)
		withWrappings(t, p[0])
		got := make([][]seal.SubjectKey, 8)
		allWell(t, p.race(8, func(i int, s *store.Store) (err error) {
			keys := []seal.SubjectKey{subjectKey("wsp_a", 1, 1, fmt.Sprint("x", i)), subjectKey("wsp_a", 2, 1, fmt.Sprint("y", i))}
			got[i], err = s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", keys)
			return err
		}))
		all, err := p[0].SubjectKeys.SubjectKeys(t.Context(), "wsp_a", []seal.SubjectHash{{1}, {2}})
		noError(t, err)
		if len(all) != 2 {
			t.Fatalf("%d keys", len(all))
		}
		compareSubjectKeys(t, all, all)
		for _, g := range got {
			compareSubjectKeys(t, g, all)
		}
	})

	t.Run("AKeyThatIsDestroyedIsNotMadeAtThatMoment", func(t *testing.T) {
		p := setup(t)
		withWrappings(t, p[0])
		for round := range byte(10) {
			subject := round + 1
			allWell(t, p.race(6, func(i int, s *store.Store) error {
				if i == 3 {
					return s.SubjectKeys.DestroySubjectKeys(t.Context(), "wsp_a", seal.SubjectHash{subject}, 1, epoch)
				}
				_, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{subjectKey("wsp_a", subject, 1, fmt.Sprint(i))})
				return err
			}))
			wantSubjectKeys(t, p[1], "wsp_a", []byte{subject}, destroyed(subjectKey("wsp_a", subject, 1, ""), epoch))
		}
	})

	t.Run("NoKeyIsLeftUnderASecretThatIsRemoved", func(t *testing.T) {
		p := setup(t)
		withWrappings(t, p[0])
		var removed bool
		errs := p.race(7, func(i int, s *store.Store) error {
			if i == 3 {
				err := s.Secrets.RemoveSecret(t.Context(), wrapping1)
				removed = err == nil
				if isProblem(err, problem.CodeConflict) {
					return nil
				}
				return err
			}
			_, err := s.SubjectKeys.AddSubjectKeys(t.Context(), "wsp_a", []seal.SubjectKey{subjectKey("wsp_a", byte(i+1), 1, "x")})
			if errors.Is(err, seal.ErrWrappingGone) {
				return nil
			}
			return err
		})
		allWell(t, errs)
		left, err := p[0].SubjectKeys.SubjectKeysWith(t.Context(), wrapping1, nil, 99)
		noError(t, err)
		if removed == (len(left) > 0) {
			t.Errorf("the secret was removed: %v, and there are %d keys under it", removed, len(left))
		}
	})
}
