package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"keepsake/internal/app/apptest"
)

// oneTyped reports what in a schema a client with fewer types than JSON Schema refuses: Gemini knows one type per value.
func oneTyped(at string, schema map[string]any) (wrong []string) {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "$ref", "nullable", "const", "additionalProperties", "patternProperties"} {
		if _, ok := schema[keyword]; ok {
			wrong = append(wrong, at+" has "+keyword)
		}
	}
	if _, ok := schema["type"].(string); !ok {
		wrong = append(wrong, fmt.Sprintf("%s has the type %v", at, schema["type"]))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		wrong = append(wrong, oneTyped(at+"[]", items)...)
	} else if schema["type"] == "array" {
		wrong = append(wrong, at+" has no items")
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, s := range properties {
		wrong = append(wrong, oneTyped(at+"."+name, s.(map[string]any))...)
	}
	return wrong
}

func TestEachValueInASchemaHasOneType(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for _, a := range []*toolUser{newToolUser(t, p, p.Key), newToolUser(t, p, newKey(t, p, `"scopes":["memory:read","memory:write"],"subjectId":"ada"`))} {
		for _, listed := range a.request("tools/list", `{}`)["tools"].([]any) {
			tool := listed.(map[string]any)
			for _, kind := range []string{"inputSchema", "outputSchema"} {
				for _, wrong := range oneTyped(fmt.Sprint(tool["name"], " ", kind), tool[kind].(map[string]any)) {
					t.Error(wrong)
				}
			}
		}
	}
}

// filledMemory creates a memory with a value in each field that a tool can change.
func filledMemory(a *toolUser) map[string]any {
	m := a.call("add_memory", `{"subjectId":"ada","text":"Prefers tea.","kind":"note","speaker":"Ada","tags":["drink"],"metadata":{"a":1,"b":2},`+
		`"importance":0.5,"pinned":true,"occurredAt":"2026-01-01T00:00:00Z","expiresAt":"2090-01-01T00:00:00Z","sessionId":"s-1"}`)
	return a.call("update_memory", fmt.Sprintf(`{"id":%q,"validTo":"2080-01-01T00:00:00Z"}`, m["id"]))
}

// withArgument returns arguments as JSON, with one more.
func withArgument(arguments map[string]any, name string, value any) string {
	sent := maps.Clone(arguments)
	sent[name] = value
	text, err := json.Marshal(sent)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestNullIsAnArgumentThatIsLeftOut(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, p.Key)
	id := filledMemory(a)["id"]
	for name, tool := range a.tools() {
		arguments := maps.Clone(toolArguments[name])
		if arguments == nil {
			t.Fatalf("there are no arguments for %s", name)
		}
		required := map[string]bool{}
		for _, argument := range tool.InputSchema.Required {
			required[argument] = true
		}
		if required["subjectId"] {
			arguments["subjectId"] = "ada"
		}
		if name == "update_memory" {
			arguments["id"] = id
		}
		for argument := range tool.InputSchema.Properties {
			sent := withArgument(arguments, argument, nil)
			result := a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, sent))
			said := textOf(result)
			if required[argument] {
				if want := fmt.Sprintf("field %s, issue required", argument); !strings.Contains(said, want) {
					t.Errorf("%s %s: got %s, want %s", name, sent, said, want)
				}
			} else if result["isError"] != false && !strings.Contains(said, "not_found") {
				t.Errorf("%s %s: got %s", name, sent, said)
			}
		}
		if sent := withArgument(arguments, "toolCallId", "call_1"); strings.Contains(textOf(a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, sent))), "unknown") {
			t.Errorf("%s %s: an argument that the client has added is refused", name, sent)
		}
		for argument := range tool.InputSchema.Properties {
			for _, wrong := range []string{argument + "x", strings.ToUpper(argument), argument[:len(argument)-1], argument + "_value"} {
				if _, ok := tool.InputSchema.Properties[wrong]; ok || wrong == "" {
					continue
				}
				if said := a.refused(name, withArgument(arguments, wrong, "x")); !strings.Contains(said, fmt.Sprintf("field %s, issue unknown", wrong)) {
					t.Errorf("%s: the typing error %s says %q", name, wrong, said)
				}
			}
		}
	}
}

func TestUpdateRemovesOnlyWhatClearNames(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, p.Key)
	before := filledMemory(a)
	id := before["id"]
	nulls := map[string]any{"id": id, "text": "Prefers green tea."}
	for argument := range a.tools()["update_memory"].InputSchema.Properties {
		if _, ok := nulls[argument]; !ok {
			nulls[argument] = nil
		}
	}
	after := a.call("update_memory", withArgument(nulls, "metadata", map[string]any{"a": nil}))
	for _, name := range []string{"kind", "speaker", "tags", "metadata", "importance", "pinned", "occurredAt", "validTo", "expiresAt"} {
		if fmt.Sprint(after[name]) != fmt.Sprint(before[name]) {
			t.Errorf("an update of the text changed %s from %v to %v", name, before[name], after[name])
		}
	}
	cleared := a.call("update_memory", fmt.Sprintf(`{"id":%q,"clear":["speaker","tags","metadata.a","importance","occurredAt","validTo","expiresAt"],"metadata":{"c":3}}`, id))
	if got := fmt.Sprint(cleared["speaker"], cleared["tags"], cleared["metadata"], cleared["importance"], cleared["occurredAt"], cleared["validTo"], cleared["expiresAt"]); got != "<nil> [] map[b:2 c:3] <nil> <nil> <nil> <nil>" &&
		got != "<nil>[]map[b:2 c:3]<nil> <nil> <nil> <nil>" {
		t.Errorf("after clear, there is %s", got)
	}
	if got := a.call("update_memory", fmt.Sprintf(`{"id":%q,"clear":["metadata"]}`, id)); len(got["metadata"].(map[string]any)) != 0 || got["text"] != "Prefers green tea." {
		t.Errorf("clear of metadata returned %v", got)
	}
	for clearing, field := range map[string]string{
		`["text"]`: "clear[0]", `["tags","kind"]`: "clear[1]", `"tags"`: "clear", `[7]`: "clear[0]", `["tag"]`: "clear[0]", `{"tags":true}`: "clear", `["metadata."]`: "clear[0]",
	} {
		if said := a.refused("update_memory", fmt.Sprintf(`{"id":%q,"clear":%s}`, id, clearing)); !strings.Contains(said, "field "+field+",") {
			t.Errorf("clear %s: got %q, want it to name %s", clearing, said, field)
		}
	}
	for _, both := range []string{`"tags":["a"],"clear":["tags"]`, `"metadata":{"b":1},"clear":["metadata.b"]`} {
		if said := a.refused("update_memory", fmt.Sprintf(`{"id":%q,%s}`, id, both)); !strings.Contains(said, "both changed and cleared") {
			t.Errorf("%s: got %q", both, said)
		}
	}
}

