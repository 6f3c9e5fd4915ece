package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
)

// These tests change people and limits and look, with the next request, at what that did to those who were at work.

// operatorOf is a client with the first key of a program.
func operatorOf(t *testing.T, p *apptest.Running) *client.Client {
	t.Helper()
	c, err := client.New(p.URL, p.Key, client.Retries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want sends a request and wants a status and, for one that is not a success, an error code.
func (n *tenant) want(bearer bool, status int, code, method, path, body string) http.Header {
	n.t.Helper()
	got, header, text := n.send(method, path, body, bearer)
	var e struct {
		Error   string
		Details struct{ RequiredScope, Limit, Policy string }
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &e); err != nil {
			n.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	if got != status || e.Error != code {
		n.t.Errorf("%s %s (bearer %v): got %d %s, want %d %s", method, path, bearer, got, e.Error, status, code)
	}
	return header
}

// wantError wants a call of the client to have been refused.
func wantError(t *testing.T, err error, status int, code string) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != status || e.Code != code {
		t.Errorf("got %v, want %d %s", err, status, code)
		return &client.Error{}
	}
	return e
}

// colleague is another user of a workspace, signed in.
func colleague(t *testing.T, c *client.Client, of *tenant, email, role string) *tenant {
	t.Helper()
	u, err := c.CreateUser(t.Context(), client.NewUser{Email: email, WorkspaceID: of.workspace, Role: role, Password: tenantPassword})
	if err != nil {
		t.Fatal(err)
	}
	n := &tenant{t: t, base: of.base, workspace: of.workspace, admin: u.ID}
	n.signIn(email)
	return n
}

func (n *tenant) signIn(email string) {
	n.t.Helper()
	n.token = ""
	n.token = n.make("POST", "/api/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, email, tenantPassword))["accessToken"].(string)
}

func TestSuspensionAppliesAtOnceAndCanBeLifted(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, ctx := operatorOf(t, p), t.Context()
	n := newTenant(t, p, "alpha", "canary")
	suspend := func(is bool) {
		t.Helper()
		if _, err := c.ChangeWorkspace(ctx, n.workspace, client.WorkspaceChange{Suspended: client.To(is)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	const read = "/api/v1/documents?limit=1"
	suspend(true)
	for _, bearer := range []bool{false, true} {
		n.want(bearer, 403, "workspace_suspended", "GET", read, "")
		n.want(bearer, 403, "workspace_suspended", "GET", "/api/v1/admin/users?limit=1", "")
	}
	n.want(false, 403, "workspace_suspended", "GET", "/api/v1/health", "")
	suspend(false)
	for _, bearer := range []bool{false, true} {
		n.want(bearer, 200, "", "GET", read, "")
	}
	operator, err := c.WorkspaceRecord(ctx, p.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ChangeWorkspace(ctx, operator.ID, client.WorkspaceChange{Suspended: client.To(true)}, nil)
	wantError(t, err, 409, "conflict")
}

func TestUserChangesApplyToTokensAtOnce(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, ctx := operatorOf(t, p), t.Context()
	n := newTenant(t, p, "alpha", "canary")
	const (
		email = "bob@example.org"
		read  = "/api/v1/documents?limit=1"
		write = "/api/v1/documents"
	)
	bob := colleague(t, c, n, email, "member")
	change := func(u client.UserChange) {
		t.Helper()
		if _, err := c.ChangeUser(ctx, bob.admin, u, nil); err != nil {
			t.Fatal(err)
		}
	}
	bob.want(true, 201, "", "POST", write, `{"text":"a"}`)
	change(client.UserChange{Role: client.To("viewer")})
	bob.want(true, 403, "insufficient_scope", "POST", write, `{"text":"a"}`)
	bob.want(true, 200, "", "GET", read, "")
	change(client.UserChange{Role: client.To("admin")})
	bob.want(true, 403, "insufficient_scope", "GET", "/api/v1/admin/users", "") // a token never grows
	bob.want(true, 201, "", "POST", write, `{"text":"a"}`)

	change(client.UserChange{Name: client.To("Bob")})
	bob.want(true, 200, "", "GET", read, "")
	change(client.UserChange{Password: client.To(tenantPassword)})
	bob.want(true, 401, "invalid_token", "GET", read, "")
	bob.signIn(email)
	bob.want(true, 200, "", "GET", "/api/v1/admin/users", "")
	change(client.UserChange{Disabled: client.To(true)})
	bob.want(true, 401, "invalid_token", "GET", read, "")
	bob.token = ""
	bob.want(true, 401, "invalid_credentials", "POST", "/api/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, email, tenantPassword))
	change(client.UserChange{Disabled: client.To(false)})
	bob.signIn(email)
	if err := c.DeleteUser(ctx, bob.admin, nil); err != nil {
		t.Fatal(err)
	}
	bob.want(true, 401, "invalid_token", "GET", read, "")
	again := colleague(t, c, n, email, "viewer") // the email is free
	again.want(true, 200, "", "GET", read, "")
}

func TestTierChangeAppliesAtOnceAndKeepsUse(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now()) // which stands still, so that no minute and no day ends
	p := apptest.Start(t, apptest.Clock(clock.Now), apptest.With(func(c *config.Config) {
		c.Tiers["tiny"] = config.Tier{RequestsPerMinute: 1000, Daily: 50, Monthly: 1000, Keys: new(int64(2)), Users: new(int64(3))}
	}))
	c, ctx := operatorOf(t, p), t.Context()
	n := newTenant(t, p, "alpha", "canary")
	if _, err := c.ChangeWorkspace(ctx, n.workspace, client.WorkspaceChange{Tier: client.To("tiny")}, nil); err != nil {
		t.Fatal(err)
	}
	numbers := client.TierNumbers{RequestsPerMinute: 1000, Daily: 50, Monthly: 1000, Keys: new(int64(2)), Users: new(int64(3))}
	set := func(change func(*client.TierNumbers)) {
		t.Helper()
		change(&numbers)
		if _, err := c.ChangeTier(ctx, "tiny", numbers, nil); err != nil {
			t.Fatal(err)
		}
	}
	const read = "/api/v1/documents?limit=1"
	left := func() string { return n.want(false, 200, "", "GET", read, "").Get("X-RateLimit-Daily-Remaining") }
	var before, after int
	fmt.Sscan(left(), &before)
	set(func(n *client.TierNumbers) { n.Daily = 100 })
	header := n.want(true, 200, "", "GET", read, "") // the token pays from the same budget
	fmt.Sscan(header.Get("X-RateLimit-Daily-Remaining"), &after)
	if after != before+50-1 {
		t.Errorf("%d were left of 50 a day; of 100 there are %d left one request later", before, after)
	}

	// What the minute has used stays used.
	n.want(false, 200, "", "GET", read, "")
	set(func(n *client.TierNumbers) { n.RequestsPerMinute = 1 })
	header = n.want(false, 429, "rate_limit_exceeded", "GET", read, "")
	set(func(n *client.TierNumbers) { n.RequestsPerMinute = 1000 })
	if header.Get("X-RateLimit-Limit") != "1" || header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("the minute budget is told as %s of %s", header.Get("X-RateLimit-Remaining"), header.Get("X-RateLimit-Limit"))
	}
	n.want(false, 200, "", "GET", read, "")

	// Counts: the tenant has two keys and two users, and the tier allows two and three.
	n.want(false, 409, "limit_reached", "POST", "/api/v1/developer/api-keys", `{"name":"third","scopes":["read"]}`)
	n.want(false, 201, "", "POST", "/api/v1/admin/users", `{"email":"third@example.org"}`)
	n.want(false, 409, "limit_reached", "POST", "/api/v1/admin/users", `{"email":"fourth@example.org"}`)
	set(func(n *client.TierNumbers) { n.Keys, n.Users = nil, new(int64(4)) })
	n.want(false, 201, "", "POST", "/api/v1/developer/api-keys", `{"name":"third","scopes":["read"]}`)
	n.want(false, 201, "", "POST", "/api/v1/admin/users", `{"email":"fourth@example.org"}`)

	// Callers without a credential.
	tiers, err := c.ListTiers(ctx, client.TierQuery{})
	if err != nil || tiers.Items[0].Name != "anonymous" {
		t.Fatalf("tiers %+v, %v", tiers, err)
	}
	anonymous := tiers.Items[0].TierNumbers
	anonymous.RequestsPerMinute = 7
	if _, err := c.ChangeTier(ctx, "anonymous", anonymous, &tiers.Items[0].Revision); err != nil {
		t.Fatal(err)
	}
	_, err = c.ChangeTier(ctx, "anonymous", anonymous, &tiers.Items[0].Revision)
	wantError(t, err, 412, "revision_mismatch")
	nobody := &tenant{t: t, base: p.URL}
	if got := nobody.want(true, 401, "missing_credentials", "GET", read, "").Get("X-RateLimit-Limit"); got != "7" {
		t.Errorf("callers without a credential are told of %s a minute", got)
	}
}

// A count of a tier is a number, 0 for none at all, or null for no limit. One that is omitted stays.
func TestCountsOfATierAreKept(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, ctx := operatorOf(t, p), t.Context()
	n := newTenant(t, p, "alpha", "canary")
	if _, err := c.ChangeWorkspace(ctx, n.workspace, client.WorkspaceChange{Tier: client.To("pro")}, nil); err != nil {
		t.Fatal(err)
	}
	operator := &tenant{t: t, base: p.URL, key: p.Key}
	const rates = `{"requestsPerMinute":100000,"daily":1000000,"monthly":1000000`
	for _, count := range []struct{ name, method, path, body string }{
		{"keys", "POST", "/api/v1/developer/api-keys", `{"name":"another","scopes":["read"]}`},
		{"users", "POST", "/api/v1/admin/users", `{"email":"another@example.org"}`},
		{"documents", "PUT", "/api/v1/documents/another", `{"text":"x"}`},
		{"memories", "POST", "/api/v1/memories", `{"subjectId":"another","text":"x"}`},
		{"storage", "PUT", "/api/v1/documents/stored", `{"text":"x"}`},
	} {
		operator.want(false, 200, "", "PUT", "/api/v1/admin/tiers/pro", rates+`,"`+count.name+`":0}`)
		n.want(false, 409, "limit_reached", count.method, count.path, count.body)
		operator.want(false, 200, "", "PUT", "/api/v1/admin/tiers/pro", rates+`}`)
		n.want(false, 409, "limit_reached", count.method, count.path, count.body)
		operator.want(false, 200, "", "PUT", "/api/v1/admin/tiers/pro", rates+`,"`+count.name+`":null}`)
		n.want(false, 201, "", count.method, count.path, count.body)
	}
	tiers, err := c.ListTiers(ctx, client.TierQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range tiers.Items {
		none := tier.Keys == nil && tier.Users == nil && tier.Documents == nil && tier.Memories == nil && tier.Storage == nil
		if want := tier.Name == "anonymous" || tier.Name == "pro" || tier.Name == "unlimited"; none != want {
			t.Errorf("tier %s has no limits: %t, want %t", tier.Name, none, want)
		}
	}
}

// Such numbers can still come from the settings.
func TestSocketCanFixTheOperatorsTier(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) {
		tier := c.Tiers["unlimited"]
		tier.RequestsPerMinute = 1
		c.Tiers["unlimited"] = tier
	}))
	c, local, ctx := operatorOf(t, p), client.OverSocket(instance.SocketPath(p.Config.Data)), t.Context()
	if _, err := c.Health(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := c.Health(ctx)
	wantError(t, err, 429, "rate_limit_exceeded")
	if _, err := local.ChangeTier(ctx, "unlimited", client.TierNumbers{RequestsPerMinute: 100, Daily: 1000, Monthly: 10_000}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Health(ctx); err != nil {
		t.Errorf("after the tier was set right: %v", err)
	}
}

func TestTheOperatorsTierKeepsItsLeast(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, ctx := operatorOf(t, p), t.Context()
	for field, numbers := range map[string]client.TierNumbers{
		"requestsPerMinute": {RequestsPerMinute: 59, Daily: 1000, Monthly: 10_000},
		"daily":             {RequestsPerMinute: 60, Daily: 999, Monthly: 10_000},
		"monthly":           {RequestsPerMinute: 60, Daily: 1000, Monthly: 9_999},
	} {
		_, err := c.ChangeTier(ctx, "unlimited", numbers, nil)
		if e := wantError(t, err, 400, "validation_error"); e.Details.Field != field || e.Details.Issue != "too_small" {
			t.Errorf("%s: %+v", field, e.Details)
		}
	}
	if _, err := c.ChangeTier(ctx, "free", client.TierNumbers{RequestsPerMinute: 59, Daily: 1000, Monthly: 10_000}, nil); err != nil {
		t.Fatal(err) // others may have less
	}
	_, err := c.ChangeWorkspace(ctx, p.Workspace, client.WorkspaceChange{Tier: client.To("free")}, nil)
	if e := wantError(t, err, 400, "validation_error"); e.Details.Field != "tier" {
		t.Errorf("the operator workspace in a small tier: %+v", e.Details)
	}
	if _, err := c.ChangeTier(ctx, "unlimited", client.TierNumbers{RequestsPerMinute: 1000, Daily: 1000, Monthly: 10_000}, nil); err != nil {
		t.Errorf("numbers at the least: %v", err)
	}
}

func TestOnlyTheOperatorAdministersTheInstance(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := newTenant(t, p, "alpha", "canary")
	c := operatorOf(t, p)
	bound, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "bound", Scopes: []string{"admin"}, SubjectID: "patient-7"})
	if err != nil {
		t.Fatal(err)
	}
	ofOne := &tenant{t: t, base: p.URL, key: bound.Key}
	for _, op := range []struct{ method, path string }{
		{"GET", "/workspaces"},
		{"POST", "/workspaces"},
		{"GET", "/workspaces/" + n.workspace},
		{"PATCH", "/workspaces/" + n.workspace},
		{"GET", "/tiers"},
		{"PUT", "/tiers/free"},
		{"GET", "/cache-stats"},
	} {
		path := "/api/v1/admin" + op.path
		for _, bearer := range []bool{false, true} {
			n.want(bearer, 403, "insufficient_scope", op.method, path, "")
		}
		ofOne.want(false, 403, "insufficient_scope", op.method, path, "")
	}
	// A key bound to one subject makes no users: one of those could do what the key cannot.
	ofOne.want(false, 403, "insufficient_scope", "POST", "/api/v1/admin/users", `{"email":"eve@example.org"}`)
	ofOne.want(false, 403, "insufficient_scope", "PATCH", "/api/v1/admin/users/"+n.admin, `{"name":"x"}`)
}

func TestUsersAreReadChangedAndListed(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, ctx := operatorOf(t, p), t.Context()
	var ids []string
	for i := range 5 {
		u, err := c.CreateUser(ctx, client.NewUser{Email: fmt.Sprintf("u%d@example.org", i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append([]string{u.ID}, ids...)
	}
	var listed []string
	for u, err := range c.EachUser(ctx, client.UserQuery{Role: "member", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, u.ID)
	}
	if strings.Join(listed, " ") != strings.Join(ids, " ") {
		t.Errorf("listed %v, want %v", listed, ids)
	}
	page, err := c.ListUsers(ctx, client.UserQuery{Role: "member", Limit: 2})
	if err != nil || page.NextCursor == nil {
		t.Fatalf("%+v, %v", page, err)
	}
	_, err = c.ListUsers(ctx, client.UserQuery{Cursor: *page.NextCursor}) // of another list
	wantError(t, err, 400, "validation_error")

	revision := int64(1)
	changed, err := c.ChangeUser(ctx, ids[0], client.UserChange{Name: client.To("Bob"), Role: client.To("developer")}, &revision)
	if err != nil || changed.Revision != 2 || *changed.Name != "Bob" || changed.Role != "developer" {
		t.Errorf("changed to %+v, %v", changed, err)
	}
	_, err = c.ChangeUser(ctx, ids[0], client.UserChange{Name: client.Cleared[string]()}, &revision)
	wantError(t, err, 412, "revision_mismatch")
	cleared, err := c.ChangeUser(ctx, ids[0], client.UserChange{Name: client.Cleared[string]()}, nil)
	if err != nil || cleared.Name != nil {
		t.Errorf("changed to %+v, %v", cleared, err)
	}
	for _, body := range []string{
		`{"role":"root"}`, `{"role":null}`, `{"password":"elevenchars"}`, `{"password":null}`, `{"disabled":"yes"}`, `{"email":"x@example.org"}`, `{"Name":"x"}`, `[]`,
	} {
		operator := &tenant{t: t, base: p.URL, key: p.Key}
		operator.want(false, 400, "validation_error", "PATCH", "/api/v1/admin/users/"+ids[0], body)
	}
}

func TestOneOfManyEqualRequestsMakesTheUser(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	statuses := make([]int, 16)
	var running sync.WaitGroup
	for i := range statuses {
		running.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", p.URL+"/api/v1/admin/users", strings.NewReader(`{"email":"once@example.org"}`))
			req.Header.Set("X-API-Key", p.Key)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", "the one user")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			statuses[i] = res.StatusCode
		})
	}
	running.Wait()
	made := 0
	for _, s := range statuses {
		if s == http.StatusCreated {
			made++
		} else if s != http.StatusConflict { // the first one was still running
			t.Errorf("one was answered %d", s)
		}
	}
	list, err := operatorOf(t, p).ListUsers(t.Context(), client.UserQuery{Role: "member"})
	if err != nil || len(list.Items) != 1 || made == 0 {
		t.Errorf("%d were told of success, the users are %+v (%v)", made, list, err)
	}
}
