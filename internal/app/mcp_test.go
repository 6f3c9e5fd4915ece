package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// toolUser calls tools with an API key, as a client of the Model Context Protocol does.
type toolUser struct {
	t   *testing.T
	url string
	key string
}

func newToolUser(t *testing.T, p *apptest.Running, key string) *toolUser {
	return &toolUser{t: t, url: p.URL, key: key}
}

// newKey creates an API key from a JSON object without its name.
func newKey(t *testing.T, p *apptest.Running, members string) string {
	t.Helper()
	n := &tenant{t: t, base: p.URL, key: p.Key}
	return n.make("POST", "/api/v1/developer/api-keys", `{"name":"agent",`+members+`}`)["key"].(string)
}

// exchange sends a request and returns the response with its body.
func (a *toolUser) exchange(method, path, body string, header map[string]string) (*http.Response, []byte) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	for name, value := range header {
		req.Header.Set(name, value)
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
	return res, text
}

// request sends a request of the protocol, which must be answered with 200.
func (a *toolUser) request(method, params string) (result map[string]any) {
	a.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	res, text := a.exchange("POST", "/ai/mcp", body, map[string]string{"MCP-Protocol-Version": "2025-11-25"})
	var answer struct{ Result map[string]any }
	if err := json.Unmarshal(text, &answer); err != nil || res.StatusCode != 200 || answer.Result == nil {
		a.t.Fatalf("%s: %d %s", body, res.StatusCode, text)
	}
	return answer.Result
}

type toolSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

type listedTool struct {
	Name         string
	InputSchema  toolSchema
	OutputSchema toolSchema
	Annotations  map[string]bool
}

// tools lists the tools that the agent sees.
func (a *toolUser) tools() map[string]listedTool {
	a.t.Helper()
	text, err := json.Marshal(a.request("tools/list", `{}`)["tools"])
	if err != nil {
		a.t.Fatal(err)
	}
	var list []listedTool
	if err := json.Unmarshal(text, &list); err != nil {
		a.t.Fatal(err)
	}
	byName := map[string]listedTool{}
	for _, tool := range list {
		byName[tool.Name] = tool
	}
	return byName
}

// call calls a tool and returns its structured result, which must fit the tool's schema and equal the text.
func (a *toolUser) call(name, arguments string) map[string]any {
	a.t.Helper()
	result := a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	structured, ok := result["structuredContent"].(map[string]any)
	if !ok || result["isError"] != false {
		a.t.Fatalf("%s %s: got %v", name, arguments, result)
	}
	var text map[string]any
	if err := json.Unmarshal([]byte(textOf(result)), &text); err != nil || !cmp.Equal(text, structured) {
		a.t.Errorf("%s: the text %s differs from %v", name, textOf(result), structured)
	}
	for _, member := range a.tools()[name].OutputSchema.Required {
		if _, ok := structured[member]; !ok {
			a.t.Errorf("%s: the result %v has no %s", name, structured, member)
		}
	}
	return structured
}

// refused calls a tool that must fail, and returns the message.
func (a *toolUser) refused(name, arguments string) string {
	a.t.Helper()
	result := a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	if result["isError"] != true || result["structuredContent"] != nil {
		a.t.Fatalf("%s %s: got %v, want an error", name, arguments, result)
	}
	return textOf(result)
}

func textOf(result map[string]any) string {
	list, _ := result["content"].([]any)
	if len(list) != 1 {
		return ""
	}
	item, _ := list[0].(map[string]any)
	text, _ := item["text"].(string)
	return text
}

// texts returns the texts of memories in a result.
func texts(items any, member string) (list []string) {
	all, _ := items.([]any)
	for _, item := range all {
		m, _ := item.(map[string]any)
		if member != "" {
			m, _ = m[member].(map[string]any)
		}
		list = append(list, fmt.Sprint(m["text"]))
	}
	return list
}

