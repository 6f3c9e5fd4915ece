package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/memory/seal"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// RunSideBySide tests two stores that write concurrently to one database, as two processes do. open gives each case an
// empty database with two engines. They can be the same engine if it allows only one.
func RunSideBySide(t *testing.T, open func(t *testing.T) (a, b store.Engine)) {
	setup := func(t *testing.T) pair {
		t.Helper()
		t.Parallel()
		a, b := open(t)
		return pair{store.New(a), store.New(b)}
	}
	t.Run("Count", func(t *testing.T) { testCountsSideBySide(t, setup) })
	t.Run("Revision", func(t *testing.T) { testRevisionsSideBySide(t, setup) })
	t.Run("People", func(t *testing.T) { testPeopleSideBySide(t, setup) })
	t.Run("Order", func(t *testing.T) { testOrderSideBySide(t, setup) })
	t.Run("Once", func(t *testing.T) { testOnceSideBySide(t, setup) })
	t.Run("SubjectKey", func(t *testing.T) { testSubjectKeysSideBySide(t, setup) })
}

// pair is two stores on one database.
type pair [2]*store.Store

// race runs f n times concurrently, alternating between the stores, and returns the errors.
func (p pair) race(n int, f func(i int, s *store.Store) error) []error {
	errs := make([]error, n)
	ready, begin := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ready <- struct{}{}
			<-begin
			errs[i] = f(i, p[i%2])
		})
	}
	for range n {
		<-ready
	}
	close(begin)
	all.Wait()
	return errs
}

// wantWinners checks how many calls of a race succeeded, and that the others returned a problem.
func wantWinners(t *testing.T, errs []error, want int, code string) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		if p, ok := problem.As(err); !ok || p.Code != code {
			t.Errorf("a losing call returned %v, want %s", err, code)
		}
	}
	if won != want {
		t.Errorf("%d of %d succeeded, want %d", won, len(errs), want)
	}
}

func allWell(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

type pairSetup func(t *testing.T) pair

func testCountsSideBySide(t *testing.T, setup pairSetup) {
	t.Run("NoMoreKeysThanTheTierAllows", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		errs := p.race(16, func(i int, s *store.Store) error {
			return s.APIKeys.CreateAPIKey(t.Context(), newKey(fmt.Sprintf("key_%d", i), "wsp_a", byte(i+1)), new(int64(5)))
		})
		wantWinners(t, errs, 5, problem.CodeLimitReached)
	})

	t.Run("NoMoreUsersThanTheTierAllows", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		errs := p.race(16, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				n, _, err := s.Accounts.CountUsers(ctx, "wsp_a")
				if err != nil {
					return err
				}
				if n >= 5 {
					return problem.LimitReached("users", "full")
				}
				return s.Accounts.CreateUser(ctx, member(fmt.Sprintf("usr_%d", i), "wsp_a", fmt.Sprintf("%d@example.com", i)))
			})
		})
		wantWinners(t, errs, 5, problem.CodeLimitReached)
	})

	t.Run("NoMoreDocumentsThanTheTierAllowsAndNoGapInTheirChanges", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		errs := p.race(16, func(i int, s *store.Store) error {
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument(fmt.Sprintf("d%d", i)), document.Put{Max: new(int64(10))})
			return err
		})
		wantWinners(t, errs, 10, problem.CodeLimitReached)
		changes, _, err := p[1].Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{Limit: 99})
		noError(t, err)
		for i, c := range changes {
			if c.Number != int64(i+1) {
				t.Errorf("change %d has the number %d", i+1, c.Number)
			}
		}
		if len(changes) != 10 {
			t.Errorf("%d changes, want 10", len(changes))
		}
	})

	t.Run("AWorkspaceKeepsAnAdmin", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		for round := range 5 {
			ids := []string{fmt.Sprintf("usr_a%d", round), fmt.Sprintf("usr_b%d", round)}
			for _, id := range ids {
				noError(t, p[0].Accounts.CreateUser(t.Context(), user(id, "wsp_a", id+"@example.com")))
			}
			errs := p.race(2, func(i int, s *store.Store) error { return demote(t.Context(), s, ids[i]) })
			wantWinners(t, errs, 1, problem.CodeConflict)
			_, admins, err := p[0].Accounts.CountUsers(t.Context(), "wsp_a")
			noError(t, err)
			if admins != 1 {
				t.Fatalf("round %d: %d admins are left", round, admins)
			}
			for _, id := range ids {
				u, err := p[0].Accounts.User(t.Context(), account.AllWorkspaces, id)
				noError(t, err)
				noError(t, p[0].Accounts.DeleteUser(t.Context(), u))
			}
		}
	})
}

