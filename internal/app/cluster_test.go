package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/store/cluster"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// pair is two processes on one database.
type pair struct {
	t    *testing.T
	url  string
	a, b *apptest.Running
}

// startPair starts two processes. change and options hold for both.
func startPair(t *testing.T, url string, change func(*config.Config), options ...apptest.Option) *pair {
	t.Helper()
	p := &pair{t: t, url: url}
	start := func(dir string) *apptest.Running {
		return apptest.Start(t, append(options, apptest.With(func(c *config.Config) {
			c.DatabaseURL = url
			if dir != "" {
				c.Data = dir
			}
			if change != nil {
				change(c)
			}
		}))...)
	}
	p.a = start("")
	dir := t.TempDir()
	key, err := os.ReadFile(filepath.Join(p.a.Config.Data, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.b = start(dir)
	p.b.Key, p.b.Workspace = p.a.Key, p.a.Workspace
	return p
}

// generous lets tests ask as often as they like.
func generous(c *config.Config) {
	for _, name := range []string{"anonymous", "business"} {
		tier := c.Tiers[name]
		tier.RequestsPerMinute, tier.Daily, tier.Monthly = 1_000_000, 1_000_000, 1_000_000
		c.Tiers[name] = tier
	}
}

// on is the same caller at another process.
func (n *tenant) on(r *apptest.Running) *tenant {
	other := *n
	other.base = r.URL
	return &other
}

// operator is the caller with the first key at a process.
func operator(t *testing.T, r *apptest.Running) *tenant {
	return &tenant{t: t, base: r.URL, key: r.Key, workspace: r.Workspace}
}

// status is what a caller is answered, with the code of an error.
func (n *tenant) status(bearer bool, path string) string {
	n.t.Helper()
	status, _, text := n.send("GET", path, "", bearer)
	var e struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(text, &e) // not every answer has one
	return strings.TrimSpace(fmt.Sprint(status, " ", e.Error))
}

// execute runs a statement in the database, behind everybody's back.
func (p *pair) execute(statement string, args ...any) {
	p.t.Helper()
	ctx := context.WithoutCancel(p.t.Context())
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close(ctx)
	for part := range strings.SplitSeq(statement, ";") {
		if _, err := conn.Exec(ctx, part, args...); err != nil {
			p.t.Fatal(err)
		}
		args = nil
	}
}

const ownKey = "/api/v1/developer/whoami"

func TestChangesReachOtherProcesses(t *testing.T) {
	t.Parallel()
	p := startPair(t, apptest.Database(t), func(c *config.Config) {
		c.Lifecycle.AllowUndeclared = true
		generous(c)
	})
	// The test waits for the state that follows each change. A process polls every cluster.PollEvery, so it knows of a change
	// within a second.
	if 2*cluster.PollEvery > time.Second {
		t.Errorf("news are asked for every %v, so two polls take longer than a second", cluster.PollEvery)
	}
	root := operator(t, p.a)
	n := newTenant(t, p.a, "alpha", "canary")
	there := n.on(p.b)

	// Member b did not know the tenant before, and no request waits for an event about it.
	if got := there.status(false, ownKey); got != "200" {
		t.Errorf("a new key in a new workspace: %s", got)
	}
	if got := there.status(true, "/api/v1/profile"); got != "200" {
		t.Errorf("a token of a new user: %s", got)
	}
	fresh := *n
	for range 20 {
		made := n.make("POST", "/api/v1/developer/api-keys", `{"name":"x","scopes":["read"]}`)
		fresh.key, fresh.keyID = made["key"].(string), made["id"].(string)
		if got := fresh.on(p.b).status(false, ownKey); got != "200" {
			t.Fatalf("a key made just now: %s", got)
		}
	}

	n.make("POST", "/api/v1/developer/api-keys/"+fresh.keyID+"/revoke", `{}`)
	await.Until(t, "a key is revoked", func() bool { return fresh.on(p.b).status(false, ownKey) == "401 api_key_revoked" })

	second := &tenant{t: t, base: p.b.URL, key: n.other}
	second.status(false, ownKey)
	n.make("PATCH", "/api/v1/developer/api-keys/"+n.keyID, `{"disabled":true}`)
	await.Until(t, "a key is disabled", func() bool { return second.status(false, ownKey) == "401 api_key_disabled" })
	n.make("PATCH", "/api/v1/developer/api-keys/"+n.keyID, `{"disabled":false}`)
	await.Until(t, "and enabled", func() bool { return second.status(false, ownKey) == "200" })
	rotated := n.make("POST", "/api/v1/developer/api-keys/"+n.keyID+"/rotate", `{"graceSeconds":0}`)["key"].(string)
	if got := (&tenant{t: t, base: p.b.URL, key: rotated}).status(false, ownKey); got != "200" {
		t.Errorf("the new secret of a key that was rotated just now: %s", got)
	}
	await.Until(t, "a key was rotated", func() bool { return second.status(false, ownKey) == "401 invalid_api_key" })

	const read = "/api/v1/documents?limit=1"
	c := operatorOf(t, p.a)
	bob := colleague(t, c, n, "bob@example.org", "member")
	bob.on(p.b).status(true, read)
	n.make("PATCH", "/api/v1/admin/users/"+bob.admin, `{"role":"viewer"}`)
	await.Until(t, "a role is less", func() bool {
		status, _, _ := bob.on(p.b).send("POST", "/api/v1/documents", `{"text":"a"}`, true)
		return status == 403
	})
	n.make("PATCH", "/api/v1/admin/users/"+bob.admin, `{"disabled":true}`)
	await.Until(t, "a user is disabled", func() bool { return bob.on(p.b).status(true, read) == "401 invalid_token" })
	n.make("PATCH", "/api/v1/admin/users/"+bob.admin, `{"disabled":false}`)
	bob.signIn("bob@example.org")
	if got := bob.on(p.b).status(true, read); got != "200" {
		t.Errorf("a user who has just signed in: %s", got)
	}
	if status, _, text := bob.send("POST", "/api/auth/logout", "", true); status != 204 {
		t.Fatalf("logout: %d %s", status, text)
	}
	await.Until(t, "a session ended", func() bool { return bob.on(p.b).status(true, read) == "401 invalid_token" })
	bob.signIn("bob@example.org")
	bob.on(p.b).status(true, read)
	if status, _, text := n.send("DELETE", "/api/v1/admin/users/"+bob.admin, "", false); status != 204 {
		t.Fatalf("delete: %d %s", status, text)
	}
	await.Until(t, "a user is deleted", func() bool { return bob.on(p.b).status(true, read) == "401 invalid_token" })

	root.make("PUT", "/api/v1/admin/tiers/business",
		`{"requestsPerMinute":999999,"daily":1500000,"monthly":30000000,"keys":100,"users":200,"documents":10000,"memories":10000}`)
	await.Until(t, "a tier changed", func() bool {
		_, header, _ := there.send("GET", read, "", false)
		return header.Get("X-RateLimit-Limit") == "999999"
	})
	root.make("PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"suspended":true}`)
	await.Until(t, "a workspace is suspended", func() bool { return there.status(false, read) == "403 workspace_suspended" })
	root.make("PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"suspended":false}`)
	await.Until(t, "and let in again", func() bool { return there.status(false, read) == "200" })

	// Tokens signed with a key that is new are good on both from the first one on.
	for range 3 {
		if got := root.make("POST", "/api/v1/admin/signing-keys/rotate", ""); got == nil {
			t.Fatal("no key")
		}
		n.signIn("alpha@example.org")
		if got := n.on(p.b).status(true, read); got != "200" {
			t.Errorf("a token signed with a new key: %s", got)
		}
	}
	await.Until(t, "both show the same keys", func() bool {
		return body(t, p.a.URL+"/.well-known/jwks.json") == body(t, p.b.URL+"/.well-known/jwks.json")
	})

	// Only the event is missing: the change and its number are stored.
	n.make("POST", "/api/v1/developer/api-keys", `{"name":"missed","scopes":["read"]}`)
	victim := n.make("POST", "/api/v1/developer/api-keys", `{"name":"missed","scopes":["read"]}`)
	missed := &tenant{t: t, base: p.b.URL, key: victim["key"].(string)}
	missed.status(false, ownKey)
	p.execute(`UPDATE keepsake.api_key SET revoked_at = 1, revoke_reason = '', revision = revision + 1 WHERE id = $1;
		UPDATE keepsake.cluster_head SET number = number + 1 WHERE name = 'news'`, victim["id"])
	await.Until(t, "a message is missing", func() bool { return missed.status(false, ownKey) == "401 api_key_revoked" })

	root.make("POST", "/api/v1/admin/versions/release", `{"version":2}`)
	await.Until(t, "a version is released", func() bool {
		_, header, _ := operator(t, p.b).send("GET", "/api/v1/health", "", false)
		return header.Get("Deprecation") == "true" && strings.Contains(body(t, p.b.URL+"/api/versions"), `"version":"2"`)
	})
	if got := operator(t, p.b).status(false, "/api/v2/health"); got != "200" {
		t.Errorf("the new version: %s", got)
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A process that cannot hear what the others change neither takes nor refuses credentials once newsPatience is over. The
// clock that measures the silence stands still, so the test decides when that is.
func TestCutOffProcessRefusesCredentials(t *testing.T) {
	t.Parallel()
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		url := apptest.Database(t)
		server, name := enginetest.SharedPostgres(t), databaseName(t, url)
		allow := func(connections bool) {
			server.Exec(t, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", name, connections))
			server.Exec(t, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '"+name+"'")
		}
		testPatience(t, url, func() { allow(false) }, func() { allow(true) })
	})
	t.Run("Paused", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "has a server of its own")
		server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
		testPatience(t, server.Database(t), func() { server.Pause(t) }, func() { server.Resume(t) })
	})
	t.Run("Restarted", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "has a server of its own, and stops it")
		server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
		testPatience(t, server.Database(t), func() { server.StopImmediately(t) }, func() { server.Start(t) })
	})
}

// databaseName is the name of a database in its address.
func databaseName(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// testPatience cuts two processes off from their database and lets them reach it again.
func testPatience(t *testing.T, url string, cut, mend func()) {
	const patience = 8 * time.Second
	clock := apptest.NewClock(time.Now())
	p := startPair(t, url, func(c *config.Config) {
		c.Cluster.NewsPatience = patience
		generous(c)
	}, apptest.Deps(func(d *app.Deps) { d.Steady, d.MinTimeout = clock.Now, 30*time.Second }))
	n := newTenant(t, p.a, "alpha", "canary")
	here, there := n, n.on(p.b)
	const path = "/api/v1/documents?limit=0"
	all := func(want string) (wrong []string) {
		for _, caller := range []*tenant{here, there} {
			for _, bearer := range []bool{false, true} {
				if got := caller.status(bearer, path); got != want {
					wrong = append(wrong, got)
				}
			}
		}
		return wrong
	}
	// The request is wrong, and only a caller with a credential learns that.
	const known, unknown = "400 validation_error", "503 unavailable"
	await.Until(t, "both processes know the callers", func() bool { return all(known) == nil })
	cut()
	if wrong := all(known); wrong != nil {
		t.Errorf("cut off, and all was heard just now: %v, want %s", wrong, known)
	}
	clock.Advance(patience - 1)
	if wrong := all(known); wrong != nil {
		t.Errorf("cut off for a nanosecond less than newsPatience: %v, want %s", wrong, known)
	}
	clock.Advance(1)
	if wrong := all(unknown); wrong != nil {
		t.Errorf("cut off for newsPatience: %v, want %s", wrong, unknown)
	}
	_, header, _ := there.send("GET", path, "", false)
	if got := header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q, want 1", got)
	}
	for _, r := range []*apptest.Running{p.a, p.b} {
		if text := body(t, r.URL+"/api/versions"); !strings.Contains(text, `"version":"1"`) {
			t.Errorf("a path that takes no credential: %s", text)
		}
		if text := body(t, r.BackendURL+"/livez"); text == "" {
			t.Error("the process is not alive")
		}
	}
	mend()
	await.Until(t, "credentials are taken again", func() bool { return all(known) == nil })
	await.Until(t, "the database is written again", func() bool {
		status, _, _ := n.send("POST", "/api/v1/developer/api-keys/"+n.keyID+"/revoke", `{}`, false)
		return status == http.StatusOK
	})
	second := &tenant{t: t, base: p.b.URL, key: n.other}
	await.Until(t, "a key is revoked after all that", func() bool { return second.status(false, ownKey) == "401 api_key_revoked" })
}

func TestTheMembersOfADatabaseAreKnown(t *testing.T) {
	t.Parallel()
	p := startPair(t, apptest.Database(t), nil)
	count := func(which string) (n int) {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, p.url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM keepsake.member WHERE `+which).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	await.Until(t, "both know that both have joined", func() bool {
		return count(`left_at IS NULL AND seen_epoch = (SELECT number FROM keepsake.cluster_head WHERE name = 'member')`) == 2
	})
	for _, r := range []*apptest.Running{p.a, p.b} {
		await.Until(t, "ready", func() bool { return strings.HasPrefix(ready(t, r), "200") })
	}
	if p.a.Secret != p.b.Secret {
		t.Error("the processes have different backend secrets")
	}
}

func ready(t *testing.T, r *apptest.Running) string {
	t.Helper()
	res, err := http.Get(r.BackendURL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(text))
}

// A process that stops is no member from then on, and its place is taken again at once.
func TestStoppedProcessLeaves(t *testing.T) {
	t.Parallel()
	url := apptest.Database(t)
	cfg := beside(t, url)
	members := func() (here, connections int) {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		err = conn.QueryRow(ctx, `
			SELECT (SELECT count(*) FROM keepsake.member WHERE left_at IS NULL),
				(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())`).Scan(&here, &connections)
		if err != nil {
			t.Fatal(err)
		}
		return here, connections
	}
	for _, served := range []bool{true, false, true} {
		a, err := app.New(t.Context(), cfg, silent())
		if err != nil {
			t.Fatal(err)
		}
		if here, _ := members(); here != 1 {
			t.Errorf("%d members while one is there", here)
		}
		if served {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			apptest.AwaitReady(t, a.BackendURL())
			stop()
			if err := await.Receive(t, "the process stops", done); err != nil {
				t.Error(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		await.Until(t, "nothing is left", func() bool {
			here, connections := members()
			return here == 0 && connections == 0
		})
	}
}
