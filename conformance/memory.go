package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	memoriesPath = "/api/v1/memories"
	subjectsPath = memoriesPath + "/subjects"
)

// memoryShape is the record of docs/spec/memories.md.
var memoryShape = map[string]string{
	"id": "string", "subjectId": "string", "agentId": "string|null", "sessionId": "string|null", "kind": "string", "text": "string",
	"speaker": "string|null", "tags": "array", "metadata": "object", "importance": "number|null", "pinned": "boolean",
	"occurredAt": "time|null", "validFrom": "time|null", "validTo": "time|null", "expiresAt": "time|null", "key": "string|null",
	"source": "string|null", "createdAt": "time", "updatedAt": "time", "createdBy": "string", "revision": "integer", "status": "string",
}

var memoryIDs = regexp.MustCompile(`^mem_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// neverMemory is the ID of a memory that never existed.
const neverMemory = "mem_01kakakakafkhvayayayayayay"

// subject returns a new subject, which is erased when the check ends.
func (c *check) subject() string { return c.subjectAs(c.suite.name()) }

func (c *check) subjectAs(id string) string {
	c.remove(subjectsPath + "/" + url.PathEscape(id))
	return id
}

// remember stores a new memory.
func (c *check) remember(subject, text string, more ...fields) *answer {
	return c.rememberAgain(subject, text, more...).is(http.StatusCreated)
}

// rememberAgain stores a memory that can exist already.
func (c *check) rememberAgain(subject, text string, more ...fields) *answer {
	body := fields{"subjectId": subject, "text": text}
	for _, m := range more {
		for name, v := range m {
			body[name] = v
		}
	}
	return c.post(memoriesPath).json(body).send()
}

// memory returns the path of the memory in a response.
func (a *answer) memory() string { return memoriesPath + "/" + a.text("id") }

// hostile are texts that must be returned as they were sent.
func hostile() []string {
	return []string{
		"x", "the and of", "ab\u0001\u001f\u007f", "line\r\nbreak\ttab", "👩‍👩‍👧 ❤️ \U0010ffff", "\u202Eright to left\u202C שלום مرحبا",
		"'; DROP TABLE memory; --", `{"not":"json"} \ \\ "`, "<script>alert(1)</script>", "e\u0301 é", "\ufeffbom\u200b", "%00%n%s {{.}} ${x}",
		strings.Repeat("x", 65_536), strings.Repeat("é", 32_768), strings.Repeat("word ", 13_107), "null", "0", "true",
	}
}