// demote makes an admin a member unless it is the last one, as the domain does.
func demote(ctx context.Context, s *store.Store, id string) error {
	return s.Run(ctx, func(ctx context.Context) error {
		u, err := s.Accounts.User(ctx, account.AllWorkspaces, id)
		if err != nil {
			return err
		}
		_, admins, err := s.Accounts.CountUsers(ctx, u.WorkspaceID)
		if err != nil {
			return err
		}
		if admins <= 1 {
			return problem.Conflicts("the last admin")
		}
		u.Role = account.RoleMember
		u.Revision++
		return s.Accounts.UpdateUser(ctx, u)
	})
}

// testRevisionsSideBySide checks that a read and a write without a revision never fail because of a write in between.
func testRevisionsSideBySide(t *testing.T, setup pairSetup) {
	const writers = 8

	t.Run("Workspace", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		allWell(t, p.race(writers, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				w, err := s.Accounts.Workspace(ctx, "wsp_a")
				if err != nil {
					return err
				}
				w.Name += "x"
				w.Revision++
				return s.Accounts.UpdateWorkspace(ctx, w)
			})
		}))
		w, err := p[0].Accounts.Workspace(t.Context(), "wsp_a")
		noError(t, err)
		if w.Revision != 1+writers || len(w.Name) != len("wsp_a")+writers {
			t.Errorf("a change was lost: %+v", w)
		}
	})

	t.Run("APIKey", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		noError(t, p[0].APIKeys.CreateAPIKey(t.Context(), newKey("key_a", "wsp_a", 1), nil))
		var mu [2]sync.Mutex
		heard := [2][]int64{}
		allWell(t, p.race(writers, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				k, err := s.APIKeys.APIKey(ctx, "wsp_a", "key_a")
				if err != nil {
					return err
				}
				k.Revision++
				k.Secrets = append(k.Secrets[:1:1], apikey.Secret{Hash: [32]byte{byte(10 + k.Revision)}, Hint: "x", CreatedAt: epoch})
				unit.AfterCommit(ctx, func() {
					if !mu[i%2].TryLock() {
						t.Error("two hooks of one engine ran at once")
						return
					}
					defer mu[i%2].Unlock()
					heard[i%2] = append(heard[i%2], k.Revision)
				})
				return s.APIKeys.UpdateAPIKey(ctx, k)
			})
		}))
		k, err := p[0].APIKeys.APIKey(t.Context(), "wsp_a", "key_a")
		noError(t, err)
		if k.Revision != 1+writers || len(k.Secrets) != 2 {
			t.Errorf("a change was lost: %+v", k)
		}
		for i, list := range heard {
			if !slices.IsSorted(list) {
				t.Errorf("the hooks of store %d heard the revisions %v", i, list)
			}
		}
	})

	t.Run("Tier", func(t *testing.T) {
		p := setup(t)
		allWell(t, p.race(writers, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				list, err := s.Accounts.ChangedTiers(ctx)
				if err != nil {
					return err
				}
				next := &account.Tier{Tier: limit.Tier{Name: "pro"}, Revision: 2}
				if len(list) > 0 {
					next.Revision = list[0].Revision + 1
				}
				return s.Accounts.KeepTier(ctx, next)
			})
		}))
		list, err := p[0].Accounts.ChangedTiers(t.Context())
		noError(t, err)
		if len(list) != 1 || list[0].Revision != 1+writers {
			t.Errorf("a change was lost: %+v", list)
		}
	})

	t.Run("AVersionIsReleasedOnce", func(t *testing.T) {
		p := setup(t)
		errs := p.race(writers, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				list, err := s.Versions.Versions(ctx)
				if err != nil {
					return err
				}
				if len(list) > 0 {
					return problem.Conflicts("released before")
				}
				for n := range 2 {
					if err := s.Versions.KeepVersion(ctx, &lifecycle.Version{Number: n + 1, Since: epoch, Revision: 1}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		wantWinners(t, errs, 1, problem.CodeConflict)
	})
}

func testOrderSideBySide(t *testing.T, setup pairSetup) {
	t.Run("AnAuditChainHasNoGapFromItsFirstRowOn", func(t *testing.T) {
		p := setup(t)
		allWell(t, p.race(12, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				head, err := s.Audit.AuditHead(ctx, "one")
				if err != nil {
					return err
				}
				row := func(n int64) *audit.Row {
					return &audit.Row{
						Chain: "one", Sequence: head.Sequence + n, ID: fmt.Sprintf("aud_%d_%d", i, n), At: epoch, Action: "x",
						Outcome: audit.Done, Count: 1, Details: "{}", Hash: sha256.Sum256([]byte{byte(i), byte(n)}),
					}
				}
				return s.Audit.AppendAuditRows(ctx, []*audit.Row{row(1), row(2)})
			})
		}))
		rows, err := p[0].Audit.AuditRowsAfter(t.Context(), "one", 0, 99)
		noError(t, err)
		head, err := p[1].Audit.AuditHead(t.Context(), "one")
		noError(t, err)
		if len(rows) != 24 || head.Sequence != 24 || head.Hash != rows[23].Hash {
			t.Fatalf("%d rows and the head %+v", len(rows), head)
		}
		for i, r := range rows {
			if r.Sequence != int64(i+1) {
				t.Errorf("row %d has the number %d", i+1, r.Sequence)
			}
		}
	})

	t.Run("ImportsOfTheSameDocumentsFollowEachOther", func(t *testing.T) {
		p := setup(t)
		newWorkspace(t, p[0], "wsp_a")
		newWorkspace(t, p[0], "wsp_b")
		allWell(t, p.race(8, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				for n := range 20 {
					d := newDocument(fmt.Sprintf("d%d", map[bool]int{true: n, false: 19 - n}[i%2 == 0]))
					if _, err := s.Documents.PutDocument(ctx, []string{"wsp_a", "wsp_b"}[i/2%2], d, put()); err != nil {
						return err
					}
				}
				return nil
			})
		}))
		for _, w := range []string{"wsp_a", "wsp_b"} {
			now, err := p[0].Documents.DocumentState(t.Context(), w)
			noError(t, err)
			if now.Change != 80 {
				t.Errorf("%s: the last change is %d, want 80", w, now.Change)
			}
		}
	})
}

