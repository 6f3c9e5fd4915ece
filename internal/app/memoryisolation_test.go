package app_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/base/id"
	"keepsake/internal/govern/audit"
)

// statements collects what requests run, by the id of the request.
type statements struct {
	mu sync.Mutex
	of map[string][]string
}

func (s *statements) heard(ctx context.Context, text string) {
	source, ok := ctx.Value(audit.SourceKey).(audit.Source)
	if !ok || source.RequestID == "" { // in the background
		return
	}
	// A request looks for the end of the log where another write has just moved it. That says nothing about what was asked.
	if strings.Contains(text, "FROM audit_chain WHERE name") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[source.RequestID] = append(s.of[source.RequestID], strings.Join(strings.Fields(text), " "))
}

// take gives what a request has run.
func (s *statements) take(request string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[request]
}

// owner is a subject's memories and the names that lead to them.
type owner struct {
	*tenant
	subject, agent, session       string
	ids                           []string
	plan                          string
	list, history, people, access string // cursors
}

// memorised gives a tenant memories of one subject.
func memorised(n *tenant, name string) *owner {
	o := &owner{tenant: n, subject: name + "@example.com", agent: name + "-agent", session: name + "-session"}
	for i := range 3 {
		m := n.make("POST", "/api/v1/memories", fmt.Sprintf(`{"subjectId":%q,"agentId":%q,"sessionId":%q,"key":"k%d","text":"%s remembers %d"}`,
			o.subject, o.agent, o.session, i, name, i))
		o.ids = append(o.ids, m["id"].(string))
	}
	n.make("POST", "/api/v1/memories", fmt.Sprintf(`{"subjectId":"second-%s","text":"somebody else"}`, o.subject))
	for i := range 2 {
		n.make("PATCH", "/api/v1/memories/"+o.ids[0], fmt.Sprintf(`{"text":"changed %d"}`, i))
	}
	o.plan = n.make("POST", "/api/v1/memories/forget", fmt.Sprintf(`{"subjectId":%q,"ids":[%q]}`, o.subject, o.ids[1]))["planId"].(string)
	o.list = n.cursor("/api/v1/memories?limit=1&subjectId=" + o.subject)
	o.history = n.cursor("/api/v1/memories/" + o.ids[0] + "/history?limit=1")
	o.people = n.cursor("/api/v1/memories/subjects?limit=1")
	o.access = n.cursor("/api/v1/memories/subjects/" + o.subject + "/access-log?limit=1")
	return o
}

// unknown returns names of the same forms that never existed.
func unknown(o *owner) *owner {
	n := &owner{
		subject: "nobody-at-all@example.com", agent: "nobody-agent", session: "nobody-session", plan: id.New("pln"),
		list: scrambled(o.list), history: scrambled(o.history), people: scrambled(o.people), access: scrambled(o.access),
	}
	for range o.ids {
		n.ids = append(n.ids, id.New(id.Memory))
	}
	return n
}

// scrambled returns a cursor that the server did not seal.
func scrambled(cursor string) string {
	b := []byte(cursor)
	for i := range b {
		if i%7 == 3 {
			b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rand.IntN(52)]
		}
	}
	return string(b)
}

// probes returns requests about an owner's memories by a caller whose own subject is mine. If the owner belongs to another
// workspace or never existed, the responses are the same.
func probes(o *owner, mine string) []memoryCall {
	const base = "/api/v1/memories"
	e := url.QueryEscape
	list := []memoryCall{
		{"GET", base + "/" + o.ids[0], ""},
		{"GET", base + "/" + o.ids[0] + "/history", ""},
		{"GET", base + "/" + o.ids[0] + "/history?limit=1&cursor=" + e(o.history), ""},
		{"PATCH", base + "/" + o.ids[0], `{"text":"taken over"}`},
		{"DELETE", base + "/" + o.ids[0], ""},
		{"GET", base + "?subjectId=" + e(o.subject), ""},
		{"GET", base + "?agentId=" + o.agent, ""},
		{"GET", base + "?sessionId=" + o.session, ""},
		{"GET", base + "?subjectId=" + e(mine) + "&sessionId=" + o.session, ""},
		{"GET", base + "?limit=1&subjectId=" + e(mine) + "&cursor=" + e(o.list), ""},
		{"POST", base + "/recall", fmt.Sprintf(`{"subjectId":%q,"query":"remembers"}`, o.subject)},
		{"POST", base + "/recall", fmt.Sprintf(`{"subjectId":%q,"query":"remembers","sessionId":%q,"agentId":%q}`, mine, o.session, o.agent)},
		{"POST", base + "/context", fmt.Sprintf(`{"subjectId":%q,"query":"remembers","maxTokens":100}`, o.subject)},
		{"POST", base + "/forget", fmt.Sprintf(`{"subjectId":%q,"query":"remembers"}`, o.subject)},
		{"POST", base + "/forget", fmt.Sprintf(`{"subjectId":%q,"ids":[%q,%q]}`, mine, o.ids[0], o.ids[1])},
		{"POST", base + "/forget", fmt.Sprintf(`{"subjectId":%q,"filter":{"sessionId":%q}}`, mine, o.session)},
		{"POST", base + "/forget", fmt.Sprintf(`{"subjectId":%q,"planId":%q,"dryRun":false}`, mine, o.plan)},
		{"GET", base + "/subjects/" + o.subject, ""},
		{"GET", base + "/subjects/" + o.subject + "/export", ""},
		{"GET", base + "/subjects/" + o.subject + "/access-log", ""},
		{"GET", base + "/subjects/" + mine + "/access-log?limit=1&cursor=" + e(o.access), ""},
		{"GET", base + "/subjects?limit=1&cursor=" + e(o.people), ""},
		{"DELETE", base + "/subjects/" + o.subject, ""},
	}
	return list
}

