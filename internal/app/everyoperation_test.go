package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"keepsake/internal/api"
	"keepsake/internal/api/apitest"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/lifecycle"
)

// These tests visit every operation that is declared, also those of next year. The operations have no services behind
// them: an operation that is reached is a 500, and one that is refused is not reached.

// everyOperation is a surface with all of them.
func everyOperation() (p *apitest.Place, h http.Handler, list []*endpoint.Operation) {
	clock := &apitest.Clock{}
	tiers := apitest.Tiers()
	p = apitest.New(clock.Now, tiers)
	r := operations(services{})
	a, err := api.New(p.Options(r))
	if err != nil {
		panic(err)
	}
	return p, a, r.Operations()
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// visit sends a request for an operation, without query or body.
func visit(h http.Handler, op *endpoint.Operation, query, key string) *http.Response {
	r := httptest.NewRequest(op.Method, pathParameter.ReplaceAllString(op.Route(max(op.Since, 1)), "x")+query, nil)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
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

func TestEveryOperationIsClosedToStrangersAndOpenToItsScopeAlone(t *testing.T) {
	p, h, list := everyOperation()
	sets := []auth.Scopes{auth.None, auth.All}
	for s := auth.Read; s <= auth.Admin; s <<= 1 {
		sets = append(sets, s, auth.All&^auth.Admin&^s)
	}
	keys := map[auth.Scopes]string{}
	for _, s := range sets {
		keys[s] = p.Key(apitest.Operator, s, nil)
	}
	for _, op := range list {
		t.Run(op.ID, func(t *testing.T) {
			open := op.Credentials == endpoint.NoCredential
			for _, key := range []string{"", "kpsk_not-a-key"} {
				if resp := visit(h, op, "", key); (resp.StatusCode == http.StatusUnauthorized) == open {
					t.Errorf("without a credential: got %d, open is %v", resp.StatusCode, open)
				}
			}
			for _, s := range sets {
				resp := visit(h, op, "", keys[s])
				refused := resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized
				if refused == s.Allows(op.Scope) {
					t.Errorf("with the scopes [%s]: got %d, the operation needs [%s]", s, resp.StatusCode, op.Scope)
				}
				if refused {
					if code := errorCode(t, resp); code != "insufficient_scope" {
						t.Errorf("with the scopes [%s]: got %s, want insufficient_scope", s, code)
					}
				}
			}
		})
	}
	if len(list) < 10 {
		t.Errorf("only %d operations were visited", len(list))
	}
}

func TestEveryOperationRefusesAParameterItDoesNotKnow(t *testing.T) {
	p, h, list := everyOperation()
	key := p.Key(apitest.Operator, auth.All, nil)
	for _, op := range list {
		resp := visit(h, op, "?no-such-parameter=1", key)
		if code := errorCode(t, resp); resp.StatusCode != http.StatusBadRequest || code != "validation_error" {
			t.Errorf("%s: got %d %s, want 400 validation_error", op.ID, resp.StatusCode, code)
		}
	}
}

func TestEveryOperationOfASunsetVersionIsGone(t *testing.T) {
	p, h, list := everyOperation()
	one := lifecycle.First()
	one.AnnouncedAt = p.Now().Add(-200 * 24 * time.Hour)
	one.SunsetAt = p.Now()
	if err := p.Versions.Replace([]lifecycle.Version{one, {Number: 2, Since: one.AnnouncedAt}}); err != nil {
		t.Fatal(err)
	}
	key := p.Key(apitest.Operator, auth.All, nil)
	for _, op := range list {
		if op.Since == 0 {
			continue
		}
		resp := visit(h, op, "", key)
		if code := errorCode(t, resp); resp.StatusCode != http.StatusGone || code != "version_sunset" {
			t.Errorf("%s: got %d %s, want 410 version_sunset", op.ID, resp.StatusCode, code)
		}
	}
}
