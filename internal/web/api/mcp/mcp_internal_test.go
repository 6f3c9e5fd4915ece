package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// caller is a request whose operations answer with prepared texts.
type caller struct {
	endpoint.Request
	answers map[string]string // by operation; an operation without one finds nothing
	calls   []endpoint.Call
}

func (c *caller) Call(call *endpoint.Call) (endpoint.Response, error) {
	c.calls = append(c.calls, *call)
	answer, ok := c.answers[call.Operation]
	if !ok {
		return endpoint.Response{}, problem.Missing()
	}
	return endpoint.Response{Status: 200, Body: []byte(answer)}, nil
}

func (c *caller) APIVersion() int { return 1 }

// agentKey is a key with all scopes that agents need.
var agentKey = auth.Principal{Kind: auth.APIKey, Scopes: auth.Read | auth.MemoryRead | auth.MemoryWrite}

// post sends a body and decodes the response.
func post(t *testing.T, p auth.Principal, c *caller, in handleMessage) (status int, body map[string]any, err error) {
	t.Helper()
	s := &server{Options: Options{Release: "1.2.3", API: "https://keepsake.example"}}
	s.tools = newTools(s)
	ctx := context.WithValue(auth.With(context.Background(), &p), endpoint.RequestKey, endpoint.Request(c))
	out, err := s.handle(ctx, &in)
	if err != nil {
		return 0, nil, err
	}
	if out.Raw != nil && out.Raw[0] == '{' {
		if err := json.Unmarshal(out.Raw, &body); err != nil {
			t.Fatalf("%s: %v", out.Raw, err)
		}
	}
	if out.Status == 0 {
		out.Status = 200
	}
	return out.Status, body, nil
}

func errorCodeOf(body map[string]any) int {
	failed, _ := body["error"].(map[string]any)
	code, _ := failed["code"].(float64)
	return int(code)
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestMessagesAreRefusedAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	newest := func(method, name string) handleMessage {
		return handleMessage{Revision: "2026-07-28", Method: method, Name: name}
	}
	for name, tc := range map[string]struct {
		in     handleMessage
		body   string
		status int
		code   int
	}{
		"Empty":              {body: ``, status: 400, code: codeParse},
		"NotJSON":            {body: `{"jsonrpc"`, status: 400, code: codeParse},
		"TwiceTheSameName":   {body: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, status: 400, code: codeParse},
		"Text":               {body: `"ping"`, status: 400, code: codeInvalidRequest},
		"EmptyBatch":         {body: `[]`, status: 400, code: codeInvalidRequest},
		"OtherJSONRPC":       {body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, status: 400, code: codeInvalidRequest},
		"NoMethod":           {body: `{"jsonrpc":"2.0","id":1}`, status: 400, code: codeInvalidRequest},
		"MethodIsANumber":    {body: `{"jsonrpc":"2.0","id":1,"method":1}`, status: 400, code: codeInvalidRequest},
		"NullID":             {body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, code: codeInvalidRequest},
		"FractionAsID":       {body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, status: 400, code: codeInvalidRequest},
		"ParamsAreAList":     {body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, status: 400, code: codeInvalidParams},
		"UnknownMethod":      {body: `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, status: 200, code: codeMethodNotFound},
		"UnknownTool":        {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`, status: 200, code: codeInvalidParams},
		"ArgumentsAreAList":  {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":[]}}`, status: 200, code: codeInvalidParams},
		"UnknownCursor":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, status: 200, code: codeInvalidParams},
		"NoRevisionToAgree":  {body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, status: 200, code: codeInvalidParams},
		"UnknownRevision":    {in: handleMessage{Revision: "1999-01-01"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, status: 400, code: codeUnsupportedProtocol},
		"BatchOfLater":       {in: handleMessage{Revision: "2025-06-18"}, body: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, status: 400, code: codeInvalidRequest},
		"NewestWithoutMeta":  {in: newest("tools/list", ""), body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 400, code: codeInvalidParams},
		"NewestOnlyInMeta":   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + statelessMeta + `}}`, status: 400, code: codeHeaderMismatch},
		"OtherMethodHeader":  {in: newest("ping", ""), body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + statelessMeta + `}}`, status: 400, code: codeHeaderMismatch},
		"OtherNameHeader":    {in: newest("tools/call", "fetch"), body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search",` + statelessMeta + `}}`, status: 400, code: codeHeaderMismatch},
		"MetaOfAnother":      {in: handleMessage{Revision: "2025-11-25"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + statelessMeta + `}}`, status: 400, code: codeHeaderMismatch},
		"NewestHasNoPing":    {in: newest("ping", ""), body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + statelessMeta + `}}`, status: 404, code: codeMethodNotFound},
		"EarlierNoDiscovery": {in: handleMessage{Revision: "2025-11-25"}, body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, status: 200, code: codeMethodNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.in.Raw = []byte(tc.body)
			status, body, err := post(t, agentKey, &caller{}, tc.in)
			if err != nil || status != tc.status || errorCodeOf(body) != tc.code {
				t.Errorf("%s: got %d %v, %v; want %d with code %d", tc.body, status, body, err, tc.status, tc.code)
			}
		})
	}
}

func TestRevisionIsNegotiated(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		_, body, _ := post(t, agentKey, &caller{}, handleMessage{Raw: []byte(
			`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"` + asked + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)})
		result, _ := body["result"].(map[string]any)
		if result["protocolVersion"] != want || body["id"] != "a" {
			t.Errorf("asked for %s: got %v, want %s", asked, body, want)
		}
	}
}

