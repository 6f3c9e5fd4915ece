package v1test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/app/apptest"
)

const keysPath = "/api/v1/developer/api-keys"

// object is a JSON object as a client sees it.
type object = map[string]any

// client calls a running program with a key.
type client struct {
	*apptest.Running
	key string
}

func start(t *testing.T, options ...apptest.Option) client {
	t.Helper()
	r := apptest.Start(t, options...)
	return client{r, r.Key}
}

func (c client) as(key string) client { return client{c.Running, key} }

// answer is what came back.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   object
}

// do sends a request; header is name and value in turn.
func (c client) do(t *testing.T, method, path string, body any, header ...string) *answer {
	t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, sent)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", c.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := &answer{t: t, what: method + " " + path, status: response.StatusCode, header: response.Header}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			t.Fatalf("%s answered %q", a.what, text)
		}
	}
	return a
}

func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s answered %d %v, want %d", a.what, a.status, a.body, status)
	}
	return a
}

// fails wants an error with a code, and where given with a field and an issue.
func (a *answer) fails(status int, code string, fieldAndIssue ...string) {
	a.t.Helper()
	a.is(status)
	details, _ := a.body["details"].(object)
	got := []any{a.body["error"], details["field"], details["issue"]}
	for i, want := range append([]string{code}, fieldAndIssue...) {
		if got[i] != want {
			a.t.Errorf("%s answered %v, want %s %v", a.what, a.body, code, fieldAndIssue)
			return
		}
	}
}

func (a *answer) text(name string) string {
	a.t.Helper()
	s, ok := a.body[name].(string)
	if !ok {
		a.t.Fatalf("%s has no text %q: %v", a.what, name, a.body)
	}
	return s
}

func (c client) make(t *testing.T, more object) *answer {
	t.Helper()
	body := object{"name": "a key", "scopes": []string{"read"}}
	maps.Copy(body, more)
	return c.do(t, "POST", keysPath, body).is(201)
}

var (
	times = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	texts = regexp.MustCompile(`^kpsk_[0-9A-Za-z]{36}$`)
)

func TestNewKeyShowsItsTextOnce(t *testing.T) {
	t.Parallel()
	c := start(t)
	a := c.make(t, object{
		"expiresAt": "2099-01-01T01:30:00+01:30", "rateLimit": object{"requestsPerMinute": 7}, "quota": object{"daily": 100},
		"subjectId": "person-7", "agentId": "agent:1@x", "allowedIps": []string{"0.0.0.0/0", "2001:db8::1/32"}, "metadata": object{"team": "search", "n": 1.5, "on": true},
	})
	id, text, made := a.text("id"), a.text("key"), a.text("createdAt")
	if !texts.MatchString(text) || !times.MatchString(made) {
		t.Errorf("the key is %q, made at %q", text, made)
	}
	me := c.do(t, "GET", "/api/v1/developer/whoami", nil).is(200)
	want := object{
		"id": id, "name": "a key", "hint": text[:9], "scopes": []any{"read"}, "state": "active", "expiresAt": "2099-01-01T00:00:00Z",
		"rateLimit": object{"requestsPerMinute": 7.0, "inherited": false}, "quota": object{"daily": 100.0, "monthly": nil},
		"subjectId": "person-7", "agentId": "agent:1@x", "allowedIps": []any{"0.0.0.0/0", "2001:db8::/32"},
		"metadata": object{"team": "search", "n": 1.5, "on": true}, "createdAt": made, "createdBy": me.text("id"), "updatedAt": made,
		"lastUsedAt": nil, "secrets": []any{object{"hint": text[:9], "createdAt": made, "validUntil": nil, "lastUsedAt": nil}},
		"revokedAt": nil, "revokeReason": nil, "revision": 1.0,
	}
	read := c.do(t, "GET", keysPath+"/"+id, nil).is(200)
	if diff := cmp.Diff(want, read.body); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	want["key"] = text
	if diff := cmp.Diff(want, a.body); diff != "" {
		t.Errorf("the created record (-want +got):\n%s", diff)
	}
	if a.header.Get("Location") != keysPath+"/"+id || a.header.Get("ETag") != `"1"` || read.header.Get("ETag") != `"1"` {
		t.Errorf("the headers are %v and %v", a.header, read.header)
	}
	c.as(text).do(t, "GET", "/api/v1/health", nil).is(200)
}