func TestAgentRemembersRecallsAndForgets(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, newKey(t, p, `"scopes":["memory:read","memory:write"]`))

	tea := a.call("add_memory", `{"subjectId":"ada","text":"Prefers tea to coffee.","kind":"preference","tags":["drink"],"metadata":{"from":"chat"}}`)
	if again := a.call("add_memory", `{"subjectId":"ada","text":"Prefers tea to coffee.","kind":"preference","tags":["drink"],"metadata":{"from":"chat"}}`); again["id"] != tea["id"] {
		t.Errorf("an equal memory is stored twice: %v", again)
	}
	a.call("add_memory", `{"subjectId":"ada","text":"Lives in Paris.","pinned":true}`)
	a.call("add_memory", `{"subjectId":"ben","text":"Drinks coffee."}`)
	id := fmt.Sprintf(`{"id":%q`, tea["id"])

	if got := texts(a.call("search_memories", `{"subjectId":"ada","query":"What does she like to drink, tea?","limit":1}`)["results"], "memory"); !slices.Equal(got, []string{"Prefers tea to coffee."}) {
		t.Errorf("search_memories found %q", got)
	}
	if got := a.call("get_memory", id+`}`); got["text"] != "Prefers tea to coffee." {
		t.Errorf("get_memory returned %v", got)
	}
	if got := a.call("list_memories", `{"subjectId":"ada","tags":["drink"],"limit":10}`); len(texts(got["items"], "")) != 1 || got["nextCursor"] != nil {
		t.Errorf("list_memories returned %v", got)
	}
	first := a.call("list_memories", `{"subjectId":"ada","limit":1}`)
	if rest := a.call("list_memories", fmt.Sprintf(`{"subjectId":"ada","limit":1,"cursor":%q}`, first["nextCursor"])); len(texts(rest["items"], "")) != 1 || rest["nextCursor"] != nil {
		t.Errorf("the second page is %v", rest)
	}
	changed := a.call("update_memory", id+`,"text":"Prefers green tea.","revision":1,"clear":["metadata.from"]}`)
	if changed["text"] != "Prefers green tea." || changed["revision"] != 2.0 || len(changed["metadata"].(map[string]any)) != 0 {
		t.Errorf("update_memory returned %v", changed)
	}
	if said := a.refused("update_memory", id+`,"text":"Prefers black tea.","revision":1}`); !strings.Contains(said, "revision_mismatch") {
		t.Errorf("an update of an old revision says %q", said)
	}
	if got := a.call("build_context", `{"subjectId":"ada","query":"tea"}`); !strings.Contains(got["text"].(string), "green tea") || !slices.Contains(got["memoryIds"].([]any), tea["id"]) {
		t.Errorf("build_context returned %v", got)
	}
	if got := a.call("delete_memory", id+`}`); got["deleted"] != true || got["id"] != tea["id"] {
		t.Errorf("delete_memory returned %v", got)
	}
	if said := a.refused("get_memory", id+`}`); said != "Memory not found. (not_found)" {
		t.Errorf("an erased memory: %q", said)
	}

	plan := a.call("forget_subject", `{"subjectId":"ada"}`)
	if plan["erased"] != false || plan["memories"] != 1.0 || len(texts(a.call("list_memories", `{"subjectId":"ada"}`)["items"], "")) != 1 {
		t.Errorf("the plan %v erased something", plan)
	}
	if said, _ := plan["message"].(string); !strings.Contains(said, "erases 1 memory.") {
		t.Errorf("the plan says %q", said)
	}
	carryOut := fmt.Sprintf(`{"subjectId":"ada","planId":%q}`, plan["planId"])
	a.call("add_memory", `{"subjectId":"ada","text":"Said this after the plan."}`)
	if got := a.call("forget_subject", carryOut); got["erased"] != false || got["memories"] != 1.0 {
		t.Errorf("a memory was added after the plan: got %v", got)
	}
	if said := a.refused("forget_subject", carryOut); !strings.Contains(said, "not_found") {
		t.Errorf("a plan that was used: %q", said)
	}
	plan = a.call("forget_subject", `{"subjectId":"ada"}`)
	if got := a.call("forget_subject", fmt.Sprintf(`{"subjectId":"ada","planId":%q}`, plan["planId"])); got["erased"] != true || got["receiptId"] == nil {
		t.Errorf("forget_subject returned %v, want a receipt", got)
	}
	if left := texts(a.call("list_memories", `{}`)["items"], ""); !slices.Equal(left, []string{"Drinks coffee."}) {
		t.Errorf("after erasing one person, there is %q", left)
	}
}

