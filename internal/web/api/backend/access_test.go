package backend_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

const secret = "a secret of the tests"

// reply is a response with the error code of its body.
type reply struct {
	*http.Response
	code string
}

// access is a surface with the probes and two operations: one for callers with a credential, and one for everybody.
func access(t *testing.T, required bool) (p *apitest.Place, send func(path string, headers ...string) reply) {
	t.Helper()
	p = apitest.New((&apitest.Clock{}).Now, apitest.Tiers())
	return p, accessOf(t, p, required, func(context.Context) {})
}

func accessOf(t *testing.T, p *apitest.Place, required bool, refused func(context.Context)) (send func(path string, headers ...string) reply) {
	t.Helper()
	r := endpoint.NewRegistry()
	backend.AddProbes(r, &backend.Probes{})
	type nothing struct{}
	type done struct {
		Body struct{}
	}
	op := endpoint.Operation{
		ID: "manage", Method: "GET", Path: "/manage", Tag: "test", Summary: "Test", Status: 200, Uncharged: true,
		Credentials: endpoint.Key | endpoint.Backend, Scope: auth.DeveloperManage,
	}
	endpoint.Add(r, op, func(ctx context.Context, _ *nothing) (*done, error) {
		if auth.From(ctx).WorkspaceID == "" {
			return nil, problem.Missing()
		}
		return &done{}, nil
	})
	op.ID, op.Path, op.Credentials, op.Scope = "open", "/open", endpoint.NoCredential, auth.None
	endpoint.Add(r, op, func(context.Context, *nothing) (*done, error) { return &done{}, nil })
	o := p.Options(r)
	o.Backend = api.NewBackendAccess(secret, required, refused)
	h, err := backend.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return func(path string, headers ...string) reply {
		req := httptest.NewRequest("GET", path, nil)
		req.Host = "127.0.0.1:8081"
		for i := 0; i < len(headers); i += 2 {
			req.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		var body struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %s is no JSON", path, w.Body)
		}
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: %s contains the secret", path, w.Body)
		}
		res := w.Result()
		header := http.Header{}
		for name, values := range res.Header {
			header[http.CanonicalHeaderKey(name)] = values
		}
		res.Header = header
		if header.Get("X-API-Version") != "1" || header.Get("X-RateLimit-Limit") == "" || header.Get("X-Request-Id") == "" {
			t.Errorf("%s: the headers %v lack some of every response", path, header)
		}
		return reply{res, body.Error}
	}
}

func TestBackendSecretOpensTheListener(t *testing.T) {
	t.Parallel()
	const header = "X-Keepsake-Backend"
	for _, required := range []bool{false, true} {
		p, send := access(t, required)
		key := p.Key(apitest.Guest, auth.DeveloperManage, nil)
		weak := p.Key(apitest.Guest, auth.Read, nil)
		without := http.StatusOK // what the secret alone decides
		code := ""
		if required {
			without, code = http.StatusUnauthorized, "missing_credentials"
		}
		for _, c := range []struct {
			path    string
			status  int
			code    string
			headers []string
		}{
			{"/livez", 200, "", nil},
			{"/livez", 200, "", []string{header, "wrong"}},
			{"/readyz", 200, "", nil},
			{"/open", without, code, nil},
			{"/open", without, code, []string{header, ""}},
			{"/open", without, code, []string{"X-API-Key", key}},
			{"/open", 200, "", []string{header, secret}},
			{"/open", 401, "invalid_credentials", []string{header, "wrong"}},
			{"/open", 401, "invalid_credentials", []string{header, secret + " "}},
			{"/open", 401, "invalid_credentials", []string{header, secret, header, secret}},
			{"/manage", 401, "missing_credentials", nil},
			{"/manage", 200, "", []string{header, secret}},
			{"/manage", 401, "invalid_credentials", []string{header, "wrong", "X-API-Key", key}},
			{"/manage", without, code, []string{"X-API-Key", key}},
			{"/manage", 200, "", []string{"X-API-Key", key, header, secret}},
			{"/manage", 403, "insufficient_scope", []string{"X-API-Key", weak, header, secret}},
			{"/manage", 401, "invalid_api_key", []string{"X-API-Key", "kpsk_nonsense", header, secret}},
			{"/manage", 200, "", []string{"Authorization", "Bearer " + secret}},
			{"/open", 200, "", []string{"Authorization", "bearer " + secret}},
			{"/open", 401, "invalid_credentials", []string{"Authorization", "Bearer wrong"}},
			{"/open", 401, "invalid_credentials", []string{header, "wrong", "Authorization", "Bearer " + secret}},
			{"/open", without, code, []string{"Authorization", "Basic " + secret}},
			{"/open", without, code, []string{"Authorization", "Bearer kpsk_nonsense"}},
			{"/livez", 200, "", []string{"Authorization", "Bearer wrong"}},
			{"/nothing", 404, "not_found", nil},
		} {
			got := send(c.path, c.headers...)
			if got.StatusCode != c.status || got.code != c.code {
				t.Errorf("required %v: %s with %q: got %d %s, want %d %s", required, c.path, c.headers, got.StatusCode, got.code, c.status, c.code)
			}
			if challenge := got.Header.Get("WWW-Authenticate"); (challenge != "") != (c.status == 401) {
				t.Errorf("required %v: %s with %q: the challenge of a %d is %q", required, c.path, c.headers, c.status, challenge)
			}
		}
	}
}

