package api_test

import (
	"crypto/rand"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

func number(t *testing.T, a answer, header string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.Header.Get(header), 10, 64)
	if err != nil {
		t.Fatalf("%s is %q, want a number", header, a.Header.Get(header))
	}
	return n
}

// Each request of this test is wrong in every way that is still left, so that the answer tells which check came first.
func TestTheOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Put(account.Workspace{ID: "wsp_suspended", Tier: "tiny", Suspended: true})
	onlyFrom := func(k *apikey.APIKey) { k.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }
	elsewhere := b.Key("wsp_suspended", auth.None, onlyFrom)
	suspended := b.Key("wsp_suspended", auth.None, nil)
	spent := b.Key(apitest.Tiny, auth.None, nil)
	for range 3 {
		b.do("GET", "/api/v1/ping", "", "X-API-Key", spent).want(t, 200, "")
	}
	unscoped := b.Key(apitest.Guest, auth.Read, nil)
	writer := b.Key(apitest.Guest, auth.Write, nil)
	const twoWrongs = `{"text":1,"what":2}`

	b.do("PUT", "/api/v9/notes", twoWrongs, "X-API-Key", "bad").want(t, 404, "version_not_found")
	b.do("PUT", "/api/nothing", twoWrongs, "X-API-Key", "bad", "Accept-Version", "9").want(t, 400, "validation_error")
	b.do("PUT", "/api/v1/nothing", twoWrongs, "X-API-Key", "bad").want(t, 404, "not_found")
	b.do("PUT", "/api/v1/notes", twoWrongs, "X-API-Key", "bad").want(t, 405, "method_not_allowed")
	b.do("POST", "/api/v1/notes", twoWrongs).want(t, 401, "missing_credentials")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", "bad").want(t, 401, "invalid_api_key")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", elsewhere).want(t, 403, "ip_not_allowed")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", suspended).want(t, 403, "workspace_suspended")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", spent).want(t, 429, "rate_limit_exceeded")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", unscoped).want(t, 403, "insufficient_scope")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", writer, "Content-Type", "text/plain").want(t, 415, "unsupported_media_type")
	b.do("POST", "/api/v1/notes", twoWrongs, "X-API-Key", writer).want(t, 400, "validation_error")
}

func TestRequestOverTheLimitGetsRetryAfter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Tiny, auth.Read, nil)
	for left := int64(2); left >= 0; left-- {
		a := b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
		if got := number(t, a, "X-RateLimit-Remaining"); got != left {
			t.Errorf("X-RateLimit-Remaining is %d, want %d", got, left)
		}
	}
	a := b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 429, "rate_limit_exceeded")
	wait := number(t, a, "Retry-After")
	ms, _ := a.object["resetTimeMs"].(float64)
	if a.object["remaining"] != 0.0 || wait < 1 || wait != max(1, (int64(ms)+999)/1000) {
		t.Errorf("body %s with Retry-After %d do not agree", a.text, wait)
	}
	if policy := a.details("policy"); policy != "key_minute" && policy != "tier_minute" {
		t.Errorf("policy is %v, want a minute's", policy)
	}
	if len(a.object) != 6 {
		t.Errorf("body is %s, want error, message, remaining, resetTimeMs, details and requestId", a.text)
	}
	if got := number(t, a, "X-RateLimit-Reset"); got <= b.clock.Now().Unix() {
		t.Errorf("X-RateLimit-Reset is %d, now is %d", got, b.clock.Now().Unix())
	}
	b.clock.Move(time.Duration(wait) * time.Second)
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	// Five of the day are spent: the quota refuses now, and the minute's numbers stay what they are.
	a = b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 429, "rate_limit_exceeded")
	if a.details("policy") != "daily_quota" || number(t, a, "X-RateLimit-Remaining") != 1 || number(t, a, "X-RateLimit-Daily-Remaining") != 0 {
		t.Errorf("got %s with %v, want the day's quota and one request of the minute left", a.text, a.Header)
	}
}

func TestOurFailuresAreNotCharged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Tiny, auth.Read, nil)
	for _, path := range []string{"/api/v1/fails", "/api/v1/panics", "/api/v1/fails", "/api/v1/panics"} {
		a := b.do("GET", path, "", "X-API-Key", key).want(t, 500, "internal_error")
		if got := number(t, a, "X-RateLimit-Remaining"); got != 3 {
			t.Errorf("%s: X-RateLimit-Remaining is %d, want 3", path, got)
		}
	}
}

func TestRefusedRequestsAreChargedToTheAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) {
		o.Addresses = limit.NewAddresses(limit.Allowance{PerMinute: 4, Daily: 100, Monthly: 1000}, 16)
	})
	key := b.Key(apitest.Guest, auth.Read, nil)
	b.do("GET", "/api/v1/ping", "").want(t, 401, "")
	b.do("GET", "/api/v1/nothing", "").want(t, 404, "")
	b.do("PUT", "/api/v1/ping", "").want(t, 405, "")
	a := b.do("GET", "/api/v1/nothing", "", "X-API-Key", key).want(t, 404, "")
	if number(t, a, "X-RateLimit-Limit") != 600 || number(t, a, "X-RateLimit-Remaining") != 600 || a.Header.Get("X-RateLimit-Key-Limit") != "600" {
		t.Errorf("the 404 of a valid key has the numbers %v, want its own, unspent", a.Header)
	}
	for _, path := range []string{"/api/v1/ping", "/api/v1/nothing", "/api/v9/ping"} {
		a := b.do("GET", path, "").want(t, 429, "rate_limit_exceeded")
		if a.details("policy") != "anonymous" {
			t.Errorf("%s: policy is %v, want anonymous", path, a.details("policy"))
		}
	}
	if a := b.do("PUT", "/api/v1/ping", "").want(t, 429, ""); a.Header.Get("Allow") != "" {
		t.Error("a spent address is still told which methods a path has")
	}
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	b.do("GET", "/api/nothing", "", "Accept-Version", "9").want(t, 400, "validation_error")
	b.do("GET", "/openapi.json", "").want(t, 200, "")
	b.do("OPTIONS", "/api/v1/ping", "").want(t, 204, "")
	b.do("GET", "/elsewhere", "").want(t, 404, "")
}

func TestUnknownKeysAreLookedUpWithinTheBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) {
		o.Addresses = limit.NewAddresses(limit.Allowance{PerMinute: 4, Daily: 100, Monthly: 1000}, 16)
	})
	unknown := func() string { return apikey.Generate(rand.Reader) }
	for _, path := range []string{"/api/v1/nothing", "/elsewhere", "/openapi.json"} {
		b.do("GET", path, "", "X-API-Key", unknown())
	}
	if n := b.Store.KeyReads(); n != 0 {
		t.Errorf("requests that no key is needed for had the store asked %d times", n)
	}
	b.do("GET", "/api/v1/ping", "", "X-API-Key", unknown()).want(t, 401, "invalid_api_key")
	if a := b.do("GET", "/api/open", "", "X-API-Key", unknown()).want(t, 200, ""); number(t, a, "X-RateLimit-Remaining") != 1 {
		t.Errorf("an open operation was charged more than once: %v", a.Header)
	}
	b.do("GET", "/api/v1/ping", "", "X-API-Key", unknown()).want(t, 401, "invalid_api_key")
	for range 10 {
		b.do("GET", "/api/v1/ping", "", "X-API-Key", unknown()).want(t, 429, "rate_limit_exceeded")
		b.do("GET", "/api/open", "", "X-API-Key", unknown()).want(t, 429, "rate_limit_exceeded")
	}
	if n := b.Store.KeyReads(); n != 3 {
		t.Errorf("the store was asked %d times, want 3: once for each request within the budget", n)
	}
}

func TestAKeyOnlyInTheStoreCostsTheAddressNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) {
		o.Addresses = limit.NewAddresses(limit.Allowance{PerMinute: 1, Daily: 100, Monthly: 1000}, 16)
	})
	for range 3 {
		b.do("GET", "/api/v1/ping", "", "X-API-Key", b.StoredKey(apitest.Guest, auth.Read)).want(t, 200, "")
	}
	b.do("GET", "/api/v1/ping", "").want(t, 401, "missing_credentials")
	b.do("GET", "/api/v1/ping", "").want(t, 429, "rate_limit_exceeded")
}

func TestAnOpenOperationRecognisesACaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Guest, auth.Read, nil)
	a := b.do("GET", "/api/open", "", "X-API-Key", key).want(t, 200, "")
	if number(t, a, "X-RateLimit-Limit") != 600 || number(t, a, "X-RateLimit-Remaining") != 599 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("with a key it got %v, want the key's numbers and no-store", a.Header)
	}
	a = b.do("GET", "/api/open", "", "X-API-Key", "kpsk_bad").want(t, 200, "")
	if number(t, a, "X-RateLimit-Limit") != 100_000 || a.Header.Get("X-RateLimit-Key-Limit") != "" {
		t.Errorf("with a bad key it got %v, want a stranger's numbers", a.Header)
	}
}

func TestAKeysEndIsAnnouncedInItsAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expires := b.clock.Now().Add(13 * 24 * time.Hour)
	key := b.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.ExpiresAt = &expires })
	if got := b.do("GET", "/api/v1/ping", "", "X-API-Key", key).Header.Get("X-API-Key-Expires"); got != "Fri, 04 Dec 2026 12:00:00 GMT" {
		t.Errorf("X-API-Key-Expires is %q, want its date", got)
	}
	later := b.clock.Now().Add(15 * 24 * time.Hour)
	key = b.Key(apitest.Guest, auth.Read, func(k *apikey.APIKey) { k.ExpiresAt = &later })
	if got := b.do("GET", "/api/v1/ping", "", "X-API-Key", key).Header.Get("X-API-Key-Expires"); got != "" {
		t.Errorf("X-API-Key-Expires is %q more than 14 days before, want none", got)
	}
}