func TestSearchAndFetchHaveTheShapesOfConnectors(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = "https://keepsake.example/" }))
	n := &tenant{t: t, base: p.URL, key: p.Key}
	n.make("POST", "/api/v1/documents", `{"id":"hours","title":"Opening hours","text":"The shop is open from nine.","url":"https://shop.example/hours","metadata":{"floor":2}}`)
	n.make("POST", "/api/v1/documents", `{"id":"no-title","text":"The shop sells tea."}`)
	memory := n.make("POST", "/api/v1/memories", `{"subjectId":"ada","text":"Likes the tea shop.","metadata":{"sure":true}}`)["id"].(string)
	n.make("POST", "/api/v1/memories", `{"subjectId":"ben","text":"Likes the tea shop, too."}`)

	reader := newToolUser(t, p, newKey(t, p, `"scopes":["read"]`))
	want := []string{"query"}
	if input := reader.tools()["search"].InputSchema; !slices.Equal(slices.Collect(maps.Keys(input.Properties)), want) || !slices.Equal(input.Required, want) {
		t.Errorf("search has the input %v", input)
	}
	found := reader.call("search", `{"query":"open"}`)
	wantFound := map[string]any{"results": []any{map[string]any{
		"id": "hours", "title": "Opening hours", "url": "https://shop.example/hours", "text": "The shop is open from nine.",
	}}}
	if !cmp.Equal(found, wantFound) {
		t.Error(cmp.Diff(wantFound, found))
	}
	filler := strings.Repeat("Nothing of note is in here. ", 100)
	n.make("PUT", "/api/v1/documents/long", fmt.Sprintf(`{"text":"%sThe radiator was bled. %s"}`, filler, filler))
	long := reader.call("search", `{"query":"radiator"}`)["results"].([]any)[0].(map[string]any)
	if passage := long["text"].(string); len(passage) > 1000 || !strings.Contains(passage, "here. The radiator was bled. Nothing") || !strings.HasSuffix(passage, ".") || long["cut"] != nil {
		t.Errorf("the text of a long document is %v, want whole sentences around the word", long)
	}
	fetched := reader.call("fetch", `{"id":"hours"}`)
	wantFetched := map[string]any{
		"id": "hours", "title": "Opening hours", "url": "https://shop.example/hours", "text": "The shop is open from nine.",
		"metadata": map[string]any{"floor": 2.0},
	}
	if !cmp.Equal(fetched, wantFetched) {
		t.Error(cmp.Diff(wantFetched, fetched))
	}
	if got := reader.call("fetch", `{"id":"no-title"}`); got["title"] != "no-title" || got["url"] != "https://keepsake.example/api/v1/documents/no-title" {
		t.Errorf("a document without title and URL: got %v", got)
	}
	if said := reader.refused("fetch", fmt.Sprintf(`{"id":%q}`, memory)); !strings.Contains(said, "not_found") {
		t.Errorf("a key without memory:read fetches a memory: %q", said)
	}

	bound := newToolUser(t, p, newKey(t, p, `"scopes":["read","memory:read"],"subjectId":"ada"`))
	ids := func(result map[string]any) (list []string) {
		for _, r := range result["results"].([]any) {
			list = append(list, r.(map[string]any)["id"].(string))
		}
		return list
	}
	if got := ids(bound.call("search", `{"query":"tea shop"}`)); len(got) != 3 || got[0] != memory {
		t.Errorf("a bound key finds %v, want its memory and both documents", got)
	}
	got := bound.call("fetch", fmt.Sprintf(`{"id":%q}`, memory))
	wantMemory := map[string]any{
		"id": memory, "title": "Likes the tea shop.", "text": "Likes the tea shop.", "url": "https://keepsake.example/api/v1/memories/" + memory,
		"metadata": map[string]any{"sure": true},
	}
	if !cmp.Equal(got, wantMemory) {
		t.Error(cmp.Diff(wantMemory, got))
	}
	for _, query := range []string{`" "`, `"` + strings.Repeat("a", 1025) + `"`, `7`} {
		if said := bound.refused("search", `{"query":`+query+`}`); !strings.Contains(said, "field query") {
			t.Errorf("the error of a wrong query does not name it: %q", said)
		}
	}
}

