package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	memoryImport   = memoriesPath + "/import"
	waitForAnEntry = 10 * time.Second // the entry of a read can follow later
)

// export reads a subject's memories as lines.
func (c *check) export(subject string) *answer {
	a := c.get(subjectsPath + "/" + subject + "/export").send().is(http.StatusOK)
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "application/x-ndjson") {
		a.broken("Content-Type is %q, want application/x-ndjson", got)
	}
	return a
}

// lines returns the objects of a response in lines.
func (a *answer) lines() []map[string]any {
	var list []map[string]any
	for line := range strings.Lines(string(a.body)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			a.broken("a line is no JSON object: %v", err)
		}
		list = append(list, v)
	}
	return list
}

func (c *check) importMemories(lines string) *answer {
	return c.post(memoryImport).raw("application/x-ndjson", lines).send().is(http.StatusOK).shape(map[string]string{
		"received": "integer", "created": "integer", "replaced": "integer", "failed": "integer", "errors": "array",
	})
}

// portableChecks checks export and import (docs/spec/memories.md).
func portableChecks() []promise {
	return []promise{
		{"AnExportIsWholeWithItsHistory", func(c *check) {
			who := c.subject()
			a := c.remember(who, "one", fields{"occurredAt": "2026-02-01T00:00:00Z", "tags": []string{"x"}, "key": "k", "metadata": fields{"n": 1}})
			c.patch(a.memory()).json(fields{"text": "two", "tags": []string{}}).send().is(http.StatusOK)
			c.remember(who, "earlier", fields{"occurredAt": "2026-01-01T00:00:00Z", "agentId": "a1", "sessionId": "s1", "speaker": "Ada"})
			e := c.export(who)
			list := e.lines()
			if len(list) != 2 || list[0]["text"] != "earlier" || list[1]["text"] != "two" || list[1]["id"] != a.text("id") {
				c.stop("want two lines, the oldest first\n  %s", e.describe())
			}
			for name, want := range map[string]any{"subjectId": who, "agentId": "a1", "sessionId": "s1", "speaker": "Ada", "history": []any{}, "createdBy": c.suite.keyID} {
				if !same(list[0][name], want) {
					e.broken("%s is %v, want %v", name, list[0][name], want)
				}
			}
			history, _ := list[1]["history"].([]any)
			if len(history) != 1 {
				c.stop("want one older revision\n  %s", e.describe())
			}
			first, _ := history[0].(map[string]any)
			if first["text"] != "one" || !same(first["tags"], []string{"x"}) || fmt.Sprint(first["revision"]) != "1" || fmt.Sprint(list[1]["revision"]) != "2" {
				e.broken("the history is not what it was")
			}
		}},
		{"WhatWasExportedComesInElsewhereByteForByte", func(c *check) { // but for importedBy
			t := c.tenant()
			who := c.subject()
			for i, text := range hostile() {
				if strings.TrimSpace(text) == "" {
					continue
				}
				a := c.remember(who, text, fields{
					"kind": "turn", "sessionId": "s1", "speaker": "Ada", "tags": []string{"x", "日本"}, "metadata": fields{"n": i, "f": 0.5, "b": true, "s": "é"},
					"importance": 0.25, "pinned": i%2 == 0, "occurredAt": fmt.Sprintf("2026-01-%02dT00:00:00.123Z", i+1), "source": "here",
				})
				if i%3 == 0 {
					c.patch(a.memory()).json(fields{"metadata": fields{"n": nil}, "validTo": "2030-01-01T00:00:00Z"}).send().is(http.StatusOK)
				}
			}
			c.remember(who, "keyed", fields{"key": "k", "expiresAt": "2099-01-01T00:00:00Z"})
			c.rememberAgain(who, "keyed again", fields{"key": "k"}).is(http.StatusOK)
			out := c.export(who)
			n := len(out.lines())
			path := subjectsPath + "/" + who
			c.finally(func() { c.delete(path).as(t.key).send() })
			in := c.post(memoryImport).as(t.key).raw("application/x-ndjson", string(out.body)).send().is(http.StatusOK)
			in.has(fields{"received": n, "created": n, "replaced": 0, "failed": 0, "errors": []any{}})
			back := c.get(path + "/export").as(t.key).send().is(http.StatusOK)
			imported := strings.ReplaceAll(string(out.body), `"importedBy":null`, fmt.Sprintf(`"importedBy":%q`, c.get("/api/v1/developer/whoami").as(t.key).send().text("id")))
			if string(back.body) != imported {
				back.broken("an export of what was imported has other bytes than what was exported")
			}
			again := c.post(memoryImport).as(t.key).raw("application/x-ndjson", string(out.body)).send().is(http.StatusOK)
			again.has(fields{"received": n, "created": 0, "failed": 0})
			if once := c.get(path + "/export").as(t.key).send(); string(once.body) != imported {
				once.broken("importing the same again changes something")
			}
			c.get(path).as(t.key).send().is(http.StatusOK).has(fields{"memories": n})
		}},
		{"ALineOfAnImportTellsItsPast", func(c *check) {
			who := c.subject()
			past := fields{"createdAt": "2020-02-03T04:05:06.000Z", "createdBy": "usr_other", "revision": 7}
			forged := func(text string) fields {
				return fields{"subjectId": who, "text": text, "createdAt": past["createdAt"], "createdBy": past["createdBy"], "revision": 7, "importedBy": "usr_other"}
			}
			c.importMemories(line(forged("trusted")) + "\n").has(fields{"created": 1, "failed": 0})
			list := c.get(memoriesPath + "?subjectId=" + who).send().is(http.StatusOK)
			list.has(fields{"items[0].importedBy": c.suite.keyID, "items[0].createdBy": "usr_other", "items[0].createdAt": past["createdAt"], "items[0].revision": 7})
			c.remember(who, "written").has(fields{"importedBy": nil})

			k := c.newKey(fields{"subjectId": who}, "memory:read", "memory:write")
			c.post(memoryImport).as(k.text).raw("application/x-ndjson", line(forged("bound"))+"\n").send().is(http.StatusOK).has(fields{"created": 1, "failed": 0})
			list = c.get(memoriesPath + "?subjectId=" + who).send().is(http.StatusOK)
			for _, m := range list.list("items") {
				if item, _ := m.(map[string]any); item["text"] == "bound" && (item["createdBy"] != k.id || item["importedBy"] != k.id || fmt.Sprint(item["revision"]) != "1" || item["createdAt"] == past["createdAt"]) {
					list.broken("a bound key forges the past of a memory")
				}
			}
			c.importMemories(line(fields{"subjectId": who, "text": "x", "createdAt": "2199-01-01T00:00:00Z"}) + "\n").has(fields{"failed": 1, "errors[0].field": "createdAt"})
			nested := c.importMemories(line(fields{"subjectId": who, "text": "x", "metadata": fields{"a": fields{"b": 1}}}) + "\n")
			if nested.has(fields{"failed": 1, "errors[0].field": "metadata.a", "errors[0].issue": "type"}); !strings.Contains(nested.text("errors[0].message"), "nested") {
				nested.broken("the message does not say that the metadata is nested")
			}
		}},
		{"ErasedMemoriesDoNotComeBack", func(c *check) {
			who := c.subject()
			a, b := c.remember(who, "one"), c.remember(who, "two")
			lines := string(c.export(who).body)
			c.delete(a.memory()).send().is(http.StatusNoContent)
			refused := c.importMemories(lines).has(fields{"received": 2, "created": 0, "failed": 1, "errors[0].line": 1, "errors[0].issue": "not_allowed"})
			refused.shape(map[string]string{"errors[0].field": "string", "errors[0].message": "string"})
			c.get(a.memory()).send().fails(404, "not_found")
			c.get(b.memory()).send().is(http.StatusOK)

			c.delete(subjectsPath + "/" + who).send().is(http.StatusOK)
			c.importMemories(lines + line(fields{"subjectId": who, "text": "new"}) + "\n").has(fields{
				"received": 3, "created": 1, "failed": 2, "errors[0].issue": "not_allowed", "errors[1].issue": "not_allowed",
			})
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 1})
		}},
		{"PlainLinesBecomeMemories", func(c *check) {
			who, word := c.subject(), c.suite.word()
			lines := line(fields{"subjectId": who, "text": word, "tags": []string{"x"}}) + "\n\n" + line(fields{"subjectId": who, "text": word + " two", "kind": "note"})
			c.importMemories(lines).has(fields{"received": 2, "created": 2, "replaced": 0, "failed": 0, "errors": []any{}})
			if n := len(c.recall(who, word).list("results")); n != 2 {
				c.broken("of two imported memories the next recall finds %d", n)
			}
		}},
		{"ABadMemoryLineFailsAlone", func(c *check) {
			who := c.subject()
			lines := []string{
				line(fields{"subjectId": who, "text": "first"}), `{"subjectId":"x","text":`, line(fields{"subjectId": who}), line(fields{"text": "x"}),
				line(fields{"subjectId": who, "text": "x", "colour": 1}), "[]", line(fields{"subjectId": who, "text": "x", "tags": []any{"a", 1}}),
				line(fields{"subjectId": who, "text": "x", "id": "mine"}), line(fields{"subjectId": who, "text": "last"}),
			}
			a := c.importMemories(strings.Join(lines, "\n")).has(fields{"received": 9, "created": 2, "failed": 7})
			for i, want := range [][2]string{
				{"body", "format"},
				{"text", "required"},
				{"subjectId", "required"},
				{"colour", "unknown"},
				{"body", "type|format"},
				{"tags[1]", "type"},
				{"id", "format|invalid"},
			} {
				at := fmt.Sprintf("errors[%d].", i)
				a.has(fields{at + "line": i + 2}).shape(map[string]string{at + "message": "string"})
				if !oneOf(want[0], a.text(at+"field")) || !oneOf(want[1], a.text(at+"issue")) {
					a.broken("line %d: field %q and issue %q, want %s and %s", i+2, a.text(at+"field"), a.text(at+"issue"), want[0], want[1])
				}
			}
			if got := sorted(c.get(memoriesPath+"?subjectId="+who).send().texts("items", "text")); !slices.Equal(got, []string{"first", "last"}) {
				c.broken("stored are %v, want the first and the last", got)
			}
		}},
		{"MemoriesAreNDJSONOnly", func(c *check) {
			for _, other := range []string{"application/json", "text/plain", ""} {
				c.post(memoryImport).raw(other, line(fields{"subjectId": "x", "text": "x"})).send().fails(415, "unsupported_media_type")
			}
		}},
		{"AMemoryImportIsStreamed", func(c *check) {
			const count = 40
			who := c.subject()
			var lines strings.Builder
			for i := range count {
				fmt.Fprintln(&lines, line(fields{"subjectId": who, "text": fmt.Sprint(i, strings.Repeat(" conformance", 5_000))}))
			}
			c.post(memoryImport).raw("application/x-ndjson", lines.String()).inChunks().send().is(http.StatusOK).has(fields{"received": count, "created": count})
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": count})
		}},
		{"WithAnIdempotencyKeyMemoryLinesNeedIDs", func(c *check) {
			who, once := c.subject(), c.suite.name()
			a := c.post(memoryImport).with("Idempotency-Key", c.suite.name()).raw("application/x-ndjson", line(fields{"subjectId": who, "text": "x"})).send()
			if a.status == http.StatusOK {
				a.has(fields{"created": 0, "failed": 1, "errors[0].field": "id", "errors[0].issue": "required"})
			} else {
				a.fails(400, "validation_error")
			}
			c.remember(who, "x")
			lines := string(c.export(who).body)
			for _, replayed := range []string{"", "true"} {
				c.post(memoryImport).with("Idempotency-Key", once).raw("application/x-ndjson", lines).send().is(http.StatusOK).
					has(fields{"received": 1, "failed": 0}).head("Idempotent-Replayed", replayed)
			}
			c.post(memoryImport).with("Idempotency-Key", once).raw("application/x-ndjson", lines+"\n"+lines).send().
				fails(400, "validation_error", "Idempotency-Key", "reused")
		}},
	}
}

