package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/store"
)

func testUnit(t *testing.T, setup setup) {
	t.Run("WhatIsWrittenTogetherCommitsTogether", func(t *testing.T) {
		s := setup(t)
		failure := errors.New("no")
		err := s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			if err := s.Accounts.CreateUser(ctx, user("usr_a", "wsp_a", "a@example.com")); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatalf("got %v, want the error of the unit", err)
		}
		wantWorkspaces(t, s)
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			return s.Accounts.CreateUser(ctx, user("usr_a", "wsp_a", "a@example.com"))
		}))
		wantWorkspaces(t, s, "wsp_a")
	})

	t.Run("TransactionReadsItsOwnWrites", func(t *testing.T) {
		s := setup(t)
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			inside, err := s.Accounts.Workspaces(ctx)
			if err != nil || len(inside) != 1 {
				return fmt.Errorf("inside: %d workspaces, error %w", len(inside), err)
			}
			outside, err := s.Accounts.Workspaces(t.Context())
			if err != nil || len(outside) != 0 {
				return fmt.Errorf("outside: %d workspaces, error %w", len(outside), err)
			}
			return nil
		}))
	})

	t.Run("AnInnerUnitJoinsTheOuter", func(t *testing.T) {
		s := setup(t)
		err := s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Run(ctx, func(ctx context.Context) error { return s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")) }); err != nil {
				return err
			}
			return errors.New("no")
		})
		if err == nil {
			t.Fatal("the outer unit's error was lost")
		}
		wantWorkspaces(t, s)
	})

	t.Run("AProblemWritesNothingAndTheUnitMayGoOn", func(t *testing.T) {
		s := setup(t)
		noError(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")))
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a"))
			if p, ok := problem.As(err); !ok || p.Kind != problem.Conflict {
				return fmt.Errorf("got %w, want a conflict", err)
			}
			return s.Accounts.CreateWorkspace(ctx, workspace("wsp_b"))
		}))
		wantWorkspaces(t, s, "wsp_a", "wsp_b")
	})

	t.Run("AFailedStatementDoomsTheUnitEvenIfItsErrorIsIgnored", func(t *testing.T) {
		s := setup(t)
		err := s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			_ = s.Accounts.CreateUser(ctx, user("usr_a", "wsp_unknown", "a@example.com")) // violates a foreign key
			return nil
		})
		if err == nil {
			t.Fatal("a unit with a failed statement committed")
		}
		wantWorkspaces(t, s)
	})

	t.Run("HooksRunBeforeAndAfterTheCommit", func(t *testing.T) {
		s := setup(t)
		var order []string
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			order = nil
			unit.AfterCommit(ctx, func() {
				wantWorkspaces(t, s, "wsp_a", "wsp_b")
				order = append(order, "after")
			})
			for range 2 { // a second hook with the same name is ignored
				unit.BeforeCommit(ctx, "add b", func(ctx context.Context) error {
					order = append(order, "before")
					return s.Accounts.CreateWorkspace(ctx, workspace("wsp_b"))
				})
			}
			order = append(order, "unit")
			return s.Accounts.CreateWorkspace(ctx, workspace("wsp_a"))
		}))
		if got := fmt.Sprint(order); got != "[unit before after]" {
			t.Errorf("order: got %s", got)
		}
	})

	t.Run("AfterCommitRunsInTheOrderOfTheCommits", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		var mu sync.Mutex
		var committed, heard []int64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				d := newDocument(fmt.Sprintf("d%d", i))
				err := s.Run(t.Context(), func(ctx context.Context) error {
					if _, err := s.Documents.PutDocument(ctx, "wsp_a", d, put()); err != nil {
						return err
					}
					unit.AfterCommit(ctx, func() { heard = append(heard, d.Change) }) // no lock, because hooks run one after another
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				committed = append(committed, d.Change)
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i, n := range heard {
			if n != int64(i+1) {
				t.Fatalf("hooks heard the changes %v", heard)
			}
		}
		if len(heard) != 50 || len(committed) != 50 {
			t.Errorf("%d units, %d hooks, want 50 of each", len(committed), len(heard))
		}
	})

	t.Run("AnEndedContextRunsNothing", func(t *testing.T) {
		s := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := s.Run(ctx, func(context.Context) error {
			t.Error("the unit ran")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

func workspace(id string) *account.Workspace {
	return &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: epoch, Revision: 1}
}

func user(id, workspaceID, email string) *account.User {
	return &account.User{
		ID: id, WorkspaceID: workspaceID, Email: email, Role: account.RoleAdmin, PasswordHash: "$argon2id$…",
		CreatedAt: epoch, Revision: 1,
	}
}

func wantWorkspaces(t *testing.T, s *store.Store, ids ...string) {
	t.Helper()
	list, err := s.Accounts.Workspaces(t.Context())
	if err != nil {
		t.Error(err)
	}
	var got []string
	for _, w := range list {
		got = append(got, w.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("workspaces: got %v, want %v", got, ids)
	}
}
