package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// setupAgents returns the surface for agents of a primary surface, with an operation for each of read and write.
func setupAgents(t *testing.T, change ...func(o *api.Options)) (agents, primary *bundle) {
	t.Helper()
	var options api.Options
	primary = setup(t, append(change, func(o *api.Options) {
		options = *o
		again := endpoint.Operation{
			ID: "readAgain", Method: "GET", Path: "/read", Since: 2, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Status: 200,
		}
		type said struct {
			Body struct {
				Version int `json:"version"`
			}
		}
		endpoint.Add(o.Operations, again, func(ctx context.Context, _ *struct{}) (*said, error) {
			out := &said{}
			out.Body.Version = endpoint.RequestOf(ctx).APIVersion()
			return out, nil
		})
	})...)
	mounted := endpoint.NewRegistry()
	mounted.Mount(options.Operations, map[string]string{"createNote": "/ai/note", "read": "/ai/read", "readAgain": "/ai/read", "administer": "/ai/administer"})
	options.Surface, options.Operations, options.Primary = usage.AI, mounted, primary.handler.(*api.API)
	agents = &bundle{Place: primary.Place, t: t, clock: primary.clock, handler: apitest.Surface(options), notes: primary.notes}
	return agents, primary
}

func TestAgentsCanSendAPIKeysAsBearerTokens(t *testing.T) {
	t.Parallel()
	b, primary := setupAgents(t)
	key := b.Key(apitest.Operator, auth.Read, nil)
	dead := b.Key(apitest.Operator, auth.Read, func(k *apikey.APIKey) { k.RevokedAt = &k.CreatedAt })
	for _, c := range []struct {
		headers []string
		status  int
		code    string
	}{
		{[]string{"X-API-Key", key}, 200, ""},
		{[]string{"Authorization", "Bearer " + key}, 200, ""},
		{[]string{"Authorization", "bearer  " + key + " "}, 200, ""},
		{[]string{"X-API-Key", key, "Authorization", "Bearer kpsk_other"}, 200, ""}, // X-API-Key decides
		{[]string{"X-API-Key", "kpsk_other", "Authorization", "Bearer " + key}, 401, "invalid_api_key"},
		{[]string{"Authorization", "Bearer kpsk_other"}, 401, "invalid_api_key"},
		{[]string{"Authorization", "Bearer " + key[:len(key)-1] + "_"}, 401, "invalid_api_key"},
		{[]string{"Authorization", "Bearer " + dead}, 401, "api_key_revoked"},
		{[]string{"Authorization", "Basic " + key}, 401, "missing_credentials"},
		{nil, 401, "missing_credentials"},
	} {
		a := b.do("GET", "/ai/read", "", c.headers...).want(t, c.status, c.code)
		if challenge := strings.Join(a.Header.Values("WWW-Authenticate"), ", "); (challenge != "") != (c.status == 401) {
			t.Errorf("%v: got %d with the challenge %q", c.headers, a.StatusCode, challenge)
		}
	}
	twice := request("GET", "/ai/read", "")
	twice.Header["Authorization"] = []string{"Bearer " + key, "Bearer " + key}
	if a := b.send(twice); a.StatusCode != 401 {
		t.Errorf("with two headers Authorization got %d, want 401", a.StatusCode)
	}
	primary.do("GET", "/api/v1/read", "", "Authorization", "Bearer "+key).want(t, 401, "missing_credentials")
}

