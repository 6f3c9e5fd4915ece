package app_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// agent sends requests with an API key as a bearer token.
type agent struct {
	t         *testing.T
	base, key string
}

type agentReply struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

func (a agent) send(method, path, body string, headers ...string) agentReply {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	r := agentReply{status: res.StatusCode, header: res.Header, text: string(text)}
	_ = json.Unmarshal(text, &r.body) // a response that is no object has none
	return r
}

func (a agent) want(status int, method, path, body string, headers ...string) agentReply {
	a.t.Helper()
	r := a.send(method, path, body, headers...)
	if r.status != status || r.header.Get("X-API-Version") != "1" || r.header.Get("X-RateLimit-Limit") == "" {
		a.t.Fatalf("%s %s: got %d %s with %v, want %d", method, path, r.status, r.text, r.header, status)
	}
	return r
}

func TestAgentsRememberAndRecall(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := agent{t, p.URL, p.Key}
	body := `{"subjectId":"ada","text":"Ada prefers tea to coffee."}`
	first := a.want(201, "POST", "/ai/remember", body, "Idempotency-Key", "remember-once")
	again := a.want(201, "POST", "/ai/remember", body, "Idempotency-Key", "remember-once")
	if again.header.Get("Idempotent-Replayed") != "true" || again.text != first.text {
		t.Errorf("the repeated response is %s, want %s", again.text, first.text)
	}
	if equal := a.want(200, "POST", "/ai/remember", body); equal.body["deduplicated"] != true || equal.body["id"] != first.body["id"] {
		t.Errorf("an equal memory gets %s", equal.text)
	}
	stored := a.send("GET", first.header.Get("Location"), "", "X-API-Key", p.Key)
	if stored.text != first.text || stored.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("Location %s has %s, want %s", first.header.Get("Location"), stored.text, first.text)
	}
	found := a.want(200, "POST", "/ai/recall", `{"subjectId":"ada","query":"What does she drink?"}`)
	if results := found.body["results"].([]any); len(results) != 1 || !strings.Contains(found.text, first.body["id"].(string)) {
		t.Errorf("recall found %s", found.text)
	}
	packed := a.want(200, "POST", "/ai/context", `{"subjectId":"ada","maxTokens":100}`)
	if !strings.Contains(packed.body["text"].(string), "tea") {
		t.Errorf("the context is %s", packed.text)
	}
	if bad := a.want(400, "POST", "/ai/recall", `{"subjectId":"ada","query":" "}`); !strings.Contains(bad.text, `"field":"query"`) {
		t.Errorf("an empty query gets %s", bad.text)
	}
	allow := a.want(405, "GET", "/ai/recall", "").header.Get("Allow")
	if options := a.want(204, "OPTIONS", "/ai/recall", ""); options.header.Get("Allow") != allow || allow != "OPTIONS, POST" {
		t.Errorf("Allow is %q and %q", allow, options.header.Get("Allow"))
	}
	a.want(404, "POST", "/ai/recall/", "")
	a.want(404, "GET", "/ai", "")
}

func TestBoundKeysReachOnePersonThroughAI(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	operator := agent{t, p.URL, p.Key}
	operator.want(201, "POST", "/ai/remember", `{"subjectId":"bob","text":"Bob keeps bees."}`)
	made := operator.send("POST", "/api/v1/developer/api-keys",
		`{"name":"agent of Ada","scopes":["memory:read","memory:write"],"subjectId":"ada"}`, "X-API-Key", p.Key)
	bound := agent{t, p.URL, made.body["key"].(string)}
	if mine := bound.want(201, "POST", "/ai/remember", `{"text":"Ada keeps goats."}`); mine.body["subjectId"] != "ada" {
		t.Errorf("a bound key remembered %s", mine.text)
	}
	for path, body := range map[string]string{
		"/ai/recall": `"query":"bees goats"`, "/ai/context": `"maxTokens":100`, "/ai/remember": `"text":"x"`,
	} {
		bound.want(404, "POST", path, `{"subjectId":"bob",`+body+`}`)
		if own := bound.send("POST", path, "{"+body+"}"); own.status >= 300 || strings.Contains(own.text, "bees") {
			t.Errorf("%s without a subject got %d %s", path, own.status, own.text)
		}
	}
}

func TestAIServicesCanHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	inherited, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]apptest.Option{
		"of the setting": apptest.With(func(c *config.Config) { c.AIListen = "127.0.0.1:0" }),
		"inherited":      apptest.Deps(func(d *app.Deps) { d.Listeners = map[string]net.Listener{"ai": inherited} }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, option)
			url := p.App.AIURL()
			if url == p.URL || name == "inherited" && url != "http://"+inherited.Addr().String() {
				t.Fatalf("the AI services are at %s, the API at %s", url, p.URL)
			}
			agent{t, url, p.Key}.want(200, "POST", "/ai/recall", `{"subjectId":"ada","query":"tea"}`)
			agent{t, p.URL, p.Key}.want(404, "POST", "/ai/recall", `{"subjectId":"ada","query":"tea"}`)
			for _, path := range []string{"/api/v1/health", "/api/versions", "/", "/livez", "/openapi.json"} {
				agent{t, url, p.Key}.want(404, "GET", path, "")
			}
		})
	}
}

func TestTheListenerOfAIServicesHasTLSToo(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.AIListen, c.TLS = "127.0.0.1:0", files }))
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer c.CloseIdleConnections()
	res, err := c.Get(p.App.AIURL() + "/ai/recall")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed || res.ProtoMajor != 2 {
		t.Errorf("got %s %s", res.Proto, res.Status)
	}
}
