package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// entrance is a surface where the body of a login is the id of the workspace that is signed in to.
func entrance(t *testing.T, tiers []limit.Tier) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: &apitest.Clock{}}
	b.Place = apitest.New(b.clock.Now, tiers)
	r := endpoint.NewRegistry()
	type in struct {
		Body struct {
			Workspace string `json:"workspace"`
		}
	}
	login := endpoint.Operation{ID: "login", Method: "POST", Path: "/api/auth/login", Tag: "t", Summary: "t", Status: 204, SignIn: true}
	endpoint.Add(r, login, func(ctx context.Context, in *in) (*struct{}, error) {
		if in.Body.Workspace == "nobody" {
			return nil, problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials, "No.")
		}
		if err := endpoint.RequestOf(ctx).SignedIn("usr_test", in.Body.Workspace); err != nil {
			return nil, err
		}
		if auth.From(ctx).UserID != "usr_test" {
			t.Error("who signed in is not the caller")
		}
		return &struct{}{}, nil
	})
	for path, takes := range map[string]endpoint.Credentials{"key": endpoint.Key, "bearer": endpoint.Bearer, "both": endpoint.Key | endpoint.Bearer} {
		op := endpoint.Operation{ID: path, Method: "GET", Path: "/" + path, Since: 1, Tag: "t", Summary: "t", Status: 204, Credentials: takes}
		endpoint.Add(r, op, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
			if err := endpoint.RequestOf(ctx).SignedIn("usr_test", apitest.Guest); err == nil {
				t.Error("an operation that does not say so signed somebody in")
			}
			return &struct{}{}, nil
		})
	}
	b.handler = apitest.Surface(b.Options(r))
	return b
}

func (b *bundle) login(workspace string) answer {
	b.t.Helper()
	return b.do("POST", "/api/auth/login", `{"workspace":"`+workspace+`"}`)
}

func TestASuccessfulLoginIsChargedToTheWorkspace(t *testing.T) {
	t.Parallel()
	tiers := apitest.Tiers()
	tiers[0].RequestsPerMinute, tiers[0].Daily, tiers[0].Monthly = 3, 4, 1000
	b := entrance(t, tiers)
	for range 5 { // more than the address has
		a := b.login(apitest.Guest).want(t, 204, "")
		if number(t, a, "X-RateLimit-Limit") != 600 || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers are not the workspace's: %v", a.Header)
		}
	}
	if a := b.login(apitest.Guest); number(t, a, "X-RateLimit-Remaining") != 594 {
		t.Errorf("the workspace has %s left, want 594", a.Header.Get("X-RateLimit-Remaining"))
	}
	for left := 2; left >= 0; left-- {
		a := b.login("nobody").want(t, 401, "invalid_credentials")
		if number(t, a, "X-RateLimit-Remaining") != int64(left) {
			t.Errorf("the address has %s left, want %d", a.Header.Get("X-RateLimit-Remaining"), left)
		}
	}
	b.login("nobody").want(t, 429, "rate_limit_exceeded")
	b.login(apitest.Guest).want(t, 429, "rate_limit_exceeded")

	// One more request spends the day's quota. That refuses no login, but the headers show it.
	for range 3 {
		b.clock.Move(limitMinute)
		a := b.login("nobody").want(t, 401, "invalid_credentials")
		if number(t, a, "X-RateLimit-Daily-Remaining") != 0 {
			t.Errorf("%s of the day are left", a.Header.Get("X-RateLimit-Daily-Remaining"))
		}
	}
	b.do("POST", "/api/auth/login", "{}").want(t, 400, "validation_error")
	b.do("GET", "/api/auth/login", "").want(t, 405, "method_not_allowed")
}

func TestSigningInHasABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	tiers := apitest.Tiers()
	tiers[0].RequestsPerMinute = 3
	b := entrance(t, tiers)
	for left := int64(2); left >= 0; left-- {
		if a := b.do("GET", "/api/v1/key", "").want(t, 401, ""); number(t, a, "X-RateLimit-Remaining") != left {
			t.Errorf("the address has %s left, want %d", a.Header.Get("X-RateLimit-Remaining"), left)
		}
	}
	b.do("GET", "/api/v1/key", "").want(t, 429, "rate_limit_exceeded")
	if a := b.do("GET", "/api/auth/nothing", "").want(t, 404, ""); number(t, a, "X-RateLimit-Remaining") != 2 || number(t, a, "X-RateLimit-Limit") != 3 {
		t.Errorf("signing in from an address that is spent elsewhere has the numbers %v", a.Header)
	}
	for range 2 {
		b.login("nobody").want(t, 401, "invalid_credentials")
	}
	b.login(apitest.Guest).want(t, 429, "rate_limit_exceeded")
	b.clock.Move(limitMinute)
	for range 3 {
		b.login("nobody").want(t, 401, "invalid_credentials")
	}
	b.login("nobody").want(t, 429, "")
	b.do("GET", "/api/v1/key", "").want(t, 401, "")
}

const limitMinute = 60_000_000_000

func TestRefusedSignInNamesTheReason(t *testing.T) {
	t.Parallel()
	b := entrance(t, apitest.Tiers())
	b.Put(account.Workspace{ID: apitest.Guest, Name: "guest", Tier: limit.TierPro, Suspended: true, Revision: 2})
	b.login(apitest.Guest).want(t, 403, "workspace_suspended")
	for range 3 {
		b.login(apitest.Tiny).want(t, 204, "")
	}
	a := b.login(apitest.Tiny).want(t, 429, "rate_limit_exceeded")
	if a.details("policy") != "tier_minute" || a.object["remaining"] != float64(0) || a.object["resetTimeMs"].(float64) <= 0 {
		t.Errorf("the refusal is %s", a.text)
	}
	if !strings.Contains(a.object["message"].(string), " "+a.Header.Get("Retry-After")+" seconds") {
		t.Errorf("message and Retry-After %s differ: %s", a.Header.Get("Retry-After"), a.text)
	}
	b.login("wsp_nobodys").want(t, 500, "internal_error")
}

// If an address has used its logins of the minute and has also failed too often, the response names the limit that ends last.
func TestRefusedLoginNamesTheLongestLimit(t *testing.T) {
	t.Parallel()
	tiers := apitest.Tiers()
	tiers[0].RequestsPerMinute = 3
	b := &bundle{t: t, clock: &apitest.Clock{}}
	b.Place = apitest.New(b.clock.Now, tiers)
	type in struct {
		Body struct {
			Wait int `json:"wait"` // seconds for which the login is also refused
		}
	}
	r := endpoint.NewRegistry()
	asked := 0
	endpoint.AddSignIn(r, endpoint.Operation{ID: "login", Method: "POST", Path: "/api/auth/login", Tag: "t", Summary: "t", Status: 204},
		func(_ context.Context, in *in) error {
			if asked++; in.Body.Wait == 0 {
				return nil
			}
			p := problem.New(problem.RateLimited, problem.CodeRateLimited, "Too many failures.")
			p.Details.Policy, p.RetryAfter = "login", time.Duration(in.Body.Wait)*time.Second
			return p
		},
		func(context.Context, *in) (*struct{}, error) {
			return nil, problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials, "No.")
		})
	b.handler = apitest.Surface(b.Options(r))
	login := func(body string) answer { return b.do("POST", "/api/auth/login", body) }
	for range 3 {
		login(`{"wait":900}`).want(t, 401, "invalid_credentials")
	}
	if asked != 0 {
		t.Errorf("other limits were asked %d times for requests that the address's budget admits", asked)
	}
	minute := number(t, login(`{"wait":0}`).want(t, 429, "rate_limit_exceeded"), "Retry-After")
	for body, want := range map[string]struct {
		policy string
		wait   int64
	}{
		`{"wait":0}`:   {"anonymous", minute},
		`{"wait":1}`:   {"anonymous", minute},
		`{"wait":900}`: {"login", 900},
		`{"wait":"9"}`: {"anonymous", minute}, // a body that is wrong is not looked at before the budget has room
		``:             {"anonymous", minute},
		`{"wait":900` + strings.Repeat(" ", 5_000) + `}`: {"anonymous", minute},
	} {
		a := login(body).want(t, 429, "rate_limit_exceeded")
		if got := number(t, a, "Retry-After"); a.details("policy") != want.policy || got != want.wait || a.object["resetTimeMs"].(float64) > float64(1000*want.wait) {
			t.Errorf("%.20s: refused by %v for %d s: %s, want %+v", body, a.details("policy"), got, a.text, want)
		}
	}
}

