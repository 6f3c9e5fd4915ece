package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/problem"
	"keepsake/internal/seal"
)

func testSecret(t *testing.T, setup setup) {
	t.Run("SecretsAreAddedAllOrNone", func(t *testing.T) {
		s := setup(t)
		first := []seal.Wrapped{{Name: "a", Sealed: []byte{0, 1}, CreatedAt: epoch}, {Name: "b", Sealed: []byte{2}, CreatedAt: epoch}}
		noError(t, s.AddSecrets(t.Context(), first))
		err := s.AddSecrets(t.Context(), []seal.Wrapped{{Name: "c", Sealed: []byte{3}, CreatedAt: epoch}, {Name: "a", Sealed: []byte{9}, CreatedAt: epoch}})
		wantProblem(t, err, problem.Conflict, problem.CodeConflict)
		got, err := s.Secrets(t.Context())
		noError(t, err)
		if diff := cmp.Diff(first, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("TheInstanceHasOneID", func(t *testing.T) {
		s := setup(t)
		id, err := s.InstanceID(t.Context())
		noError(t, err)
		again, err := s.InstanceID(t.Context())
		noError(t, err)
		if id == "" || id != again {
			t.Errorf("ids %q and %q", id, again)
		}
	})
}
