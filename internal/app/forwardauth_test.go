package app_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

// judged is what /forward-auth answers.
func judged(t *testing.T, p *apptest.Running, query, key, from string) (status int, code string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.BackendURL+"/forward-auth?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	req.Header.Set("X-Forwarded-For", from)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var failure struct{ Error string }
		if err := json.NewDecoder(res.Body).Decode(&failure); err != nil {
			t.Fatal(err)
		}
		code = failure.Error
	}
	return res.StatusCode, code, res.Header
}

// behindLoopback trusts the proxies of this machine.
func behindLoopback(c *config.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
}

func TestForwardAuthAgreesWithVerify(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC))
	p := apptest.Start(t, apptest.With(behindLoopback), apptest.Clock(clock.Now))
	c, ctx := operatorOf(t, p), t.Context()
	create := func(k client.NewAPIKey) *client.CreatedAPIKey {
		t.Helper()
		k.Name = "judged"
		if k.Scopes == nil {
			k.Scopes = []string{"read"}
		}
		created, err := c.CreateAPIKey(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	two, soon := int64(2), clock.Now().Add(time.Second)
	live, expired := create(client.NewAPIKey{}), create(client.NewAPIKey{ExpiresAt: &soon})
	placed := create(client.NewAPIKey{AllowedIPs: []string{"203.0.113.0/24"}})
	slow := create(client.NewAPIKey{RateLimit: &client.NewRateLimit{RequestsPerMinute: 2}})
	few := create(client.NewAPIKey{Quota: &client.Quota{Daily: &two}})
	bound := create(client.NewAPIKey{Scopes: []string{"admin"}, SubjectID: "person-7"})
	disabled, revoked := create(client.NewAPIKey{}), create(client.NewAPIKey{})
	if _, err := c.ChangeAPIKey(ctx, disabled.ID, client.APIKeyChange{Disabled: client.To(true)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RevokeAPIKey(ctx, revoked.ID, ""); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Second)

	want := map[string][]string{ // the codes of the problems for each code of a verification
		"VALID": {""}, "INVALID": {"invalid_api_key"}, "EXPIRED": {"api_key_expired"}, "REVOKED": {"api_key_revoked"}, "DISABLED": {"api_key_disabled"},
		"INSUFFICIENT_SCOPE": {"insufficient_scope"}, "IP_NOT_ALLOWED": {"ip_not_allowed"},
		"RATE_LIMITED": {"rate_limit_exceeded"}, "QUOTA_EXCEEDED": {"rate_limit_exceeded"},
	}
	statuses := map[string]int{"": 200, "insufficient_scope": 403, "ip_not_allowed": 403, "rate_limit_exceeded": 429}
	seen := map[string]bool{}
	for _, test := range []struct{ name, key, scope, from string }{
		{"a live key", live.Key, "read", "198.51.100.7"},
		{"no key", "kpsk_wrong", "read", "198.51.100.7"},
		{"an expired key", expired.Key, "read", "198.51.100.7"},
		{"a disabled key", disabled.Key, "read", "198.51.100.7"},
		{"a revoked key", revoked.Key, "read", "198.51.100.7"},
		{"a missing scope", live.Key, "write", "198.51.100.7"},
		{"a bound key that is to administer", bound.Key, "admin", "198.51.100.7"},
		{"an allowed address", placed.Key, "read", "203.0.113.9"},
		{"another address", placed.Key, "read", "198.51.100.7"},
		{"another address and a missing scope", placed.Key, "write", "198.51.100.7"},
		{"too few requests in the minute", slow.Key, "read", "198.51.100.7"},
		{"too few requests in the day", few.Key, "read", "198.51.100.7"},
	} {
		no := false
		v, err := c.VerifyAPIKey(ctx, client.Inquiry{Key: test.key, RequiredScopes: []string{test.scope}, Cost: 3, Consume: &no, IP: test.from})
		if err != nil {
			t.Fatal(err)
		}
		seen[v.Code] = true
		status, code, _ := judged(t, p, "cost=3&scope="+test.scope, test.key, test.from)
		wantStatus := statuses[code]
		if wantStatus == 0 {
			wantStatus = 401
		}
		if !slices.Contains(want[v.Code], code) || status != wantStatus {
			t.Errorf("%s: /verify says %s and /forward-auth %d %s", test.name, v.Code, status, code)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("the keys have the codes %v, want all of %v", seen, want)
	}
}

func TestForwardAuthIsUsageOfTheJudgedKey(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(behindLoopback))
	n := newTenant(t, p, "alpha", "canary")
	made := n.make("POST", "/api/v1/developer/api-keys", `{"name":"judged","scopes":["read"],"quota":{"daily":20}}`)
	key, judgedID := made["key"].(string), made["id"].(string)
	for i, test := range []struct {
		query  string
		status int
	}{
		{"cost=5", 200}, {"cost=7&carry429=true", 200}, {"scope=write", 403}, {"cost=9", 429}, {"cost=9&carry429=true", 403},
	} {
		if status, code, _ := judged(t, p, test.query, key, "198.51.100.7"); status != test.status {
			t.Errorf("question %d: got %d %s, want %d", i+1, status, code, test.status)
		}
	}
	reader, _ := clientOf(t, n, `"analytics:read"`)
	q := client.UsageQuery{Window: "1h", Filter: []string{"key:" + judgedID}, GroupBy: []string{"surface", "status"}}
	await.Until(t, "the questions are counted", func() bool {
		top, err := reader.TopUsage(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, item := range top {
			got[nameOf(item.Group)] = item.Requests
		}
		return got["backend 200"] == 2 && got["backend 403"] == 1 && got["backend 429"] == 2 && len(got) == 3
	})
	await.Until(t, "the cost is stored", func() bool {
		quota, err := reader.QuotaUsage(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range quota.Keys {
			if k.KeyID == judgedID {
				return k.Daily == 12 && k.Monthly == 12
			}
		}
		return false
	})
	if _, _, h := judged(t, p, "", key, "198.51.100.7"); h.Get("X-Ratelimit-Daily-Remaining") != strconv.Itoa(20-12-1) {
		t.Errorf("%s requests of the day are left, want 7", h.Get("X-Ratelimit-Daily-Remaining"))
	}
	callers := (&tenant{t: t, base: p.URL, key: p.Key}).make("GET", "/api/v1/admin/versions/1/usage", "")
	for _, c := range callers["items"].([]any) {
		if c.(map[string]any)["keyId"] == judgedID {
			t.Errorf("a judged key is listed as a caller of version 1: %v", c)
		}
	}
}
