package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

// shared is an engine that reports being shared with other processes.
type shared struct{ store.Engine }

func (shared) Shared() bool { return true }

func testNews(t *testing.T, open func(t *testing.T) store.Engine) {
	setup := func(t *testing.T) (*store.Store, store.Engine) {
		t.Helper()
		t.Parallel()
		engine := shared{open(t)}
		return store.New(engine), engine
	}

	t.Run("EventsNameWhatOthersCache", func(t *testing.T) {
		s, engine := setup(t)
		ctx := t.Context()
		noError(t, s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")))
		wantNews(t, engine, "workspace wsp_a")
		w := workspace("wsp_a")
		w.Suspended, w.Revision = true, 2
		noError(t, s.Accounts.UpdateWorkspace(ctx, w))
		wantNews(t, engine, "workspace wsp_a")

		k := newsKey("key_a")
		noError(t, s.APIKeys.CreateAPIKey(ctx, k, nil))
		wantNews(t, engine, "api_key key_a")
		k.RevokedAt, k.Revision = pointer(epoch), 2
		noError(t, s.APIKeys.UpdateAPIKey(ctx, k))
		wantNews(t, engine, "api_key key_a")

		u := user("usr_a", "wsp_a", "a@example.com")
		noError(t, s.Accounts.CreateUser(ctx, u))
		wantNews(t, engine) // no process has cached a user who signs in for the first time
		u.Disabled, u.Revision = true, 2
		noError(t, s.Accounts.UpdateUser(ctx, u))
		wantNews(t, engine, "user usr_a")
		for _, id := range []string{"ses_a", "ses_b"} {
			noError(t, s.Sessions.StartSession(ctx,
				&account.Session{ID: id, UserID: "usr_a", WorkspaceID: "wsp_a", CreatedAt: epoch, ExpiresAt: after(1)},
				&account.RefreshToken{Hash: [32]byte([]byte(strings.Repeat(id, 7))[:32]), SessionID: id, CreatedAt: epoch, ExpiresAt: after(1)}))
		}
		wantNews(t, engine)
		noError(t, s.Sessions.EndSession(ctx, "ses_a", epoch))
		noError(t, s.Sessions.EndSession(ctx, "ses_a", epoch)) // the session has ended
		wantNews(t, engine, "session ses_a")
		noError(t, s.Sessions.EndSessions(ctx, "usr_a", "", epoch))
		noError(t, s.Sessions.EndSessions(ctx, "usr_a", "", epoch))
		wantNews(t, engine, "user usr_a")
		noError(t, s.Accounts.DeleteUser(ctx, u))
		wantNews(t, engine, "user usr_a")
		_, err := s.Sessions.EndAllSessions(ctx, epoch)
		noError(t, err)
		wantNews(t, engine, "all ")

		noError(t, s.Accounts.KeepTier(ctx, &account.Tier{Tier: limit.Tier{Name: "free", RequestsPerMinute: 1}, Revision: 1}))
		wantNews(t, engine, "tier free")
		noError(t, s.Versions.KeepVersion(ctx, &lifecycle.Version{Number: 2, Since: epoch, Revision: 1}))
		wantNews(t, engine, "version 2")
		noError(t, s.Versions.KeepRehearsal(ctx, &lifecycle.Rehearsal{Version: 1, KeyID: "key_a", WorkspaceID: "wsp_a", Until: after(1)}, epoch))
		wantNews(t, engine, "version 1")

		noError(t, s.Secrets.AddSecrets(ctx, []seal.Wrapped{{Name: "x", Sealed: []byte{1}, CreatedAt: epoch}}))
		noError(t, s.Secrets.ResealSecrets(ctx, []seal.Wrapped{{Name: "x", Sealed: []byte{2}, CreatedAt: epoch}}))
		noError(t, s.Secrets.RemoveSecret(ctx, "x"))
		wantNews(t, engine, "secret ", "secret ", "secret ")
	})

	t.Run("AUnitTellsOnceAndOneThatFailsTellsNothing", func(t *testing.T) {
		s, engine := setup(t)
		no := errors.New("no")
		err := s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			return no
		})
		if !errors.Is(err, no) {
			t.Fatalf("got error %v", err)
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			for _, id := range []string{"wsp_a", "wsp_b"} {
				if err := s.Accounts.CreateWorkspace(ctx, workspace(id)); err != nil {
					return err
				}
			}
			w := workspace("wsp_a")
			w.Revision = 2
			return s.Accounts.UpdateWorkspace(ctx, w)
		}))
		wantNews(t, engine, "workspace wsp_a", "workspace wsp_b")
	})

	t.Run("NumbersHaveNoGapsAndFollowTheCommits", func(t *testing.T) {
		s, engine := setup(t)
		var all sync.WaitGroup
		var mu sync.Mutex
		var heads []int64 // as seen by the hooks after the commits
		for i := range 24 {
			all.Go(func() {
				err := s.Run(t.Context(), func(ctx context.Context) error {
					if err := s.Accounts.CreateWorkspace(ctx, workspace(fmt.Sprint("wsp_", i))); err != nil {
						return err
					}
					if i%4 == 3 {
						return errors.New("no")
					}
					return s.Accounts.CreateWorkspace(ctx, workspace(fmt.Sprint("wsp_more_", i)))
				})
				if (err != nil) != (i%4 == 3) {
					t.Error(err)
				}
				// A reader of the head finds all events up to it.
				mu.Lock()
				defer mu.Unlock()
				head, news := readNews(t, engine)
				if int64(len(news)) < head {
					t.Errorf("the head is %d and there are %d news", head, len(news))
				}
				heads = append(heads, head)
			})
		}
		all.Wait()
		head, news := readNews(t, engine)
		if head != 36 || len(news) != 36 || !slices.IsSorted(heads) {
			t.Errorf("the head is %d with %d news, want 36; heads %v", head, len(news), heads)
		}
		for i, n := range news {
			if n.number != int64(i+1) {
				t.Fatalf("number %d stands at %d", n.number, i+1)
			}
		}
		for i := 0; i+1 < len(news); i += 2 { // of one transaction
			a, b := strings.TrimPrefix(news[i].text, "workspace wsp_"), strings.TrimPrefix(news[i+1].text, "workspace wsp_more_")
			if a != b {
				t.Errorf("the news of units are mixed: %v", news)
			}
		}
	})

	t.Run("NumbersAreTakenAfterAllElse", func(t *testing.T) {
		s, engine := setup(t)
		var before int64
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
				return err
			}
			unit.BeforeCommit(ctx, "audit of a test", func(ctx context.Context) error {
				return engine.Main().In(ctx).QueryRow(ctx, `SELECT count(*) FROM news`).Scan(&before)
			})
			return nil
		}))
		if before != 0 {
			t.Error("another hook came after the one that takes the numbers, and waits for others while all wait for it")
		}
	})

	t.Run("UnsharedEngineWritesNoEvents", func(t *testing.T) {
		t.Parallel()
		engine := alone{open(t)}
		s := store.New(engine)
		noError(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")))
		noError(t, s.Secrets.AddSecrets(t.Context(), []seal.Wrapped{{Name: "x", Sealed: []byte{1}, CreatedAt: epoch}}))
		wantNews(t, engine)
	})

	t.Run("KeysAreReadByTheirIDs", func(t *testing.T) {
		s, _ := setup(t)
		noError(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")))
		var ids []string
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			ids = nil
			for i := range 450 {
				k := newsKey(fmt.Sprintf("key_%03d", i))
				k.Secrets[0].Hash = [32]byte{byte(i), byte(i >> 8), 1}
				if i%2 == 0 {
					k.RevokedAt = pointer(epoch)
				}
				if err := s.APIKeys.CreateAPIKey(ctx, k, nil); err != nil {
					return err
				}
				ids = append(ids, k.ID)
			}
			return nil
		}))
		n := 0
		noError(t, s.APIKeys.APIKeysByID(t.Context(), append(ids, "key_unknown"), func(k *apikey.APIKey) error {
			if k.ID != ids[n] || len(k.Secrets) != 1 {
				t.Errorf("key %d is %s with %d secrets", n, k.ID, len(k.Secrets))
			}
			n++
			return nil
		}))
		if n != len(ids) {
			t.Errorf("%d keys, want %d", n, len(ids))
		}
	})
}