func TestResultsOfToolsFitIntoClients(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, newKey(t, p, `"scopes":["read","memory:read","memory:write"],"subjectId":"ada"`))
	n := &tenant{t: t, base: p.URL, key: p.Key}
	long := strings.Repeat("She likes tea in the morning. ", 2000)
	var want []string
	for i := range 30 {
		m := a.call("add_memory", fmt.Sprintf(`{"text":"%d %s"}`, i, long))
		want = append([]string{fmt.Sprint(m["id"])}, want...)
		if text := fmt.Sprint(m["text"]); utf8.RuneCountInString(text) > 1000 || m["note"] == nil {
			t.Fatalf("add_memory returned %d characters and the note %v", utf8.RuneCountInString(text), m["note"])
		}
	}
	for i := range 10 {
		n.make("POST", "/api/v1/documents", fmt.Sprintf(`{"title":%q,"text":"Tea is a drink.","url":"https://shop.example/%s"}`, fmt.Sprint(i, strings.Repeat(` "tea"`, 160)), strings.Repeat("x", 1900)))
	}
	bounded := func(tool, arguments, list, item string) map[string]any {
		t.Helper()
		_, body := a.exchange("POST", "/ai/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), nil)
		if length := utf8.RuneCount(body); length > 40_000 {
			t.Errorf("%s: the response has %d characters", tool, length)
		}
		result := a.call(tool, arguments)
		for _, text := range texts(result[list], item) {
			if length := utf8.RuneCountInString(text); length > 1000 {
				t.Errorf("%s: a text has %d characters", tool, length)
			} else if strings.HasPrefix(text, "Tea") == strings.Contains(text, "… [cut: ") {
				t.Errorf("%s: the text is %q", tool, text)
			}
		}
		return result
	}
	var listed []string
	for cursor := `null`; cursor != ""; {
		page := bounded("list_memories", `{"limit":200,"cursor":`+cursor+`}`, "items", "")
		for _, item := range page["items"].([]any) {
			listed = append(listed, fmt.Sprint(item.(map[string]any)["id"]))
		}
		if cursor = ""; page["nextCursor"] != nil {
			cursor = fmt.Sprintf("%q", page["nextCursor"])
		}
	}
	if fmt.Sprint(listed) != fmt.Sprint(want) {
		t.Errorf("the pages list %v, want %v", listed, want)
	}
	for _, tool := range []string{"search_memories", "search"} {
		arguments, item := `{"query":"tea in the morning","limit":30}`, "memory"
		if tool == "search" {
			arguments, item = `{"query":"tea in the morning"}`, ""
		}
		found := bounded(tool, arguments, "results", item)
		omitted, _ := found["omitted"].([]any)
		if shown := len(found["results"].([]any)); shown == 0 || len(omitted) == 0 || shown+len(omitted) != map[string]int{"search": 20, "search_memories": 30}[tool] || found["note"] == nil {
			t.Errorf("%s: %d results, %d omitted and the note %v", tool, shown, len(omitted), found["note"])
		}
		a.call("fetch", fmt.Sprintf(`{"id":%q}`, omitted[0]))
	}
	for tool, id := range map[string]string{"get_memory": want[0], "fetch": want[0]} {
		if got := a.call(tool, fmt.Sprintf(`{"id":%q}`, id)); got["text"] != "29 "+long {
			t.Errorf("%s does not return the whole text", tool)
		}
	}
}

func TestToolsEndpointTakesASlashAtItsEnd(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	a := newToolUser(t, p, p.Key)
	for _, method := range []string{"POST", "GET", "OPTIONS", "DELETE"} {
		body := map[string]string{"POST": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}[method]
		plain, want := a.exchange(method, "/ai/mcp", body, nil)
		slashed, got := a.exchange(method, "/ai/mcp/", body, nil)
		if plain.StatusCode != slashed.StatusCode || plain.Header.Get("Allow") != slashed.Header.Get("Allow") || method == "POST" && string(got) != string(want) {
			t.Errorf("%s /ai/mcp/: got %d %.100s, want %d as without the slash", method, slashed.StatusCode, got, plain.StatusCode)
		}
	}
	for _, path := range []string{"/ai/mcp//", "/ai//mcp", "/ai/recall/"} {
		if res, _ := a.exchange("POST", path, `{}`, nil); res.StatusCode != 404 {
			t.Errorf("%s: got %d, want 404", path, res.StatusCode)
		}
	}
}