// accessLogChecks checks GET /api/v1/memories/subjects/{subjectId}/access-log (docs/spec/memories.md).
func accessLogChecks() []promise {
	return []promise{
		{"TheAccessLogTellsWhoDidWhat", func(c *check) {
			who, word := c.subject(), c.suite.word()
			reader := c.newKey(nil, "memory:read")
			a := c.remember(who, word)
			c.get(a.memory()).as(reader.text).send().is(http.StatusOK)
			c.recallQuery(who, word).as(reader.text).send().is(http.StatusOK)
			c.patch(a.memory()).json(fields{"text": word + " two"}).send().is(http.StatusOK)
			c.get(memoriesPath + "?subjectId=" + who).send().is(http.StatusOK)
			c.get(a.memory() + "/history").send().is(http.StatusOK)
			c.export(who)
			c.delete(a.memory()).with("X-Request-Id", "conformance-"+c.suite.mark).send().is(http.StatusNoContent)

			var log *answer
			logged := func() []string {
				log = c.get(subjectsPath + "/" + who + "/access-log?limit=200").send().is(http.StatusOK).
					shape(map[string]string{"items": "array", "nextCursor": "string|null"})
				return log.texts("items", "action")
			}
			want := []string{
				"memory.erased_one", "memory.exported", "memory.history", "memory.listed", "memory.updated", "memory.recalled", "memory.read", "memory.created",
			}
			if !c.eventually(waitForAnEntry, func() bool {
				got := slices.DeleteFunc(logged(), func(action string) bool { return action == "subject.access_log_read" })
				return slices.Equal(got, want)
			}) {
				log.broken("the actions are %v, want %v", log.texts("items", "action"), want)
			}
			for i, action := range log.texts("items", "action") {
				at := fmt.Sprintf("items[%d].", i)
				log.shape(map[string]string{
					at + "id": "string", at + "at": "time", at + "actor": "string", at + "outcome": "string", at + "memoryIds": "array", at + "count": "integer",
					at + "requestId": "string", at + "address": "string|null",
				})
				if action == "subject.access_log_read" {
					continue
				}
				actor := c.suite.keyID
				if action == "memory.read" || action == "memory.recalled" {
					actor = reader.id
				}
				log.has(fields{at + "actor": actor, at + "outcome": "done", at + "memoryIds": []string{a.text("id")}, at + "count": 1})
				if action == "memory.erased_one" {
					log.has(fields{at + "requestId": "conformance-" + c.suite.mark})
				}
			}
			if strings.Contains(string(log.body), word) {
				log.broken("the access log holds text")
			}
		}},
		{"TheAccessLogIsWalked", func(c *check) {
			who := c.subject()
			for i := range 3 {
				c.remember(who, fmt.Sprint(i))
			}
			path := subjectsPath + "/" + who + "/access-log"
			first := c.get(path + "?limit=2").send().is(http.StatusOK)
			if n := len(first.list("items")); n != 2 || first.text("nextCursor") == "" {
				first.broken("%d entries and no next page, want 2 of at least 3", n)
				return
			}
			second := c.get(path + "?limit=2&cursor=" + first.text("nextCursor")).send().is(http.StatusOK)
			for _, id := range second.texts("items", "id") {
				if slices.Contains(first.texts("items", "id"), id) {
					second.broken("an entry is on two pages")
				}
			}
			c.get(subjectsPath+"/"+c.suite.name()+"/access-log?cursor="+first.text("nextCursor")).send().fails(400, "validation_error", "cursor", "invalid")
		}},
		{"TheLogOfAdministrationNamesNobody", func(c *check) {
			who, writer := c.subject(), c.newKey(nil, "memory:write")
			a := c.post(memoriesPath).as(writer.text).json(fields{"subjectId": who, "text": "x"}).send().is(http.StatusCreated)
			log := c.get("/api/v1/admin/audit-log?action=memory.created&actor=" + writer.id).send().is(http.StatusOK)
			if strings.Contains(string(log.body), who) {
				log.broken("the log names the person")
			}
			if !strings.Contains(string(log.body), a.text("id")) {
				log.broken("the log lacks a memory that was just made")
			}
		}},
	}
}