func TestAgentsChooseVersionsByHeaderOnly(t *testing.T) {
	t.Parallel()
	b, _ := setupAgents(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	get := func(path, version string) answer {
		headers := []string{"X-API-Key", key}
		if version != "" {
			headers = append(headers, "Accept-Version", version)
		}
		return b.do("GET", path, "", headers...)
	}
	served := func(a answer, version string) {
		t.Helper()
		if got := a.Header.Get("X-API-Version"); got != version {
			t.Errorf("served by version %s, want %s", got, version)
		}
	}
	for _, accept := range []string{"", "1", "v1"} {
		served(get("/ai/read", accept).want(t, 200, ""), "1")
	}
	for _, accept := range []string{"2", "banana", "0"} {
		served(get("/ai/read", accept).want(t, 400, "validation_error"), "1")
	}
	for _, path := range []string{"/ai/v1/read", "/api/v1/read", "/api/v1/ping", "/api/v9/ping", "/ai/nothing", "/ai/", "/ai", "/", "/openapi.json"} {
		get(path, "").want(t, 404, "not_found")
	}

	now := b.clock.Now()
	b.release(now, lifecycle.AddMonths(now, 6))
	a := get("/ai/read", "").want(t, 200, "")
	served(a, "2")
	if a.object["version"] != 2.0 {
		t.Errorf("the current version answers %s, want what version 2 declares", a.text)
	}
	a = get("/ai/read", "1").want(t, 200, "")
	served(a, "1")
	if a.Header.Get("Deprecation") != "true" || a.Header.Get("X-API-Replacement-Version") != "2" || a.object["scopes"] == nil {
		t.Errorf("the deprecated version answers %s with %v", a.text, a.Header)
	}
	b.clock.Move(lifecycle.AddMonths(now, 6).Sub(now))
	served(get("/ai/read", "1").want(t, 410, "version_sunset"), "2")
	served(get("/ai/read", "").want(t, 200, ""), "2")
	b.clock.Move(lifecycle.AddMonths(b.clock.Now(), 12).Sub(b.clock.Now()))
	served(get("/ai/read", "1").want(t, 400, "validation_error"), "2")
}

func TestAgentsAreCharged(t *testing.T) {
	t.Parallel()
	b, primary := setupAgents(t)
	key := b.Key(apitest.Tiny, auth.Read, nil) // three requests a minute
	left := func(a answer, want string) {
		t.Helper()
		if got := a.Header.Get("X-RateLimit-Remaining"); got != want {
			t.Errorf("%s requests are left, want %s", got, want)
		}
	}
	left(b.do("GET", "/ai/read", "", "Authorization", "Bearer "+key).want(t, 200, ""), "2")
	left(primary.do("GET", "/api/v1/read", "", "X-API-Key", key).want(t, 200, ""), "1")
	left(b.do("POST", "/ai/note", `{"text":"a"}`, "X-API-Key", key).want(t, 403, "insufficient_scope"), "0")
	b.do("GET", "/ai/read", "", "X-API-Key", key).want(t, 429, "rate_limit_exceeded")
	left(b.do("OPTIONS", "/ai/read", "").want(t, 204, ""), "100000")
	for i, path := range []string{"/ai/nothing", "/ai/read", "/ai/note"} { // 404, 401, 405
		left(b.do("GET", path, ""), []string{"99999", "99998", "99997"}[i])
	}
	left(b.do("GET", "/nothing", ""), "99997")
	left(primary.do("GET", "/ai/read", "").want(t, 404, "not_found"), "99996")
}

func TestAgentsGetStoredResponsesAgain(t *testing.T) {
	t.Parallel()
	b, primary := setupAgents(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	for _, text := range []string{"short", strings.Repeat("long ", 20_000)} { // the long one is rebuilt from what it created
		headers := []string{"X-API-Key", key, "Idempotency-Key", "once-" + text[:4] + "-once"}
		body := `{"text":"` + text + `"}`
		first := b.do("POST", "/ai/note", body, headers...).want(t, 201, "")
		again := b.do("POST", "/ai/note", body, headers...).want(t, 201, "")
		if again.Header.Get("Idempotent-Replayed") != "true" || again.object["id"] != first.object["id"] || again.object["text"] != text {
			t.Errorf("the repeated response has ID %v, replayed %q", again.object["id"], again.Header.Get("Idempotent-Replayed"))
		}
		if got := first.Header.Get("Location"); got != again.Header.Get("Location") || !strings.HasPrefix(got, "/api/v1/notes/") {
			t.Errorf("Location is %q and %q", got, again.Header.Get("Location"))
		}
		// The path belongs to the key.
		if a := primary.do("POST", "/api/v1/notes", body, headers...).want(t, 201, ""); a.object["id"] == first.object["id"] {
			t.Error("the primary surface repeats the response of this one")
		}
	}
	b.release(b.clock.Now(), lifecycle.AddMonths(b.clock.Now(), 6))
	headers := []string{"X-API-Key", key, "Idempotency-Key", "once-long-once"}
	a := b.do("POST", "/ai/note", `{"text":"`+strings.Repeat("long ", 20_000)+`"}`, headers...).want(t, 201, "")
	if a.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("a stored response of version 1 is lost in version 2")
	}
}

func TestAgentsAndAPIShareCapacity(t *testing.T) {
	t.Parallel()
	b, primary := setupAgents(t, func(o *api.Options) { o.InFlight = 2 }) // one of them is reserved
	key := b.Key(apitest.Operator, auth.All, nil)
	b.notes.block, b.notes.entered = make(chan struct{}), make(chan struct{})
	done := make(chan answer)
	go func() { done <- primary.do("POST", "/api/v1/notes", `{"text":"a"}`, "X-API-Key", key) }()
	<-b.notes.entered
	b.do("GET", "/ai/read", "", "X-API-Key", key).want(t, 503, "unavailable")
	close(b.notes.block)
	if a := <-done; a.StatusCode != http.StatusCreated {
		t.Errorf("the running request got %d", a.StatusCode)
	}
	b.do("GET", "/ai/read", "", "X-API-Key", key).want(t, 200, "")
}

func TestMountedOperationsAreCheckedAtStart(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string]map[string]string{
		"an unknown operation":    {"nothing": "/ai/nothing"},
		"a parameter in the path": {"readNote": "/ai/note"},
		"no version":              {"open": "/ai/open"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: was mounted", name)
				}
			}()
			endpoint.NewRegistry().Mount(operations(&notes{}), paths)
		}()
	}
}