// memoryChecks checks /api/v1/memories and /api/v1/memories/{id} (docs/spec/memories.md).
func memoryChecks() []promise {
	list := []promise{
		{"AMemoryComesBackAsItWasStored", func(c *check) {
			whole := fields{
				"subjectId": c.subject(), "agentId": "coach@1", "sessionId": "s:1", "kind": "preference", "text": "Tea, never coffee. 🍵", "speaker": "Ada – 題",
				"tags": []string{"drink", "z", "a b", "日本"}, "metadata": fields{"lang": "en", "year": 2026, "draft": false, "ratio": 0.25}, "importance": 0.5,
				"pinned": true, "occurredAt": "2026-03-04T05:06:07.089Z", "validFrom": "2026-03-01T00:00:00Z", "validTo": "2199-01-01T00:00:00Z",
				"expiresAt": "2198-01-01T00:00:00Z", "key": "drink/morning", "source": "import:crm#7",
			}
			made := c.post(memoriesPath).json(whole).send().is(http.StatusCreated).shape(memoryShape).has(whole)
			made.has(fields{"revision": 1, "createdBy": c.suite.keyID, "status": "active"}).head("ETag", `"1"`).located(made.memory())
			if !memoryIDs.MatchString(made.text("id")) {
				made.broken("id is %q, want mem_ and 26 characters", made.text("id"))
			}
			c.get(made.memory()).send().is(http.StatusOK).shape(memoryShape).has(whole).head("ETag", `"1"`).has(fields{
				"id": made.text("id"), "createdAt": made.text("createdAt"), "updatedAt": made.text("createdAt"), "createdBy": c.suite.keyID,
			}).lacks("deduplicated")
		}},
		{"ATextAndASubjectAreEnough", func(c *check) {
			a := c.remember(c.subject(), "x").shape(memoryShape).has(fields{
				"kind": "fact", "agentId": nil, "sessionId": nil, "speaker": nil, "tags": []string{}, "metadata": fields{}, "importance": nil, "pinned": false,
				"occurredAt": nil, "validFrom": nil, "validTo": nil, "expiresAt": nil, "key": nil, "source": nil, "status": "active",
			})
			c.get(a.memory()).send().is(http.StatusOK).shape(memoryShape).has(fields{"tags": []string{}, "metadata": fields{}, "importance": nil})
		}},
		{"HostileTextIsVerbatim", func(c *check) {
			who := c.subject()
			for _, text := range hostile() {
				a := c.remember(who, text).has(fields{"text": text})
				c.get(a.memory()).send().is(http.StatusOK).has(fields{"text": text})
			}
		}},
		{"EveryKindIsTaken", func(c *check) {
			who := c.subject()
			for _, kind := range []string{"fact", "preference", "event", "instruction", "summary", "turn", "note"} {
				c.remember(who, "x", fields{"kind": kind}).has(fields{"kind": kind})
			}
		}},
		{"LimitsOfAMemoryAreReachedExactly", func(c *check) {
			id := strings.Repeat("x", 128-len(c.suite.mark)) + c.suite.mark
			tags, metadata := []string{}, fields{}
			for i := range 32 {
				tags = append(tags, fmt.Sprintf("%02d%s", i, strings.Repeat("é", 62)))
				metadata[fmt.Sprintf("m%d", i)] = strings.Repeat("ü", 1024)
			}
			most := fields{"agentId": id, "sessionId": id, "tags": tags, "metadata": metadata, "importance": 1}
			a := c.remember(c.subjectAs(id), strings.Repeat("x", 65_536), most).has(most).has(fields{"subjectId": id})
			c.get(a.memory()).send().is(http.StatusOK).has(most)
			c.remember(id, "least", fields{"importance": 0}).has(fields{"importance": 0})
		}},
		{"NamesOfSubjectsMayHaveSigns", func(c *check) {
			for _, sign := range []string{"_", "-", "|", "+", "="} {
				id := sign + c.suite.name() + ".:@_-|+=" + sign
				a := c.remember(c.subjectAs(id), "x", fields{"agentId": id, "sessionId": id}).has(fields{"subjectId": id, "agentId": id, "sessionId": id})
				person := subjectsPath + "/" + url.PathEscape(id)
				c.get(person).send().is(http.StatusOK).has(fields{"subjectId": id, "memories": 1})
				c.get(memoriesPath + "?subjectId=" + url.QueryEscape(id)).send().is(http.StatusOK).has(fields{"items[0].id": a.text("id")})
				c.get(person + "/export").send().is(http.StatusOK)
				// Every character is percent-encoded.
				encoded := ""
				for _, b := range []byte(id) {
					encoded += fmt.Sprintf("%%%02X", b)
				}
				c.get(subjectsPath + "/" + encoded).send().is(http.StatusOK).has(fields{"subjectId": id})
			}
		}},
		{"AMemoryWhoseValidityIsOverIsSuperseded", func(c *check) {
			who := c.subject()
			past := c.suite.now().Add(-time.Hour).UTC().Format(time.RFC3339)
			a := c.remember(who, "x", fields{"validTo": past}).has(fields{"status": "superseded"})
			c.get(a.memory()).send().has(fields{"status": "superseded"})
			c.patch(a.memory()).json(fields{"validTo": nil}).send().is(http.StatusOK).has(fields{"status": "active", "validTo": nil})
		}},
		{"PATCHIsAMergePatch", func(c *check) {
			who := c.subject()
			made := c.remember(who, "first", fields{
				"importance": 0.5, "speaker": "Ada", "metadata": fields{"a": 1, "b": "two", "c": true}, "tags": []string{"x"}, "source": "here", "agentId": "a1",
			})
			c.wait(5 * time.Millisecond)
			a := c.patch(made.memory()).json(fields{"text": "second", "importance": nil, "metadata": fields{"b": nil, "d": 4}, "pinned": true}).send().is(http.StatusOK)
			want := fields{
				"text": "second", "importance": nil, "metadata": fields{"a": 1, "c": true, "d": 4}, "pinned": true, "speaker": "Ada", "tags": []string{"x"},
				"source": "here", "revision": 2, "createdAt": made.text("createdAt"), "agentId": "a1", "subjectId": who,
			}
			a.shape(memoryShape).has(want).head("ETag", `"2"`)
			c.get(made.memory()).send().is(http.StatusOK).has(want).has(fields{"updatedAt": a.text("updatedAt")})
			if !a.moment("updatedAt").After(made.moment("updatedAt")) {
				a.broken("updatedAt did not move")
			}
			c.patch(made.memory()).json(fields{"tags": []string{}, "kind": "note", "speaker": nil, "source": nil}).send().is(http.StatusOK).
				has(fields{"tags": []string{}, "kind": "note", "speaker": nil, "source": nil, "revision": 3})
		}},
		{"WhoseMemoryItIsNeverChanges", func(c *check) {
			a := c.remember(c.subject(), "x", fields{"agentId": "a1", "sessionId": "s1"})
			for _, member := range []string{"subjectId", "agentId", "sessionId", "id", "createdAt", "createdBy", "revision", "status", "workspaceId"} {
				c.patch(a.memory()).json(fields{"text": "half", member: "other"}).send().fails(400, "validation_error", member, "unknown|not_allowed")
			}
			c.get(a.memory()).send().has(fields{"text": "x", "revision": 1, "agentId": "a1", "sessionId": "s1"})
		}},
		{"ABadPatchChangesNothing", func(c *check) {
			a := c.remember(c.subject(), "x")
			for _, bad := range []struct {
				body         fields
				field, issue string
			}{
				{fields{"text": ""}, "text", "required|too_short"},
				{fields{"text": nil}, "text", "required|type"},
				{fields{"text": strings.Repeat("x", 65_537)}, "text", "too_long"},
				{fields{"kind": "odd"}, "kind", "not_allowed"},
				{fields{"importance": 2}, "importance", "too_large"},
				{fields{"tags": []any{1}}, "tags[0]", "type"},
				{fields{"metadata": fields{"a": []int{1}}}, "metadata.a", "type"},
				{fields{"occurredAt": "yesterday"}, "occurredAt", "format"},
			} {
				c.patch(a.memory()).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
			c.get(a.memory()).send().has(fields{"text": "x", "revision": 1})
		}},
		{"ARevisionGuardsAMemory", func(c *check) {
			a := c.remember(c.subject(), "x")
			c.patch(a.memory()).with("If-Match", `"2"`).json(fields{"text": "no"}).send().fails(412, "revision_mismatch")
			c.patch(a.memory()).with("If-Match", `"1"`).json(fields{"text": "y"}).send().is(http.StatusOK).has(fields{"revision": 2})
			c.delete(a.memory()).with("If-Match", `"1"`).send().fails(412, "revision_mismatch")
			c.get(a.memory()).send().has(fields{"text": "y"})
			c.delete(a.memory()).with("If-Match", `"2"`).send().is(http.StatusNoContent)
			c.patch(a.memory()).with("If-Match", `"2"`).json(fields{"text": "z"}).send().fails(404, "not_found")
		}},
		{"OfParallelChangesOfOneRevisionOneWins", func(c *check) {
			a, won := c.remember(c.subject(), "x"), 0
			n := 0
			for _, got := range c.atOnce(8, func() *call {
				n++
				return c.patch(a.memory()).with("If-Match", `"1"`).json(fields{"text": fmt.Sprint(n)})
			}) {
				if got.status == http.StatusOK {
					won++
				} else {
					got.fails(412, "revision_mismatch")
				}
			}
			if won != 1 {
				c.broken("%d of 8 parallel changes of one revision won, want 1", won)
			}
		}},
		{"AnUnchangedMemoryIs304", func(c *check) {
			a := c.remember(c.subject(), "x")
			same := c.get(a.memory()).with("If-None-Match", `"1"`).send().is(http.StatusNotModified).head("ETag", `"1"`)
			if len(same.body) > 0 {
				same.broken("a 304 has a body")
			}
			c.get(a.memory()).with("If-None-Match", `"2"`).send().is(http.StatusOK)
		}},
		{"DELETEErasesOne", func(c *check) {
			who := c.subject()
			a, other := c.remember(who, "x"), c.remember(who, "y")
			c.patch(a.memory()).json(fields{"text": "z"}).send().is(http.StatusOK)
			c.delete(a.memory()).send().is(http.StatusNoContent)
			for _, q := range []*call{
				c.get(a.memory()), c.delete(a.memory()), c.patch(a.memory()).json(fields{"text": "x"}), c.get(a.memory() + "/history"),
			} {
				q.send().fails(404, "not_found")
			}
			c.get(other.memory()).send().is(http.StatusOK)
			c.remember(who, "z")
		}},
		{"AMemoryThatNeverWasIs404", func(c *check) {
			for _, id := range []string{neverMemory, "nonsense", "doc_01kakakakafkhvayayayayayay", "mem_zzzzzzzzzzzzzzzzzzzzzzzzzz", "mem_"} {
				path := memoriesPath + "/" + id
				for _, q := range []*call{c.get(path), c.delete(path), c.patch(path).json(fields{"text": "x"}), c.get(path + "/history")} {
					q.send().fails(404, "not_found")
				}
			}
		}},
		{"HistoryTellsWhoWhenAndWhat", func(c *check) {
			a := c.remember(c.subject(), "one", fields{"tags": []string{"x"}})
			other := c.newKey(nil, "memory:read", "memory:write")
			c.patch(a.memory()).as(other.text).json(fields{"text": "two"}).send().is(http.StatusOK)
			last := c.patch(a.memory()).json(fields{"text": "three", "tags": []string{}}).send().is(http.StatusOK)
			h := c.get(a.memory() + "/history").send().is(http.StatusOK).has(fields{
				"nextCursor": nil, "items[0].revision": 3, "items[0].text": "three", "items[0].tags": []string{}, "items[0].updatedBy": c.suite.keyID,
				"items[0].updatedAt": last.text("updatedAt"), "items[1].revision": 2, "items[1].text": "two", "items[1].updatedBy": other.id,
				"items[2].revision": 1, "items[2].text": "one", "items[2].tags": []string{"x"}, "items[2].updatedBy": c.suite.keyID,
				"items[2].updatedAt": a.text("createdAt"),
			})
			if n := len(h.list("items")); n != 3 {
				h.broken("%d revisions, want 3", n)
			}
			first := c.get(a.memory() + "/history?limit=2").send().is(http.StatusOK)
			c.get(a.memory() + "/history?limit=2&cursor=" + first.text("nextCursor")).send().is(http.StatusOK).
				has(fields{"items[0].revision": 1, "nextCursor": nil})
			other2 := c.remember(c.subject(), "x")
			c.get(other2.memory()+"/history?cursor="+first.text("nextCursor")).send().fails(400, "validation_error", "cursor", "invalid")
		}},
		{"AMemoryIsMadeOncePerIdempotencyKey", func(c *check) {
			who, once := c.subject(), c.suite.name()
			post := func(text string) *answer {
				return c.post(memoriesPath).with("Idempotency-Key", once).json(fields{"subjectId": who, "text": text, "allowDuplicate": true}).send()
			}
			first := post("x").is(http.StatusCreated).head("Idempotent-Replayed", "")
			second := post("x").is(http.StatusCreated).head("Idempotent-Replayed", "true").head("ETag", `"1"`).located(first.memory())
			second.has(fields{"id": first.text("id"), "text": "x"})
			post("y").fails(400, "validation_error", "Idempotency-Key", "reused")
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 1})
		}},
		{"OfParallelRepeatsOfAMemoryOneHasTheEffect", func(c *check) {
			who, once := c.subject(), c.suite.name()
			for _, a := range c.atOnce(8, func() *call {
				return c.post(memoriesPath).with("Idempotency-Key", once).json(fields{"subjectId": who, "text": "x", "allowDuplicate": true})
			}) {
				if a.status != http.StatusCreated {
					a.fails(409, "idempotency_in_progress")
				}
			}
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 1})
		}},
		{"AMemoryExpiresToTheSecond", func(c *check) {
			who, word := c.subject(), c.suite.word()
			var ends time.Time
			var a *answer
			for _, lives := range c.suite.lifetimes() {
				ends = c.suite.now().Add(lives + time.Second).UTC().Truncate(time.Second)
				a = c.rememberAgain(who, word, fields{"expiresAt": ends.Format(time.RFC3339)})
				if a.status == http.StatusCreated || a.came.Before(ends) {
					break
				}
			}
			a.is(http.StatusCreated)
			if seen := c.get(a.memory()).send(); seen.came.Before(ends) {
				seen.is(http.StatusOK)
			}
			c.pass(ends.Sub(c.suite.now()) + 50*time.Millisecond)
			if !c.eventually(10*time.Second, func() bool { return c.get(a.memory()).send().status == http.StatusNotFound }) {
				c.broken("a memory is there 10 s after it expired")
			}
			c.get(a.memory()+"/history").send().fails(404, "not_found")
			c.patch(a.memory()).json(fields{"expiresAt": nil}).send().fails(404, "not_found")
			c.get(memoriesPath + "?subjectId=" + who).send().is(http.StatusOK).has(fields{"items": []any{}})
			c.recall(who, word).has(fields{"results": []any{}})
		}},
	}
	return append(list, memoryRefusals()...)
}