func TestOmittedFieldsHaveDefaults(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, body := range []object{nil, {
		"expiresAt": nil, "rateLimit": nil, "quota": nil, "subjectId": nil, "agentId": nil,
	}, {"rateLimit": object{}, "quota": object{"daily": nil}, "allowedIps": []string{}, "metadata": object{}}} {
		a := c.make(t, body)
		want := object{
			"expiresAt": nil, "rateLimit": object{"requestsPerMinute": 1e6, "inherited": true}, "quota": nil, "subjectId": nil,
			"agentId": nil, "allowedIps": []any{}, "metadata": object{},
		}
		got := object{}
		for name := range want {
			got[name] = a.body[name]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", body, diff)
		}
	}
}

func TestARepeatedCreationShowsNoKey(t *testing.T) {
	t.Parallel()
	c := start(t)
	body := object{"name": "a key", "scopes": []string{"read"}}
	first := c.do(t, "POST", keysPath, body, "Idempotency-Key", "one-and-only").is(201)
	again := c.do(t, "POST", keysPath, body, "Idempotency-Key", "one-and-only").is(201)
	if key, ok := again.body["key"]; !ok || key != nil || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeated answer has the key %v and the headers %v", key, again.header)
	}
	if again.text("id") != first.text("id") || again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("the repeated answer is of %s, want %s", again.text("id"), first.text("id"))
	}
	c.as(first.text("key")).do(t, "GET", "/api/v1/health", nil).is(200)
}

