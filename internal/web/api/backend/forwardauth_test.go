package backend_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

// guard is a backend surface with /forward-auth.
type guard struct {
	*apitest.Place
	t       testing.TB
	clock   *apitest.Clock
	handler http.Handler
}

func newGuard(t testing.TB, change ...func(o *api.Options)) *guard {
	t.Helper()
	tiers := apitest.Tiers()
	tiers[0] = limit.Tiers()[0] // 30 requests a minute without a credential
	g := &guard{t: t, clock: &apitest.Clock{}}
	g.Place = apitest.New(g.clock.Now, tiers)
	r := endpoint.NewRegistry()
	backend.AddForwardAuth(r)
	o := g.Options(r)
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} // the peer of httptest's requests
	for _, f := range change {
		f(&o)
	}
	h, err := backend.New(o)
	if err != nil {
		t.Fatal(err)
	}
	g.handler = backend.ForwardAuthPaths(h)
	return g
}

// judgement is a response of /forward-auth.
type judgement struct {
	*httptest.ResponseRecorder
	code, field, issue string // of an error
}

func (j judgement) header(name string) string {
	for n, values := range j.Result().Header {
		if strings.EqualFold(n, name) {
			return strings.Join(values, ", ")
		}
	}
	return ""
}

func (j judgement) number(t testing.TB, name string) int {
	t.Helper()
	n, err := strconv.Atoi(j.header(name))
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return n
}

// ask sends a request with headers, which are pairs of a name and a value.
func (g *guard) ask(method, target string, headers ...string) judgement {
	g.t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	j := judgement{ResponseRecorder: httptest.NewRecorder()}
	g.handler.ServeHTTP(j, r)
	if j.Body.Len() > 0 {
		var body struct {
			Error   string
			Details struct{ Field, Issue string }
		}
		if err := json.Unmarshal(j.Body.Bytes(), &body); err != nil {
			g.t.Errorf("%s %s: %v in %s", method, target, err, j.Body)
		}
		j.code, j.field, j.issue = body.Error, body.Details.Field, body.Details.Issue
	}
	for _, name := range []string{"X-API-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"} {
		if v := j.header(name); v == "" || v == "0" && name != "X-RateLimit-Remaining" {
			g.t.Errorf("%s %s: %s is %q", method, target, name, v)
		}
	}
	return j
}

func TestForwardAuthNamesTheOwnerOfACredential(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	var id string
	key := g.Key(apitest.Guest, auth.Read|auth.MemoryRead, func(k *apikey.APIKey) { id = k.ID })
	token := g.Token(apitest.Guest, auth.Read|auth.Write)
	for _, c := range []struct {
		name                     string
		headers                  []string
		wantKey, wantUser, scope string
	}{
		{"a key", []string{"X-API-Key", key}, id, "", "read memory:read"},
		{"a key as a bearer's token", []string{"Authorization", "Bearer " + key}, id, "", "read memory:read"},
		{"an access token", []string{"Authorization", "bearer " + token}, "", "usr_test", "read write"},
		{"both", []string{"Authorization", "Bearer " + token, "X-API-Key", key}, id, "", "read memory:read"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			j := g.ask(method, "/forward-auth?scope=read", c.headers...)
			if j.Code != 200 || j.Body.Len() != 0 {
				t.Errorf("%s of %s: got %d %s, want 200 without a body", method, c.name, j.Code, j.Body)
			}
			for name, want := range map[string]string{
				"X-Keepsake-Key-Id": c.wantKey, "X-Keepsake-User-Id": c.wantUser, "X-Keepsake-Workspace-Id": apitest.Guest, "X-Keepsake-Scopes": c.scope,
				"X-RateLimit-Limit": "600", "Cache-Control": "no-store", "X-Keepsake-Status": "",
			} {
				if got := j.header(name); got != want {
					t.Errorf("%s of %s: %s is %q, want %q", method, c.name, name, got, want)
				}
			}
		}
	}
}