func TestNewestRevisionNeedsNoHandshake(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"server/discover", "tools/list"} {
		status, body, err := post(t, agentKey, &caller{}, handleMessage{
			Revision: "2026-07-28", Method: method, Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + statelessMeta + `}}`),
		})
		result, _ := body["result"].(map[string]any)
		if err != nil || status != 200 || result["resultType"] != "complete" || result["cacheScope"] != "private" || result["ttlMs"] == nil {
			t.Errorf("%s: got %d %v, %v", method, status, body, err)
		}
	}
	status, body, err := post(t, agentKey, &caller{answers: map[string]string{"getDocument": `{"id":"a"}`}}, handleMessage{
		Revision: "2026-07-28", Method: "tools/call", Name: "=?base64?ZmV0Y2g=?=",
		Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"a"},` + statelessMeta + `}}`),
	})
	if err != nil || status != 200 || errorCodeOf(body) != 0 {
		t.Errorf("a call: got %d %v, %v", status, body, err)
	}
}

func TestMessagesWithoutResponseAreAccepted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
	} {
		if status, body, err := post(t, agentKey, &caller{}, handleMessage{Raw: []byte(text)}); status != 202 || body != nil || err != nil {
			t.Errorf("%s: got %d %v, %v, want 202", text, status, body, err)
		}
	}
}

func TestEarlyRevisionsHaveBatches(t *testing.T) {
	t.Parallel()
	s := &server{}
	s.tools = newTools(s)
	c := &caller{answers: map[string]string{"getMemory": `{"id":"mem_x"}`}}
	p := agentKey
	ctx := context.WithValue(auth.With(context.Background(), &p), endpoint.RequestKey, endpoint.Request(c))
	get := `{"jsonrpc":"2.0","id":%,"method":"tools/call","params":{"name":"get_memory","arguments":{"id":"mem_x"}}}`
	out, err := s.handle(ctx, &handleMessage{Revision: "2025-03-26", Raw: []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},7,` +
		`{"jsonrpc":"2.0","method":"notifications/initialized"},` + strings.Replace(get, "%", "2", 1) + "," + strings.Replace(get, "%", "3", 1) + `]`)})
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID    any       `json:"id"`
		Error *rpcError `json:"error"`
	}
	if err := json.Unmarshal(out.Raw, &list); err != nil {
		t.Fatalf("%s: %v", out.Raw, err)
	}
	var ids []any
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	if want := []any{1.0, nil, 2.0, 3.0}; !cmp.Equal(ids, want) {
		t.Errorf("got the ids %v, want %v", ids, want)
	}
	if len(c.calls) != 1 || list[3].Error == nil {
		t.Errorf("%d tools were called, want one: each call is charged as a request", len(c.calls))
	}
}

