package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"keepsake/internal/app"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/ai"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

// These tests visit every operation that is declared, also those of next year. The operations have no services behind
// them: an operation that is reached is a 500, and one that is refused is not reached.

// everyOperation is the primary surface and that for agents, with all of them.
func everyOperation() (p *apitest.Place, h http.Handler, list []*endpoint.Operation) {
	clock := &apitest.Clock{}
	tiers := apitest.Tiers()
	p = apitest.New(clock.Now, tiers)
	r := app.Declared()
	primary, err := api.New(p.Options(r))
	if err != nil {
		panic(err)
	}
	agents, err := ai.New(p.Options(r), primary)
	if err != nil {
		panic(err)
	}
	return p, ai.Beside(primary, agents), slices.Concat(r.Operations(), ai.Operations(r).Operations())
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// credential is a header with what it holds.
type credential struct {
	kind        endpoint.Credentials
	name, value string
}

func keyOf(text string) credential { return credential{endpoint.Key, "X-Api-Key", text} }
func tokenOf(text string) credential {
	return credential{endpoint.Bearer, "Authorization", "Bearer " + text}
}

// fitting is a credential of a kind the operation takes, with every scope.
func fitting(p *apitest.Place, op *endpoint.Operation) credential {
	if op.Credentials == endpoint.Bearer {
		return tokenOf(p.Token(apitest.Operator, auth.All))
	}
	return keyOf(p.Key(apitest.Operator, auth.All, nil))
}

// visit sends a request for an operation, without query or body.
func visit(h http.Handler, op *endpoint.Operation, query string, sent ...credential) *http.Response {
	r := httptest.NewRequest(op.Method, pathParameter.ReplaceAllString(op.Route(max(op.Since, 1)), "x")+query, nil)
	r.Host = "localhost" // the backend surface of a loopback listener takes no other name
	for _, c := range sent {
		r.Header.Set(c.name, c.value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func errorCode(t *testing.T, resp *http.Response) string {
	t.Helper()
	var body struct {
		Error string `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatalf("the body of a %d is no JSON: %v", resp.StatusCode, err)
	}
	return body.Error
}

func TestEveryOperationRequiresItsScope(t *testing.T) {
	t.Parallel()
	p, h, list := everyOperation()
	sets := []auth.Scopes{auth.None, auth.All}
	for s := auth.Read; s <= auth.Admin; s <<= 1 {
		sets = append(sets, s, auth.All&^auth.Admin&^s)
	}
	with := map[auth.Scopes][]credential{}
	for _, s := range sets {
		with[s] = []credential{keyOf(p.Key(apitest.Operator, s, nil)), tokenOf(p.Token(apitest.Operator, s))}
	}
	strangers := [][]credential{
		nil,
		{keyOf("kpsk_not-a-key")},
		{tokenOf("not-a-token")},
		{keyOf("kpsk_not-a-key"), tokenOf("not-a-token")},
		{{name: "Authorization", value: "Basic YTpi"}},
	}
	for _, op := range list {
		t.Run(op.ID, func(t *testing.T) {
			open := op.Credentials == endpoint.NoCredential
			for _, sent := range strangers {
				if resp := visit(h, op, "", sent...); (resp.StatusCode == http.StatusUnauthorized) == open {
					t.Errorf("with %v: got %d, open is %v", sent, resp.StatusCode, open)
				}
			}
			for _, s := range sets {
				for _, c := range with[s] {
					if open || op.Credentials&c.kind != 0 {
						opensByScope(t, h, op, s, c)
						continue
					}
					if resp := visit(h, op, "", c); errorCode(t, resp) != "missing_credentials" {
						t.Errorf("a kind of credential that is not taken: got %d, want it to count as none", resp.StatusCode)
					}
				}
			}
		})
	}
	if len(list) < 10 {
		t.Errorf("only %d operations were visited", len(list))
	}
}

func opensByScope(t *testing.T, h http.Handler, op *endpoint.Operation, s auth.Scopes, c credential) {
	t.Helper()
	resp := visit(h, op, "", c)
	refused := resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized
	if refused == s.Allows(op.Scope) {
		t.Errorf("%s with the scopes [%s]: got %d, the operation needs [%s]", c.name, s, resp.StatusCode, op.Scope)
	}
	if refused {
		if code := errorCode(t, resp); code != "insufficient_scope" {
			t.Errorf("%s with the scopes [%s]: got %s, want insufficient_scope", c.name, s, code)
		}
	}
}

func TestWhereBothAreTakenTheKeyDecides(t *testing.T) {
	t.Parallel()
	p, h, list := everyOperation()
	for _, op := range list {
		if op.Credentials != endpoint.Key|endpoint.Bearer {
			continue
		}
		good, bad := tokenOf(p.Token(apitest.Operator, auth.All)), keyOf("kpsk_not-a-key")
		if code := errorCode(t, visit(h, op, "?no-such-parameter=1", good, bad)); code != "invalid_api_key" {
			t.Errorf("%s with a bad key and a good token: got %s, want invalid_api_key", op.ID, code)
		}
		good, bad = keyOf(p.Key(apitest.Operator, auth.All, nil)), tokenOf("not-a-token")
		if code := errorCode(t, visit(h, op, "?no-such-parameter=1", good, bad)); code != "validation_error" {
			t.Errorf("%s with a good key and a bad token: got %s, want it to be let in", op.ID, code)
		}
	}
}

func TestEveryOperationRefusesUnknownParameters(t *testing.T) {
	t.Parallel()
	p, h, list := everyOperation()
	for _, op := range list {
		resp := visit(h, op, "?no-such-parameter=1", fitting(p, op))
		if code := errorCode(t, resp); resp.StatusCode != http.StatusBadRequest || code != "validation_error" {
			t.Errorf("%s: got %d %s, want 400 validation_error", op.ID, resp.StatusCode, code)
		}
	}
}

func TestEveryOperationOfASunsetVersionIsGone(t *testing.T) {
	t.Parallel()
	p, h, list := everyOperation()
	one := lifecycle.First()
	one.AnnouncedAt = p.Now().Add(-200 * 24 * time.Hour)
	one.SunsetAt, one.Checked = p.Now(), true
	if err := p.Versions.Replace([]lifecycle.Version{one, {Number: 2, Since: one.AnnouncedAt}}); err != nil {
		t.Fatal(err)
	}
	for _, op := range list {
		if op.Since == 0 {
			continue
		}
		resp := visit(h, op, "", fitting(p, op), credential{name: "Accept-Version", value: "1"}) // which counts without a version in the path
		if code := errorCode(t, resp); resp.StatusCode != http.StatusGone || code != "version_sunset" {
			t.Errorf("%s: got %d %s, want 410 version_sunset", op.ID, resp.StatusCode, code)
		}
	}
}

// everyBackendOperation is the backend surface with all of its operations. required says that everything but probes needs the
// backend secret.
func everyBackendOperation(t *testing.T, required bool) (p *apitest.Place, h http.Handler, list []*endpoint.Operation) {
	t.Helper()
	p = apitest.New((&apitest.Clock{}).Now, apitest.Tiers())
	r := app.DeclaredBackend()
	o := p.Options(r)
	o.Backend = api.NewBackendAccess("the secret of the tests", required, func(context.Context) {})
	a, err := backend.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, a, r.Operations()
}

func TestEveryBackendOperationChecksTheSecret(t *testing.T) {
	t.Parallel()
	secretOf := func(text string) credential { return credential{name: "X-Keepsake-Backend", value: text} }
	right, wrong := secretOf("the secret of the tests"), secretOf("the secret of the test")
	for _, required := range []bool{false, true} {
		p, h, list := everyBackendOperation(t, required)
		all := keyOf(p.Key(apitest.Operator, auth.All, nil))
		weak := keyOf(p.Key(apitest.Operator, auth.All&^auth.Admin&^auth.DeveloperManage, nil))
		for _, op := range list {
			refused := func(want string, sent ...credential) {
				t.Helper()
				resp := visit(h, op, "", sent...)
				code := ""
				if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
					code = errorCode(t, resp)
				}
				if code != want {
					t.Errorf("%s, secret required %v, with %v: got %d %q, want %q", op.ID, required, sent, resp.StatusCode, code, want)
				}
			}
			switch {
			case op.Probe:
				refused("")
				refused("", wrong)
			case required:
				refused("missing_credentials")
				refused("missing_credentials", all)
				refused("invalid_credentials", wrong, all)
			default:
				refused("invalid_credentials", wrong, all)
			}
			if op.Credentials&endpoint.Backend == 0 {
				continue
			}
			refused("", right)
			refused("insufficient_scope", right, weak)
			refused("invalid_api_key", right, keyOf("kpsk_not-a-key"))
			if !required {
				refused("missing_credentials")
				refused("", all)
			}
		}
	}
}
