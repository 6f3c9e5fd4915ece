package conformance

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// allScopes are the scopes of §5.3, in its order.
var allScopes = []string{"read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"}

// issues are the values of details.issue (decisions, A).
var issues = []string{
	"required", "unknown", "duplicate", "type", "format", "too_short", "too_long", "too_small", "too_large",
	"not_allowed", "unsupported", "reused", "conflict", "expired", "invalid",
}

// codes are the possible error codes of each status (decisions, M).
var codes = map[int][]string{
	400: {"validation_error"},
	401: {
		"missing_credentials", "invalid_api_key", "api_key_expired", "api_key_revoked", "api_key_disabled", "invalid_token",
		"token_expired", "token_reused", "invalid_credentials",
	},
	403: {"insufficient_scope", "ip_not_allowed", "workspace_suspended", "origin_not_allowed"},
	404: {"not_found", "version_not_found"},
	405: {"method_not_allowed"},
	409: {"conflict", "limit_reached", "rotation_in_progress", "idempotency_in_progress"},
	410: {"version_sunset"},
	412: {"revision_mismatch"},
	413: {"payload_too_large"},
	415: {"unsupported_media_type"},
	429: {"rate_limit_exceeded"},
	500: {"internal_error"},
	503: {"unavailable"},
}

var (
	requestIDs = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
	madeIDs    = regexp.MustCompile(`^req_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
)

// keepsEveryPromise checks what holds for every response. The suite calls it for each response.
func (a *answer) keepsEveryPromise() {
	if a.status >= 500 {
		a.broken("a server failure")
	}
	a.rateHeaders()
	a.commonHeaders()
	if a.call.method == http.MethodHead && len(a.body) > 0 {
		a.broken("HEAD has a body")
	}
	asItIs := a.header.Get("Content-Encoding") == ""
	if len(a.body) > 0 && asItIs && strings.HasPrefix(a.header.Get("Content-Type"), "application/json") && a.value == nil {
		a.broken("the body says it is JSON and is not")
	}
	if a.status >= 400 && a.call.method != http.MethodHead && a.text("jsonrpc") == "" { // an error of JSON-RPC has another form
		a.errorBody()
	}
}

// rateHeaders checks §8: five headers on every response.
func (a *answer) rateHeaders() {
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Daily-Remaining", "X-RateLimit-Monthly-Remaining",
	} {
		if values := a.header.Values(name); len(values) != 1 || a.number(name) < 0 {
			a.broken("header %s is %q, want one whole number", name, values)
		}
	}
	if a.number("X-RateLimit-Remaining") > a.number("X-RateLimit-Limit") {
		a.broken("X-RateLimit-Remaining is over X-RateLimit-Limit")
	}
	// The window has 60 s and ends after the response was written. A second is for rounding. The Date header removes the
	// difference between the two clocks.
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		a.broken("header Date is %q", a.header.Get("Date"))
		return
	}
	// The header shows the window in which the request was charged. A response that takes seconds can come after its end.
	left := a.number("X-RateLimit-Reset") - date.Add(a.call.check.suite.moved()).Unix()
	if took := int64(a.came.Sub(a.sent) / time.Second); left < -took || left > 61 {
		a.broken("X-RateLimit-Reset is %d s after Date, want 0 to 61 in an answer after %s", left, a.came.Sub(a.sent).Round(time.Millisecond))
	}
}

// commonHeaders checks the version, the request ID and the headers of docs/spec/conventions.md.
func (a *answer) commonHeaders() {
	path, _, _ := strings.Cut(a.call.path, "?")
	if want := a.call.check.suite.versionOf(a.call); (strings.HasPrefix(path, "/api/") || a.call.surfaced()) && !slices.Equal(a.header.Values("X-API-Version"), []string{want}) {
		a.broken("header X-API-Version is %q, want %s, once", a.header.Values("X-API-Version"), want)
	}
	given, got := a.call.header.Get("X-Request-Id"), a.header.Get("X-Request-Id")
	if requestIDs.MatchString(given) {
		a.head("X-Request-Id", given)
	} else if !madeIDs.MatchString(got) {
		a.broken("header X-Request-Id is %q, want req_ and 26 characters", got)
	}
	a.head("X-Content-Type-Options", "nosniff")
	if a.authenticated(path) {
		a.head("Cache-Control", "no-store")
	}
	for _, name := range []string{"X-Api-Version", "Content-Type", "X-Request-Id", "Location", "Etag"} {
		if len(a.header.Values(name)) > 1 {
			a.broken("header %s is there %d times", name, len(a.header.Values(name)))
		}
	}
}

// authenticated reports whether the response is for an authenticated caller: a credential was sent to an operation that
// takes one, and was accepted, or the response contains one.
func (a *answer) authenticated(path string) bool {
	switch {
	case a.call.method == http.MethodOptions || a.status == http.StatusUnauthorized:
		return false
	case strings.HasPrefix(path, "/api/auth/"):
		return true
	case oneOf(aiRemember+"|"+aiRecall+"|"+aiContext+"|"+toolsPath, path):
	case a.call.backend:
		takesKey := oneOf("/verify|/usage|/forward-auth", path)
		return a.call.header.Get(backendHeader) != "" || takesKey && a.call.header.Get("X-API-Key") != ""
	case strings.HasSuffix(path, "/openapi.json") || !strings.HasPrefix(path, "/api/v"):
		return false
	}
	return a.call.header.Get("X-API-Key") != "" || a.call.header.Get("Authorization") != ""
}

// errorBody checks §2.3 and the codes of docs/spec/errors.md.
func (a *answer) errorBody() {
	if got := a.header.Get("Content-Type"); got != "application/json" && got != "application/json; charset=utf-8" {
		a.broken("Content-Type of an error is %q, want application/json", got)
	}
	status := a.status
	if a.header.Get(carried) == "429" {
		status = http.StatusTooManyRequests
	}
	if !slices.Contains(codes[status], a.text("error")) {
		a.broken("error is %q, want one of %v for %d", a.text("error"), codes[status], a.status)
	}
	if a.text("message") == "" {
		a.broken("message is empty")
	}
	if a.text("requestId") != a.header.Get("X-Request-Id") {
		a.broken("requestId is %q, want the header's %q", a.text("requestId"), a.header.Get("X-Request-Id"))
	}
	if details, ok := a.at("details"); ok {
		if m, isObject := details.(map[string]any); !isObject || len(m) == 0 {
			a.broken("details is %s, want an object with members or none", show(details))
		}
	}
	switch a.status {
	case http.StatusBadRequest:
		if a.text("details.field") == "" || !slices.Contains(issues, a.text("details.issue")) {
			a.broken("want details.field and an issue of docs/spec/conventions.md")
		}
	case http.StatusUnauthorized:
		if a.header.Get("WWW-Authenticate") == "" {
			a.broken("a 401 without WWW-Authenticate")
		}
	case http.StatusMethodNotAllowed:
		if a.header.Get("Allow") == "" {
			a.broken("a 405 without Allow")
		}
	case http.StatusTooManyRequests:
		a.rateLimitBody()
	case http.StatusServiceUnavailable:
		if a.number("Retry-After") < 1 {
			a.broken("a 503 without Retry-After")
		}
	}
}

// rateLimitBody checks §2.4: exactly its four fields, details.policy and requestId.
func (a *answer) rateLimitBody() {
	a.has(map[string]any{"error": "rate_limit_exceeded", "remaining": 0})
	reset, after := a.integer("resetTimeMs"), a.number("Retry-After")
	if reset < 0 {
		a.broken("resetTimeMs is no whole number of milliseconds")
		return
	}
	if want := max(1, (reset+999)/1000); after != want {
		a.broken("Retry-After is %d, want max(1, ceil(resetTimeMs/1000)) = %d", after, want)
	}
	if !strings.Contains(a.text("message"), strconv.FormatInt(after, 10)) {
		a.broken("the message does not say the %d seconds of Retry-After", after)
	}
	policies := []string{"tier_minute", "key_minute", "daily_quota", "monthly_quota", "anonymous", "login"}
	if !slices.Contains(policies, a.text("details.policy")) {
		a.broken("details.policy is none of %v", policies)
	}
	members, _ := a.value.(map[string]any)
	for name := range members {
		if !slices.Contains([]string{"error", "message", "remaining", "resetTimeMs", "details", "requestId"}, name) {
			a.broken("a 429 has the member %s, which §2.4 does not", name)
		}
	}
}

// moment returns a time field, or the zero time.
func (a *answer) moment(path string) time.Time {
	t, err := time.Parse(time.RFC3339, a.text(path))
	if err != nil {
		a.broken("%s is %q, want a time", path, a.text(path))
	}
	return t
}

// withoutMoments returns the body without what differs from request to request, to compare two errors.
func (a *answer) withoutMoments() string {
	m, ok := a.value.(map[string]any)
	if !ok {
		return string(a.body)
	}
	rest := make(map[string]any, len(m))
	for name, v := range m {
		if name != "requestId" {
			rest[name] = v
		}
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return string(a.body)
	}
	return string(text)
}