func TestToolsDependOnTheCaller(t *testing.T) {
	t.Parallel()
	const reads = "search_memories get_memory list_memories build_context"
	for name, tc := range map[string]struct {
		p    auth.Principal
		want string
	}{
		"NoScope":      {auth.Principal{}, ""},
		"Read":         {auth.Principal{Scopes: auth.Read}, "search fetch"},
		"MemoryRead":   {auth.Principal{Scopes: auth.MemoryRead}, reads},
		"BoundReader":  {auth.Principal{Scopes: auth.MemoryRead, SubjectID: "ada"}, "search fetch " + reads},
		"MemoryWrite":  {auth.Principal{Scopes: auth.MemoryWrite}, "add_memory update_memory delete_memory forget_subject"},
		"ManageOnly":   {auth.Principal{Scopes: auth.DeveloperManage | auth.AnalyticsRead | auth.Write}, ""},
		"Administator": {auth.Principal{Scopes: auth.Admin}, "search fetch add_memory " + reads + " update_memory delete_memory forget_subject"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want := map[string]bool{}, map[string]bool{}
			for _, tool := range toolList(t, tc.p) {
				got[tool.Name] = true
				if bound := tc.p.SubjectID != ""; bound && strings.Contains(string(tool.InputSchema), "subjectId") {
					t.Errorf("%s shows a subject to a bound key: %s", tool.Name, tool.InputSchema)
				}
			}
			for _, n := range strings.Fields(tc.want) {
				want[n] = true
			}
			if !cmp.Equal(got, want) {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

// toolList lists the tools of a caller.
func toolList(t *testing.T, p auth.Principal) []definition {
	t.Helper()
	s := &server{}
	s.tools = newTools(s)
	x := &exchange{server: s, ctx: auth.With(context.Background(), &p)}
	result, failed, err := x.dispatch(&message{method: "tools/list"}, lastHandshake)
	if err != nil || failed != nil {
		t.Fatal(failed, err)
	}
	return result.(*listed).Tools
}

// The budget counts all that a client puts into a prompt: names, descriptions, schemas and hints. 3.5 bytes per token is
// fewer than any usual tokenizer needs for such JSON.
func TestToolsFitIntoThreeThousandTokens(t *testing.T) {
	t.Parallel()
	list := toolList(t, agentKey)
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if tokens := len(text) * 10 / 35; tokens > 3000 || len(list) > 12 {
		t.Errorf("%d tools take %d bytes, about %d tokens; want at most 12 tools and 3000 tokens", len(list), len(text), tokens)
	}
	for _, d := range list {
		for _, schema := range []string{string(d.InputSchema), string(d.OutputSchema)} {
			if !json.Valid([]byte(schema)) || !strings.HasPrefix(schema, `{"type":"object"`) {
				t.Errorf("%s has the schema %s", d.Name, schema)
			}
		}
		if d.Annotations.OpenWorld || d.Annotations.ReadOnly && d.Annotations.Destructive {
			t.Errorf("%s has the hints %+v", d.Name, d.Annotations)
		}
	}
}

func TestArgumentsBecomeTheRequestOfAnOperation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, arguments string
		want            endpoint.Call
	}{
		"Body": {
			"add_memory", `{"subjectId":"ada","text":"tea","tags":["a"],"idempotencyKey":"12345678"}`,
			endpoint.Call{Operation: "createMemory", Header: map[string]string{"Idempotency-Key": "12345678"}, Body: []byte(`{"subjectId":"ada","text":"tea","tags":["a"]}`)},
		},
		"Typing": {
			"update_memory", `{"id":"mem_1","text":"tea","speakr":"Ada","revision":3}`,
			endpoint.Call{},
		},
		"PathAndRevision": {
			"update_memory", `{"id":"mem_1","text":"tea","occurredAt":null,"revision":3,"toolCallId":7}`,
			endpoint.Call{Operation: "changeMemory", Path: map[string]string{"id": "mem_1"}, Header: map[string]string{"If-Match": `"3"`}, Body: []byte(`{"text":"tea"}`)},
		},
		"Clear": {
			"update_memory", `{"id":"mem_1","clear":["occurredAt","metadata.a","metadata.b.c"],"metadata":{"d":1,"e":null}}`,
			endpoint.Call{Operation: "changeMemory", Path: map[string]string{"id": "mem_1"}, Body: []byte(`{"metadata":{"a":null,"b.c":null,"d":1},"occurredAt":null}`)},
		},
		"ClearAll": {
			"update_memory", `{"id":"mem_1","clear":["metadata","metadata.a"],"metadata":null}`,
			endpoint.Call{Operation: "changeMemory", Path: map[string]string{"id": "mem_1"}, Body: []byte(`{"metadata":null}`)},
		},
		"Query": {
			"list_memories", `{"subjectId":"ada","tags":["a","b"],"limit":5,"cursor":null}`,
			endpoint.Call{Operation: "listMemories", Query: url.Values{"subjectId": {"ada"}, "tag": {"a", "b"}, "limit": {"5"}}},
		},
		"Context": {
			"build_context", `{"subjectId":"ada"}`,
			endpoint.Call{Operation: "recallContext", Body: []byte(`{"subjectId":"ada","maxTokens":1000}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &caller{}
			_, body, err := post(t, agentKey, c, handleMessage{Raw: []byte(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tc.tool + `","arguments":` + tc.arguments + `}}`)})
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.Operation == "" {
				if len(c.calls) > 0 || !strings.Contains(resultText(body), `"speaker"`) {
					t.Errorf("a typing error: got %v", body)
				}
				return
			}
			if len(c.calls) != 1 {
				t.Fatalf("got %d calls, %v", len(c.calls), body)
			}
			got := c.calls[0]
			for _, m := range []*map[string]string{&got.Path, &got.Header} {
				if len(*m) == 0 {
					*m = nil
				}
			}
			if len(got.Query) == 0 {
				got.Query = nil
			}
			if !cmp.Equal(got, tc.want) {
				t.Error(cmp.Diff(tc.want, got))
			}
		})
	}
}

// resultText is the text of a tool's result.
func resultText(body map[string]any) string {
	result, _ := body["result"].(map[string]any)
	list, _ := result["content"].([]any)
	if len(list) == 0 {
		return ""
	}
	text, _ := list[0].(map[string]any)["text"].(string)
	return text
}

func TestLongMemoriesHaveAShortTitle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Prefers tea.":                        "Prefers tea.",
		"  Prefers tea.\nSince her youth.":    "Prefers tea.",
		strings.Repeat("é", 100):              strings.Repeat("é", 79) + "…",
		strings.Repeat("a", 78) + " " + "bcd": strings.Repeat("a", 78) + "…",
	} {
		m := memoryText{Text: text}
		if got := m.title(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
