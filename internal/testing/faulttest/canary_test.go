package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
)

// TestNoSecretAndNoQueryIsInAnyFileOrLog sends canaries through every door, and then reads every byte the server has
// left: its folder, its temporary files and what it printed.
func TestNoSecretAndNoQueryIsInAnyFileOrLog(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), t.TempDir()
	s := launch(t, dir, programtest.Env("TMPDIR="+temp, "KEEPSAKE_LOG_LEVEL=debug", "KEEPSAKE_LOG_REQUESTS=true"))
	var password string
	await.Until(t, "the first start leaves its secrets", func() bool {
		if text, err := os.ReadFile(filepath.Join(dir, "first-start.json")); err == nil {
			var first struct{ APIKey, Password string }
			if json.Unmarshal(text, &first) == nil {
				s.Key, password = first.APIKey, first.Password
			}
		}
		return s.Ended() || s.Key != "" && password != ""
	})
	s.AwaitReady()
	ctx := context.Background()
	nowhere := map[string]string{"the first key": s.Key, "the first password": password} // in no file and no log
	notInLogs := map[string]string{}                                                     // in the database only

	status, made, id, err := s.newKey(ctx, "canary")
	if err != nil || status != http.StatusCreated {
		t.Fatalf("make a key: %d %v", status, err)
	}
	nowhere["a made key"] = made
	canary := func(what string) string {
		nowhere[what] = fmt.Sprintf("canary%dqzx", len(nowhere))
		return nowhere[what]
	}
	stored := func(what string) string {
		notInLogs[what] = fmt.Sprintf("stored%dqzx", len(notInLogs))
		return notInLogs[what]
	}
	get := func(path string, headers ...string) {
		if _, _, err := s.Send(ctx, s.Key, http.MethodGet, path, "", nil, headers...); err != nil {
			t.Fatalf("GET: %v", err)
		}
	}
	send := func(method, path string, body any, headers ...string) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Send(ctx, s.Key, method, path, "application/json", text, headers...); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}

	get("/api/v1/search?q=" + canary("a query"))
	get("/api/v1/search?q=" + url.QueryEscape(`"`+canary("a phrase")+`" -`+canary("an excluded word")) + "&tag=" + canary("a tag that is searched"))
	get("/api/v1/search?limit=" + canary("a bad limit") + "&q=x")
	get("/api/v1/search?cursor=" + canary("a bad cursor") + "&q=x")
	get("/api/v1/search?" + canary("an unknown parameter") + "=1&q=x")
	send(http.MethodPost, "/api/v1/search", map[string]any{"q": canary("a posted query")})
	send(http.MethodPost, "/api/v1/search", map[string]any{"q": strings.Repeat(canary("a long query")+" ", 200)})
	send(http.MethodPost, "/api/v1/search", map[string]any{canary("an unknown member"): 1})
	get("/api/v1/"+canary("an unknown path"), "User-Agent", "agent")
	get("/api/v1/documents/" + canary("a document that is not there"))
	get("/api/v1/health", "Authorization", "Bearer "+canary("a bearer token"))
	get("/api/v1/health", "Cookie", "session="+canary("a cookie"))
	get("/api/v1/health", "Referer", "https://example.org/"+canary("a referer"))
	get("/api/v1/health", "User-Agent", "Mozilla/5.0\u0085\u2028{\"level\":\"ERROR\"} "+strings.Repeat("long ", 1000))
	if _, _, err := s.Send(ctx, "kpsk_"+canary("a key that is none"), http.MethodGet, "/api/v1/health", "", nil); err != nil {
		t.Fatal(err)
	}
	send(http.MethodPost, "/api/v1/documents", map[string]any{"text": "x", "title": strings.Repeat(canary("a title that is too long"), 200)})
	send(http.MethodPost, "/api/v1/documents", map[string]any{"text": stored("a document's text"), "title": stored("a document's title"), "tags": []string{stored("a tag")}},
		"Idempotency-Key", canary("an idempotency key"))
	send(http.MethodPut, "/api/v1/documents/"+stored("a document's id"), map[string]any{"text": "x", "metadata": map[string]any{"m": stored("metadata")}})
	send(http.MethodPost, "/api/v1/developer/api-keys", map[string]any{"name": stored("a key's name"), "scopes": []string{"read"}})
	send(http.MethodPost, "/api/v1/developer/api-keys/"+id+"/revoke", map[string]any{"reason": stored("a reason")})
	if _, _, err := s.Send(ctx, s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson",
		[]byte(`{"text":"`+canary("a bad line")+"\n"+`{"id":"l","text":"`+stored("an imported text")+`"}`)); err != nil {
		t.Fatal(err)
	}
	// People: what they sign in with and what they are given is in no file; their addresses are in the database alone.
	somebody := s.at(1)
	email, chosen := stored("an email")+"@example.org", canary("a password")+" long enough"
	s.newUser(email, chosen, "developer")
	generated := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/admin/users", map[string]any{"email": stored("another email") + "@example.org", "name": stored("a name")})
	nowhere["a generated password"] = generated["password"].(string)
	somebody.login(email, canary("a wrong password"))
	somebody.login(canary("an unknown email")+"@example.org", "not the password")
	in := somebody.signIn(email, chosen)
	next := in.sessionOf(in.refreshWith(in.refresh))
	in.refreshWith(canary("a refresh token that is none"))
	next.with(http.MethodPatch, "/api/v1/profile", map[string]any{"name": stored("a name that was changed")})
	rotated := next.with(http.MethodPost, "/api/v1/developer/api-keys", map[string]any{"name": "rotated", "scopes": []string{"read"}})
	second := next.with(http.MethodPost, "/api/v1/developer/api-keys/"+rotated.body["id"].(string)+"/rotate", nil)
	next.with(http.MethodPost, "/api/v1/developer/verify", map[string]any{"key": canary("a key to verify")})
	next.with(http.MethodPost, "/api/auth/password", map[string]any{"currentPassword": chosen, "newPassword": canary("a new password") + " long enough"})
	for what, text := range map[string]any{
		"an access token": in.access, "a refresh token": in.refresh, "the next access token": next.access, "the next refresh token": next.refresh,
		"a key that is rotated": rotated.body["key"], "the key it became": second.body["key"],
	} {
		if text == nil || text == "" {
			t.Errorf("%s was not given", what)
			continue
		}
		nowhere[what] = text.(string)
	}
	s.Stop()
	// A key is recognised by part of its text too.
	for _, what := range []string{"the first key", "a made key"} {
		nowhere["the middle of "+what] = nowhere[what][10:30]
	}

	log := []byte(s.Log.String())
	for what, text := range nowhere {
		if bytes.Contains(log, []byte(text)) {
			t.Errorf("%s is in the log: %s", what, lineWith(log, text))
		}
	}
	for what, text := range notInLogs {
		if bytes.Contains(log, []byte(text)) {
			t.Errorf("%s is in the log: %s", what, lineWith(log, text))
		}
	}
	files := 0
	for _, root := range []string{dir, temp} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for what, text := range nowhere {
				if bytes.Contains(data, []byte(text)) {
					t.Errorf("%s is in %s", what, filepath.Base(path))
				}
			}
			if name := filepath.Base(path); strings.HasPrefix(name, "usage.db") || strings.HasPrefix(name, "keys.db") {
				for what, text := range notInLogs {
					if bytes.Contains(data, []byte(text)) {
						t.Errorf("%s is in %s", what, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 4 {
		t.Errorf("only %d files were searched", files)
	}
	everyLineIsJSON(t, string(log))
}

func lineWith(log []byte, text string) string {
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(text)) {
			return string(line)
		}
	}
	return ""
}

// everyLineIsJSON holds the log to one JSON object a line, whatever clients send; only the words for people at the
// first start are none.
func everyLineIsJSON(t *testing.T, log string) {
	t.Helper()
	lines, serving := 0, false
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") {
			if serving {
				t.Errorf("a line of the log is no JSON: %q", line)
			}
			continue
		}
		lines++
		var entry struct {
			Time, Level, Msg string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" || len(line) > 4096 {
			t.Errorf("a line of the log is not a short JSON object (%v): %.200q", err, line)
		}
	}
	if lines < 10 {
		t.Errorf("the log has %d lines: requests are not logged", lines)
	}
}
