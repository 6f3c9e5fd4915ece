package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// boundKeyChecks checks keys that are bound to one subject or agent (docs/spec/apikeys.md and memories.md).
func boundKeyChecks() []promise {
	both := []string{"memory:read", "memory:write"}
	return []promise{
		{"AKeyOfASubjectNeedsNone", func(c *check) {
			who, word := c.subject(), c.suite.word()
			k := c.newKey(fields{"subjectId": who}, both...)
			a := c.post(memoriesPath).as(k.text).json(fields{"text": word}).send().is(http.StatusCreated).has(fields{"subjectId": who, "createdBy": k.id})
			b := c.post(memoriesPath + "/batch").as(k.text).json(fields{"items": []fields{{"text": word + " two"}}}).send().is(http.StatusOK)
			b.has(fields{"results[0].memory.subjectId": who})
			c.post(memoryImport).as(k.text).raw("application/x-ndjson", line(fields{"text": word + " three"})).send().is(http.StatusOK).has(fields{"created": 1})
			c.get(memoriesPath).as(k.text).send().is(http.StatusOK).has(fields{"items[2].id": a.text("id"), "nextCursor": nil})
			c.get(memoriesPath + "?tag=x").as(k.text).send().is(http.StatusOK).has(fields{"items": []any{}})
			r := c.post(memoriesPath + "/recall").as(k.text).json(fields{"query": word}).send().is(http.StatusOK)
			if n := len(r.list("results")); n != 3 {
				r.broken("%d results, want 3", n)
			}
			p := c.post(memoriesPath + "/context").as(k.text).json(fields{"query": word, "maxTokens": 200}).send().is(http.StatusOK)
			if !strings.Contains(p.text("text"), word) {
				p.broken("the context of the key's subject is empty")
			}
			plan := c.post(forgetPath).as(k.text).json(fields{"ids": []string{a.text("id")}}).send().is(http.StatusOK).text("planId")
			c.post(forgetPath).as(k.text).json(fields{"planId": plan, "dryRun": false}).send().is(http.StatusOK).has(fields{"forgotten": 1})
			c.get(subjectsPath).as(k.text).send().is(http.StatusOK).has(fields{"items[0].subjectId": who, "items[0].memories": 2}).lacks("items[1]")
		}},
		{"AKeyOfASubjectReachesNoOther", func(c *check) {
			who, other, word := c.subject(), c.subject(), c.suite.word()
			mine := c.remember(who, word)
			theirs := c.remember(other, word)
			k := c.newKey(fields{"subjectId": who}, both...)
			c.get(mine.memory()).as(k.text).send().is(http.StatusOK)
			path, never := subjectsPath+"/"+other, subjectsPath+"/"+c.suite.name()
			for _, pair := range [][2]*call{
				{c.get(theirs.memory()), c.get(memoriesPath + "/" + neverMemory)},
				{c.patch(theirs.memory()).json(fields{"text": "x"}), c.patch(memoriesPath + "/" + neverMemory).json(fields{"text": "x"})},
				{c.delete(theirs.memory()), c.delete(memoriesPath + "/" + neverMemory)},
				{c.get(theirs.memory() + "/history"), c.get(memoriesPath + "/" + neverMemory + "/history")},
				{c.get(path), c.get(never)},
				{c.delete(path), c.delete(never)},
				{c.get(path + "/export"), c.get(never + "/export")},
				{c.get(path + "/access-log"), c.get(never + "/access-log")},
				{c.post(memoriesPath).json(fields{"subjectId": other, "text": "x"}), c.post(memoriesPath).json(fields{"subjectId": c.suite.name(), "text": "x"})},
				{c.get(memoriesPath + "?subjectId=" + other), c.get(memoriesPath + "?subjectId=" + c.suite.name())},
				{c.recallQuery(other, word), c.recallQuery(c.suite.name(), word)},
				{
					c.post(memoriesPath + "/context").json(fields{"subjectId": other, "maxTokens": 99}),
					c.post(memoriesPath + "/context").json(fields{"subjectId": c.suite.name(), "maxTokens": 99}),
				},
				{
					c.post(forgetPath).json(fields{"subjectId": other, "ids": []string{theirs.text("id")}}),
					c.post(forgetPath).json(fields{"subjectId": c.suite.name(), "ids": []string{theirs.text("id")}}),
				},
			} {
				got, want := pair[0].as(k.text).send().fails(404, "not_found"), pair[1].as(k.text).send()
				if got.withoutMoments() != want.withoutMoments() {
					got.broken("the response differs from that for an ID that does not exist: %s", want.withoutMoments())
				}
			}
			b := c.post(memoriesPath + "/batch").as(k.text).json(fields{"items": []fields{{"subjectId": other, "text": "x"}, {"text": "mine"}}}).send().is(http.StatusOK)
			b.has(fields{"results[0].status": 404, "results[0].error.error": "not_found", "results[1].status": 201})
			c.post(memoryImport).as(k.text).raw("application/x-ndjson", line(fields{"subjectId": other, "text": "x"})).send().is(http.StatusOK).has(fields{"created": 0, "failed": 1})
			c.post(forgetPath).as(k.text).json(fields{"ids": []string{theirs.text("id")}}).send().is(http.StatusOK).has(fields{"memoryIds": []any{}})
			for _, a := range []*answer{c.get(memoriesPath).as(k.text).send(), c.get(subjectsPath).as(k.text).send()} {
				if slices.Contains(a.is(http.StatusOK).texts("items", "subjectId"), other) {
					a.broken("another's is listed")
				}
			}
			c.get(theirs.memory()).send().is(http.StatusOK).has(fields{"revision": 1})
			c.get(path).send().has(fields{"memories": 1})
		}},
		{"AKeyOfAnAgentSeesItsOwn", func(c *check) {
			who, agent, word := c.subject(), c.suite.name(), c.suite.word()
			k := c.newKey(fields{"agentId": agent}, both...)
			a := c.post(memoriesPath).as(k.text).json(fields{"subjectId": who, "text": word}).send().is(http.StatusCreated).has(fields{"agentId": agent})
			theirs := c.remember(who, word, fields{"agentId": "other-" + c.suite.mark})
			unbound := c.remember(who, word+" unbound")
			c.get(memoriesPath + "?subjectId=" + who).as(k.text).send().is(http.StatusOK).has(fields{"items[0].id": a.text("id")}).lacks("items[1]")
			c.get(memoriesPath).as(k.text).send().is(http.StatusOK).has(fields{"items[0].id": a.text("id")}).lacks("items[1]")
			c.recallQuery(who, word).as(k.text).send().is(http.StatusOK).has(fields{"results[0].memory.id": a.text("id")}).lacks("results[1]")
			for _, hidden := range []*answer{theirs, unbound} {
				c.get(hidden.memory()).as(k.text).send().fails(404, "not_found")
				c.patch(hidden.memory()).as(k.text).json(fields{"text": "x"}).send().fails(404, "not_found")
				c.delete(hidden.memory()).as(k.text).send().fails(404, "not_found")
				c.get(hidden.memory()+"/history").as(k.text).send().fails(404, "not_found")
			}
			c.post(memoriesPath).as(k.text).json(fields{"subjectId": who, "text": "x", "agentId": "other-" + c.suite.mark}).send().fails(404, "not_found")
			c.get(memoriesPath+"?agentId=other-"+c.suite.mark).as(k.text).send().fails(404, "not_found")
			c.recallQuery(who, word, fields{"agentId": "other-" + c.suite.mark}).as(k.text).send().fails(404, "not_found")
			c.post(forgetPath).as(k.text).json(fields{"subjectId": who, "query": word}).send().is(http.StatusOK).has(fields{"memoryIds": []string{a.text("id")}})
			c.get(subjectsPath + "/" + who).as(k.text).send().is(http.StatusOK).has(fields{"memories": 1})
			if e := c.get(subjectsPath + "/" + who + "/export").as(k.text).send().is(http.StatusOK); len(e.lines()) != 1 {
				e.broken("an export for an agent has %d lines, want 1", len(e.lines()))
			}
			c.delete(subjectsPath+"/"+who).as(k.text).send().fails(404, "not_found")
			c.get(unbound.memory()).send().is(http.StatusOK).has(fields{"revision": 1})
		}},
		{"ASessionMayBeSharedByNobodyElse", func(c *check) {
			who, other, session := c.subject(), c.subject(), c.suite.name()
			k := c.newKey(fields{"subjectId": who}, both...)
			c.remember(other, "x", fields{"sessionId": session})
			c.get(memoriesPath + "?sessionId=" + session).as(k.text).send().is(http.StatusOK).has(fields{"items": []any{}})
			c.post(forgetPath).as(k.text).json(fields{"filter": fields{"sessionId": session}}).send().is(http.StatusOK).has(fields{"memoryIds": []any{}})
		}},
		{"MetadataNamesNobody", func(c *check) {
			who, other := c.subject(), c.subject()
			k := c.newKey(fields{"subjectId": who}, both...)
			a := c.post(memoriesPath).as(k.text).json(fields{"text": "x", "metadata": fields{"subjectId": other, "agentId": "a"}}).send().is(http.StatusCreated)
			a.has(fields{"subjectId": who, "agentId": nil})
			c.get(subjectsPath+"/"+other).send().fails(404, "not_found")
		}},
	}
}
