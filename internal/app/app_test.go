package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
)

func silent() app.Deps { return apptest.Silent() }

func get(t *testing.T, c *http.Client, url, key string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, err := c.Do(req)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestTheFirstStartIsInTheFolderAndOnlyOnce(t *testing.T) {
	t.Parallel()
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "new"))
	a, err := app.New(t.Context(), cfg, silent())
	if err != nil {
		t.Fatal(err)
	}
	first, ok := a.First()
	if !ok {
		t.Fatal("New on a new folder was no first start")
	}
	var kept instance.First
	text, err := os.ReadFile(instance.FirstStartPath(cfg.Data))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &kept); err != nil || kept != first {
		t.Errorf("the file has %s, want %+v", text, first)
	}
	if first.URL != a.PrimaryURL() || !strings.HasPrefix(first.URL, "http://127.0.0.1:") {
		t.Errorf("url %q, listening on %q", first.URL, a.PrimaryURL())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	again, err := app.New(t.Context(), cfg, silent())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := again.First(); ok {
		t.Error("the second start was a first start too")
	}
	for range 2 {
		if err := again.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestOnlyOneProcessStartsOnAFolder(t *testing.T) {
	t.Parallel()
	cfg := apptest.Local(t, t.TempDir())
	apps := make([]*app.App, 4)
	var wins, firsts int
	var mu sync.Mutex
	var starting sync.WaitGroup
	for i := range apps {
		starting.Go(func() {
			a, err := app.New(context.Background(), cfg, silent())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
				if _, ok := a.First(); ok {
					firsts++
				}
				apps[i] = a
			case !errors.Is(err, instance.ErrInUse):
				t.Errorf("a loser got %v", err)
			}
		})
	}
	starting.Wait()
	if wins != 1 || firsts != 1 {
		t.Errorf("%d started, %d of them first; want 1 and 1", wins, firsts)
	}
	for _, a := range apps {
		if a != nil {
			a.Close()
		}
	}
}

func TestFailedFirstStartCanBeRepeated(t *testing.T) {
	t.Parallel()
	cfg := apptest.Local(t, t.TempDir())
	_, err := app.Init(t.Context(), cfg, silent(), app.Admin{Password: "short"})
	if setting, ok := errors.AsType[*config.Error](err); !ok || setting.Setting != "--admin-password-file" {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(instance.FirstStartPath(cfg.Data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("first-start.json: %v", err)
	}
	if _, err := app.New(t.Context(), cfg, app.Deps{Log: silent().Log, Local: true}); !errors.Is(err, instance.ErrNotInitialised) {
		t.Errorf("a local start: %v, want ErrNotInitialised", err)
	}
	first, err := app.Init(t.Context(), cfg, silent(), app.Admin{Email: "Ada@Example.org"})
	if err != nil || first.Email != "ada@example.org" || first.Password == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	if _, err := app.Init(t.Context(), cfg, silent(), app.Admin{}); !errors.Is(err, instance.ErrInitialised) {
		t.Errorf("a second init: %v", err)
	}
}

func TestRestartResetsNoQuota(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := apptest.Local(t, dir)
	run := func(use func(a *app.App, key string)) {
		a, err := app.New(t.Context(), cfg, silent())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		var first instance.First
		text, _ := os.ReadFile(instance.FirstStartPath(dir))
		json.Unmarshal(text, &first)
		use(a, first.APIKey)
		stop()
		if err := errors.Join(<-done, a.Close()); err != nil {
			t.Fatal(err)
		}
	}
	const requests = 7
	run(func(a *app.App, key string) {
		for range requests {
			get(t, http.DefaultClient, a.PrimaryURL()+"/api/v1/health", key)
		}
	})
	run(func(a *app.App, key string) {
		c, err := client.New(a.PrimaryURL(), key)
		if err != nil {
			t.Fatal(err)
		}
		self, err := c.WhoAmI(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if self.LastUsedAt == nil {
			t.Error("the key was never used")
		}
		limits, err := c.APIKeyLimits(t.Context(), self.ID)
		if err != nil {
			t.Fatal(err)
		}
		// whoami and limits were charged as well.
		if used := limits.Workspace.Quota.Daily.Used; used != requests+2 {
			t.Errorf("the workspace used %d, want %d", used, requests+2)
		}
	})
}

func TestFolderSocketIsOnlyForTheOperator(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 60), strings.Repeat("e", 60)) // longer than a socket's address
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = deep }))
	path := instance.SocketPath(deep)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("socket: %v, %v", info, err)
	}
	self, err := client.OverSocket(path).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "by the operator", Scopes: []string{"admin"}})
	if err != nil || self.CreatedBy != "local" {
		t.Errorf("got %+v, %v", self, err)
	}
	if status, _ := get(t, http.DefaultClient, p.URL+"/api/v1/health", ""); status != http.StatusUnauthorized {
		t.Errorf("without a key over the network: %d", status)
	}
}

func TestASocketThatAKilledProcessLeftIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(instance.SocketPath(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir }))
	if _, err := client.OverSocket(instance.SocketPath(dir)).Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStopLetsRunningRequestsFinish(t *testing.T) {
	t.Parallel()
	cfg := apptest.Local(t, t.TempDir())
	cfg.Shutdown.Delay = 2 * time.Second
	asked, served := make(chan time.Duration, 1), make(chan struct{})
	deps := silent()
	deps.Sleep = func(d time.Duration) {
		asked <- d
		<-served
	}
	a, err := app.New(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	first, _ := a.First()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	apptest.AwaitReady(t, a.BackendURL())

	// An import whose body is still coming when the stop is asked for.
	body, w := io.Pipe()
	req, _ := http.NewRequest(http.MethodPost, a.PrimaryURL()+"/api/v1/documents/import", body)
	req.Header.Set("X-API-Key", first.APIKey)
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Expect", "100-continue") // the body is asked for once the server works on the request
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	answered := make(chan string, 1)
	go func() {
		res, err := patient.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		answered <- res.Status + " " + string(text)
	}()
	io.WriteString(w, `{"id":"a","title":"before"}`+"\n")
	stop()
	if d := await.Receive(t, "the stop waits for the load balancer", asked); d != cfg.Shutdown.Delay {
		t.Errorf("the stop waits for %v, want %v", d, cfg.Shutdown.Delay)
	}
	if status, _ := get(t, http.DefaultClient, a.BackendURL()+"/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("readiness while the stop waits: %d, want 503", status)
	}
	anew := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // on a connection of its own each time
	if status, _ := get(t, anew, a.PrimaryURL()+"/api/v1/health", first.APIKey); status != http.StatusOK {
		t.Errorf("a new connection while the stop waits: %d, want 200", status)
	}
	close(served)
	await.Until(t, "new connections are refused", func() bool {
		res, err := anew.Get(a.PrimaryURL() + "/api/versions")
		if err == nil {
			res.Body.Close()
		}
		return err != nil
	})
	io.WriteString(w, `{"id":"b","title":"after"}`+"\n")
	w.Close()
	if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"created":2`) {
		t.Errorf("the running import got %s", got)
	}
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestTheLogHasNoSecretsAndObeysItsSettings(t *testing.T) {
	t.Parallel()
	var log apptest.Buffer
	var key string
	t.Run("serve", func(t *testing.T) { // what is logged of it is there when it has stopped
		p := apptest.Start(t, apptest.Log(&log), apptest.With(func(c *config.Config) { c.Log.Requests = false }))
		key = p.Key
		res, err := http.Get(p.URL + "/api/v1/search?q=canary&key=" + key)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	})
	got := log.String()
	if !strings.Contains(got, `"msg":"serving"`) || strings.Contains(got, `"msg":"request"`) {
		t.Errorf("log: %s", got)
	}
	if key == "" || strings.Contains(got, key) || strings.Contains(got, "canary") {
		t.Errorf("the log tells too much: %s", got)
	}
}

// Not parallel: it looks at all goroutines of the process.
func TestNothingRunsOnAfterClose(t *testing.T) {
	cfg := apptest.Local(t, t.TempDir())
	before := goleak.IgnoreCurrent()
	a, err := app.New(t.Context(), cfg, silent())
	if err != nil {
		t.Fatal(err)
	}
	first, _ := a.First()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	transport := &http.Transport{}
	get(t, &http.Client{Transport: transport}, a.PrimaryURL()+"/api/v1/search?q=x", first.APIKey)
	transport.CloseIdleConnections()
	stop()
	if err := errors.Join(<-done, a.Close()); err != nil {
		t.Fatal(err)
	}
	var left error
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	await.Until(t, "all goroutines have ended", func() bool {
		left = goleak.Find(before)
		return left == nil
	})
}
