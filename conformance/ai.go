package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	aiRemember = "/ai/remember"
	aiRecall   = "/ai/recall"
	aiContext  = "/ai/context"
)

// ai returns a POST to the AI services.
func (c *check) ai(path string) *call { return c.aiCall(http.MethodPost, path) }

func (c *check) aiCall(method, path string) *call {
	base := c.suite.base
	if c.suite.target.AIURL != "" {
		var err error
		if base, err = url.Parse(c.suite.target.AIURL); err != nil {
			c.stop("the address of the AI services is not a URL")
		}
	}
	return newCall(c, method, base, path)
}

// aiChecks checks the AI services (docs/spec/surfaces.md): the same operations as those on memories, for agents.
func aiChecks() []promise {
	both := []string{"memory:read", "memory:write"}
	forSubject := func(c *check, who string, fn func(q *call)) {
		for path, body := range map[string]fields{
			aiRemember: {"text": "x"}, aiRecall: {"query": "x"}, aiContext: {"maxTokens": 99},
		} {
			body["subjectId"] = who
			fn(c.ai(path).json(body))
		}
	}
	each := func(c *check, fn func(q *call)) { forSubject(c, c.suite.name(), fn) } // for requests that store nothing
	return []promise{
		{"TheAIServicesReportTheSameVersion", func(c *check) {
			who := c.subject()
			forSubject(c, who, func(q *call) {
				if a := q.send().head("X-API-Version", "1"); a.status/100 != 2 {
					a.broken("want a 2xx")
				}
			})
			c.ai(aiRecall).json(fields{"subjectId": who, "query": "x"}).send().is(http.StatusOK).shape(map[string]string{"results": "array"})
		}},
		{"WhatAnAgentRemembersIsAMemory", func(c *check) {
			who, word := c.subject(), c.suite.word()
			a := c.ai(aiRemember).json(fields{"subjectId": who, "text": word + " likes tea", "kind": "preference", "pinned": true}).send().is(http.StatusCreated)
			a.shape(memoryShape).has(fields{"subjectId": who, "kind": "preference", "revision": 1}).head("ETag", `"1"`).located(a.memory())
			c.get(a.memory()).send().is(http.StatusOK).has(fields{"id": a.text("id"), "text": a.text("text"), "createdAt": a.text("createdAt")})
			again := c.ai(aiRemember).json(fields{"subjectId": who, "text": word + " likes tea", "kind": "preference"}).send().is(http.StatusOK)
			again.has(fields{"deduplicated": true, "id": a.text("id")})
			found := c.ai(aiRecall).json(fields{"subjectId": who, "query": word, "limit": 5, "explain": true}).send().is(http.StatusOK)
			found.has(fields{"results[0].memory.id": a.text("id"), "results[0].rank": 1}).shape(map[string]string{"tookMs": "number", "results[0].why": "object"})
			packed := c.ai(aiContext).json(fields{"subjectId": who, "query": word, "maxCharacters": 500}).send().is(http.StatusOK)
			packed.has(fields{"memoryIds": []string{a.text("id")}}).shape(map[string]string{"tokens": "integer"})
			if !strings.Contains(packed.text("text"), word) {
				packed.broken("the text lacks the memory")
			}
			c.ai(aiRecall).json(fields{"subjectId": c.suite.name(), "query": word}).send().is(http.StatusOK).has(fields{"results": []any{}})
		}},
		{"AnAPIKeyCanBeABearerTokenForAgents", func(c *check) {
			k := c.newKey(fields{"subjectId": c.subject()}, "memory:read")
			for _, scheme := range []string{"Bearer ", "bearer ", "BEARER "} {
				a := c.ai(aiContext).anonymous().with("Authorization", scheme+k.text).json(fields{"maxTokens": 9}).send().is(http.StatusOK)
				if a.header.Get("X-RateLimit-Key-Limit") == "" {
					a.broken("the key's limit is not in the headers")
				}
			}
			wrong := k.text[:len(k.text)-1] + "!"
			c.ai(aiContext).bearer(wrong).json(fields{"maxTokens": 9}).send().fails(401, "invalid_api_key")
			c.ai(aiContext).bearer(wrong).as(k.text).json(fields{"maxTokens": 9}).send().is(http.StatusOK) // X-API-Key decides
			c.ai(aiContext).bearer(k.text).as(wrong).json(fields{"maxTokens": 9}).send().fails(401, "invalid_api_key")
			c.post(memoriesPath + "/context").bearer(k.text).json(fields{"maxTokens": 9}).send().is(http.StatusUnauthorized) // only here
			c.post(k.path() + "/revoke").json(fields{}).send().is(http.StatusOK)
			c.ai(aiContext).bearer(k.text).json(fields{"maxTokens": 9}).send().fails(401, "api_key_revoked")
		}},
		{"AnAccessTokenIsTakenByTheAIServices", func(c *check) {
			p := c.signedIn("member")
			forSubject(c, c.subject(), func(q *call) {
				if a := q.bearer(p.token).send(); a.status/100 != 2 {
					a.broken("want a 2xx for a member's token")
				}
			})
			viewer := c.signedIn("viewer")
			each(c, func(q *call) { q.bearer(viewer.token).send().fails(403, "insufficient_scope") })
		}},
		{"AnAgentWithoutACredentialOrScopeIsRefused", func(c *check) {
			each(c, func(q *call) { q.anonymous().send().fails(401, "missing_credentials") })
			each(c, func(q *call) {
				q.anonymous().with("Authorization", "Basic YTpi").send().fails(401, "missing_credentials")
			})
			each(c, func(q *call) { q.bearer("nothing").send().fails(401, "invalid_token") })
			each(c, func(q *call) { q.as(c.newKey(nil, "read", "write").text).send().fails(403, "insufficient_scope") })
			c.ai(aiRemember).as(c.newKey(nil, "memory:read").text).json(fields{}).send().fails(403, "insufficient_scope").has(fields{"details.requiredScope": "memory:write"})
			c.ai(aiRecall).as(c.newKey(nil, "memory:write").text).json(fields{}).send().fails(403, "insufficient_scope").has(fields{"details.requiredScope": "memory:read"})
		}},
		{"AnAgentsBadInputIs400", func(c *check) {
			c.ai(aiRecall).json(fields{"subjectId": c.suite.name()}).send().fails(400, "validation_error", "query", "required")
			c.ai(aiRecall).json(fields{"query": "x"}).send().fails(400, "validation_error", "subjectId", "required")
			c.ai(aiRemember).json(fields{"subjectId": c.suite.name()}).send().fails(400, "validation_error", "text", "required")
			c.ai(aiContext).json(fields{"subjectId": c.suite.name(), "maxTokens": 0}).send().fails(400, "validation_error", "maxTokens", "too_small")
			each(c, func(q *call) {
				q.raw("application/json", `{"colour":"red"}`).send().fails(400, "validation_error", "colour", "unknown")
			})
			each(c, func(q *call) { q.raw("application/json", "{").send().fails(400, "validation_error", "body", "format") })
			each(c, func(q *call) { q.raw("text/plain", "x").send().fails(415, "unsupported_media_type") })
			each(c, func(q *call) {
				q.raw("application/json", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`).send().fails(413, "payload_too_large")
			})
		}},
		{"AgentsChooseTheVersionByHeaderOnly", func(c *check) {
			for _, given := range []string{"1", "v1"} {
				forSubject(c, c.subject(), func(q *call) {
					if a := q.with("Accept-Version", given).send().head("X-API-Version", "1"); a.status/100 != 2 {
						a.broken("want a 2xx")
					}
				})
			}
			for _, given := range []string{"2", "0", "latest", "1.0"} {
				each(c, func(q *call) {
					q.with("Accept-Version", given).send().fails(400, "validation_error", "Accept-Version", "unsupported").head("X-API-Version", "1")
				})
			}
			for _, path := range []string{"/ai/v1/recall", "/ai/v1", "/v1/ai/recall"} {
				c.ai(path).json(fields{}).send().fails(404, "not_found")
			}
		}},
		{"OtherPathsAndMethodsOfTheAIServices", func(c *check) {
			for _, path := range []string{"/ai", "/ai/", "/ai/nothing", "/ai/recall/", "/ai//recall", "/ai/recall/x", "/ai/openapi.json"} {
				c.ai(path).json(fields{}).send().fails(404, "not_found").head("X-API-Version", "1")
			}
			for _, path := range []string{aiRemember, aiRecall, aiContext} {
				c.aiCall(http.MethodOptions, path).anonymous().send().is(http.StatusNoContent).head("Allow", "OPTIONS, POST").head("X-API-Version", "1")
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete} {
					a := c.aiCall(method, path).send().is(http.StatusMethodNotAllowed).head("Allow", "OPTIONS, POST")
					if method != http.MethodHead {
						a.fails(405, "method_not_allowed")
					}
				}
			}
		}},
		{"ARepeatedRememberIsReplayed", func(c *check) {
			who, once := c.subject(), c.suite.name()
			remember := func(text string) *call {
				return c.ai(aiRemember).with("Idempotency-Key", once).json(fields{"subjectId": who, "text": text, "kind": "event"})
			}
			first := remember("x").send().is(http.StatusCreated).head("Idempotent-Replayed", "")
			again := remember("x").send().is(http.StatusCreated).head("Idempotent-Replayed", "true")
			again.has(fields{"id": first.text("id"), "text": "x"}).head("ETag", `"1"`).head("Location", first.header.Get("Location"))
			remember("y").send().fails(400, "validation_error", "Idempotency-Key", "reused")
			other := c.post(memoriesPath).with("Idempotency-Key", once).json(fields{"subjectId": who, "text": "x", "kind": "event"}).send().is(http.StatusCreated)
			if other.text("id") == first.text("id") {
				other.broken("another path got the response of the first")
			}
			large := strings.Repeat("word ", 13_107) // its response is larger than what is stored
			once = c.suite.name()
			first = remember(large).send().is(http.StatusCreated)
			remember(large).send().is(http.StatusCreated).head("Idempotent-Replayed", "true").has(fields{"id": first.text("id"), "text": large})
			// These change nothing, so the header has no meaning.
			c.ai(aiRecall).with("Idempotency-Key", "short").json(fields{"subjectId": who, "query": "x"}).send().is(http.StatusOK)
			c.ai(aiContext).with("Idempotency-Key", "short").json(fields{"subjectId": who, "maxTokens": 9}).send().is(http.StatusOK)
		}},
		{"AgentsAreChargedLikeOtherCallers", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 50}, "subjectId": c.subject()}, both...)
			spent := func(want int64, q *call) {
				a := q.send()
				if got := 50 - a.number("X-RateLimit-Daily-Remaining"); got != want {
					a.broken("the key has spent %d requests, want %d", got, want)
				}
			}
			spent(1, c.ai(aiRemember).as(k.text).json(fields{"text": "x"}))
			spent(2, c.get(memoriesPath).as(k.text))
			spent(3, c.ai(aiRecall).bearer(k.text).json(fields{"query": "x"}))
			spent(4, c.ai(aiRecall).bearer(k.text).json(fields{}))
			c.aiCall(http.MethodOptions, aiRecall).as(k.text).send().is(http.StatusNoContent)
			spent(4, c.ai("/ai/nothing").as(k.text).json(fields{}))
			spent(5, c.ai(aiContext).as(k.text).json(fields{"maxTokens": 9}))
			limited := c.newKey(fields{"rateLimit": fields{"requestsPerMinute": 2}, "quota": fields{"daily": 2}, "subjectId": c.subject()}, both...)
			for range 2 {
				c.ai(aiRecall).bearer(limited.text).json(fields{"query": "x"}).send().is(http.StatusOK)
			}
			c.ai(aiRecall).bearer(limited.text).json(fields{"query": "x"}).now().send().fails(429, "rate_limit_exceeded").has(fields{"details.policy": "daily_quota"})
		}},
		{"ABoundKeyReachesOnePersonThroughAgents", func(c *check) {
			who, other, word := c.subject(), c.subject(), c.suite.word()
			theirs := c.remember(other, word)
			k := c.newKey(fields{"subjectId": who}, both...)
			c.ai(aiRemember).bearer(k.text).json(fields{"text": word + " mine"}).send().is(http.StatusCreated).has(fields{"subjectId": who})
			a := c.ai(aiRecall).bearer(k.text).json(fields{"query": word}).send().is(http.StatusOK).has(fields{"results[0].memory.subjectId": who}).lacks("results[1]")
			if strings.Contains(string(a.body), theirs.text("id")) {
				a.broken("another person's memory was recalled")
			}
			c.ai(aiContext).bearer(k.text).json(fields{"query": word, "maxTokens": 99}).send().is(http.StatusOK).lacks("memoryIds[1]")
			for _, never := range []string{other, c.suite.name()} {
				c.ai(aiRemember).bearer(k.text).json(fields{"subjectId": never, "text": "x"}).send().fails(404, "not_found")
				c.ai(aiRecall).bearer(k.text).json(fields{"subjectId": never, "query": word}).send().fails(404, "not_found")
				c.ai(aiContext).bearer(k.text).json(fields{"subjectId": never, "maxTokens": 99}).send().fails(404, "not_found")
			}
			log := c.get(subjectsPath + "/" + who + "/access-log").send().is(http.StatusOK)
			if n := len(log.list("items")); n < 3 {
				log.broken("the access log has %d rows of what the agent did, want at least 3", n)
			}
		}},
		{"AnalyticsTellAgentsFromOtherCallers", func(c *check) {
			k := c.newKey(fields{"subjectId": c.subject()}, both...)
			c.ai(aiRecall).bearer(k.text).json(fields{"query": "x"}).send().is(http.StatusOK)
			c.get(memoriesPath).as(k.text).send().is(http.StatusOK)
			var a *answer
			if !c.eventually(freshness, func() bool {
				a = c.get(analyticsPath + "top?window=1h&groupBy=surface,route&filter=key:" + k.id).send().is(http.StatusOK)
				return len(a.list("items")) == 2
			}) {
				a.broken("two requests on two surfaces are not counted")
			}
			groups := []string{a.text("items[0].group.surface") + " " + a.text("items[0].group.route"), a.text("items[1].group.surface") + " " + a.text("items[1].group.route")}
			slices.Sort(groups)
			if want := []string{"ai /ai/recall", "primary /api/v1/memories"}; !slices.Equal(groups, want) {
				a.broken("the groups are %q, want %q", groups, want)
			}
			c.get(analyticsPath + "summary?window=1h&filter=surface:ai&filter=key:" + k.id).send().is(http.StatusOK).has(fields{"requests": 1})
		}},
	}
}
