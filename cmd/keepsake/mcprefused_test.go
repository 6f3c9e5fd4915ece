package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

// bridged sends messages through keepsake mcp and returns its responses by ID, and what it printed to standard error.
func bridged(t *testing.T, url, key string, messages ...string) (responses map[string]bridgeError, printed string) {
	t.Helper()
	var out, errs bytes.Buffer
	st := &stage{in: strings.NewReader(strings.Join(messages, "\n")), out: &out, err: &errs, env: []string{"KEEPSAKE_KEY=" + key}}
	if code := run([]string{"mcp", "--url", url}, st); code != exitOK {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
	responses = map[string]bridgeError{}
	for line := range strings.Lines(out.String()) {
		var r bridgeError
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Version != "2.0" || (r.Error == nil) == (r.Result == nil) {
			t.Errorf("the response %.300s: %v", line, err)
		}
		if _, twice := responses[string(r.ID)]; twice {
			t.Errorf("%s has two responses", r.ID)
		}
		responses[string(r.ID)] = r
	}
	return responses, errs.String() + out.String()
}

// bridgeError is a response of the bridge.
type bridgeError struct {
	Version string `json:"jsonrpc"`
	ID      json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    struct{ Error, RequestID string }
	}
}

// Every message of a client whose key is refused, or has reached a limit, gets one error of JSON-RPC that says why.
func TestBridgeSaysWhyTheServerRefuses(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	create := func(k client.NewAPIKey) string {
		t.Helper()
		made, err := c.CreateAPIKey(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return made.Key
	}
	one := int64(1)
	limited := create(client.NewAPIKey{Name: "limited", Scopes: []string{"memory:read"}, RateLimit: &client.NewRateLimit{RequestsPerMinute: 1}})
	daily := create(client.NewAPIKey{Name: "daily", Scopes: []string{"memory:read"}, Quota: &client.Quota{Daily: &one}})
	const (
		initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		notice     = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		list       = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`
		call       = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_memories","arguments":{"subjectId":"ada"}}}`
	)
	for name, tc := range map[string]struct {
		key      string
		accepted []string // messages of the key before those that are refused
		code     int
		problem  string
		says     string
	}{
		"no key":         {"", nil, 401, "missing_credentials", "API key"},
		"a wrong key":    {"kpsk_wrong", nil, 401, "invalid_api_key", "key"},
		"another's key":  {p.Key[:len(p.Key)-1] + "!", nil, 401, "invalid_api_key", "key"},
		"a minute limit": {limited, []string{initialize}, 429, "rate_limit_exceeded", "seconds"},
		"a daily quota":  {daily, []string{initialize}, 429, "rate_limit_exceeded", "daily quota"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, message := range tc.accepted {
				if got, printed := bridged(t, p.URL, tc.key, message); got["0"].Result == nil {
					t.Fatalf("the first message got %s", printed)
				}
			}
			got, printed := bridged(t, p.URL, tc.key, initialize, notice, list, call)
			if len(got) != 3 {
				t.Errorf("three requests and a notification got %d responses: %s", len(got), printed)
			}
			for _, id := range []string{"0", `"a"`, "2"} {
				r := got[id]
				if r.Error == nil || r.Error.Code != tc.code || r.Error.Data.Error != tc.problem || r.Error.Data.RequestID == "" || !strings.Contains(r.Error.Message, tc.says) {
					t.Errorf("%s: got %+v", id, r.Error)
				}
			}
			if tc.key != "" && strings.Contains(printed, tc.key) {
				t.Error("the key is printed")
			}
		})
	}
}

// A redirect to another origin is an error of each message. Neither the key nor a message goes there.
func TestBridgeFollowsNoRedirectToAnotherOrigin(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		body, _ := io.ReadAll(r.Body)
		t.Errorf("another origin got the key %q and %q", r.Header.Get("X-API-Key"), body)
	}))
	defer other.Close()
	port := other.URL[strings.LastIndex(other.URL, ":"):]
	for _, to := range []string{other.URL, "http://localhost" + port, "https://127.0.0.1" + port, "//127.0.0.1" + port} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			var asked atomic.Int64
			here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				http.Redirect(w, r, to+"/ai/mcp", status)
			}))
			got, printed := bridged(t, here.URL, "kpsk_canary",
				`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_memory","arguments":{"text":"canary"}}}`)
			here.Close()
			for _, id := range []string{"1", "2"} {
				if r := got[id]; r.Error == nil || !strings.Contains(r.Error.Message, "redirects to ") || !strings.Contains(r.Error.Message, "nothing was sent there") {
					t.Errorf("%d to %s: %s got %+v", status, to, id, r.Error)
				}
			}
			if asked.Load() != 2 || len(got) != 2 || strings.Contains(printed, "canary") {
				t.Errorf("%d to %s: the server was asked %d times, and the bridge printed %s", status, to, asked.Load(), printed)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("other origins got %d requests", n)
	}
}

// A proxy can move the service within its origin. The key goes along.
func TestBridgeFollowsARedirectWithinTheOrigin(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusPermanentRedirect)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, p.URL+strings.TrimPrefix(r.URL.Path, "/moved"), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	defer here.Close()
	if got, printed := bridged(t, here.URL, p.Key, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got["1"].Result == nil {
		t.Errorf("got %s", printed)
	}
}