func TestBoundAgentReachesOnePersonOnly(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	theirs := n.make("POST", "/api/v1/memories", `{"subjectId":"ben","text":"Has a secret."}`)["id"].(string)
	a := newToolUser(t, p, newKey(t, p, `"scopes":["memory:read","memory:write"],"subjectId":"ada"`))
	for name, tool := range a.tools() {
		if _, ok := tool.InputSchema.Properties["subjectId"]; ok {
			t.Errorf("%s shows a subject to a bound key", name)
		}
	}
	if got := a.call("add_memory", `{"text":"Likes secrets."}`); got["subjectId"] != "ada" {
		t.Errorf("add_memory returned %v", got)
	}
	for name, arguments := range map[string]string{
		"add_memory": `{"text":"x","subjectId":"ben"}`, "search_memories": `{"query":"secret","subjectId":"ben"}`, "get_memory": `{"id":"` + theirs + `"}`,
		"list_memories": `{"subjectId":"ben"}`, "update_memory": `{"id":"` + theirs + `","text":"x"}`, "delete_memory": `{"id":"` + theirs + `"}`,
		"forget_subject": `{"subjectId":"ben"}`, "build_context": `{"query":"secret","subjectId":"ben"}`, "fetch": `{"id":"` + theirs + `"}`,
	} {
		if said := a.refused(name, arguments); !strings.Contains(said, "not_found") {
			t.Errorf("%s of another person: %q", name, said)
		}
	}
	plan := a.call("forget_subject", `{}`)
	if got := a.call("forget_subject", fmt.Sprintf(`{"planId":%q}`, plan["planId"])); got["erased"] != true || got["memories"] != 1.0 || got["receiptId"] == nil {
		t.Errorf("forget_subject returned %v", got)
	}
	if got := n.make("GET", "/api/v1/memories/"+theirs, ""); got["text"] != "Has a secret." {
		t.Errorf("the other person has %v", got)
	}
}

func TestErrorsOfToolsNameTheirField(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, p.Key)
	for _, tc := range []struct{ tool, arguments, field, issue string }{
		{"add_memory", `{"subjectId":"ada"}`, "text", "required"},
		{"add_memory", `{"subjectId":"ada","text":null}`, "text", "required"},
		{"add_memory", `{"text":"a"}`, "subjectId", "required"},
		{"add_memory", `{"subjectId":"ada","text":"` + strings.Repeat("a", 65537) + `"}`, "text", "too_long"},
		{"add_memory", `{"subjectId":"ada","text":"a","kind":"joke"}`, "kind", "not_allowed"},
		{"add_memory", `{"subjectId":"ada","text":"a","ocurredAt":"2026-01-01T00:00:00Z"}`, "ocurredAt", "unknown"},
		{"add_memory", `{"subjectId":"ada","text":"a","occurredAt":"yesterday"}`, "occurredAt", "format"},
		{"add_memory", `{"subjectId":"ada","text":"a","idempotencyKey":"short"}`, "idempotencyKey", "too_short"},
		{"list_memories", `{"limit":0}`, "limit", "too_small"},
		{"list_memories", `{"limit":{}}`, "limit", "type"},
		{"list_memories", `{"cursor":"forged"}`, "cursor", "invalid"},
		{"get_memory", `{}`, "id", "required"},
		{"search_memories", `{"subjectId":"a b","query":"x"}`, "subjectId", "format"},
		{"build_context", `{"subjectId":"ada","maxTokens":0}`, "maxTokens", "too_small"},
		{"forget_subject", `{"subjectId":7}`, "subjectId", "type"},
	} {
		said := a.refused(tc.tool, tc.arguments)
		if want := fmt.Sprintf("(validation_error: field %s, issue %s)", tc.field, tc.issue); !strings.HasSuffix(said, want) {
			t.Errorf("%s %.80s: got %q, want it to end with %s", tc.tool, tc.arguments, said, want)
		}
	}
}

