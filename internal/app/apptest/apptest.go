// Package apptest starts the whole program for a test, with a new folder, free ports and a first key.
package apptest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/account"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/await"
)

// Running is a started program.
type Running struct {
	App        *app.App
	Config     config.Config
	URL        string // of the API, without a slash at the end
	BackendURL string // of the backend listener
	Secret     string // of the backend listener
	Key        string // an API key with all scopes in the operator workspace
	Workspace  string // its ID
}

// Option changes how the program is started.
type Option func(*config.Config, *app.Deps)

// With changes the configuration.
func With(change func(*config.Config)) Option {
	return func(c *config.Config, _ *app.Deps) { change(c) }
}

// timeout is how long programs wait for the database. It is far longer than any response takes on a busy machine.
const timeout = 2 * time.Minute

// wait lengthens the waits for Redis, for events and for an embeddings endpoint. A test of such a wait sets its own.
func wait(c *config.Config) {
	c.Embeddings.Patience = timeout
	c.Limits.RedisWait, c.Cluster.NewsPatience, c.Cluster.StartTimeout = time.Minute, time.Hour, timeout
}

// Silent returns the Deps of a program that logs nothing, with the waits of Start and with cheap password hashes.
func Silent() app.Deps {
	return app.Deps{
		Log: slog.New(slog.DiscardHandler), MinTimeout: timeout, PasswordCost: account.PasswordCost{MemoryKiB: 64, Passes: 1},
	}
}

// InstanceOptions returns what Silent returns, for a test that opens an instance without the program.
func InstanceOptions() instance.Options {
	d := Silent()
	return instance.Options{Log: d.Log, MinTimeout: d.MinTimeout}
}

// Deps changes what the program takes from outside.
func Deps(change func(*app.Deps)) Option { return func(_ *config.Config, d *app.Deps) { change(d) } }

// Clock sets the program's clock.
func Clock(now func() time.Time) Option { return func(_ *config.Config, d *app.Deps) { d.Now = now } }

// Log sends the program's log, at the configured level, to w. Without it, Start prints the warnings and errors of a program
// whose test has failed.
func Log(w io.Writer) Option {
	return func(_ *config.Config, d *app.Deps) { d.Log, d.Out = nil, w }
}

// Statements calls fn with every statement before the program runs it.
func Statements(fn func(ctx context.Context, text string)) Option {
	return func(_ *config.Config, d *app.Deps) { d.Statement = fn }
}

// Start starts a program on a temporary folder and two free ports, with its own database if the engine needs one. Its databases
// already have the schema, which saves much of the time of a start; programtest starts a program on an empty folder. Start
// stops the program when the test ends.
func Start(t testing.TB, options ...Option) *Running {
	t.Helper()
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Data = dir
	cfg.Listen, cfg.BackendListen = "127.0.0.1:0", "127.0.0.1:0"
	deps := Silent()
	deps.Log = logOfFailed(t)
	wait(&cfg)
	for _, o := range options {
		o(&cfg, &deps)
	}
	if cfg.DatabaseURL == "" {
		cfg.DatabaseURL = DatabaseURL(t, cfg.Data) // an option can have set the folder
	}
	if cfg.DatabaseURL == "" && cfg.Data == dir {
		sqlitetest.Prepare(t, dir)
	}
	a, err := app.New(context.Background(), cfg, deps)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r := &Running{App: a, Config: cfg, URL: a.PrimaryURL(), BackendURL: a.BackendURL()}
	r.Secret = BackendSecret(t, &cfg)
	if cfg.DatabaseURL != "" {
		AwaitReady(t, r.BackendURL)
	}
	if first, ok := a.First(); ok {
		r.Key, r.Workspace = first.APIKey, first.WorkspaceID
	}
	return r
}

// BackendSecret returns the backend secret of a started program: that of the setting, or that of the data folder.
func BackendSecret(t testing.TB, cfg *config.Config) string {
	t.Helper()
	if cfg.Backend.Secret != "" {
		return cfg.Backend.Secret
	}
	text, err := os.ReadFile(instance.BackendSecretPath(cfg.Data))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// logOfFailed returns a log whose warnings and errors are printed if the test fails.
func logOfFailed(t testing.TB) *slog.Logger {
	lines := &Buffer{}
	t.Cleanup(func() {
		if text := lines.String(); t.Failed() && text != "" {
			t.Logf("warnings and errors of the program:\n%s", text)
		}
	})
	return slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// AwaitReady waits like a load balancer, because a process on a shared database must first read the others' changes.
func AwaitReady(t testing.TB, backendURL string) {
	t.Helper()
	said := ""
	defer func() {
		if t.Failed() {
			t.Log("the last answer about readiness: ", said)
		}
	}()
	await.Until(t, "the process is ready", func() bool {
		res, err := http.Get(backendURL + "/readyz")
		if err != nil {
			t.Fatalf("ask for readiness: %v", err)
		}
		body, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatalf("ask for readiness: %v", err)
		}
		said = string(body)
		return res.StatusCode == http.StatusOK
	})
}
