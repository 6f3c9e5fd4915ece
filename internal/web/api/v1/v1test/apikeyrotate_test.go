package v1test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
)

// movable is a clock that a test moves, from the moment it began.
type movable struct {
	began  time.Time
	offset atomic.Int64
}

func newMovable() *movable { return &movable{began: time.Now()} }

func (m *movable) now() time.Time       { return m.began.Add(time.Duration(m.offset.Load())) }
func (m *movable) pass(d time.Duration) { m.offset.Add(int64(d)) }

const verifyPath = "/api/v1/developer/verify"

func TestARotationTellsTheOldSecretUntilWhenItWorks(t *testing.T) {
	t.Parallel()
	clock := newMovable()
	c := start(t, apptest.Clock(clock.now))
	made := c.make(t, object{"expiresAt": clock.now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339)})
	path, old := keysPath+"/"+made.text("id"), c.as(made.text("key"))

	turned := c.do(t, "POST", path+"/rotate", object{"graceSeconds": 3600}).is(200)
	next := c.as(turned.text("key"))
	if turned.text("id") != made.text("id") || turned.text("state") != "rotating" || turned.header.Get("ETag") != `"2"` ||
		turned.text("hint") != next.key[:9] || len(turned.body["secrets"].([]any)) != 2 {
		t.Errorf("the rotated key is %v", turned.body)
	}
	until := turned.body["secrets"].([]any)[1].(object)["validUntil"].(string)
	at, err := time.Parse(time.RFC3339, until)
	if err != nil {
		t.Fatal(err)
	}
	if got := old.do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-API-Key-Rotate-By"); got != at.UTC().Format(http.TimeFormat) {
		t.Errorf("the old secret must be rotated by %q, want %s", got, until)
	}
	if got := next.do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-API-Key-Rotate-By"); got != "" {
		t.Errorf("the new secret must be rotated by %q", got)
	}
	// One budget, whichever secret is used.
	first, _ := strconv.Atoi(old.do(t, "GET", "/api/v1/health", nil).header.Get("X-RateLimit-Key-Remaining"))
	second, _ := strconv.Atoi(next.do(t, "GET", "/api/v1/health", nil).header.Get("X-RateLimit-Key-Remaining"))
	if second != first-1 {
		t.Errorf("the key has %d left by the one secret and then %d by the other", first, second)
	}
	record := c.do(t, "GET", path, nil).is(200)
	for i, s := range record.body["secrets"].([]any) {
		if s.(object)["lastUsedAt"] == nil {
			t.Errorf("secret %d was never used: %v", i, s)
		}
	}

	c.do(t, "POST", path+"/rotate", nil).fails(409, "rotation_in_progress")
	forced := c.as(c.do(t, "POST", path+"/rotate", object{"force": true, "graceSeconds": 60}).is(200).text("key"))
	old.do(t, "GET", "/api/v1/health", nil).fails(401, "invalid_api_key")
	next.do(t, "GET", "/api/v1/health", nil).is(200)
	done := c.do(t, "POST", path+"/complete-rotation", nil).is(200)
	if done.text("state") != "active" || len(done.body["secrets"].([]any)) != 1 {
		t.Errorf("the completed key is %v", done.body)
	}
	if again := c.do(t, "POST", path+"/complete-rotation", nil).is(200); again.body["revision"] != done.body["revision"] {
		t.Errorf("completing twice changed the key: %v", again.body)
	}
	next.do(t, "GET", "/api/v1/health", nil).fails(401, "invalid_api_key")

	// In its last fourteen days the key tells when it ends.
	if got := forced.do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-API-Key-Expires"); got != "" {
		t.Errorf("a month before its end the key expires %q", got)
	}
	clock.pass(17 * 24 * time.Hour)
	if got := forced.do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-API-Key-Expires"); got == "" {
		t.Error("thirteen days before its end the key tells nothing")
	}
	clock.pass(14 * 24 * time.Hour)
	forced.do(t, "GET", "/api/v1/health", nil).fails(401, "api_key_expired")
	c.do(t, "POST", path+"/rotate", object{"force": true}).fails(409, "conflict")
}

func TestARotationIsRefusedWhereItIsWrong(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.make(t, object{"scopes": []string{"admin"}})
	path := keysPath + "/" + made.text("id")
	for _, bad := range []struct {
		body         object
		field, issue string
	}{
		{object{"graceSeconds": -1}, "graceSeconds", "too_small"},
		{object{"graceSeconds": 2592001}, "graceSeconds", "too_large"},
		{object{"graceSeconds": "1"}, "graceSeconds", "type"},
		{object{"force": 1}, "force", "type"},
		{object{"grace": 1}, "grace", "unknown"},
	} {
		c.do(t, "POST", path+"/rotate", bad.body).fails(400, "validation_error", bad.field, bad.issue)
	}
	c.do(t, "POST", path+"/rotate", nil, "If-Match", `"7"`).fails(412, "revision_mismatch")
	c.do(t, "POST", keysPath+"/key_01arz3ndektsv4rrffq69g5fav/rotate", nil).fails(404, "not_found")

	lesser := c.as(c.make(t, object{"scopes": []string{"developer:manage", "read"}}).text("key"))
	lesser.do(t, "POST", path+"/rotate", nil).fails(403, "insufficient_scope")
	lesser.do(t, "POST", path+"/complete-rotation", nil).fails(403, "insufficient_scope")
	own := lesser.do(t, "GET", "/api/v1/developer/whoami", nil).is(200).text("id")
	self := lesser.do(t, "POST", keysPath+"/"+own+"/rotate", object{"graceSeconds": 0}).is(200)
	lesser.do(t, "GET", "/api/v1/health", nil).fails(401, "invalid_api_key")
	c.as(self.text("key")).do(t, "GET", "/api/v1/health", nil).is(200)

	c.do(t, "PATCH", path, object{"disabled": true}).is(200)
	c.do(t, "POST", path+"/rotate", nil).fails(409, "conflict")
	c.do(t, "POST", path+"/revoke", nil).is(200)
	c.do(t, "POST", path+"/rotate", nil).fails(409, "conflict")
	c.do(t, "POST", path+"/complete-rotation", nil).fails(409, "conflict")
}