func TestForwardAuthRefusals(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.Put(account.Workspace{ID: "wsp_suspended", Name: "suspended", Tier: limit.TierPro, Suspended: true})
	past := g.Now().Add(-time.Second)
	reader := g.Key(apitest.Guest, auth.Read, nil)
	expired := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.ExpiresAt = &past })
	disabled := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.DisabledAt = &past })
	revoked := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.RevokedAt = &past })
	placed := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) {
		k.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	})
	bound := g.Key(apitest.Guest, auth.Admin, func(k *apikey.APIKey) { k.SubjectID = "person-7" })
	spent := g.Key(apitest.Tiny, auth.Read, nil)
	suspended := g.Key("wsp_suspended", auth.Read, nil)

	for i, c := range []struct {
		name    string
		target  string
		headers []string
		status  int
		code    string
	}{
		{"no credential", "", nil, 401, "missing_credentials"},
		{"another scheme", "", []string{"Authorization", "Basic dTpw"}, 401, "missing_credentials"},
		{"no key", "", []string{"X-API-Key", "kpsk_wrong"}, 401, "invalid_api_key"},
		{"no key as a token", "", []string{"Authorization", "Bearer kpsk_wrong"}, 401, "invalid_api_key"},
		{"two keys", "", []string{"X-API-Key", reader, "X-API-Key", reader}, 401, "invalid_api_key"},
		{"no token", "", []string{"Authorization", "Bearer x.y.z"}, 401, "invalid_token"},
		{"a wrong key and a token", "", []string{"X-API-Key", "kpsk_wrong", "Authorization", "Bearer " + g.Token(apitest.Guest, auth.Read)}, 401, "invalid_api_key"},
		{"an expired key", "", []string{"X-API-Key", expired}, 401, "api_key_expired"},
		{"a disabled key", "", []string{"X-API-Key", disabled}, 401, "api_key_disabled"},
		{"a revoked key", "", []string{"X-API-Key", revoked}, 401, "api_key_revoked"},
		{"a missing scope", "?scope=write", []string{"X-API-Key", reader}, 403, "insufficient_scope"},
		{"one of two scopes", "?scope=read+write", []string{"X-API-Key", reader}, 403, "insufficient_scope"},
		{"one of two scopes of a token", "?scope=read,write", []string{"Authorization", "Bearer " + g.Token(apitest.Guest, auth.Read)}, 403, "insufficient_scope"},
		{"a bound key that is to administer", "?scope=admin", []string{"X-API-Key", bound}, 403, "insufficient_scope"},
		{"another address", "", []string{"X-API-Key", placed, "X-Forwarded-For", "198.51.100.7"}, 403, "ip_not_allowed"},
		{"a forged address", "", []string{"X-API-Key", placed, "X-Forwarded-For", "203.0.113.9, 198.51.100.7"}, 403, "ip_not_allowed"},
		{"a suspended workspace", "", []string{"X-API-Key", suspended}, 403, "workspace_suspended"},
		{"too few requests left", "?cost=4", []string{"X-API-Key", spent}, 429, "rate_limit_exceeded"},
		{"too few requests left in the day", "?cost=6", []string{"X-API-Key", spent}, 429, "rate_limit_exceeded"},
	} {
		for _, carry := range []string{"", "true", "false"} {
			target := "/forward-auth" + c.target
			if carry != "" {
				target += map[bool]string{true: "&", false: "?"}[c.target != ""] + "carry429=" + carry
			}
			status, carried := c.status, ""
			if carry == "true" && status == 429 {
				status, carried = 403, "429"
			}
			headers := c.headers
			if !slices.Contains(headers, "X-Forwarded-For") { // an address for each, because wrong keys are charged to it
				headers = append([]string{"X-Forwarded-For", fmt.Sprint("198.51.100.", i)}, headers...)
			}
			j := g.ask("GET", target, headers...)
			if j.Code != status || j.code != c.code || j.header("X-Keepsake-Error") != c.code || j.header("X-Keepsake-Status") != carried {
				t.Errorf("%s, %s: got %d %s, %v; want %d %s", c.name, target, j.Code, j.code, j.Result().Header, status, c.code)
			}
			if (j.header("WWW-Authenticate") != "") != (c.status == 401) {
				t.Errorf("%s, %s: WWW-Authenticate is %q", c.name, target, j.header("WWW-Authenticate"))
			}
			if c.status == 429 && j.number(t, "Retry-After") < 1 {
				t.Errorf("%s, %s: Retry-After is %s", c.name, target, j.header("Retry-After"))
			}
			for _, name := range []string{"X-Keepsake-Key-Id", "X-Keepsake-Workspace-Id", "X-Keepsake-Scopes", "X-Keepsake-User-Id"} {
				if v := j.header(name); v != "" {
					t.Errorf("%s, %s: %s is %q on a refusal", c.name, target, name, v)
				}
			}
		}
	}
	for name, want := range map[string]int{reader: 600, placed: 600, spent: 3} {
		j := g.ask("GET", "/forward-auth", "X-API-Key", name, "X-Forwarded-For", "203.0.113.9")
		if left := j.number(t, "X-RateLimit-Remaining"); j.Code != 200 || left >= want || left < want-3 {
			t.Errorf("after the refusals: %d with %d left, want 200 and nearly %d", j.Code, left, want)
		}
	}
}

