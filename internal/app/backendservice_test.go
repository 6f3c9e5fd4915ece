package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/base/id"
	"keepsake/internal/testing/await"
)

// service is a caller of the backend listener.
type service struct {
	t           *testing.T
	base        string
	name, value string // of the header with its credential
}

// backendService returns a caller with the backend secret.
func backendService(t *testing.T, r *apptest.Running) service {
	t.Helper()
	return service{t, r.BackendURL, "X-Keepsake-Backend", r.Secret}
}

// with returns the caller with an API key in place of the secret.
func (s service) with(key string) service {
	s.name, s.value = "X-API-Key", key
	return s
}

// post sends a request, checks its status and decodes the response.
func (s service) post(status int, path, body string) map[string]any {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(s.name, s.value)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil || res.StatusCode != status {
		s.t.Fatalf("POST %s %s: %d %s, want %d", path, body, res.StatusCode, text, status)
	}
	if res.Header.Get("X-API-Version") != "1" || res.Header.Get("X-RateLimit-Limit") == "" {
		s.t.Errorf("POST %s: the headers %v lack some of every response", path, res.Header)
	}
	return object
}

// twoWorkspaces creates two workspaces with a key each that has developer:manage.
func twoWorkspaces(t *testing.T, r *apptest.Running) (tenants [2]*tenant) {
	t.Helper()
	root := &tenant{t: t, base: r.URL, key: r.Key}
	for i := range tenants {
		n := &tenant{t: t, base: r.URL}
		n.workspace = root.make("POST", "/api/v1/admin/workspaces", fmt.Sprintf(`{"name":"workspace %d"}`, i))["id"].(string)
		made := root.make("POST", "/api/v1/developer/api-keys", fmt.Sprintf(
			`{"name":"all","scopes":["developer:manage","analytics:read"],"workspaceId":%q}`, n.workspace))
		n.key, n.keyID = made["key"].(string), made["id"].(string)
		tenants[i] = n
	}
	return tenants
}

// dailyUsed is what the tenant has used of its daily quota. The question itself is charged.
func (n *tenant) dailyUsed() float64 {
	n.t.Helper()
	return n.make("GET", "/api/v1/analytics/usage", "")["daily"].(map[string]any)["used"].(float64)
}

func TestBackendVerifyKnowsTheWorkspacesOfItsCaller(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	tenants := twoWorkspaces(t, r)
	verify := func(s service, key string) string {
		t.Helper()
		return s.post(http.StatusOK, "/verify", fmt.Sprintf(`{"key":%q,"cost":3}`, key))["code"].(string)
	}
	secret := backendService(t, r)
	before := tenants[1].dailyUsed()
	for i, n := range tenants {
		if code := verify(secret, n.key); code != "VALID" {
			t.Errorf("with the secret the key of workspace %d is %s", i, code)
		}
	}
	if used := tenants[1].dailyUsed() - before; used != 4 {
		t.Errorf("the verified key's workspace was charged %v, want 3 and the question", used)
	}
	before = tenants[0].dailyUsed()
	first := secret.with(tenants[0].key)
	if code := verify(first, tenants[1].key); code != "INVALID" {
		t.Errorf("with a key the key of another workspace is %s", code)
	}
	if used := tenants[0].dailyUsed() - before; used != 2 {
		t.Errorf("an INVALID key cost its caller %v, want one and the question", used)
	}
	if code := verify(first, tenants[0].key); code != "VALID" {
		t.Errorf("with a key the key of its workspace is %s", code)
	}
	if used := tenants[0].dailyUsed() - before; used != 6 {
		t.Errorf("a VALID key of the caller's workspace: charged %v in all, want 2, 3 and the question", used)
	}
	if code := verify(secret, "kpsk_nonsense"); code != "INVALID" {
		t.Errorf("nonsense is %s", code)
	}
}