func testOnceSideBySide(t *testing.T, setup pairSetup) {
	t.Run("ARequestHasOneAnswerAndOneEffect", func(t *testing.T) {
		p := setup(t)
		errs := p.race(8, func(i int, s *store.Store) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				if err := s.Accounts.CreateWorkspace(ctx, workspace(fmt.Sprintf("wsp_%d", i))); err != nil {
					return err
				}
				return s.Idempotency.KeepAnswer(ctx, &idempotency.Answer{Claim: [32]byte{1}, Status: 201, CreatedAt: epoch, ExpiresAt: after(time.Hour)})
			})
		})
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, idempotency.ErrAnswered):
				t.Error(err)
			}
		}
		list, err := p[0].Accounts.Workspaces(t.Context())
		noError(t, err)
		if won != 1 || len(list) != 1 {
			t.Errorf("%d answers and %d effects, want one of each", won, len(list))
		}
	})

	t.Run("ASecretIsMadeOnce", func(t *testing.T) {
		p := setup(t)
		errs := p.race(8, func(i int, s *store.Store) error {
			return s.Secrets.AddSecrets(t.Context(), []seal.Wrapped{
				{Name: fmt.Sprintf("own/%d", i), Sealed: []byte{byte(i)}, CreatedAt: epoch},
				{Name: "check", Sealed: []byte{byte(i)}, CreatedAt: epoch},
			})
		})
		wantWinners(t, errs, 1, problem.CodeConflict)
		list, err := p[0].Secrets.Secrets(t.Context())
		noError(t, err)
		if len(list) != 2 {
			t.Errorf("%d secrets, want those of the one that won", len(list))
		}
	})
}