func TestForwardAuthChargesTheCostOnce(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	ten := int64(10)
	key := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.RequestsPerMinute = &ten })
	want := func(target string, status, ofKey, left int) {
		t.Helper()
		j := g.ask("GET", target, "X-API-Key", key)
		if j.Code != status || j.number(t, "X-RateLimit-Key-Remaining") != ofKey || j.number(t, "X-RateLimit-Remaining") != left {
			t.Errorf("%s: got %d with %s and %s left, want %d with %d and %d", target, j.Code,
				j.header("X-RateLimit-Key-Remaining"), j.header("X-RateLimit-Remaining"), status, ofKey, left)
		}
	}
	want("/forward-auth", 200, 9, 9)
	want("/forward-auth?cost=4", 200, 5, 5)
	want("/forward-auth?cost=6", 429, 5, 5)
	want("/forward-auth?scope=write", 403, 5, 5)
	want("/forward-auth?cost=5&carry429=true", 200, 0, 0)
	want("/forward-auth?carry429=true", 403, 0, 0)
	other := g.ask("GET", "/forward-auth", "X-API-Key", g.Key(apitest.Guest, auth.Read, nil))
	if left := other.number(t, "X-RateLimit-Remaining"); left != 600-10-1 {
		t.Errorf("the workspace has %d left, want %d: ten for the first key and one for this", left, 600-10-1)
	}
	g.clock.Move(time.Minute)
	want("/forward-auth", 200, 9, 9)

	token := g.Token(apitest.Tiny, auth.Read)
	for i := range 4 {
		if j := g.ask("GET", "/forward-auth", "Authorization", "Bearer "+token); (j.Code == 200) != (i < 3) {
			t.Errorf("request %d with a token of a workspace with three: got %d", i+1, j.Code)
		}
	}
}

func TestForwardAuthChargesWrongKeysToTheAddress(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	key := g.Key(apitest.Guest, auth.Read, nil)
	guess := func(client, text string) judgement {
		return g.ask("GET", "/forward-auth", "X-Forwarded-For", client, "X-API-Key", text)
	}
	for i := range 40 {
		if j := g.ask("GET", "/forward-auth", "X-Forwarded-For", "198.51.100.7"); j.Code != 401 || j.header("X-RateLimit-Remaining") != "30" {
			t.Fatalf("request %d without a credential: got %d with %s left, want 401 and 30", i+1, j.Code, j.header("X-RateLimit-Remaining"))
		}
	}
	for i := range 30 {
		if j := guess("198.51.100.7", "kpsk_"+strconv.Itoa(i)); j.Code != 401 {
			t.Fatalf("wrong key %d: got %d, want 401", i+1, j.Code)
		}
	}
	if j := guess("198.51.100.7", "kpsk_wrong"); j.Code != 429 || j.number(t, "Retry-After") < 1 {
		t.Errorf("wrong key 31: got %d, want 429", j.Code)
	}
	if j := guess("198.51.100.8", "kpsk_wrong"); j.Code != 401 {
		t.Errorf("a wrong key from another address: got %d, want 401", j.Code)
	}
	if j := guess("198.51.100.7", key); j.Code != 200 {
		t.Errorf("a valid key from the address of the guesses: got %d, want 200", j.Code)
	}
	if j := g.ask("GET", "/forward-auth", "X-Forwarded-For", "198.51.100.7"); j.Code != 401 {
		t.Errorf("no credential from the address of the guesses: got %d, want 401", j.Code)
	}
}

func TestForwardAuthFindsKeysOfOtherProcesses(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	key := g.StoredKey(apitest.Guest, auth.Read)
	for range 3 {
		if j := g.ask("GET", "/forward-auth", "X-API-Key", key); j.Code != 200 {
			t.Fatalf("a key that only the database has: got %d %s, want 200", j.Code, j.code)
		}
	}
	if reads := g.Store.KeyReads(); reads != 1 {
		t.Errorf("the database was read %d times, want once", reads)
	}
	if j := g.ask("GET", "/forward-auth"); j.header("X-RateLimit-Remaining") != "30" {
		t.Errorf("the address has %s left, want the charge for the read refunded", j.header("X-RateLimit-Remaining"))
	}
}

