package instance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/store/move"
	"keepsake/internal/testing/enginetest"
)

// carry copies the files outside the databases from one folder to another.
func carry(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"master.key", "audit.checkpoints", "journal.ndjson", "backend-secret"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// at is an option that starts a program on a place.
func at(dir string, p instance.Place) apptest.Option {
	return apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL, c.KeysURL = dir, p.DatabaseURL, p.KeysURL })
}

func moved(t *testing.T, ctx context.Context, from, to instance.Place, progress func(move.Step)) (*instance.MoveResult, error) {
	t.Helper()
	return instance.Move(ctx, apptest.InstanceOptions(), instance.MoveRequest{From: from, To: to, Progress: progress})
}

// A moved instance has the same content, in both directions.
func TestAnInstanceMovesToADatabaseAndBack(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "it begins in a folder, and goes through a database by itself")
	const documents = 300
	var (
		key, revoked, workspace string
		tokens                  *client.Tokens
		charged                 int64
		secret                  string // of the backend listener
		reported                []client.ServedRequests
		first                   []client.Result
	)
	as := func(t *testing.T, r *apptest.Running, key string) *client.Client {
		t.Helper()
		c, err := client.New(r.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	used := func(t *testing.T, c *client.Client) int64 {
		t.Helper()
		self, err := c.WhoAmI(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		limits, err := c.APIKeyLimits(t.Context(), self.ID)
		if err != nil {
			t.Fatal(err)
		}
		return limits.Workspace.Quota.Monthly.Used
	}
	hits := func(t *testing.T, c *client.Client) []client.Result {
		t.Helper()
		found, err := c.Search(t.Context(), client.Query{Q: "radiator frost"})
		if err != nil {
			t.Fatal(err)
		}
		return found.Results
	}
	report := func(t *testing.T, r *apptest.Running) *client.UsageReceipt {
		t.Helper()
		b, err := client.NewBackend(r.BackendURL, secret, "")
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := b.ReportUsage(t.Context(), reported)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	old := t.TempDir()
	t.Run("before", func(t *testing.T) {
		r := apptest.Start(t, at(old, instance.Place{}))
		key, workspace = r.Key, r.Workspace
		c := as(t, r, key)
		var lines strings.Builder
		for n := range documents {
			fmt.Fprintf(&lines, `{"id":"d%d","title":"Note %d","text":"Bleed the radiator before the %s frost."}`+"\n", n, n, strings.Repeat("first ", n%7))
		}
		if _, err := c.ImportDocuments(t.Context(), strings.NewReader(lines.String()), nil); err != nil {
			t.Fatal(err)
		}
		made, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "leaked", Scopes: []string{"read"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.RevokeAPIKey(t.Context(), made.APIKey.ID, "leaked"); err != nil {
			t.Fatal(err)
		}
		revoked = made.Key
		f, _ := r.App.First()
		if tokens, err = as(t, r, "").Login(t.Context(), f.Email, f.Password); err != nil {
			t.Fatal(err)
		}
		first = hits(t, c)
		secret = r.Secret
		reported = []client.ServedRequests{{ID: "a", KeyID: made.APIKey.ID, Route: "GET /a", Status: 200, Count: 7, At: time.Now()}}
		if receipt := report(t, r); receipt.Accepted != 1 {
			t.Errorf("reported usage: %+v", receipt)
		}
		charged = used(t, c)
	})
	same := func(dir string, p instance.Place) func(t *testing.T) {
		return func(t *testing.T) {
			r := apptest.Start(t, at(dir, p))
			if _, again := r.App.First(); again {
				t.Fatal("it made a first start")
			}
			c := as(t, r, key)
			if got := hits(t, c); !slices.Equal(idsOf(got), idsOf(first)) || len(got) == 0 {
				t.Errorf("a search finds %v, want %v", idsOf(got), idsOf(first))
			}
			var refused *client.Error
			if _, err := as(t, r, revoked).VerifyAuditLog(t.Context()); !errors.As(err, &refused) || refused.Code != "api_key_revoked" {
				t.Errorf("the revoked key: %v", err)
			}
			if now := used(t, c); now < charged || charged == 0 {
				t.Errorf("%d charged of the month's quota, and %d before", now, charged)
			}
			if receipt := report(t, r); receipt.Duplicates != 1 {
				t.Errorf("usage that was reported before the move: %+v", receipt)
			}
			var err error
			if tokens, err = as(t, r, "").Refresh(t.Context(), tokens.RefreshToken); err != nil {
				t.Errorf("the session does not go on: %v", err)
			}
			verified, err := c.VerifyAuditLog(t.Context())
			if err != nil || !verified.OK {
				t.Errorf("the audit log: %+v, %v", verified, err)
			}
			if _, err := c.CreateDocument(t.Context(), client.NewDocument{Title: "more", Text: "of it in " + workspace}); err != nil {
				t.Error(err)
			}
		}
	}
	database := instance.Place{DatabaseURL: enginetest.Postgres(t), KeysURL: enginetest.Postgres(t)}
	served := filepath.Join(t.TempDir(), "served")
	if done, err := moved(t, t.Context(), instance.Place{Folder: old}, database, nil); err != nil || done.Rows < documents {
		t.Fatalf("there: %+v, %v", done, err)
	}
	carry(t, old, served)
	t.Run("on the database", same(served, database))
	back := filepath.Join(t.TempDir(), "back")
	if done, err := moved(t, t.Context(), database, instance.Place{Folder: back}, nil); err != nil || done.Rows < documents {
		t.Fatalf("back: %+v, %v", done, err)
	}
	carry(t, served, back)
	t.Run("in a folder again", same(back, instance.Place{}))
}

func idsOf(hits []client.Result) (ids []string) {
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// No process can serve the target of a move until the move is done. An interrupted move can be continued, and a target that
// is not empty is left alone.
func TestAPlaceThatAnInstanceMovesIntoIsNotServed(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "it begins in a folder, and goes through a database by itself")
	old, other := t.TempDir(), t.TempDir()
	t.Run("before", func(t *testing.T) {
		apptest.Start(t, at(other, instance.Place{}))
		apptest.Start(t, at(old, instance.Place{}))
		if _, err := moved(t, t.Context(), instance.Place{Folder: old}, instance.Place{Folder: filepath.Join(t.TempDir(), "new")}, nil); !errors.Is(err, instance.ErrInUse) {
			t.Errorf("moving what is served: %v", err)
		}
	})
	for name, target := range map[string]instance.Place{
		"a database": {DatabaseURL: enginetest.Postgres(t)}, "a folder": {Folder: filepath.Join(t.TempDir(), "new")},
	} {
		t.Run(name, func(t *testing.T) {
			folder := target.Folder
			if folder == "" {
				folder = filepath.Join(t.TempDir(), "beside")
			}
			ctx, cut := context.WithCancel(t.Context())
			if _, err := moved(t, ctx, instance.Place{Folder: old}, target, func(move.Step) { cut() }); !errors.Is(err, context.Canceled) {
				t.Fatalf("a move that is cut off: %v", err)
			}
			carry(t, old, folder)
			cfg := config.Default()
			cfg.Data, cfg.DatabaseURL, cfg.Listen, cfg.BackendListen = folder, target.DatabaseURL, "127.0.0.1:0", "127.0.0.1:0"
			if a, err := app.New(t.Context(), cfg, apptest.Silent()); err == nil {
				a.Close()
				t.Fatal("what is not whole is served")
			} else if !strings.Contains(err.Error(), "is incomplete") {
				t.Errorf("serving what is not whole: %v", err)
			}
			if _, err := moved(t, t.Context(), instance.Place{Folder: other}, target, nil); !errors.Is(err, instance.ErrOccupied) {
				t.Errorf("another instance into it: %v", err)
			}
			if done, err := moved(t, t.Context(), instance.Place{Folder: old}, target, nil); err != nil || !done.Resumed {
				t.Fatalf("going on: %+v, %v", done, err)
			}
			if _, err := moved(t, t.Context(), instance.Place{Folder: old}, target, nil); !errors.Is(err, instance.ErrOccupied) {
				t.Errorf("a second time: %v", err)
			}
			t.Run("served", func(t *testing.T) {
				apptest.Start(t, at(folder, instance.Place{DatabaseURL: target.DatabaseURL}))
				if target.DatabaseURL != "" {
					if _, err := moved(t, t.Context(), target, instance.Place{Folder: t.TempDir()}, nil); !errors.Is(err, instance.ErrServed) {
						t.Errorf("moving out of what is served: %v", err)
					}
				}
			})
		})
	}
	if _, err := moved(t, t.Context(), instance.Place{Folder: filepath.Join(old, "none")}, instance.Place{Folder: t.TempDir()}, nil); !errors.Is(err, instance.ErrNotInitialised) {
		t.Errorf("moving nothing: %v", err)
	}
}
