package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/limit"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

func testAccount(t *testing.T, setup setup) {
	t.Run("WorkspacesComeBackById", func(t *testing.T) {
		s := setup(t)
		if is, err := s.Accounts.Initialised(t.Context()); err != nil || is {
			t.Fatalf("empty place: initialised %v, error %v", is, err)
		}
		want := []account.Workspace{
			{ID: "wsp_a", Name: "Ärzte", Tier: "pro", Suspended: true, Embeddings: true, Search: account.SearchPlace{Engine: "opensearch", Reads: "local"}, CreatedAt: epoch, Revision: 3},
			{ID: "wsp_b", Name: "default", Tier: "unlimited", Operator: true, CreatedAt: epoch, Revision: 1},
		}
		noError(t, s.Accounts.CreateWorkspace(t.Context(), &want[1]))
		noError(t, s.Accounts.CreateWorkspace(t.Context(), &want[0]))
		got, err := s.Accounts.Workspaces(t.Context())
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if is, err := s.Accounts.Initialised(t.Context()); err != nil || !is {
			t.Fatalf("with workspaces: initialised %v, error %v", is, err)
		}
	})

	t.Run("ASecondOperatorWorkspaceIsAConflict", func(t *testing.T) {
		s := setup(t)
		a, b := workspace("wsp_a"), workspace("wsp_b")
		a.Operator, b.Operator = true, true
		noError(t, s.Accounts.CreateWorkspace(t.Context(), a))
		wantProblem(t, s.Accounts.CreateWorkspace(t.Context(), b), problem.Conflict, problem.CodeConflict)
		wantWorkspaces(t, s, "wsp_a")
	})

	t.Run("AnEmailIsTakenOnTheWholeInstance", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		noError(t, s.Accounts.CreateUser(t.Context(), user("usr_a", "wsp_a", "a@example.com")))
		err := s.Accounts.CreateUser(t.Context(), user("usr_b", "wsp_b", "a@example.com"))
		wantProblem(t, err, problem.Conflict, problem.CodeConflict)
		noError(t, s.Accounts.CreateUser(t.Context(), user("usr_b", "wsp_b", "b@example.com")))
	})
}

