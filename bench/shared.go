package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/enginetest"
)

// measureShared compares whole programs: one on its folder, one on PostgreSQL and Redis, and two on these that share the
// requests. PostgreSQL and Redis are private servers, on other cores if there are any.
func measureShared(run contest) (err error) {
	b := &ground{}
	defer func() {
		b.clear()
		enginetest.Stop()
		if given, ok := recover().(stopped); ok {
			err = given.error
		}
	}()
	database, redis := enginetest.Postgres(b), enginetest.Redis(b)
	embedded := b.start(func(*config.Config) {})
	onServers := func(c *config.Config) {
		c.DatabaseURL, c.RedisURL = database, redis
		c.MasterKey = "YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBmb3IgaXQ=" // the same for both
	}
	first := b.start(onServers)
	alone := b.keys(embedded, run.clients)
	together := b.keys(first, run.clients)
	sides := func(more ...side) []side {
		return append([]side{
			{name: "embedded", running: &running{at: []string{address(embedded)}, each: alone}},
			{name: "on PostgreSQL and Redis", running: &running{at: []string{address(first)}, each: together}},
		}, more...)
	}
	fmt.Println("\nThe ratio of embedded to shared is to be 1.11 at most: shared has 0.9 of the throughput then.")
	if err := run.run("governed GET /api/v1/health of whole programs", sides()...); err != nil {
		return err
	}
	if err := run.delays("one client alone", sides()...); err != nil {
		return err
	}
	second := b.start(onServers)
	time.Sleep(3 * time.Second) // until both count each other
	fmt.Println("\nCPU of two is to be 1.1 times that of one at most; it holds clients and servers, but not PostgreSQL and Redis.")
	return run.run("two instances of the same load",
		side{name: "two", running: &running{at: []string{address(first), address(second)}, each: together}},
		side{name: "one", running: &running{at: []string{address(first)}, each: together}})
}

// delays prints how long one client waited for its responses.
func (c contest) delays(title string, sides ...side) error {
	taken, err := c.waits(sides)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n", title)
	for i, s := range sides {
		fmt.Printf("%26s  median %v, p99 %v, p99.9 %v of %d answers\n", s.name, quantile(taken[i], 0.5), quantile(taken[i], 0.99),
			quantile(taken[i], 0.999), len(taken[i]))
	}
	return nil
}

// quantile returns a quantile of sorted times.
func quantile(sorted []time.Duration, share float64) time.Duration {
	return sorted[int(share*float64(len(sorted)-1))].Round(time.Microsecond)
}

// waits returns how long one client waited for each of its responses, sorted.
func (c contest) waits(sides []side) ([][]time.Duration, error) {
	taken := make([][]time.Duration, len(sides))
	only := make([]*client, len(sides))
	for i, s := range sides {
		a, err := open(s, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		defer a.close()
		only[i] = a.clients[0]
	}
	for round := range c.turns + 1 {
		for i := range sides {
			for end := time.Now().Add(c.length); time.Now().Before(end); {
				began := time.Now()
				if err := only[i].exchange(); err != nil {
					return nil, fmt.Errorf("%s: %w", sides[i].name, err)
				}
				if round > 0 { // the first one warms up
					taken[i] = append(taken[i], time.Since(began))
				}
			}
		}
	}
	for i := range taken {
		slices.Sort(taken[i])
	}
	return taken, nil
}

// ground is the environment of whole programs. It implements testing.TB, because the servers are for tests.
type ground struct {
	testing.TB
	after []func()
}

// stopped ends a measurement that cannot continue.
type stopped struct{ error }

func (*ground) Helper()                        {}
func (*ground) Failed() bool                   { return false }
func (*ground) Context() context.Context       { return context.Background() }
func (*ground) Logf(string, ...any)            {}
func (*ground) Errorf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (*ground) Fatal(a ...any)                 { panic(stopped{fmt.Errorf("%s", fmt.Sprint(a...))}) }
func (*ground) Fatalf(format string, a ...any) { panic(stopped{fmt.Errorf(format, a...)}) }
func (*ground) Skip(a ...any)                  { panic(stopped{fmt.Errorf("%s", fmt.Sprint(a...))}) }
func (b *ground) Cleanup(f func())             { b.after = append(b.after, f) }

func (b *ground) clear() {
	for _, f := range slices.Backward(b.after) {
		f()
	}
}

func (b *ground) must(err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// start runs a whole program.
func (b *ground) start(with func(*config.Config)) *app.App {
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	b.must(err)
	b.Cleanup(func() { os.RemoveAll(dir) })
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.BackendListen = filepath.Join(dir, "data"), "127.0.0.1:0", "127.0.0.1:0"
	cfg.Log.Requests = false
	with(&cfg)
	a, err := app.New(context.Background(), cfg, app.Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	b.must(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-done
		_ = a.Close()
	})
	return a
}

// workspaces is the number of workspaces that the clients use.
const workspaces = 4

// keys makes an API key for each client, and the requests they send.
func (b *ground) keys(a *app.App, clients int) (requests [][]byte) {
	ctx := context.Background()
	first, _ := a.First()
	operator, err := keepsake.New(a.PrimaryURL(), first.APIKey)
	b.must(err)
	for w := range workspaces {
		name := fmt.Sprintf("bench-%d", w)
		workspace, err := operator.CreateWorkspace(ctx, keepsake.NewWorkspace{Name: name, Tier: "unlimited"})
		b.must(err)
		user, err := operator.CreateUser(ctx, keepsake.NewUser{Email: name + "@example.org", WorkspaceID: workspace.ID, Role: "admin"})
		b.must(err)
		anybody, err := keepsake.New(a.PrimaryURL(), "")
		b.must(err)
		tokens, err := anybody.Login(ctx, user.Email, *user.Password)
		b.must(err)
		admin, err := keepsake.New(a.PrimaryURL(), "", keepsake.AccessToken(tokens.AccessToken))
		b.must(err)
		for range (clients + workspaces - 1) / workspaces {
			key, err := admin.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: "bench", Scopes: []string{"read"}})
			b.must(err)
			requests = append(requests, request("GET", "/api/v1/health", "", "X-API-Key: "+key.Key))
		}
	}
	return requests
}

// address returns the host and the port of a program.
func address(a *app.App) string {
	u, err := url.Parse(a.PrimaryURL())
	if err != nil {
		panic(err)
	}
	return strings.Replace(u.Host, "localhost", "127.0.0.1", 1)
}