// memoryRefusals are invalid bodies of a memory. None of them is stored.
func memoryRefusals() []promise {
	tags, metadata := make([]string, 33), fields{}
	for i := range 33 {
		tags[i] = fmt.Sprint(i)
		metadata[fmt.Sprint(i)] = i
	}
	list := []promise{{"AMemoryIsRefused/WithoutASubject", func(c *check) {
		c.post(memoriesPath).json(fields{"text": "x"}).send().fails(400, "validation_error", "subjectId", "required")
	}}}
	for _, bad := range []struct {
		name         string
		body         fields
		field, issue string
	}{
		{"WithoutText", fields{"text": nil}, "text", "required|type"},
		{"WithAnEmptyText", fields{"text": ""}, "text", "required|too_short"},
		{"WithALongText", fields{"text": strings.Repeat("x", 65_537)}, "text", "too_long"},
		{"WithALongTextInFewCharacters", fields{"text": strings.Repeat("é", 32_769)}, "text", "too_long"},
		{"WithANumberForText", fields{"text": 1}, "text", "type"},
		{"WithASlashInTheSubject", fields{"subjectId": "a/b"}, "subjectId", "format"},
		{"WithABlankInTheSubject", fields{"subjectId": "a b"}, "subjectId", "format"},
		{"WithALongSubject", fields{"subjectId": strings.Repeat("x", 129)}, "subjectId", "format|too_long"},
		{"WithADotBeforeTheSubject", fields{"subjectId": ".x"}, "subjectId", "format"},
		{"WithAnAtBeforeTheSubject", fields{"subjectId": "@x"}, "subjectId", "format"},
		{"WithAPercentInTheSubject", fields{"subjectId": "a%7Cb"}, "subjectId", "format"},
		{"WithANumberForSubject", fields{"subjectId": 7}, "subjectId", "type"},
		{"WithABadAgent", fields{"agentId": "é"}, "agentId", "format"},
		{"WithABadSession", fields{"sessionId": ""}, "sessionId", "format|too_short|required"},
		{"WithAnotherKind", fields{"kind": "thought"}, "kind", "not_allowed"},
		{"WithTooMuchImportance", fields{"importance": 1.01}, "importance", "too_large"},
		{"WithTooLittleImportance", fields{"importance": -0.01}, "importance", "too_small"},
		{"WithTextForPinned", fields{"pinned": "yes"}, "pinned", "type"},
		{"WithAMalformedTime", fields{"occurredAt": "2026-13-01"}, "occurredAt", "format"},
		{"WithANumberForATime", fields{"expiresAt": 1}, "expiresAt", "type"},
		{"WithAnExpiryInThePast", fields{"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt", "expired|too_small|invalid"},
		{"WithAnEndBeforeItsBeginning", fields{"validFrom": "2026-02-01T00:00:00Z", "validTo": "2026-01-01T00:00:00Z"}, "validTo", "invalid|too_small"},
		{"WithTooManyTags", fields{"tags": tags}, "tags", "too_long|too_large"},
		{"WithALongTag", fields{"tags": []string{"ok", strings.Repeat("é", 65)}}, "tags[1]", "too_long"},
		{"WithAnEmptyTag", fields{"tags": []string{""}}, "tags[0]", "too_short|required|format"},
		{"WithTooMuchMetadata", fields{"metadata": metadata}, "metadata", "too_long|too_large"},
		{"WithLongMetadata", fields{"metadata": fields{"m": strings.Repeat("x", 1025)}}, "metadata|metadata.m", "too_long"},
		{"WithNestedMetadata", fields{"metadata": fields{"m": []int{1}}}, "metadata.m", "type"},
		{"WithAnID", fields{"id": neverMemory}, "id", "unknown"},
		{"WithAStatus", fields{"status": "active"}, "status", "unknown"},
		{"WithARevision", fields{"revision": 1}, "revision", "unknown"},
		{"WithAMaker", fields{"createdBy": "me"}, "createdBy", "unknown"},
		{"WithAWorkspace", fields{"workspaceId": "wsp_x"}, "workspaceId", "unknown"},
	} {
		list = append(list, promise{"AMemoryIsRefused/" + bad.name, func(c *check) {
			who := c.subject()
			c.rememberAgain(who, "x", bad.body).fails(400, "validation_error", bad.field, bad.issue)
			c.get(memoriesPath + "?subjectId=" + who).send().is(http.StatusOK).has(fields{"items": []any{}})
		}})
	}
	return list
}