func TestBadBodiesAreRefusedByName(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, bad := range []struct {
		body         object
		field, issue string
	}{
		{object{"name": ""}, "name", "required"},
		{object{"name": " \t"}, "name", "required"},
		{object{"name": strings.Repeat("é", 121)}, "name", "too_long"},
		{object{"scopes": nil}, "scopes", "required"},
		{object{"scopes": []string{"read", "all"}}, "scopes[1]", "not_allowed"},
		{object{"allowedIps": []string{"10.0.0.1"}}, "allowedIps[0]", "format"},
		{object{"allowedIps": []string{"10.0.0.0/8", "10.0.0.0/33"}}, "allowedIps[1]", "format"},
		{object{"subjectId": ""}, "subjectId", "format"},
		{object{"agentId": "@a"}, "agentId", "format"},
		{object{"quota": object{"monthly": 0}}, "quota.monthly", "too_small"},
		{object{"rateLimit": object{"requestsPerMinute": 1_000_001}}, "rateLimit.requestsPerMinute", "too_large"},
		{object{"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt", "expired"},
		{object{"metadata": object{"deep": []int{1}}}, "metadata.deep", "type"},
		{object{"state": "active"}, "state", "unknown"},
	} {
		body := object{"name": "a key", "scopes": []string{"read"}}
		maps.Copy(body, bad.body)
		c.do(t, "POST", keysPath, body).fails(400, "validation_error", bad.field, bad.issue)
	}
	if items := c.do(t, "GET", keysPath, nil).is(200).body["items"].([]any); len(items) != 1 {
		t.Errorf("after refused creations there are %d keys, want the first one", len(items))
	}
}

func TestPatchChangesOnlyNamedFields(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.make(t, object{"quota": object{"daily": 5, "monthly": 50}, "metadata": object{"a": "b"}, "rateLimit": object{"requestsPerMinute": 7}, "expiresAt": "2099-01-01T00:00:00Z"})
	path := keysPath + "/" + made.text("id")
	want := maps.Clone(made.body)
	delete(want, "key")
	for _, step := range []struct{ body, changes object }{
		{object{}, nil},
		{object{"name": "renamed"}, object{"name": "renamed"}},
		{object{"scopes": []string{"write", "read"}}, object{"scopes": []any{"read", "write"}}},
		{object{"quota": object{"daily": 6}}, object{"quota": object{"daily": 6.0, "monthly": 50.0}}},
		{object{"quota": object{"daily": nil}}, object{"quota": object{"daily": nil, "monthly": 50.0}}},
		{object{"quota": object{"daily": 7, "monthly": nil}}, object{"quota": object{"daily": 7.0, "monthly": nil}}},
		{object{"quota": object{}, "rateLimit": object{}, "metadata": object{}}, nil},
		{object{"quota": nil, "metadata": object{"c": 1}}, object{"quota": nil, "metadata": object{"a": "b", "c": 1.0}}},
		{object{"metadata": object{"a": nil}}, object{"metadata": object{"c": 1.0}}},
		{object{"metadata": nil}, object{"metadata": object{}}},
		{object{"rateLimit": nil, "expiresAt": nil}, object{"rateLimit": object{"requestsPerMinute": 1e6, "inherited": true}, "expiresAt": nil}},
		{object{"rateLimit": object{"requestsPerMinute": 3}}, object{"rateLimit": object{"requestsPerMinute": 3.0, "inherited": false}}},
		{object{"allowedIps": []string{"192.0.2.0/24"}}, object{"allowedIps": []any{"192.0.2.0/24"}}},
		{object{"allowedIps": nil}, object{"allowedIps": []any{}}},
		{object{"allowedIps": []string{"192.0.2.0/24"}}, object{"allowedIps": []any{"192.0.2.0/24"}}},
		{object{"allowedIps": []string{}, "disabled": true}, object{"allowedIps": []any{}, "state": "disabled"}},
		{object{"disabled": false}, object{"state": "active"}},
	} {
		a := c.do(t, "PATCH", path, step.body).is(200)
		maps.Copy(want, step.changes)
		want["revision"], want["updatedAt"] = want["revision"].(float64)+1, a.text("updatedAt")
		if diff := cmp.Diff(want, a.body); diff != "" {
			t.Fatalf("after %v (-want +got):\n%s", step.body, diff)
		}
	}
	for field, body := range map[string]object{
		"name": {"name": nil}, "scopes": {"scopes": nil}, "disabled": {"disabled": nil},
	} {
		c.do(t, "PATCH", path, body).fails(400, "validation_error", field)
	}
	c.do(t, "PATCH", path, object{"name": " "}).fails(400, "validation_error", "name", "required")
	c.do(t, "PATCH", path, object{"agentId": "a"}).fails(400, "validation_error", "agentId", "unknown")
	if diff := cmp.Diff(want, c.do(t, "GET", path, nil).is(200).body); diff != "" {
		t.Errorf("after refused changes (-want +got):\n%s", diff)
	}
}

func TestRevisionsGuardChanges(t *testing.T) {
	t.Parallel()
	c := start(t)
	path := keysPath + "/" + c.make(t, nil).text("id")
	c.do(t, "PATCH", path, object{"name": "b"}, "If-Match", `"2"`).fails(412, "revision_mismatch")
	c.do(t, "PATCH", path, object{"name": "b"}, "If-Match", `"1"`).is(200)
	c.do(t, "GET", path, nil, "If-None-Match", `"2"`).is(304)
	c.do(t, "POST", path+"/revoke", nil, "If-Match", `"1"`).fails(412, "revision_mismatch")
	c.do(t, "DELETE", path, nil, "If-Match", `"1"`).fails(412, "revision_mismatch")
	c.do(t, "DELETE", path, nil, "If-Match", `*`).is(204)
	c.do(t, "PATCH", path, object{"name": "c"}, "If-Match", `"1"`).fails(409, "conflict")
}

func TestBothWaysOfRevokingEndTheKeyAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, way := range []func(path string) *answer{
		func(path string) *answer {
			a := c.do(t, "POST", path+"/revoke", object{"reason": "left the company"}).is(200)
			if a.body["state"] != "revoked" || a.body["revokeReason"] != "left the company" || !times.MatchString(a.text("revokedAt")) {
				t.Errorf("the revoked record is %v", a.body)
			}
			return a
		},
		func(path string) *answer { return c.do(t, "POST", path+"/revoke", nil).is(200) },
		func(path string) *answer { return c.do(t, "DELETE", path, nil).is(204) },
	} {
		k := c.make(t, nil)
		c.as(k.text("key")).do(t, "GET", "/api/v1/health", nil).is(200)
		path := keysPath + "/" + k.text("id")
		way(path)
		c.as(k.text("key")).do(t, "GET", "/api/v1/health", nil).fails(401, "api_key_revoked")
		read := c.do(t, "GET", path, nil).is(200)
		way(path)
		if again := c.do(t, "GET", path, nil); read.body["state"] != "revoked" || again.body["revision"] != read.body["revision"] {
			t.Errorf("revoked once the record is %v, twice %v", read.body, again.body)
		}
	}
}