func TestRefusalsOfToolsAreResponsesOfHTTP(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	key := newKey(t, p, `"scopes":["memory:read"],"rateLimit":{"requestsPerMinute":3}`)
	a := newToolUser(t, p, key)
	add := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_memory","arguments":{"subjectId":"ada","text":"a"}}}`
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	metadata := `resource_metadata="` + p.URL + `/.well-known/oauth-protected-resource/ai/mcp"` // absolute also without publicUrl

	res, text := a.exchange("POST", "/ai/mcp", add, nil)
	if res.StatusCode != 403 || !bytes.Contains(text, []byte(`"insufficient_scope"`)) || !strings.Contains(res.Header.Get("WWW-Authenticate"), `scope="memory:write"`) {
		t.Errorf("a tool that the scopes do not allow: %d %s %q", res.StatusCode, text, res.Header.Get("WWW-Authenticate"))
	}
	for range 2 {
		if res, text = a.exchange("POST", "/ai/mcp", ping, nil); res.StatusCode != 200 {
			t.Errorf("ping: %d %s", res.StatusCode, text)
		}
	}
	if res, text = a.exchange("POST", "/ai/mcp", ping, nil); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" || !bytes.Contains(text, []byte(`"rate_limit_exceeded"`)) {
		t.Errorf("over the limit: %d %s", res.StatusCode, text)
	}
	for _, sent := range []string{"", "kpsk_wrong", "not-a-token"} {
		stranger := newToolUser(t, p, sent)
		res, text := stranger.exchange("POST", "/ai/mcp", ping, nil)
		challenge := strings.Join(res.Header.Values("WWW-Authenticate"), ", ")
		if res.StatusCode != 401 || !strings.Contains(challenge, "Bearer ") || !strings.Contains(challenge, metadata) {
			t.Errorf("the credential %q: %d %s, challenge %q", sent, res.StatusCode, text, challenge)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if res, _ := newToolUser(t, p, p.Key).exchange(method, "/ai/mcp", "", nil); res.StatusCode != 405 || !strings.Contains(res.Header.Get("Allow"), "POST") {
			t.Errorf("%s: got %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Daily-Remaining", "X-API-Version", "X-Request-Id"} {
		if res.Header.Get(name) == "" {
			t.Errorf("a %d has no %s", res.StatusCode, name)
		}
	}
}

func TestPagesOfOtherOriginsCannotCallTools(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) {
		c.CORS.Origins, c.PublicURL = []string{"https://app.example"}, "https://keepsake.example"
	}))
	a := newToolUser(t, p, p.Key)
	own := p.URL
	for origin, want := range map[string]int{
		"": 200, own: 200, "https://app.example": 200, "https://keepsake.example": 200,
		"http://keepsake.example": 403, "https://evil.example": 403, "http://localhost:1": 403, "null": 403, "https://app.example.evil.example": 403,
	} {
		header := map[string]string{}
		if origin != "" {
			header["Origin"] = origin
		}
		res, text := a.exchange("POST", "/ai/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header)
		if res.StatusCode != want {
			t.Errorf("origin %q: got %d %s, want %d", origin, res.StatusCode, text, want)
		}
	}
	if res, _ := newToolUser(t, p, "").exchange("POST", "/ai/mcp", "{}", map[string]string{"Origin": "https://evil.example"}); res.StatusCode != 403 {
		t.Errorf("another origin without a credential: got %d, want 403", res.StatusCode)
	}
}

func TestMetadataNamesTheToolsEndpoint(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = "https://keepsake.example" }))
	res, text := newToolUser(t, p, "").exchange("GET", "/.well-known/oauth-protected-resource/ai/mcp", "", nil)
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s: %v", res.StatusCode, text, err)
	}
	want := map[string]any{
		"resource": "https://keepsake.example/ai/mcp", "resource_name": "Keepsake", "bearer_methods_supported": []any{"header"},
		"scopes_supported": []any{"read", "memory:read", "memory:write"},
	}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	res, _ = newToolUser(t, p, "").exchange("POST", "/ai/mcp", `{}`, nil)
	if challenge := strings.Join(res.Header.Values("WWW-Authenticate"), ", "); !strings.Contains(challenge, `resource_metadata="https://keepsake.example/.well-known/oauth-protected-resource/ai/mcp"`) {
		t.Errorf("the challenge is %q", challenge)
	}
}