func TestBackendSecretHasOperatorLimits(t *testing.T) {
	t.Parallel()
	_, send := access(t, false)
	if got := send("/manage", "X-Keepsake-Backend", secret).Header.Get("X-RateLimit-Limit"); got != "1000000" {
		t.Errorf("the limit is %s, want the operator workspace's", got)
	}
	if got := send("/manage", "X-Keepsake-Backend", "wrong").Header.Get("X-RateLimit-Limit"); got != "100000" {
		t.Errorf("with a wrong secret the limit is %s, want that of an address", got)
	}
}

func TestGuessesAtTheBackendSecretAreLimited(t *testing.T) {
	t.Parallel()
	const header, guess = "X-Keepsake-Backend", "a guess at the secret"
	clock := &apitest.Clock{}
	tiers := apitest.Tiers()
	tiers[0].RequestsPerMinute = 3
	p := apitest.New(clock.Now, tiers)
	var from []string
	send := accessOf(t, p, true, func(ctx context.Context) {
		from = append(from, ctx.Value(audit.SourceKey).(audit.Source).Address.String())
	})
	want := func(status int, code, remaining string, headers ...string) {
		t.Helper()
		got := send("/open", headers...)
		if got.StatusCode != status || got.code != code || remaining != "" && got.Header.Get("X-RateLimit-Remaining") != remaining {
			t.Errorf("%q: got %d %s with %v", headers, got.StatusCode, got.code, got.Header)
		}
		if limited := got.Header.Get("Retry-After") != ""; limited != (status == 429) {
			t.Errorf("%q: a %d has Retry-After: %v", headers, got.StatusCode, limited)
		}
	}
	want(401, "missing_credentials", "3") // not a guess, so it is free
	for _, remaining := range []string{"2", "1", "0"} {
		want(401, "invalid_credentials", remaining, header, guess)
	}
	want(429, "rate_limit_exceeded", "0", header, guess)
	want(401, "missing_credentials", "0")
	want(200, "", "", header, secret) // a service at the same address goes on
	clock.Move(time.Minute)
	want(401, "invalid_credentials", "2", header, guess)
	want(401, "missing_credentials", "2", "X-API-Key", "kpsk_nonsense")
	if got := send("/manage", "X-API-Key", "kpsk_nonsense", header, secret); got.code != "invalid_api_key" || got.Header.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("a guess at an API key: %d %s, %v", got.StatusCode, got.code, got.Header)
	}
	if len(from) != 5 || from[0] != "192.0.2.1" {
		t.Errorf("recorded %q, want five guesses with their address", from)
	}
}
