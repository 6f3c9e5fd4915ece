package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const toolsPath = "/ai/mcp"

// toolsMetadata returns the path of the metadata of the tools, which is not below the path of the address but contains it, and a
// GET of it.
func (c *check) toolsMetadata() (path string, get *call) {
	get = c.aiCall(http.MethodGet, "").anonymous()
	root := *get.base
	path = "/.well-known/oauth-protected-resource" + get.below() + toolsPath
	root.Path = ""
	get.base, get.path = &root, path
	return path, get
}

// tool returns a call of a tool.
func (c *check) tool(name string, arguments fields) *call {
	return c.message("tools/call", fields{"name": name, "arguments": arguments})
}

// message returns a request of the Model Context Protocol.
func (c *check) message(method string, params fields) *call {
	return c.ai(toolsPath).with("MCP-Protocol-Version", "2025-06-18").json(fields{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// done checks that a tool has worked, and returns the path of its result.
func (a *answer) done() *answer {
	a.is(http.StatusOK).has(fields{"jsonrpc": "2.0", "id": 1, "result.isError": false, "result.content[0].type": "text"})
	return a.shape(map[string]string{"result.structuredContent": "object"})
}

// wrong checks that a tool has failed with a message that names a field.
func (a *answer) wrong(texts ...string) *answer {
	a.is(http.StatusOK).has(fields{"result.isError": true}).lacks("result.structuredContent")
	for _, text := range texts {
		if !strings.Contains(a.text("result.content[0].text"), text) {
			a.broken("the text of the error does not contain %q", text)
		}
	}
	return a
}

// rpcError checks an error of JSON-RPC.
func (a *answer) rpcError(status int, code int64) *answer {
	a.is(status)
	if a.integer("error.code") != code || a.text("error.message") == "" || a.text("jsonrpc") != "2.0" {
		a.broken("want the JSON-RPC error %d", code)
	}
	return a
}

const structured = "result.structuredContent."

// notSaid checks that the text of a tool's result does not contain a word.
func (a *answer) notSaid(word string) *answer {
	if said := a.text("result.content[0].text"); strings.Contains(said, word) {
		a.broken("the tool says %q", said)
	}
	return a
}

// toolArguments are the arguments that each tool needs, and no others.
var toolArguments = map[string]func(who string) fields{
	"search":          func(string) fields { return fields{"query": "x"} },
	"fetch":           func(string) fields { return fields{"id": "no-such-id"} },
	"add_memory":      func(who string) fields { return fields{"subjectId": who, "text": "x"} },
	"search_memories": func(who string) fields { return fields{"subjectId": who, "query": "x"} },
	"get_memory":      func(string) fields { return fields{"id": "mem_00000000000000000000000000"} },
	"list_memories":   func(who string) fields { return fields{} },
	"update_memory":   func(string) fields { return fields{"id": "mem_00000000000000000000000000"} },
	"delete_memory":   func(string) fields { return fields{"id": "mem_00000000000000000000000000"} },
	"forget_subject":  func(who string) fields { return fields{"subjectId": who} },
	"build_context":   func(who string) fields { return fields{"subjectId": who} },
}

// misspelt returns names that are probably meant to be another one.
func misspelt(name string) []string {
	return []string{name[1:], name + "s", "x" + name[1:], strings.ToUpper(name), name + "Value", name[:len(name)-1]}
}

// toolChecks checks the tools for agents (docs/spec/surfaces.md).
func toolChecks() []promise {
	both := []string{"memory:read", "memory:write"}
	return []promise{
		{"AgentsNegotiateTheRevisionOfTheProtocol", func(c *check) {
			for asked, want := range map[string]string{"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25"} {
				a := c.ai(toolsPath).json(fields{"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": fields{
					"protocolVersion": asked, "capabilities": fields{}, "clientInfo": fields{"name": "conformance", "version": "1"},
				}}).send().is(http.StatusOK)
				a.has(fields{"id": "x", "result.protocolVersion": want, "result.serverInfo.name": "keepsake"})
				a.shape(map[string]string{"result.capabilities.tools": "object"}).head("Mcp-Session-Id", "")
			}
			c.message("ping", fields{}).send().is(http.StatusOK).shape(map[string]string{"result": "object"})
			c.message("ping", fields{}).with("MCP-Protocol-Version", "1999-01-01").send().rpcError(400, -32022)
			a := c.ai(toolsPath).json(fields{"jsonrpc": "2.0", "method": "notifications/initialized"}).send().is(http.StatusAccepted)
			if len(a.body) > 0 {
				a.broken("a notification has a response")
			}
		}},
		{"AKeySeesOnlyToolsThatItsScopesAllow", func(c *check) {
			memories := []string{"search_memories", "get_memory", "list_memories", "build_context"}
			changes := []string{"add_memory", "update_memory", "delete_memory", "forget_subject"}
			who := c.subject()
			for _, tc := range []struct {
				key  key
				want []string
			}{
				{c.newKey(nil, "read"), []string{"search", "fetch"}},
				{c.newKey(nil, "memory:read"), memories},
				{c.newKey(nil, "memory:write"), changes},
				{c.newKey(nil, "write", "analytics:read"), nil},
				{c.newKey(fields{"subjectId": who}, append(both, "read")...), slices.Concat([]string{"search", "fetch"}, memories, changes)},
			} {
				a := c.message("tools/list", fields{}).bearer(tc.key.text).send().is(http.StatusOK)
				got := a.texts("result.tools", "name")
				slices.Sort(got)
				want := slices.Sorted(slices.Values(tc.want))
				if !slices.Equal(got, want) {
					a.broken("the tools are %q, want %q", got, want)
				}
				if len(tc.want) == 10 && strings.Contains(string(a.body), "subjectId\":{\"type\":\"string\",\"description") {
					a.broken("a bound key sees a parameter for the subject")
				}
			}
			a := c.message("tools/list", fields{}).send().is(http.StatusOK)
			for i := range a.list("result.tools") {
				at := "result.tools[" + string(rune('0'+i)) + "]."
				a.shape(map[string]string{
					at + "description": "string", at + "inputSchema.properties": "object", at + "outputSchema.properties": "object",
					at + "annotations.readOnlyHint": "boolean", at + "annotations.destructiveHint": "boolean",
					at + "annotations.idempotentHint": "boolean", at + "annotations.openWorldHint": "boolean",
				})
			}
			c.tool("add_memory", fields{"subjectId": who, "text": "x"}).bearer(c.newKey(nil, "memory:read").text).send().
				fails(403, "insufficient_scope").has(fields{"details.requiredScope": "memory:write"})
			c.tool("no_such_tool", fields{}).send().rpcError(200, -32602)
		}},
		{"SearchAndFetchHaveTheShapesOfConnectors", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"title": "About " + word, "text": word + " is a word", "url": "https://example.org/" + word, "metadata": fields{"n": 1}})
			found := c.tool("search", fields{"query": word}).send().done()
			found.has(fields{structured + "results[0].id": id, structured + "results[0].title": "About " + word, structured + "results[0].url": "https://example.org/" + word})
			c.tool("fetch", fields{"id": id}).send().done().has(fields{
				structured + "id": id, structured + "title": "About " + word, structured + "text": word + " is a word",
				structured + "url": "https://example.org/" + word, structured + "metadata.n": 1,
			})
			c.tool("search", fields{"query": " "}).send().wrong("query", "required")
			c.tool("fetch", fields{"id": c.suite.name()}).send().wrong("not_found")
			who := c.subject()
			m := c.remember(who, word+" is remembered")
			bound := c.newKey(fields{"subjectId": who}, "memory:read")
			c.tool("search", fields{"query": word}).bearer(bound.text).send().done().has(fields{structured + "results[0].id": m.text("id")}).lacks(structured + "results[1]")
			c.tool("fetch", fields{"id": m.text("id")}).bearer(bound.text).send().done().has(fields{structured + "text": m.text("text")})
		}},
		{"ToolsForMemoriesRunTheOperationsOfTheAPI", func(c *check) {
			who, word := c.subject(), c.suite.word()
			added := c.tool("add_memory", fields{"subjectId": who, "text": word + " likes tea", "kind": "preference", "tags": []string{"a"}}).send().done()
			id := added.text(structured + "id")
			c.get(memoriesPath + "/" + id).send().is(http.StatusOK).has(fields{"text": word + " likes tea", "kind": "preference"})
			c.tool("search_memories", fields{"subjectId": who, "query": word}).send().done().has(fields{structured + "results[0].memory.id": id})
			c.tool("list_memories", fields{"subjectId": who, "tags": []string{"a"}}).send().done().has(fields{structured + "items[0].id": id, structured + "nextCursor": nil})
			c.tool("update_memory", fields{"id": id, "text": word + " likes coffee", "revision": 1}).send().done().has(fields{structured + "revision": 2})
			c.tool("update_memory", fields{"id": id, "text": "x", "revision": 1}).send().wrong("revision_mismatch")
			c.tool("build_context", fields{"subjectId": who, "query": word}).send().done().has(fields{structured + "memoryIds[0]": id})
			c.tool("delete_memory", fields{"id": id}).send().done().has(fields{structured + "deleted": true})
			c.tool("get_memory", fields{"id": id}).send().wrong("not_found")
			once := fields{"subjectId": who, "text": "x", "kind": "event", "idempotencyKey": c.suite.name()}
			first := c.tool("add_memory", once).send().done().text(structured + "id")
			c.tool("add_memory", once).send().done().has(fields{structured + "id": first})
			once["text"] = "y"
			c.tool("add_memory", once).send().wrong("idempotencyKey", "reused")
		}},
		{"ForgettingASubjectNeedsAPlan", func(c *check) {
			who := c.subject()
			c.remember(who, "one")
			c.remember(who, "two")
			plan := c.tool("forget_subject", fields{"subjectId": who}).send().done().has(fields{structured + "erased": false, structured + "memories": 2})
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 2})
			done := c.tool("forget_subject", fields{"subjectId": who, "planId": plan.text(structured + "planId")}).send().done()
			done.has(fields{structured + "erased": true, structured + "memories": 2}).shape(map[string]string{structured + "receiptId": "string"})
			c.get(subjectsPath+"/"+who).send().fails(404, "not_found")
			c.tool("forget_subject", fields{"subjectId": who, "planId": plan.text(structured + "planId")}).send().wrong("not_found")
		}},
		{"ABoundAgentReachesOnePersonThroughTools", func(c *check) {
			who, other := c.subject(), c.subject()
			theirs := c.remember(other, "secret").text("id")
			k := c.newKey(fields{"subjectId": who}, both...).text
			c.tool("add_memory", fields{"text": "mine"}).bearer(k).send().done().has(fields{structured + "subjectId": who})
			for name, arguments := range map[string]fields{
				"add_memory": {"text": "x", "subjectId": other}, "search_memories": {"query": "secret", "subjectId": other}, "get_memory": {"id": theirs},
				"list_memories": {"subjectId": other}, "update_memory": {"id": theirs, "text": "x"}, "delete_memory": {"id": theirs},
				"forget_subject": {"subjectId": other}, "build_context": {"subjectId": other}, "fetch": {"id": theirs},
			} {
				c.tool(name, arguments).bearer(k).send().wrong("not_found")
			}
		}},
		{"AnErrorOfAToolNamesItsField", func(c *check) {
			who := c.suite.name()
			c.tool("add_memory", fields{"subjectId": who}).send().wrong("text", "required")
			c.tool("add_memory", fields{"subjectId": who, "text": "x", "kind": "joke"}).send().wrong("kind", "not_allowed")
			c.tool("add_memory", fields{"subjectId": who, "txt": "x"}).send().wrong("txt", "unknown")
			c.tool("list_memories", fields{"subjectId": who, "limit": 0}).send().wrong("limit", "too_small")
			c.tool("search_memories", fields{"query": "x"}).send().wrong("subjectId", "required")
		}},
		{"AnArgumentThatAClientAddsIsIgnoredUnlessItIsATypingError", func(c *check) {
			who := c.subject()
			for name := range toolArguments {
				arguments := toolArguments[name](who)
				arguments["toolCallId"] = "call_1"
				c.tool(name, arguments).send().is(http.StatusOK).lacks("error").notSaid("unknown")
				delete(arguments, "toolCallId")
				known := "limit" // of list_memories, which needs no argument
				for argument := range arguments {
					known = argument
				}
				for _, wrong := range misspelt(known) {
					arguments[wrong] = "x"
					c.tool(name, arguments).send().wrong(wrong, "unknown")
					delete(arguments, wrong)
				}
			}
		}},
		{"EachArgumentOfAToolHasOneTypeAndCanBeNull", func(c *check) {
			who := c.subject()
			a := c.message("tools/list", fields{}).send().is(http.StatusOK).shape(map[string]string{"result.tools[0].name": "string"})
			for i, name := range a.texts("result.tools", "name") {
				arguments := toolArguments[name]
				if arguments == nil {
					continue
				}
				required := arguments(who)
				at := fmt.Sprintf("result.tools[%d].inputSchema.properties", i)
				schemas, _ := a.at(at)
				properties, _ := schemas.(map[string]any)
				for argument := range properties {
					a.shape(map[string]string{at + "." + argument + ".type": "string"})
					sent := maps.Clone(required)
					if _, needed := sent[argument]; needed {
						sent[argument] = nil
						c.tool(name, sent).send().wrong(argument, "required")
						continue
					}
					sent[argument] = nil
					c.tool(name, sent).send().is(http.StatusOK).lacks("error").notSaid("validation_error")
				}
			}
		}},
		{"UpdateRemovesFieldsOnlyByClear", func(c *check) {
			who := c.subject()
			id := c.tool("add_memory", fields{
				"subjectId": who, "text": "x", "tags": []string{"a"}, "metadata": fields{"k": 1, "l": 2}, "importance": 0.5, "expiresAt": "2090-01-01T00:00:00Z",
			}).send().done().text(structured + "id")
			c.tool("update_memory", fields{
				"id": id, "text": "y", "tags": nil, "metadata": nil, "importance": nil, "expiresAt": nil, "occurredAt": nil, "validTo": nil, "clear": nil,
			}).send().done().has(fields{
				structured + "text": "y", structured + "tags[0]": "a", structured + "metadata.k": 1, structured + "importance": 0.5,
				structured + "expiresAt": "2090-01-01T00:00:00Z",
			})
			c.tool("update_memory", fields{"id": id, "clear": []string{"tags", "importance", "expiresAt"}}).send().done().
				has(fields{structured + "importance": nil, structured + "expiresAt": nil, structured + "metadata.k": 1, structured + "text": "y"}).lacks(structured + "tags[0]")
			c.tool("update_memory", fields{"id": id, "clear": []string{"text"}}).send().wrong("clear[0]", "not_allowed")
			c.tool("update_memory", fields{"id": id, "tags": []string{"b"}, "clear": []string{"tags"}}).send().wrong("clear[0]", "not_allowed")
		}},
		{"ResultsOfToolsAreBounded", func(c *check) {
			who, word := c.subject(), c.suite.word()
			long := strings.Repeat(word+" is said often. ", 400)
			var ids []string
			for i := range 25 {
				ids = append(ids, c.remember(who, fmt.Sprint(i, " ", long)).text("id"))
			}
			bounded := func(a *answer, list, text string) {
				if n := utf8.RuneCount(a.body); n > 40_000 {
					a.broken("the response has %d characters", n)
				}
				for i := range a.list(structured + list) {
					if n := utf8.RuneCountInString(a.text(fmt.Sprintf("%s%s[%d].%s", structured, list, i, text))); n > 1000 || n < 500 {
						a.broken("a text has %d characters", n)
					}
				}
			}
			bounded(c.tool("search_memories", fields{"subjectId": who, "query": word, "limit": 25}).send().done(), "results", "memory.text")
			k := c.newKey(fields{"subjectId": who}, "memory:read")
			bounded(c.tool("search", fields{"query": word}).bearer(k.text).send().done(), "results", "text")
			var listed []string
			for cursor := any(nil); ; {
				a := c.tool("list_memories", fields{"subjectId": who, "cursor": cursor}).send().done()
				bounded(a, "items", "text")
				listed = append(listed, a.texts(structured+"items", "id")...)
				if cursor, _ = a.at(structured + "nextCursor"); cursor == nil || len(listed) > len(ids) {
					break
				}
			}
			slices.Reverse(listed)
			whole := c.tool("get_memory", fields{"id": ids[0]}).send().done()
			if !slices.Equal(listed, ids) || whole.text(structured+"text") != fmt.Sprint(0, " ", long) {
				whole.broken("the pages list %q, want %q, and get_memory returns the whole text", listed, ids)
			}
		}},
		{"AMessageThatCannotBeReadIsAnsweredUnderItsID", func(c *check) {
			for _, params := range []string{
				`{"text":"cut \ud83d"}`, "{\"text\":\"\xff\"}", `{"a":1,"a":2}`, strings.Repeat("[", 40) + strings.Repeat("]", 40), `{"a":}`, `{`,
			} {
				a := c.ai(toolsPath).raw("application/json", `{"jsonrpc":"2.0","id":"x-7","method":"tools/call","params":`+params+`}`).send()
				a.rpcError(400, -32700).has(fields{"id": "x-7"})
			}
			a := c.ai(toolsPath+"/").raw("application/json", `{"jsonrpc":"2.0","id":3,"method":"ping"}`).send().is(http.StatusOK)
			a.has(fields{"id": 3})
		}},
		{"MalformedMessagesAreErrorsOfJSONRPC", func(c *check) {
			for body, code := range map[string]int64{
				`{`: -32700, `[]`: -32600, `7`: -32600, `{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":null,"method":"ping"}`: -32600,
				`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`: -32602,
			} {
				c.ai(toolsPath).raw("application/json", body).send().rpcError(400, code)
			}
			c.ai(toolsPath).raw("application/json", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]").with("MCP-Protocol-Version", "2025-06-18").send().rpcError(400, -32600)
			c.message("resources/list", fields{}).send().rpcError(200, -32601)
			c.ai(toolsPath).raw("text/plain", "{}").send().fails(415, "unsupported_media_type")
		}},
		{"TheToolsEndpointHasOneMethodAndNoSession", func(c *check) {
			for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
				c.aiCall(method, toolsPath).send().fails(405, "method_not_allowed").head("Allow", "OPTIONS, POST")
			}
		}},
		{"AMissingCredentialForToolsIsAChallenge", func(c *check) {
			metadata, get := c.toolsMetadata()
			for _, q := range []*call{c.message("ping", fields{}).anonymous(), c.message("ping", fields{}).bearer("kpsk_x"), c.message("ping", fields{}).bearer("x")} {
				a := q.send().is(http.StatusUnauthorized)
				challenge := strings.Join(a.header.Values("WWW-Authenticate"), ", ")
				if !strings.Contains(challenge, "Bearer ") || !strings.Contains(challenge, `resource_metadata="`) || !strings.Contains(challenge, metadata) {
					a.broken("WWW-Authenticate is %q, want it to name %s", challenge, metadata)
				}
			}
			a := get.send().is(http.StatusOK)
			if !strings.HasSuffix(a.text("resource"), strings.TrimPrefix(metadata, "/.well-known/oauth-protected-resource")) {
				a.broken("the metadata are about %q", a.text("resource"))
			}
		}},
		{"PagesOfOtherOriginsCannotCallTools", func(c *check) {
			for _, origin := range []string{"https://evil.example", "null", "http://localhost.evil.example"} {
				c.message("ping", fields{}).with("Origin", origin).send().fails(403, "origin_not_allowed")
			}
		}},
		{"AToolCallIsChargedAsOneRequest", func(c *check) {
			who := c.subject()
			k := c.newKey(fields{"quota": fields{"daily": 50}, "subjectId": who}, append(both, "read")...)
			for i, q := range []*call{
				c.message("tools/list", fields{}), c.tool("add_memory", fields{"text": "x"}), c.tool("search", fields{"query": "x"}), c.tool("get_memory", fields{}),
			} {
				a := q.bearer(k.text).send()
				if spent := 50 - a.number("X-RateLimit-Daily-Remaining"); spent != int64(i+1) {
					a.broken("the key has spent %d requests, want %d", spent, i+1)
				}
			}
		}},
	}
}