func TestAListIsPagedByACursorOfItsOwn(t *testing.T) {
	t.Parallel()
	c := start(t)
	maker := c.make(t, object{"scopes": []string{"developer:manage", "read"}})
	var want []any
	for range 5 {
		want = append(want, c.as(maker.text("key")).make(t, nil).text("id"))
		time.Sleep(time.Millisecond) // lists go by the millisecond of creation
	}
	slices.Reverse(want)
	query := keysPath + "?createdBy=" + maker.text("id") + "&state=active"
	var got []any
	cursor := ""
	for {
		page := c.do(t, "GET", query+"&limit=2"+cursor, nil).is(200)
		for _, item := range page.body["items"].([]any) {
			got = append(got, item.(object)["id"])
		}
		next, more := page.body["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages hold %v, want %v", got, want)
	}
	for _, other := range []string{
		keysPath + "?limit=2" + cursor, query + "&limit=2" + cursor + "x", keysPath + "?createdBy=" + maker.text("id") + "&state=revoked" + cursor,
	} {
		c.do(t, "GET", other, nil).fails(400, "validation_error", "cursor", "invalid")
	}
	if n := len(c.do(t, "GET", query+"&limit=200"+cursor, nil).is(200).body["items"].([]any)); n != 1 {
		t.Errorf("the last page with another limit holds %d, want 1", n)
	}
	c.do(t, "GET", keysPath+"?state=sleeping", nil).fails(400, "validation_error", "state", "not_allowed")
	c.do(t, "GET", keysPath+"?limit=201", nil).fails(400, "validation_error", "limit", "too_large")
}

func TestLimitsShowTheKeysOwnAndItsWorkspaces(t *testing.T) {
	t.Parallel()
	// A window that cannot end while the test looks at it.
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := start(t, apptest.Clock(func() time.Time { return now }))
	k := c.make(t, object{"quota": object{"daily": 20}, "rateLimit": object{"requestsPerMinute": 9}})
	for range 3 {
		c.as(k.text("key")).do(t, "GET", "/api/v1/health", nil).is(200)
	}
	for range 2 {
		a := c.do(t, "GET", keysPath+"/"+k.text("id")+"/limits", nil).is(200)
		rate := a.body["rateLimit"].(object)
		if rate["limit"] != 9.0 || rate["used"] != 3.0 || rate["remaining"] != 6.0 || rate["inherited"] != false {
			t.Errorf("the key's minute is %v", rate)
		}
		quota := a.body["quota"].(object)
		if diff := cmp.Diff(object{"daily": object{"limit": 20.0, "used": 3.0, "remaining": 17.0, "resetsAt": "2026-11-22T00:00:00.000Z"}, "monthly": nil}, quota); diff != "" {
			t.Errorf("the key's quota (-want +got):\n%s", diff)
		}
		workspace := a.body["workspace"].(object)
		if workspace["tier"] != "unlimited" || workspace["quota"].(object)["monthly"].(object)["resetsAt"] != "2026-12-01T00:00:00.000Z" {
			t.Errorf("the workspace is %v", workspace)
		}
	}
}

func TestUsageComesInWindows(t *testing.T) {
	t.Parallel()
	c := start(t)
	k := c.make(t, nil)
	path := keysPath + "/" + k.text("id") + "/usage"
	for query, want := range map[string]struct {
		interval string
		points   int
	}{"": {"hour", 24}, "?window=1h": {"minute", 60}, "?window=7d": {"hour", 168}, "?window=30d": {"day", 30}} {
		a := c.do(t, "GET", path+query, nil).is(200)
		if points := a.body["points"].([]any); a.text("interval") != want.interval || len(points) != want.points || points[0].(object)["t"] != a.text("from") {
			t.Errorf("%q has %d points of a %s from %s, want %d of a %s", query, len(points), a.text("interval"), a.text("from"), want.points, want.interval)
		}
	}
	c.do(t, "GET", path+"?window=2h", nil).fails(400, "validation_error", "window", "not_allowed")
}

func TestWhoamiIsTheRecordAndItsWorkspace(t *testing.T) {
	t.Parallel()
	c := start(t)
	k := c.make(t, object{"scopes": []string{"memory:read"}, "subjectId": "person-7"})
	me := c.as(k.text("key")).do(t, "GET", "/api/v1/developer/whoami", nil).is(200)
	want := maps.Clone(k.body)
	delete(want, "key")
	want["workspace"] = object{"id": c.Workspace, "name": "default", "tier": "unlimited", "operator": true}
	// It has just been used: by this request.
	want["lastUsedAt"], want["secrets"] = me.text("lastUsedAt"), me.body["secrets"]
	if diff := cmp.Diff(want, me.body); diff != "" {
		t.Errorf("whoami (-want +got):\n%s", diff)
	}
}
