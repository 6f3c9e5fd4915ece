package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/account"
	"keepsake/internal/problem"
)

func testAccount(t *testing.T, setup setup) {
	t.Run("WorkspacesComeBackById", func(t *testing.T) {
		s := setup(t)
		if is, err := s.Initialised(t.Context()); err != nil || is {
			t.Fatalf("empty place: initialised %v, error %v", is, err)
		}
		want := []account.Workspace{
			{ID: "wsp_a", Name: "Ärzte", Tier: "pro", Suspended: true, CreatedAt: epoch, Revision: 3},
			{ID: "wsp_b", Name: "default", Tier: "unlimited", Operator: true, CreatedAt: epoch, Revision: 1},
		}
		noError(t, s.CreateWorkspace(t.Context(), &want[1]))
		noError(t, s.CreateWorkspace(t.Context(), &want[0]))
		got, err := s.Workspaces(t.Context())
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if is, err := s.Initialised(t.Context()); err != nil || !is {
			t.Fatalf("with workspaces: initialised %v, error %v", is, err)
		}
	})

	t.Run("ASecondOperatorWorkspaceIsAConflict", func(t *testing.T) {
		s := setup(t)
		a, b := workspace("wsp_a"), workspace("wsp_b")
		a.Operator, b.Operator = true, true
		noError(t, s.CreateWorkspace(t.Context(), a))
		wantProblem(t, s.CreateWorkspace(t.Context(), b), problem.Conflict, problem.CodeConflict)
		wantWorkspaces(t, s, "wsp_a")
	})

	t.Run("AnEmailIsTakenOnTheWholeInstance", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		noError(t, s.CreateUser(t.Context(), user("usr_a", "wsp_a", "a@example.com")))
		err := s.CreateUser(t.Context(), user("usr_b", "wsp_b", "a@example.com"))
		wantProblem(t, err, problem.Conflict, problem.CodeConflict)
		noError(t, s.CreateUser(t.Context(), user("usr_b", "wsp_b", "b@example.com")))
	})
}
