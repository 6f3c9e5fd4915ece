package console

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"keepsake/client"
)

// call is a request that a page has sent to the API, as a person can send it with curl.
type call struct {
	Method, Target, Body string
	Media                string // of a file
}

// api returns a client that calls the API for the visitor. A call is sent once: the visitor decides what is repeated.
func (v *visit) api() *client.Client {
	c, err := client.New("http://keepsake", "", client.AccessToken(v.token), client.Retries(0), client.FollowVersions(),
		client.UserAgent("keepsake-console"), client.HTTPClient(&http.Client{Transport: transport{v}}))
	if err != nil {
		panic(err) // the address is a constant
	}
	return c
}

// secretFields are fields whose values are not shown again in commands.
var secretFields = regexp.MustCompile(`("password":)"(?:[^"\\]|\\.)*"`)

// transport sends the requests of a page to the API of this process.
type transport struct{ v *visit }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.v.user != nil { // who has signed in; the token can be newer than the client
		r.Header.Set("Authorization", "Bearer "+t.v.token)
	}
	uncounted := uncountedPath(r.URL.Path) && (t.v.user == nil || t.v.c.reads.take(t.v.user.ID, t.v.At()))
	if !strings.HasPrefix(r.URL.Path, "/api/auth/") && r.URL.Path != "/api/v1/profile" { // these take no API key
		t.v.note(r)
	}
	resp, err := t.v.Call(r, uncounted)
	if err != nil || !t.v.stale(resp) || r.Body != nil && r.GetBody == nil || t.v.renew() != nil {
		return resp, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.v.token)
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.v.Call(r, uncounted)
}

// stale reports whether the API has refused a request because of its access token: it expired during an import, or it was issued
// before the user's role got the scope.
func (v *visit) stale(resp *http.Response) bool {
	switch {
	case v.user == nil || v.refresh == "":
		return false
	case resp.StatusCode == http.StatusUnauthorized:
		return true
	case resp.StatusCode != http.StatusForbidden || v.gained:
		return false
	}
	v.gained = true
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var refusal client.Error
	return err == nil && json.Unmarshal(body, &refusal) == nil && v.can(refusal.Details.RequiredScope)
}

// note adds a request to those that the page shows as commands. The parts of a file are one command.
func (v *visit) note(r *http.Request) {
	sent := call{Method: r.Method, Target: r.URL.RequestURI()}
	switch {
	case r.Body == nil || r.Body == http.NoBody || r.GetBody == nil:
	case r.Header.Get("Content-Type") != "application/json":
		sent.Body, sent.Media = fileBody, r.Header.Get("Content-Type")
	default:
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			sent.Body = secretFields.ReplaceAllString(string(text), `$1"…"`)
		}
	}
	if sent.Body == fileBody && slices.Contains(v.calls, sent) {
		return
	}
	v.calls = append(v.calls, sent)
}

// fileBody is the body of a call that sends a file.
const fileBody = "@FILE"

// uncountedPath reports whether pages show responses of a path without a charge: those about the workspace itself, not those
// with what it stores.
func uncountedPath(path string) bool {
	_, resource, _ := strings.Cut(strings.TrimPrefix(path, "/api/v"), "/")
	name, _, _ := strings.Cut(resource, "/")
	switch name {
	case "profile", "analytics", "developer", "admin":
		return strings.HasPrefix(path, "/api/v")
	default:
		return path == "/api/versions"
	}
}

// maxReads is how many reads of a user are free in a minute. Pages of a person need fewer. More are charged like all other
// requests to the API.
const maxReads = 300

// reads counts the free reads of users.
type reads struct {
	mu     sync.Mutex
	minute int64
	counts map[string]int // by the user's ID
}

// take counts a read, and reports whether it is free.
func (r *reads) take(userID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if minute := now.Unix() / 60; minute != r.minute || r.counts == nil {
		r.minute, r.counts = minute, map[string]int{}
	}
	r.counts[userID]++
	return r.counts[userID] <= maxReads
}

// curl returns the call as a command for a shell. KEEPSAKE_KEY is the API key in it.
func (c call) curl(base string) string {
	var b strings.Builder
	b.WriteString("curl")
	if c.Method != http.MethodGet {
		b.WriteString(" -X " + c.Method)
	}
	b.WriteString(` -H "X-API-Key: $KEEPSAKE_KEY"`)
	if c.Body == fileBody {
		b.WriteString(` -H "Content-Type: ` + c.Media + `" --data-binary ` + fileBody)
	} else if c.Body != "" {
		b.WriteString(` -H "Content-Type: application/json" -d ` + quote(c.Body))
	}
	target := base + c.Target
	if strings.ContainsAny(target, "?&*[]{}()!$;<>|~#'\" ") {
		target = quote(target)
	}
	b.WriteString(" " + target)
	return b.String()
}

// quote quotes a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