func TestForwardAuthRefusesWrongParameters(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	key := g.Key(apitest.Guest, auth.Read, nil)
	for query, want := range map[string]string{
		"scope=":                       "scope required",
		"scope=+":                      "scope required",
		"scope=reed":                   "scope not_allowed",
		"scope=read&scope=write":       "scope duplicate",
		"cost=0":                       "cost too_small",
		"cost=-1":                      "cost too_small",
		"cost=1000001":                 "cost too_large",
		"cost=many":                    "cost type",
		"cost=1&cost=2":                "cost duplicate",
		"carry429=yes":                 "carry429 type",
		"carry=true":                   "carry unknown",
		"scope=read&next=%2Fsomewhere": "next unknown",
	} {
		for _, target := range []string{"/forward-auth?" + query, "/forward-auth/" + query + "/orders/7?cost=1"} {
			for _, headers := range [][]string{nil, {"X-API-Key", key}} {
				j := g.ask("GET", target, headers...)
				if got := j.field + " " + j.issue; j.Code != 400 || j.code != "validation_error" || got != want {
					t.Errorf("%s with %d credentials: got %d %s, %s; want 400, %s", target, len(headers)/2, j.Code, j.code, got, want)
				}
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if j := g.ask(method, "/forward-auth", "X-API-Key", key); j.Code != 405 || j.header("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: got %d with Allow %q, want 405", method, j.Code, j.header("Allow"))
		}
	}
	if j := g.ask("GET", "/forward-auth", "X-API-Key", key); j.number(t, "X-RateLimit-Remaining") != 599 {
		t.Errorf("%s left, want no charge for refused parameters", j.header("X-RateLimit-Remaining"))
	}
}

// Envoy sends the method, path and query of its client's request behind a prefix.
func TestForwardAuthAfterAPathPrefix(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	key := g.Key(apitest.Guest, auth.Read, nil)
	left := 600
	for _, c := range []struct {
		method, target string
		status, cost   int
	}{
		{"GET", "/forward-auth/scope=read/", 200, 1},
		{"POST", "/forward-auth/scope=read&cost=3/orders?cost=9&scope=write", 200, 3},
		{"DELETE", "/forward-auth/cost=2/a//b/../c%2Fd/%F0?%zz", 200, 2},
		{"OPTIONS", "/forward-auth/cost=1/orders", 200, 1},
		{"PROPFIND", "/forward-auth/cost=1/orders", 200, 1},
		{"HEAD", "/forward-auth/cost=1/orders", 200, 1},
		{"PUT", "/forward-auth//orders", 200, 1},
		{"GET", "/forward-auth/cost=2", 200, 2},
		{"POST", "/forward-auth/scope=write/orders", 403, 0},
		{"POST", "/forward-auth/cost=1000&carry429=true/orders", 403, 0},
		{"GET", "/forward-auth/orders/7", 400, 0},
		{"GET", "/forward-authx/cost=1", 404, 0},
	} {
		j := g.ask(c.method, c.target, "X-API-Key", key)
		left -= c.cost
		if j.Code != c.status || c.status != 400 && j.number(t, "X-RateLimit-Remaining") != left {
			t.Errorf("%s %s: got %d with %s left, want %d with %d", c.method, c.target, j.Code, j.header("X-RateLimit-Remaining"), c.status, left)
		}
	}
	if j := g.ask("OPTIONS", "/forward-auth/cost=1/orders"); j.Code != 401 {
		t.Errorf("OPTIONS without a credential: got %d, want 401", j.Code)
	}
}

// A key that tries a migration calls the API, not the service behind a proxy.
func TestForwardAuthIgnoresRehearsals(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	var id string
	key := g.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { id = k.ID })
	rehearsal := lifecycle.Rehearsal{Version: 1, KeyID: id, WorkspaceID: apitest.Guest, Until: g.Now().Add(time.Hour)}
	if err := g.Versions.Replace([]lifecycle.Version{lifecycle.First()}, rehearsal); err != nil {
		t.Fatal(err)
	}
	if j := g.ask("GET", "/nothing-here", "X-API-Key", key); j.Code != http.StatusGone {
		t.Errorf("the rehearsal does not run: got %d", j.Code)
	}
	if j := g.ask("GET", "/forward-auth", "X-API-Key", key); j.Code != http.StatusOK {
		t.Errorf("got %d %s, want 200", j.Code, j.code)
	}
}

func BenchmarkForwardAuth(b *testing.B) {
	g := newGuard(b, func(o *api.Options) { o.Now = time.Now })
	key := g.Key(apitest.Operator, auth.Read, nil)
	r := httptest.NewRequest("GET", "/forward-auth?scope=read&cost=1&carry429=true", nil)
	r.Header.Set("X-API-Key", key)
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.ResponseRecorder{}
		if g.handler.ServeHTTP(&w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
