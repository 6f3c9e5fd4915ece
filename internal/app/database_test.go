package app_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// beside is the configuration of a process with a new folder beside a database.
func beside(t *testing.T, url string) config.Config {
	t.Helper()
	c := apptest.Local(t, t.TempDir())
	c.DatabaseURL = url
	return c
}

// lookInto runs a query of one row behind the program's back.
func lookInto(t *testing.T, url, query string, into ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), query).Scan(into...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func settingOf(err error) string {
	if setting, ok := errors.AsType[*config.Error](err); ok {
		return setting.Setting
	}
	return ""
}

func TestOneOfManyStartsCreatesTheInstance(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	master := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	apps := make([]*app.App, 4)
	var starting sync.WaitGroup
	for i := range apps {
		cfg := beside(t, url)
		cfg.MasterKey = master
		starting.Go(func() {
			var err error
			if apps[i], err = app.New(context.Background(), cfg, silent()); err != nil {
				t.Errorf("start: %v", err)
			}
		})
	}
	starting.Wait()
	var key string
	firsts := 0
	for _, a := range apps {
		if a == nil {
			t.FailNow()
		}
		if first, ok := a.First(); ok {
			firsts, key = firsts+1, first.APIKey
		}
	}
	if firsts != 1 {
		t.Fatalf("%d first starts, want 1", firsts)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, a := range apps {
		running.Go(func() {
			if err := errors.Join(a.Run(ctx), a.Close()); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	defer running.Wait()
	defer stop()
	for _, a := range apps {
		if status, body := get(t, http.DefaultClient, a.PrimaryURL()+"/api/v1/health", key); status != http.StatusOK {
			t.Errorf("with the first key: %d %s", status, body)
		}
	}
}

func TestSecondFolderNeedsTheMasterKey(t *testing.T) {
	t.Parallel()
	url := apptest.Database(t)
	first, second := beside(t, url), beside(t, url)
	made, err := app.Init(t.Context(), first, silent(), app.Admin{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(t.Context(), second, silent()); settingOf(err) != "masterKey" || strings.Contains(err.Error(), url) {
		t.Fatalf("without the key: %v", err)
	}
	if _, err := os.Stat(instance.MasterKeyPath(second.Data)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a master key was made: %v", err)
	}
	key, err := os.ReadFile(instance.MasterKeyPath(first.Data))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(instance.MasterKeyPath(second.Data), key, 0o600); err != nil {
		t.Fatal(err)
	}
	p := apptest.Start(t, apptest.With(func(c *config.Config) { *c = second }))
	if status, body := get(t, http.DefaultClient, p.URL+"/api/v1/health", made.APIKey); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if _, err := app.Init(t.Context(), beside(t, url), silent(), app.Admin{}); !errors.Is(err, instance.ErrInitialised) {
		t.Errorf("another init: %v", err)
	}
}

func TestAFolderFitsOneDatabase(t *testing.T) {
	t.Parallel()
	url := apptest.Database(t)
	cfg := beside(t, url)
	if _, err := app.Init(t.Context(), cfg, silent(), app.Admin{}); err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.DatabaseURL = enginetest.Postgres(t)
	if _, err := app.New(t.Context(), other, silent()); settingOf(err) != "data" {
		t.Errorf("beside another database: %v", err)
	}
	forgotten := cfg
	forgotten.DatabaseURL = ""
	if _, err := app.New(t.Context(), forgotten, silent()); settingOf(err) != "data" {
		t.Errorf("without its database: %v", err)
	}
	embedded := beside(t, "")
	if _, err := app.Init(t.Context(), embedded, silent(), app.Admin{}); err != nil {
		t.Fatal(err)
	}
	embedded.DatabaseURL = url
	if _, err := app.New(t.Context(), embedded, silent()); settingOf(err) != "data" {
		t.Errorf("a folder with databases of its own: %v", err)
	}
	for range 2 { // whatever was refused has let go of the folder
		a, err := app.New(t.Context(), cfg, silent())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.New(t.Context(), cfg, silent()); !errors.Is(err, instance.ErrInUse) {
			t.Errorf("a second process on the folder: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACommandOnAnEmptyDatabaseMakesNothing(t *testing.T) {
	t.Parallel()
	cfg := beside(t, enginetest.Postgres(t))
	cfg.Data = filepath.Join(cfg.Data, "none")
	if _, err := app.New(t.Context(), cfg, app.Deps{Log: silent().Log, Local: true}); !errors.Is(err, instance.ErrNotInitialised) {
		t.Errorf("got %v", err)
	}
	if _, err := instance.VerifyAudit(t.Context(), cfg, ""); !errors.Is(err, instance.ErrNotInitialised) {
		t.Errorf("verify: %v", err)
	}
	var schemas int
	lookInto(t, cfg.DatabaseURL, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'keepsake%'", &schemas)
	if _, err := os.Stat(cfg.Data); schemas != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d schemas and the folder: %v", schemas, err)
	}
}

// Two processes write a chain each; the file of each vouches for both. When one chain loses its end, both tell.
func TestALogThatWasCutInTheDatabaseIsTold(t *testing.T) {
	t.Parallel()
	url := apptest.Database(t)
	first := beside(t, url)
	made, err := app.Init(t.Context(), first, silent(), app.Admin{})
	if err != nil {
		t.Fatal(err)
	}
	second := beside(t, url)
	key, err := os.ReadFile(instance.MasterKeyPath(first.Data))
	if err != nil {
		t.Fatal(err)
	}
	second.MasterKey = strings.TrimSpace(string(key))
	for _, cfg := range []config.Config{second, first} {
		t.Run("serve", func(t *testing.T) {
			p := apptest.Start(t, apptest.With(func(c *config.Config) { *c = cfg }))
			c, err := client.New(p.URL, made.APIKey)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "one", Scopes: []string{"read"}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, cfg := range []config.Config{first, second} {
		if v, err := instance.VerifyAudit(t.Context(), cfg, ""); err != nil || v.Break() != nil || len(v.Heads) != 2 || v.Checkpoints == 0 {
			t.Fatalf("verified: %+v, %v", v, err)
		}
	}
	var member struct{ Name string }
	readJSON(t, filepath.Join(second.Data, "member"), &member)
	var cut int
	lookInto(t, url, `WITH gone AS (DELETE FROM keepsake.audit_log WHERE chain = '`+member.Name+`' RETURNING 1),
		head AS (DELETE FROM keepsake.audit_chain WHERE name = '`+member.Name+`' RETURNING 1)
		SELECT count(*) FROM gone, head`, &cut)
	if cut == 0 {
		t.Fatal("nothing was cut")
	}
	for _, cfg := range []config.Config{first, second} {
		if v, err := instance.VerifyAudit(t.Context(), cfg, ""); err != nil || v.Break() == nil || v.Break().Chain != member.Name {
			t.Errorf("verified after the cut: %+v, %v", v, err)
		}
	}
	var log apptest.Buffer
	apptest.Start(t, apptest.With(func(c *config.Config) { *c = first }), apptest.Log(&log))
	const told = "the audit log does not hold what its last checkpoint says"
	await.Until(t, "the log of the start says so", func() bool { return strings.Contains(log.String(), told) })
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