// A call of search runs two operations, and a call of forget_subject up to three. Each is one request to the limits, and all
// that it reads is in the access log with its request ID.
func TestEachToolCallIsOneRequest(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	a := newToolUser(t, p, newKey(t, p, `"scopes":["read","memory:read","memory:write"],"subjectId":"ada","rateLimit":{"requestsPerMinute":100}`))
	a.call("add_memory", `{"text":"Likes tea."}`)
	left := func(body, requestID string) int {
		t.Helper()
		res, text := a.exchange("POST", "/ai/mcp", body, map[string]string{"X-Request-Id": requestID})
		remaining, err := strconv.Atoi(res.Header.Get("X-RateLimit-Key-Remaining"))
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", body, res.StatusCode, text)
		}
		return remaining
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`
	before := left(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "request-ping")
	if after := left(fmt.Sprintf(call, "search", `{"query":"tea"}`), "request-search"); after != before-1 {
		t.Errorf("a search costs %d requests, want 1", before-after)
	}
	_, _, body := n.send("GET", "/api/v1/memories/subjects/ada/access-log", "", false)
	var log struct {
		Items []struct{ Action, RequestID string }
	}
	if err := json.Unmarshal(body, &log); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(log.Items, func(e struct{ Action, RequestID string }) bool {
		return e.Action == "memory.recalled" && e.RequestID == "request-search"
	}) {
		t.Errorf("the access log is %s", body)
	}
}

func TestRepeatedToolCallHasOneEffect(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, p.Key)
	turn := `{"subjectId":"ada","kind":"turn","text":"yes","idempotencyKey":"attempt-1"}`
	first := a.call("add_memory", turn)
	if again := a.call("add_memory", turn); !cmp.Equal(again, first) {
		t.Errorf("a repeated call returned %v, first %v", again, first)
	}
	if other := a.call("add_memory", strings.Replace(turn, "attempt-1", "attempt-2", 1)); other["id"] == first["id"] {
		t.Errorf("another call returned %v", other)
	}
	if said := a.refused("add_memory", strings.Replace(turn, "yes", "no", 1)); !strings.Contains(said, "issue reused") {
		t.Errorf("the same key for another memory: %q", said)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_memory","arguments":{"subjectId":"ada","kind":"turn","text":"no"}}}`
	var ids []string
	for range 2 {
		_, text := a.exchange("POST", "/ai/mcp", body, map[string]string{"Idempotency-Key": "attempt-3"})
		var answer struct {
			Result struct{ StructuredContent struct{ ID string } }
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, answer.Result.StructuredContent.ID)
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("with the header, the calls returned %q", ids)
	}
}

// toolOperations are the operations whose body or parameters a tool's arguments become, and those that it only calls.
var toolOperations = map[string]string{
	"add_memory": "createMemory", "search_memories": "recall", "get_memory": "getMemory", "list_memories": "listMemories",
	"update_memory": "changeMemory", "delete_memory": "deleteMemory", "build_context": "recallContext",
}

// Each argument of a tool has the name of a member or parameter of its operation, but for a few.
func TestArgumentsOfToolsExistInTheirOperations(t *testing.T) {
	t.Parallel()
	text, err := app.OpenAPI(1)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct{ Name string }
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct{ Schemas map[string]toolSchema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range item {
			names := map[string]bool{}
			for _, parameter := range op.Parameters {
				names[parameter.Name] = true
			}
			for _, content := range op.RequestBody.Content {
				for name := range document.Components.Schemas[strings.TrimPrefix(content.Schema.Ref, "#/components/schemas/")].Properties {
					names[name] = true
				}
			}
			known[op.OperationID] = names
		}
	}
	p := apptest.Start(t)
	for name, tool := range newToolUser(t, p, p.Key).tools() {
		operation, ok := toolOperations[name]
		if !ok {
			continue
		}
		for argument := range tool.InputSchema.Properties {
			if name := map[string]string{"revision": "If-Match", "tags": "tag"}[argument]; name != "" && known[operation][name] {
				continue
			}
			if argument != "idempotencyKey" && argument != "clear" && !known[operation][argument] {
				t.Errorf("%s has the argument %s, which %s does not know", name, argument, operation)
			}
		}
	}
}