func TestEvery401SaysHowToAuthenticate(t *testing.T) {
	t.Parallel()
	b := entrance(t, apitest.Tiers())
	const key, bearer, wrong = `ApiKey realm="keepsake", header="X-API-Key"`, `Bearer realm="keepsake"`, `Bearer realm="keepsake", error="invalid_token"`
	for _, c := range []struct {
		path   string
		sent   []string
		code   string
		expect []string
	}{
		{"key", nil, "missing_credentials", []string{key}},
		{"key", []string{"Authorization", "Bearer x"}, "missing_credentials", []string{key}},
		{"bearer", nil, "missing_credentials", []string{bearer}},
		{"bearer", []string{"X-API-Key", "kpsk_x"}, "missing_credentials", []string{bearer}},
		{"bearer", []string{"Authorization", "Basic eA=="}, "missing_credentials", []string{bearer}},
		{"bearer", []string{"Authorization", "Bearer"}, "missing_credentials", []string{bearer}},
		{"bearer", []string{"Authorization", "Bearer  "}, "missing_credentials", []string{bearer}},
		{"bearer", []string{"Authorization", "bEARER x"}, "invalid_token", []string{wrong}},
		{"both", nil, "missing_credentials", []string{key, bearer}},
		{"both", []string{"Authorization", "Bearer x"}, "invalid_token", []string{key, wrong}},
		{"both", []string{"X-API-Key", "kpsk_x"}, "invalid_api_key", []string{key, bearer}},
	} {
		a := b.do("GET", "/api/v1/"+c.path, "", c.sent...).want(t, 401, c.code)
		if got := a.Header["Www-Authenticate"]; !slices.Equal(got, c.expect) {
			t.Errorf("%s with %v: %q, want %q", c.path, c.sent, got, c.expect)
		}
	}
	r := request("GET", "/api/v1/bearer", "")
	r.Header["Authorization"] = []string{"Bearer " + b.Token(apitest.Guest, auth.Read), "Bearer x"}
	b.send(r).want(t, 401, "invalid_token")
	r.Header["Authorization"] = r.Header["Authorization"][:1]
	if a := b.send(r).want(t, 204, ""); number(t, a, "X-RateLimit-Limit") != 600 || a.Header.Get("X-RateLimit-Key-Limit") != "" {
		t.Errorf("a token's answer has the headers %v", a.Header)
	}
	if a := b.login("nobody").want(t, 401, "invalid_credentials"); !slices.Equal(a.Header["Www-Authenticate"], []string{bearer}) {
		t.Errorf("a login that failed: %q", a.Header["Www-Authenticate"])
	}
	if a := b.do("GET", "/api/v1/nothing", "", "Authorization", "Bearer "+b.Token(apitest.Guest, auth.Read)).want(t, 404, ""); number(t, a, "X-RateLimit-Limit") != 600 {
		t.Error("a token is not recognised for the headers of a 404")
	}
}

func TestASurfaceThatCannotSignInIsNotMade(t *testing.T) {
	t.Parallel()
	b := entrance(t, apitest.Tiers())
	for _, spoil := range []func(o *api.Options){
		func(o *api.Options) { o.Bearers = nil },
		func(o *api.Options) { o.Workspaces = nil },
	} {
		r := endpoint.NewRegistry()
		op := endpoint.Operation{ID: "a", Method: "GET", Path: "/a", Since: 1, Tag: "t", Summary: "t", Status: 204, Credentials: endpoint.Bearer}
		none := func(context.Context, *struct{}) (*struct{}, error) { return nil, errors.New("never") }
		endpoint.Add(r, op, none)
		op.ID, op.Path, op.Credentials, op.SignIn, op.Method = "b", "/b", endpoint.NoCredential, true, http.MethodPost
		endpoint.Add(r, op, none)
		o := b.Options(r)
		spoil(&o)
		if _, err := api.New(o); err == nil {
			t.Error("a surface was made that cannot do what its operations say")
		}
	}
}