func TestARepeatedRotationIsOne(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.make(t, nil)
	path := keysPath + "/" + made.text("id") + "/rotate"
	first := c.do(t, "POST", path, object{"graceSeconds": 60}, "Idempotency-Key", "rotate-it-once").is(200)
	again := c.do(t, "POST", path, object{"graceSeconds": 60}, "Idempotency-Key", "rotate-it-once").is(200)
	if again.header.Get("Idempotent-Replayed") != "true" || again.body["key"] != nil || again.body["revision"] != first.body["revision"] {
		t.Errorf("the retry answers %v %v", again.header, again.body)
	}
	c.as(first.text("key")).do(t, "GET", "/api/v1/health", nil).is(200)
	c.do(t, "POST", path, object{"graceSeconds": 61}, "Idempotency-Key", "rotate-it-once").fails(400, "validation_error", "Idempotency-Key", "reused")
}

func TestAVerificationCostsTheJudgedKey(t *testing.T) {
	t.Parallel()
	c := start(t, apptest.Clock(newMovable().now)) // which stands still, so that no minute ends between two charges
	caller := c.as(c.make(t, object{"scopes": []string{"developer:manage"}, "rateLimit": object{"requestsPerMinute": 2}}).text("key"))
	judged := c.make(t, object{"scopes": []string{"read", "memory:read"}, "rateLimit": object{"requestsPerMinute": 10}, "metadata": object{"plan": "gold"}})
	ask := func(body object) *answer {
		t.Helper()
		body["key"] = judged.text("key")
		return caller.do(t, "POST", verifyPath, body).is(200)
	}
	for range 5 { // the caller could afford two
		a := ask(object{"consume": false})
		if a.body["valid"] != true || a.text("code") != "VALID" || a.text("keyId") != judged.text("id") || a.text("workspaceId") != c.Workspace ||
			a.text("name") != "a key" || fmt.Sprint(a.body["scopes"]) != "[read memory:read]" || a.body["metadata"].(object)["plan"] != "gold" {
			t.Errorf("the answer is %v", a.body)
		}
	}
	left := func(a *answer) any { return a.body["rateLimit"].(object)["remaining"] }
	if got := left(ask(object{"cost": 4})); got != 6.0 {
		t.Errorf("after paying 4 of 10 there are %v left", got)
	}
	if a := ask(object{"cost": 7}); a.text("code") != "RATE_LIMITED" || a.body["valid"] != false || left(a) != 6.0 {
		t.Errorf("asked for 7 of 6: %v", a.body)
	}
	if a := ask(object{"requiredScopes": []string{"read", "write"}}); a.text("code") != "INSUFFICIENT_SCOPE" || left(a) != 6.0 {
		t.Errorf("without a scope: %v", a.body)
	}
	if a := caller.do(t, "POST", verifyPath, object{"key": "kpsk_nobody"}).is(200); a.text("code") != "INVALID" || a.body["keyId"] != nil || a.body["quota"] != nil {
		t.Errorf("nobody's key: %v", a.body)
	}
	if got := caller.do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-RateLimit-Key-Remaining"); got != "0" {
		t.Errorf("the caller has %s of 2 left, want 0: it paid for the key that is nobody's, and for this request", got)
	}
	if got := c.as(judged.text("key")).do(t, "GET", "/api/v1/health", nil).is(200).header.Get("X-RateLimit-Key-Remaining"); got != "5" {
		t.Errorf("the judged key has %s left after its own first request, want 5", got)
	}
}

func TestWrongVerificationIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, bad := range []struct {
		body         object
		field, issue string
	}{
		{object{}, "key", "required"},
		{object{"key": "x", "cost": 0}, "cost", "too_small"},
		{object{"key": "x", "cost": 1000001}, "cost", "too_large"},
		{object{"key": "x", "requiredScopes": []string{"read", "fly"}}, "requiredScopes[1]", "not_allowed"},
		{object{"key": "x", "ip": "somewhere"}, "ip", "format"},
		{object{"key": "x", "workspaceId": c.Workspace}, "workspaceId", "unknown"},
	} {
		c.do(t, "POST", verifyPath, bad.body).fails(400, "validation_error", bad.field, bad.issue)
	}
	reader := c.as(c.make(t, nil).text("key"))
	reader.do(t, "POST", verifyPath, object{"key": "x"}).fails(403, "insufficient_scope")
}