// alone is an engine that reports not being shared.
type alone struct{ store.Engine }

func (alone) Shared() bool { return false }

func newsKey(id string) *apikey.APIKey {
	return &apikey.APIKey{
		ID: id, WorkspaceID: "wsp_a", Name: id, Scopes: auth.All, CreatedAt: epoch, CreatedBy: "local", UpdatedAt: epoch, Revision: 1,
		Secrets: []apikey.Secret{{Hash: [32]byte{1}, Hint: "kpsk_aaaa", CreatedAt: epoch}},
	}
}

type numbered struct {
	number int64
	text   string
}

// readNews reads the head and all events.
func readNews(t *testing.T, engine store.Engine) (head int64, list []numbered) {
	t.Helper()
	q := engine.Main().In(t.Context())
	noError(t, q.QueryRow(t.Context(), `SELECT coalesce(max(number), 0) FROM cluster_head WHERE name = 'news'`).Scan(&head))
	rows, err := q.Query(t.Context(), `SELECT number, kind, subject, at FROM news ORDER BY number`)
	noError(t, err)
	defer rows.Close()
	for rows.Next() {
		var n numbered
		var kind, subject string
		var at int64
		noError(t, rows.Scan(&n.number, &kind, &subject, &at))
		if at < epoch.AddDate(-3, 0, 0).UnixMicro() {
			t.Errorf("number %d is of %d", n.number, at)
		}
		n.text = kind + " " + subject
		list = append(list, n)
	}
	noError(t, rows.Err())
	return head, list
}

// wantNews checks the events since the previous call and deletes them.
func wantNews(t *testing.T, engine store.Engine, want ...string) {
	t.Helper()
	head, list := readNews(t, engine)
	var got []string
	for _, n := range list {
		got = append(got, n.text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if len(list) > 0 && list[len(list)-1].number != head {
		t.Errorf("the head is %d, the last news are %d", head, list[len(list)-1].number)
	}
	noError(t, engine.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := engine.Main().In(ctx).Exec(ctx, `DELETE FROM news`)
		return err
	}))
}
