package conformance

import "net/http"

// memorySameChecks checks which memories count as the same: by their key, or by their content (docs/spec/memories.md).
func memorySameChecks() []promise {
	same := func(c *check, first *answer, again *answer) {
		again.is(http.StatusOK).has(fields{"id": first.text("id"), "deduplicated": true, "revision": first.integer("revision")}).
			head("ETag", first.header.Get("ETag"))
	}
	return []promise{
		{"TheSameAgainGivesTheFirst", func(c *check) {
			who := c.subject()
			whole := fields{
				"kind": "preference", "agentId": "a1", "sessionId": "s1", "speaker": "Ada", "occurredAt": "2026-01-02T03:04:05Z",
				"tags": []string{"a", "b"}, "metadata": fields{"x": 1},
			}
			plain, full := c.remember(who, "x"), c.remember(who, "x", whole)
			plain.lacks("deduplicated")
			same(c, plain, c.rememberAgain(who, "x"))
			same(c, full, c.rememberAgain(who, "x", whole))
			same(c, full, c.rememberAgain(who, "x", whole, fields{"importance": 1, "pinned": true, "source": "elsewhere"}))
			differences := fields{
				"kind": "fact", "agentId": "a2", "sessionId": "s2", "speaker": "Bob", "occurredAt": "2026-01-02T03:04:06Z",
				"tags": []string{"a"}, "metadata": fields{"x": 2}, "text": "y",
			}
			for name, v := range differences {
				other := c.rememberAgain(who, "x", whole, fields{name: v})
				if other.status != http.StatusCreated {
					other.broken("another %s makes it another memory", name)
				}
			}
			c.get(plain.memory()).send().has(fields{"revision": 1, "importance": nil})
		}},
		{"TheSameOfAnotherSubjectIsAnother", func(c *check) {
			a, b := c.remember(c.subject(), "x"), c.remember(c.subject(), "x")
			if a.text("id") == b.text("id") {
				b.broken("two subjects share a memory")
			}
		}},
		{"ADuplicateIsAllowedWhereItIsSaid", func(c *check) {
			who := c.subject()
			c.remember(who, "x")
			c.remember(who, "x", fields{"allowDuplicate": true}).lacks("deduplicated")
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 2})
		}},
		{"TurnsAndEventsRepeatUnlessTheySayOtherwise", func(c *check) {
			who := c.subject()
			for _, kind := range []string{"turn", "event"} {
				c.remember(who, "x", fields{"kind": kind})
				c.remember(who, "x", fields{"kind": kind})
				again := c.rememberAgain(who, "x", fields{"kind": kind, "deduplicate": true}).is(http.StatusOK)
				again.has(fields{"deduplicated": true, "kind": kind})
			}
		}},
		{"WhatWasErasedIsNoDuplicate", func(c *check) {
			who := c.subject()
			a := c.remember(who, "x")
			c.delete(a.memory()).send().is(http.StatusNoContent)
			c.remember(who, "x")
		}},
		{"AChangedMemoryIsComparedAsItIsNow", func(c *check) {
			who := c.subject()
			a := c.remember(who, "x")
			c.patch(a.memory()).json(fields{"text": "y"}).send().is(http.StatusOK)
			c.remember(who, "x")
			c.rememberAgain(who, "y").is(http.StatusOK).has(fields{"id": a.text("id"), "deduplicated": true, "revision": 2})
		}},
		{"TheSameKeyReplaces", func(c *check) {
			who := c.subject()
			first := c.remember(who, "one", fields{"key": "drink", "tags": []string{"x"}, "importance": 0.5}).has(fields{"key": "drink"})
			second := c.rememberAgain(who, "two", fields{"key": "drink"}).is(http.StatusOK).shape(memoryShape).head("ETag", `"2"`)
			second.has(fields{
				"id": first.text("id"), "text": "two", "revision": 2, "tags": []string{}, "importance": nil, "createdAt": first.text("createdAt"),
			}).lacks("deduplicated")
			c.get(first.memory()).send().has(fields{"text": "two", "revision": 2})
			c.get(first.memory() + "/history").send().is(http.StatusOK).has(fields{"items[1].text": "one"})
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 1})
		}},
		{"AKeyIsItsSubjectsOwn", func(c *check) {
			a, b := c.remember(c.subject(), "one", fields{"key": "k"}), c.remember(c.subject(), "two", fields{"key": "k"})
			c.get(a.memory()).send().has(fields{"text": "one", "revision": 1})
			c.get(b.memory()).send().has(fields{"text": "two", "revision": 1})
		}},
		{"AKeyWinsOverBoth", func(c *check) {
			who := c.subject()
			plain := c.remember(who, "x")
			keyed := c.remember(who, "x", fields{"key": "k"})
			if keyed.text("id") == plain.text("id") {
				keyed.broken("a memory with a key is taken for one without")
			}
			again := c.rememberAgain(who, "y", fields{"key": "k", "allowDuplicate": true}).is(http.StatusOK)
			again.has(fields{"id": keyed.text("id"), "text": "y"})
			c.rememberAgain(who, "z", fields{"key": "k", "deduplicate": true}).is(http.StatusOK).has(fields{"id": keyed.text("id"), "text": "z"})
			c.get(plain.memory()).send().has(fields{"text": "x", "revision": 1})
		}},
		{"AKeyBelongsToOneMemory", func(c *check) {
			who := c.subject()
			a, b := c.remember(who, "one", fields{"key": "k1"}), c.remember(who, "two", fields{"key": "k2"})
			c.patch(b.memory()).json(fields{"key": "k1"}).send().fails(409, "conflict")
			c.patch(b.memory()).with("If-Match", `"7"`).json(fields{"key": "k1"}).send().fails(409, "conflict")
			c.patch(b.memory()).with("If-Match", `"7"`).json(fields{"key": "k3"}).send().fails(412, "revision_mismatch")
			c.get(b.memory()).send().has(fields{"key": "k2", "revision": 1})
			c.patch(a.memory()).json(fields{"key": nil}).send().is(http.StatusOK).has(fields{"key": nil})
			c.patch(b.memory()).json(fields{"key": "k1"}).send().is(http.StatusOK).has(fields{"key": "k1"})
			c.rememberAgain(who, "three", fields{"key": "k1"}).is(http.StatusOK).has(fields{"id": b.text("id")})
		}},
		{"OfParallelWritesUnderOneKeyOneCreates", func(c *check) {
			who, made, ids := c.subject(), 0, map[string]bool{}
			n := 0
			for _, a := range c.atOnce(8, func() *call {
				n++
				return c.post(memoriesPath).json(fields{"subjectId": who, "text": string(rune('a' + n)), "key": "k"})
			}) {
				if a.status == http.StatusCreated {
					made++
				} else {
					a.is(http.StatusOK)
				}
				ids[a.text("id")] = true
			}
			if made != 1 || len(ids) != 1 {
				c.broken("eight parallel writes under one key made %d memories under %d ids, want one", made, len(ids))
			}
		}},
		{"OfParallelWritesOfTheSameOneCreates", func(c *check) {
			who, made := c.subject(), 0
			for _, a := range c.atOnce(8, func() *call { return c.post(memoriesPath).json(fields{"subjectId": who, "text": "x"}) }) {
				if a.status == http.StatusCreated {
					made++
				} else {
					a.is(http.StatusOK).has(fields{"deduplicated": true})
				}
			}
			if made != 1 {
				c.broken("eight parallel writes of the same made %d memories, want one", made)
			}
		}},
	}
}
