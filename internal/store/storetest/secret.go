package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory/seal"
)

func testSecret(t *testing.T, setup setup) {
	t.Run("SecretsAreAddedAllOrNone", func(t *testing.T) {
		s := setup(t)
		first := []seal.Wrapped{{Name: "a", Sealed: []byte{0, 1}, CreatedAt: epoch}, {Name: "b", Sealed: []byte{2}, CreatedAt: epoch}}
		noError(t, s.Secrets.AddSecrets(t.Context(), first))
		err := s.Secrets.AddSecrets(t.Context(), []seal.Wrapped{{Name: "c", Sealed: []byte{3}, CreatedAt: epoch}, {Name: "a", Sealed: []byte{9}, CreatedAt: epoch}})
		wantProblem(t, err, problem.Conflict, problem.CodeConflict)
		got, err := s.Secrets.Secrets(t.Context())
		noError(t, err)
		if diff := cmp.Diff(first, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("WrappingSecretIsNotAddedBeforeALaterOne", func(t *testing.T) {
		s := setup(t)
		wrapped := func(name string) []seal.Wrapped {
			return []seal.Wrapped{{Name: name, Sealed: []byte{1}, CreatedAt: epoch}}
		}
		noError(t, s.Secrets.AddSecrets(t.Context(), wrapped("subject-keys/10")))
		for _, earlier := range []string{"subject-keys/9", "subject-keys/10"} {
			wantProblem(t, s.Secrets.AddSecrets(t.Context(), wrapped(earlier)), problem.Conflict, problem.CodeConflict)
		}
		noError(t, s.Secrets.AddSecrets(t.Context(), wrapped("subject-keys/11")))
		noError(t, s.Secrets.AddSecrets(t.Context(), wrapped("other/1")))
	})

	t.Run("SecretsAreResealedAllOrNoneAndRemovedOneByOne", func(t *testing.T) {
		s := setup(t)
		wrapped := func(name string, sealed byte) seal.Wrapped {
			return seal.Wrapped{Name: name, Sealed: []byte{sealed}, CreatedAt: epoch}
		}
		noError(t, s.Secrets.AddSecrets(t.Context(), []seal.Wrapped{wrapped("a", 1), wrapped("b", 2)}))
		for _, wrong := range [][]seal.Wrapped{
			{wrapped("a", 9)},
			{wrapped("a", 9), wrapped("a", 8)},
			{wrapped("a", 9), wrapped("c", 9)},
			{wrapped("a", 9), wrapped("b", 9), wrapped("c", 9)},
		} {
			wantProblem(t, s.Secrets.ResealSecrets(t.Context(), wrong), problem.Conflict, problem.CodeConflict)
		}
		want := []seal.Wrapped{wrapped("a", 3), wrapped("b", 4)}
		noError(t, s.Secrets.ResealSecrets(t.Context(), []seal.Wrapped{want[1], want[0]}))
		got, err := s.Secrets.Secrets(t.Context())
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		noError(t, s.Secrets.RemoveSecret(t.Context(), "a"))
		wantProblem(t, s.Secrets.RemoveSecret(t.Context(), "a"), problem.NotFound, problem.CodeNotFound)
		got, err = s.Secrets.Secrets(t.Context())
		noError(t, err)
		if diff := cmp.Diff(want[1:], got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("TheInstanceHasOneID", func(t *testing.T) {
		s := setup(t)
		id, err := s.Secrets.InstanceID(t.Context())
		noError(t, err)
		again, err := s.Secrets.InstanceID(t.Context())
		noError(t, err)
		if id == "" || id != again {
			t.Errorf("ids %q and %q", id, again)
		}
	})
}