func testPeople(t *testing.T, setup setup) {
	t.Run("WhatNoColumnCanHoldIsNotFound", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for _, text := range []string{"a\x00b", "a\xff"} {
			_, err := s.Sessions.UserByEmail(t.Context(), text)
			wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
			noError(t, s.Run(t.Context(), func(ctx context.Context) error {
				_, err := s.Sessions.UserByEmail(ctx, text)
				if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
					return nil
				}
				return err
			}))
			keys, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_a", apikey.Filter{CreatedBy: text, Limit: 9})
			if err != nil || len(keys) != 0 {
				t.Errorf("keys by %q: %v, error %v", text, keys, err)
			}
			documents, err := s.Documents.ListDocuments(t.Context(), "wsp_a", document.Filter{Collection: text, Tags: []string{text}, Limit: 9})
			if err != nil || len(documents) != 0 {
				t.Errorf("documents of %q: %v, error %v", text, documents, err)
			}
			rows, err := s.Audit.ListAuditRows(t.Context(), audit.Filter{Target: text, Limit: 9})
			if err != nil || len(rows) != 0 {
				t.Errorf("audit rows on %q: %v, error %v", text, rows, err)
			}
		}
	})

	t.Run("WorkspacesAreReadAndListedNewestFirst", func(t *testing.T) {
		s := setup(t)
		for _, id := range []string{"wsp_b", "wsp_a", "wsp_c"} {
			newWorkspace(t, s, id)
		}
		got, err := s.Accounts.Workspace(t.Context(), "wsp_b")
		noError(t, err)
		if diff := cmp.Diff(workspace("wsp_b"), got); diff != "" {
			t.Error(diff)
		}
		_, err = s.Accounts.Workspace(t.Context(), "wsp_d")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		for _, page := range []struct {
			before string
			limit  int
			want   []string
		}{
			{"", 2, []string{"wsp_c", "wsp_b"}},
			{"wsp_b", 2, []string{"wsp_a"}},
			{"wsp_a", 2, nil},
		} {
			list, err := s.Accounts.ListWorkspaces(t.Context(), page.before, page.limit)
			noError(t, err)
			if diff := cmp.Diff(page.want, workspaceIDs(list)); diff != "" {
				t.Errorf("before %q: %s", page.before, diff)
			}
		}
	})

	t.Run("AChangedWorkspaceIsOfTheRevisionBefore", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		w := workspace("wsp_a")
		w.Name, w.Tier, w.Suspended, w.Embeddings, w.Revision = "other", "pro", true, true, 2
		noError(t, s.Accounts.UpdateWorkspace(t.Context(), w))
		got, err := s.Accounts.Workspace(t.Context(), "wsp_a")
		noError(t, err)
		if diff := cmp.Diff(w, got); diff != "" {
			t.Error(diff)
		}
		wantProblem(t, s.Accounts.UpdateWorkspace(t.Context(), w), problem.Mismatch, problem.CodeRevisionMismatch)
		w.ID = "wsp_b"
		wantProblem(t, s.Accounts.UpdateWorkspace(t.Context(), w), problem.NotFound, problem.CodeNotFound)
	})

	t.Run("UsersAreVisibleInTheirWorkspace", func(t *testing.T) {
		s := people(t, setup)
		want := member("usr_b", "wsp_a", "b@example.com")
		for _, within := range []account.Visibility{"wsp_a", account.AllWorkspaces} {
			got, err := s.Accounts.User(t.Context(), within, "usr_b")
			noError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("within %q: %s", within, diff)
			}
		}
		for _, within := range []account.Visibility{"wsp_b", ""} {
			_, err := s.Accounts.User(t.Context(), within, "usr_b")
			wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		}
		for _, list := range []struct {
			within account.Visibility
			filter account.UserFilter
			want   []string
		}{
			{account.AllWorkspaces, account.UserFilter{Limit: 3}, []string{"usr_d", "usr_c", "usr_b"}},
			{account.AllWorkspaces, account.UserFilter{Limit: 3, Before: "usr_b"}, []string{"usr_a"}},
			{account.AllWorkspaces, account.UserFilter{Limit: 9, Role: account.RoleAdmin}, []string{"usr_d", "usr_a"}},
			{"wsp_a", account.UserFilter{Limit: 9}, []string{"usr_c", "usr_b", "usr_a"}},
			{"wsp_a", account.UserFilter{Limit: 9, Role: account.RoleAdmin, Before: "usr_d"}, []string{"usr_a"}},
			{"", account.UserFilter{Limit: 9}, nil},
		} {
			got, err := s.Accounts.ListUsers(t.Context(), list.within, list.filter)
			noError(t, err)
			var ids []string
			for _, u := range got {
				ids = append(ids, u.ID)
			}
			if diff := cmp.Diff(list.want, ids); diff != "" {
				t.Errorf("within %q, %+v: %s", list.within, list.filter, diff)
			}
		}
	})

	t.Run("AChangedUserIsOfTheRevisionBeforeAndKeepsItsLogin", func(t *testing.T) {
		s := people(t, setup)
		u := user("usr_b", "wsp_a", "b@example.com")
		u.Name, u.Role, u.PasswordHash, u.Disabled, u.Revision = "Bob", account.RoleDeveloper, "other", true, 2
		noError(t, s.Accounts.UpdateUser(t.Context(), u))
		got, err := s.Accounts.User(t.Context(), account.AllWorkspaces, "usr_b")
		noError(t, err)
		if diff := cmp.Diff(u, got); diff != "" {
			t.Error(diff)
		}
		wantProblem(t, s.Accounts.UpdateUser(t.Context(), u), problem.Mismatch, problem.CodeRevisionMismatch)
		wantProblem(t, s.Accounts.DeleteUser(t.Context(), user("usr_b", "", "")), problem.Mismatch, problem.CodeRevisionMismatch)
		noError(t, s.Accounts.DeleteUser(t.Context(), u))
		wantProblem(t, s.Accounts.DeleteUser(t.Context(), u), problem.NotFound, problem.CodeNotFound)
		u.Revision++
		wantProblem(t, s.Accounts.UpdateUser(t.Context(), u), problem.NotFound, problem.CodeNotFound)
		noError(t, s.Accounts.CreateUser(t.Context(), user("usr_e", "wsp_b", "b@example.com"))) // its email is free again
	})

	t.Run("UsersAndAdminsWhoAreNotDisabledAreCounted", func(t *testing.T) {
		s := people(t, setup)
		disabled := user("usr_e", "wsp_a", "e@example.com")
		disabled.Role, disabled.Disabled = account.RoleAdmin, true
		noError(t, s.Accounts.CreateUser(t.Context(), disabled))
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			for id, want := range map[string][2]int64{"wsp_a": {4, 1}, "wsp_b": {1, 1}, "wsp_c": {0, 0}} {
				users, admins, err := s.Accounts.CountUsers(ctx, id)
				if err != nil {
					return err
				}
				if got := [2]int64{users, admins}; got != want {
					t.Errorf("%s has users and admins %v, want %v", id, got, want)
				}
			}
			return nil
		}))
	})

	t.Run("ChangedTiersAreKeptByName", func(t *testing.T) {
		s := setup(t)
		pro := account.Tier{Tier: limit.Tier{Name: "pro", RequestsPerMinute: 1, Daily: 2, Monthly: 3, Keys: new(int64(4)), Users: new(int64(0)), Documents: new(int64(6)), Storage: new(int64(7))}, Revision: 2}
		free := account.Tier{Tier: limit.Tier{Name: "free", RequestsPerMinute: 1, Daily: 1, Monthly: 1}, Revision: 2}
		noError(t, s.Accounts.KeepTier(t.Context(), &pro))
		noError(t, s.Accounts.KeepTier(t.Context(), &free))
		wantProblem(t, s.Accounts.KeepTier(t.Context(), &pro), problem.Mismatch, problem.CodeRevisionMismatch)
		pro.RequestsPerMinute, pro.Memories, pro.Documents, pro.Revision = 8, new(int64(9)), nil, 3
		noError(t, s.Accounts.KeepTier(t.Context(), &pro))
		got, err := s.Accounts.ChangedTiers(t.Context())
		noError(t, err)
		if diff := cmp.Diff([]account.Tier{free, pro}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func testPeopleSideBySide(t *testing.T, setup pairSetup) {
	t.Run("OneUserHasAnEmail", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		errs := p.race(8, func(i int, s *store.Store) error {
			return s.Accounts.CreateUser(t.Context(), user(fmt.Sprintf("usr_%d", i), "wsp_a", "a@example.com"))
		})
		wantWinners(t, errs, 1, problem.CodeConflict)
	})

	t.Run("OneWorkspaceIsTheOperators", func(t *testing.T) {
		p := setup(t)
		errs := p.race(8, func(i int, s *store.Store) error {
			w := workspace(fmt.Sprintf("wsp_%d", i))
			w.Operator = true
			return s.Accounts.CreateWorkspace(t.Context(), w)
		})
		wantWinners(t, errs, 1, problem.CodeConflict)
	})

	t.Run("ARefreshTokenIsUsedOnce", func(t *testing.T) {
		p := setup(t)
		startSession(t, p[0], "ses_a", "usr_a", 1)
		errs := p.race(8, func(i int, s *store.Store) error { return refresh(t.Context(), s, 1, byte(i+2)) })
		wantWinners(t, errs, 1, problem.CodeConflict)
	})

	t.Run("NoSessionOutlivesTheEndOfAllOfItsUser", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		noError(t, p[0].Accounts.CreateUser(t.Context(), user("usr_a", "wsp_a", "a@example.com")))
		startSession(t, p[0], "ses_0", "usr_a", 200)
		errs := p.race(8, func(i int, s *store.Store) error {
			switch i {
			case 0: // an administrator disables the user
				return s.Run(t.Context(), func(ctx context.Context) error {
					u, err := s.Accounts.User(ctx, account.AllWorkspaces, "usr_a")
					if err != nil {
						return err
					}
					u.Disabled = true
					u.Revision++
					if err := s.Accounts.UpdateUser(ctx, u); err != nil {
						return err
					}
					return s.Sessions.EndSessions(ctx, "usr_a", "", after(time.Second))
				})
			case 1: // a session is refreshed
				if err := refresh(t.Context(), s, 200, 201); err != nil && !isProblem(err, problem.CodeConflict) {
					return err
				}
				return nil
			default: // others log in
				err := s.Run(t.Context(), func(ctx context.Context) error {
					if err := s.Sessions.NoteLogin(ctx, user("usr_a", "wsp_a", "a@example.com"), epoch); err != nil {
						return err
					}
					return s.Sessions.StartSession(ctx, session(fmt.Sprintf("ses_%d", i), "usr_a"), refreshToken(fmt.Sprintf("ses_%d", i), byte(i)))
				})
				if isProblem(err, problem.CodeNotFound) {
					return nil
				}
				return err
			}
		})
		allWell(t, errs)
		for i := range 8 {
			_, its, err := p[1].Sessions.RefreshToken(t.Context(), refreshToken("", map[bool]byte{true: 200, false: byte(i)}[i == 0]).Hash)
			if isProblem(err, problem.CodeNotFound) {
				continue
			}
			noError(t, err)
			if its.EndedAt == nil {
				t.Errorf("session %s goes on", its.ID)
			}
		}
	})

	t.Run("ThoseWhoChangeAndDeleteUsersDoNotWaitForEachOther", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		for i := range 5 {
			noError(t, p[0].Accounts.CreateUser(t.Context(), member(fmt.Sprintf("usr_%d", i), "wsp_a", fmt.Sprintf("%d@example.com", i))))
			startSession(t, p[0], fmt.Sprintf("ses_%d", i), fmt.Sprintf("usr_%d", i), byte(i+1))
		}
		errs := p.race(10, func(i int, s *store.Store) error {
			err := s.Run(t.Context(), func(ctx context.Context) error {
				u, err := s.Accounts.User(ctx, account.AllWorkspaces, fmt.Sprintf("usr_%d", i/2))
				if err != nil {
					return err
				}
				if i%2 == 0 {
					u.Revision++
					return errors.Join(s.Accounts.UpdateUser(ctx, u), s.Sessions.EndSessions(ctx, u.ID, "", epoch))
				}
				return errors.Join(s.Sessions.EndSessions(ctx, u.ID, "", epoch), s.Accounts.DeleteUser(ctx, u))
			})
			if isProblem(err, problem.CodeNotFound) {
				return nil
			}
			return err
		})
		allWell(t, errs)
	})
}

// people creates a store with the users a to c in wsp_a and d in wsp_b. a and d are admins.
func people(t *testing.T, setup setup) *store.Store {
	s := setup(t)
	newWorkspace(t, s, "wsp_a")
	newWorkspace(t, s, "wsp_b")
	for _, u := range []*account.User{
		user("usr_a", "wsp_a", "a@example.com"), member("usr_b", "wsp_a", "b@example.com"),
		member("usr_c", "wsp_a", "c@example.com"), user("usr_d", "wsp_b", "d@example.com"),
	} {
		noError(t, s.Accounts.CreateUser(t.Context(), u))
	}
	return s
}

func member(id, workspaceID, email string) *account.User {
	u := user(id, workspaceID, email)
	u.Role = account.RoleMember
	return u
}

func workspaceIDs(list []account.Workspace) []string {
	var ids []string
	for _, w := range list {
		ids = append(ids, w.ID)
	}
	return ids
}
