package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// These tests walk through the lists of tools, so that they cover those of next year: a tool with a place for something that these
// tests do not know fails them.

// harmlessArguments name nothing that exists.
var harmlessArguments = map[string]bool{
	"text": true, "kind": true, "kinds": true, "speaker": true, "metadata": true, "importance": true, "pinned": true, "occurredAt": true,
	"expiresAt": true, "validTo": true, "clear": true, "revision": true, "from": true, "to": true, "limit": true, "maxTokens": true, "maxCharacters": true, "timeZone": true,
}

// toolArguments are right but for what is put in their place, in calls about a subject.
var toolArguments = map[string]map[string]any{
	"search": {"query": "sparrow"}, "fetch": {"id": "x"}, "get_memory": {"id": "x"}, "delete_memory": {"id": "x"},
	"update_memory": {"id": "x", "text": "x"}, "add_memory": {"text": "x", "kind": "event"}, "search_memories": {"query": "sparrow"},
	"list_memories": {}, "forget_subject": {}, "build_context": {"query": "sparrow"},
}

// outcome is the result of a call, without what differs between any two calls and without the value that it repeats.
func (a *toolUser) outcome(tool string, arguments map[string]any, value string) string {
	a.t.Helper()
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		a.t.Fatal(err)
	}
	result := a.request("tools/call", string(params))
	text := textOf(result)
	if result["isError"] != true {
		structured, err := json.Marshal(result["structuredContent"])
		if err != nil {
			a.t.Fatal(err)
		}
		text = string(structured)
	}
	text = strings.ReplaceAll(text, value, "VALUE")
	text = moments.ReplaceAllString(text, "…")
	text = numbers.ReplaceAllString(text, "…")
	return fmt.Sprint(result["isError"], " ", made.ReplaceAllString(text, "…"))
}

// probeTools calls every tool with each argument that can name something of others, once with theirs and once with something that
// never was. The results must be alike. subject is the caller's own; empty for a bound key. Tools that only read come first, because
// the others store what they are called with.
func (a *toolUser) probeTools(list map[string]listedTool, places map[string][]alternatives, subject string) {
	a.t.Helper()
	probed := 0
	names := slices.SortedFunc(maps.Keys(list), func(x, y string) int {
		if r := list[x].Annotations["readOnlyHint"]; r != list[y].Annotations["readOnlyHint"] {
			return map[bool]int{true: -1, false: 1}[r]
		}
		return strings.Compare(x, y)
	})
	for _, name := range names {
		for argument := range list[name].InputSchema.Properties {
			if harmlessArguments[argument] {
				continue
			}
			for _, place := range places[argument] {
				var said [2]string
				for i, value := range []string{place.theirs, place.nobodys} {
					arguments := maps.Clone(toolArguments[name])
					if _, ok := list[name].InputSchema.Properties["subjectId"]; ok && subject != "" {
						arguments["subjectId"] = subject
					}
					arguments[argument] = value
					if argument == "tags" {
						arguments[argument] = []string{value}
					}
					said[i] = a.outcome(name, arguments, value)
				}
				if said[0] != said[1] {
					a.t.Errorf("%s tells the %s of others from one that never was:\n%s\n%s", name, argument, said[0], said[1])
				}
				probed++
			}
			if len(places[argument]) == 0 {
				a.t.Errorf("%s: add what others have as %s to this test", name, argument)
			}
		}
	}
	if probed < 20 {
		a.t.Errorf("only %d arguments were probed", probed)
	}
}

func TestToolsReachNothingOfOthers(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	alpha, beta := newTenant(t, p, "alpha", "canary"), newTenant(t, p, "beta", "sparrow")
	first := newToolUser(t, p, alpha.key)
	first.call("add_memory", `{"subjectId":"alpha-person","text":"heron","kind":"event","idempotencyKey":"canary-attempt"}`)
	const none = "00000000000000000000000000"
	memories := alternatives{alpha.memory, "mem_" + none}
	places := map[string][]alternatives{
		"id":             {{alpha.document, "doc_" + none}, memories},
		"subjectId":      {{alpha.subject, "nobody"}},
		"agentId":        {{"canary-agent", "nobody"}},
		"sessionId":      {{"canary-session", "nobody"}},
		"planId":         {{alpha.plan, "pln_" + none}},
		"query":          {{"heron", "nobody"}},
		"tags":           {{"canary-mark", "nobody"}},
		"cursor":         {{alpha.cursor("/api/v1/memories?limit=1"), "bm90IGEgY3Vyc29yIG9mIGFueWJvZHkh"}},
		"idempotencyKey": {{"canary-attempt", "another-attempt"}},
	}
	list := first.tools() // of a key without a binding
	before := alpha.everything()
	newToolUser(t, p, beta.key).probeTools(list, places, "beta-person")
	if after := alpha.everything(); after != before {
		t.Errorf("the other workspace was changed:\n%s\n%s", before, after)
	}

	bound := alpha.make("POST", "/api/v1/developer/api-keys", `{"name":"bound","scopes":["read","memory:read","memory:write"],"subjectId":"alpha-other"}`)
	places["id"] = []alternatives{memories} // documents are the workspace's
	person := func() string {
		_, _, subject := alpha.send("GET", "/api/v1/memories/subjects/"+alpha.subject, "", false)
		_, _, memory := alpha.send("GET", "/api/v1/memories/"+alpha.memory, "", false)
		return string(subject) + string(memory)
	}
	before = person()
	newToolUser(t, p, bound["key"].(string)).probeTools(list, places, "")
	if after := person(); after != before {
		t.Errorf("the other person was changed:\n%s\n%s", before, after)
	}
}

func TestToolsRequireTheirScopes(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	all := slices.Sorted(maps.Keys(newToolUser(t, p, p.Key).tools()))
	reads, writes := []string{"build_context", "get_memory", "list_memories", "search_memories"}, []string{"add_memory", "delete_memory", "forget_subject", "update_memory"}
	for members, want := range map[string][]string{
		`"scopes":["write","analytics:read"]`:            nil,
		`"scopes":["read"]`:                              {"fetch", "search"},
		`"scopes":["memory:read"]`:                       reads,
		`"scopes":["memory:write"]`:                      writes,
		`"scopes":["memory:read"],"subjectId":"a"`:       append([]string{"fetch", "search"}, reads...),
		`"scopes":["read","memory:read","memory:write"]`: all,
	} {
		a := newToolUser(t, p, newKey(t, p, members))
		if got := slices.Sorted(maps.Keys(a.tools())); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("a key with %s sees %q, want %q", members, got, want)
		}
		for _, name := range all {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)
			res, text := a.exchange("POST", "/ai/mcp", body, nil)
			if allowed := slices.Contains(want, name); (res.StatusCode == 403) == allowed || !allowed && !strings.Contains(string(text), `"insufficient_scope"`) {
				t.Errorf("a key with %s calls %s: %d %s", members, name, res.StatusCode, text)
			}
		}
	}
}