func TestReportedUsageIsInQuotasAndAnalytics(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	n := twoWorkspaces(t, r)[0]
	report := func(status int, s service, items ...string) map[string]any {
		t.Helper()
		return s.post(status, "/usage", `{"items":[`+strings.Join(items, ",")+`]}`)
	}
	now := time.Now().UTC()
	item := func(id, keyID string, status, count int, at time.Time) string {
		return fmt.Sprintf(`{"id":%q,"keyId":%q,"route":"GET /orders/{id}","status":%d,"count":%d,"at":%q}`, id, keyID, status, count, at.Format(time.RFC3339))
	}
	before := n.dailyUsed()
	items := []string{
		item("a", n.keyID, 200, 10, now), item("b", n.keyID, 500, 5, now.Add(-time.Hour)),
		item("c", n.keyID, 200, 1, now.Add(-25*time.Hour)), item("d", id.New(id.APIKey), 200, 1, now), `{"id":"e"}`, `7`,
	}
	got := report(200, backendService(t, r), items...)
	if got["accepted"] != 2.0 || got["duplicates"] != 0.0 {
		t.Errorf("got %v, want two accepted", got)
	}
	var fields []string
	for _, e := range got["errors"].([]any) {
		e := e.(map[string]any)
		fields = append(fields, fmt.Sprint(e["index"], " ", e["field"], " ", e["issue"]))
	}
	if got, want := strings.Join(fields, ", "), "2 items[2].at expired, 3 items[3].keyId invalid, 4 items[4].keyId required, 5 items[5] type"; got != want {
		t.Errorf("errors: %s, want %s", got, want)
	}
	if got := report(200, backendService(t, r).with(n.key), items[:2]...); got["accepted"] != 0.0 || got["duplicates"] != 2.0 {
		t.Errorf("sent again: %v", got)
	}
	if used := n.dailyUsed() - before; used != 16 {
		t.Errorf("the quota lost %v, want 15 and the question", used)
	}
	await.Until(t, "the numbers are flushed", func() bool {
		series := n.make("GET", "/api/v1/analytics/summary?window=24h&filter=surface:backend&filter=route:/orders/%7Bid%7D", "")
		return series["requests"] == 15.0 && series["errors"] == 5.0
	})
	report(400, backendService(t, r))
	report(401, backendService(t, r).with("kpsk_nonsense"), items[0])
}

func TestBackendListenerOfOtherMachinesNeedsTheSecret(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t, apptest.With(func(c *config.Config) {
		c.BackendListen, c.Backend.Secret = "0.0.0.0:0", "a secret of the test" // both addresses of this machine
	}))
	for _, probe := range []string{"/livez", "/readyz"} {
		if status, text := get(t, http.DefaultClient, r.BackendURL+probe, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", probe, status, text)
		}
	}
	s := backendService(t, r)
	body := fmt.Sprintf(`{"key":%q}`, r.Key)
	s.with(r.Key).post(http.StatusUnauthorized, "/verify", body)
	s.value = "another secret"
	s.post(http.StatusUnauthorized, "/verify", body)
	s.value = "a secret of the test"
	if got := s.post(http.StatusOK, "/verify", body); got["code"] != "VALID" {
		t.Errorf("got %v", got)
	}
}

func TestReadinessHasNumbersForMachines(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	_, text := get(t, http.DefaultClient, r.BackendURL+"/readyz", "")
	var body struct {
		Status string
		Checks map[string]struct {
			Status    string
			Ms        *float64
			FreeBytes *int64
			Behind    *int64 `json:"changesBehind"`
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"storage", "writes", "index", "usage", "disk", "clock", "redis"} {
		if c, ok := body.Checks[name]; !ok || c.Status == "" || c.Status == "failed" {
			t.Errorf("the check %s is %+v in %s", name, c, text)
		}
	}
	if body.Checks["storage"].Ms == nil || body.Checks["index"].Behind == nil || body.Checks["disk"].FreeBytes == nil {
		t.Errorf("numbers are missing in %s", text)
	}
}