// writings are writes into what a bound key does not reach.
func writings(o *owner) []memoryCall {
	const base = "/api/v1/memories"
	item := fmt.Sprintf(`{"subjectId":%q,"agentId":%q,"text":"put in by a stranger"}`, o.subject, o.agent)
	return []memoryCall{
		{"POST", base, item},
		{"POST", base + "/batch", `{"items":[` + item + `]}`},
		{"POST", base + "/batch", `{"atomic":true,"items":[` + item + `]}`},
		{"POST", base + "/import", item},
		{"POST", base + "/import", fmt.Sprintf(`{"id":%q,"subjectId":%q,"agentId":%q,"text":"taken over by a stranger"}`, o.ids[0], o.subject, o.agent)},
		{"GET", base + "/subjects?limit=1", ""},
		{"GET", base + "?limit=200", ""},
		{"POST", base + "/recall", fmt.Sprintf(`{"subjectId":%q,"agentId":%q,"query":"remembers"}`, o.subject, o.agent)},
	}
}

// changing are the parts of an answer that differ from one request to the next.
var changing = regexp.MustCompile(`"(?:requestId|tookMs|planId|expiresAt|id|createdAt|updatedAt|lastAt|firstAt)":(?:"[^"]*"|[0-9.e-]+)`)

// asked is the answer to a request, and what it ran.
type asked struct {
	status int
	body   string
	ran    []string
}

func (n *tenant) ask(heard *statements, c memoryCall) asked {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), c.method, n.base+c.path, strings.NewReader(c.body))
	if err != nil {
		n.t.Fatal(err)
	}
	request := id.New(id.Request)
	req.Header.Set("X-API-Key", n.key)
	req.Header.Set("X-Request-Id", request)
	switch {
	case strings.HasSuffix(c.path, "/import"):
		req.Header.Set("Content-Type", "application/x-ndjson")
	case c.body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return asked{res.StatusCode, changing.ReplaceAllString(string(body), `"":""`), heard.take(request)}
}

// What belongs to another workspace, or to another subject or agent than a key is bound to, and what never was get the same
// bytes after the same statements, on every path of memories; T13, T17.
func TestForeignMemoriesAreLikeNone(t *testing.T) {
	t.Parallel()
	heard := &statements{of: map[string][]string{}}
	p := apptest.Start(t, apptest.Statements(heard.heard))
	alpha, beta := memorised(newTenant(t, p, "alpha", "canary"), "alpha"), memorised(newTenant(t, p, "beta", "sparrow"), "beta")
	bound := func(binding string) *tenant {
		n := *alpha.tenant
		n.key = alpha.make("POST", "/api/v1/developer/api-keys", `{"name":"bound","scopes":["memory:read","memory:write"],`+binding+`}`)["key"].(string)
		return &n
	}
	alpha.make("POST", "/api/v1/memories", `{"subjectId":"patient","agentId":"nurse","text":"somebody else"}`)
	before := alpha.state()
	for _, who := range []struct {
		name, mine string
		as         *tenant
	}{
		{"another workspace", beta.subject, beta.tenant},
		{"a key bound to another subject", "patient", bound(`"subjectId":"patient"`)},
		{"a key bound to another agent", "patient", bound(`"agentId":"nurse"`)},
	} {
		never := unknown(alpha)
		foreign, none := probes(alpha, who.mine), probes(never, who.mine)
		if who.as.workspace == alpha.workspace {
			foreign, none = append(foreign, writings(alpha)...), append(none, writings(never)...)
		}
		for i, c := range foreign {
			// The first request pays for what is remembered then; so both are asked twice, and the second time counts.
			var got, want asked
			for range 2 {
				got, want = who.as.ask(heard, c), who.as.ask(heard, none[i])
			}
			what := fmt.Sprintf("%s: %s %s %s", who.name, c.method, c.path, c.body)
			clean := func(s string) string {
				return strings.NewReplacer(alpha.subject, "", "nobody-at-all@example.com", "").Replace(s)
			}
			if got.status != want.status || clean(got.body) != clean(want.body) {
				t.Errorf("%s answers %d %s, and for what never was %d %s", what, got.status, got.body, want.status, want.body)
			}
			if len(got.ran) != len(want.ran) || !slices.Equal(got.ran, want.ran) {
				t.Errorf("%s runs %d statements, and for what never was %d:\n%s\n---\n%s", what, len(got.ran), len(want.ran),
					strings.Join(got.ran, "\n"), strings.Join(want.ran, "\n"))
			}
			if strings.Contains(got.body, "remembers") || strings.Contains(got.body, `"changed `) || strings.Contains(got.body, "stranger\"") || got.status == 204 {
				t.Errorf("%s shows or changes something: %d %s", what, got.status, got.body)
			}
		}
	}
	// A line may have an id that another workspace has, and takes nothing away from it.
	for _, line := range []string{alpha.ids[2], id.New(id.Memory)} {
		got := beta.ask(heard, memoryCall{"POST", "/api/v1/memories/import", fmt.Sprintf(`{"id":%q,"subjectId":%q,"text":"imported"}`, line, beta.subject)})
		if got.status != 200 || !strings.Contains(got.body, `"created":1`) {
			t.Errorf("an import of %s: %d %s", line, got.status, got.body)
		}
	}
	if after := alpha.state(); after != before {
		t.Errorf("alpha had %s\nand has %s", before, after)
	}
}

// state is everything of an owner.
func (o *owner) state() string {
	_, _, export := o.send("GET", "/api/v1/memories/subjects/"+o.subject+"/export", "", false)
	return string(export)
}
