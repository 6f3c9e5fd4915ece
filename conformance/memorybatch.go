package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// memoryBatchChecks checks POST /api/v1/memories/batch (docs/spec/memories.md).
func memoryBatchChecks() []promise {
	const path = memoriesPath + "/batch"
	return []promise{
		{"ABatchAnswersInOrder", func(c *check) {
			who, other := c.subject(), c.subject()
			kept := c.remember(who, "kept", fields{"key": "k"})
			a := c.post(path).json(fields{"items": []fields{
				{"subjectId": who, "text": "one"},
				{"subjectId": other, "text": "two", "kind": "turn"},
				{"subjectId": who, "text": "one"},
				{"subjectId": who, "text": "new", "key": "k"},
				{"subjectId": who, "text": "one", "allowDuplicate": true},
			}}).send().is(http.StatusOK)
			a.has(fields{
				"results[0].index": 0, "results[0].status": 201, "results[0].memory.text": "one", "results[0].memory.subjectId": who,
				"results[1].index": 1, "results[1].status": 201, "results[1].memory.subjectId": other, "results[1].memory.kind": "turn",
				"results[2].index": 2, "results[2].status": 200, "results[2].deduplicated": true, "results[2].memory.id": a.text("results[0].memory.id"),
				"results[3].status": 200, "results[3].memory.id": kept.text("id"), "results[3].memory.revision": 2, "results[3].memory.text": "new",
				"results[4].status": 201,
			}).lacks("results[0].error", "results[0].deduplicated", "results[3].deduplicated")
			for member, kinds := range memoryShape {
				a.shape(map[string]string{"results[1].memory." + member: kinds})
			}
			c.get(memoriesPath + "/" + a.text("results[1].memory.id")).send().is(http.StatusOK).has(fields{"text": "two"})
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 3})
		}},
		{"IDsRiseWithinABatch", func(c *check) {
			who := c.subject()
			var items []fields
			for i := range 50 {
				items = append(items, fields{"subjectId": who, "text": fmt.Sprint(i), "kind": "turn", "sessionId": "s"})
			}
			var ids []string
			a := c.post(path).json(fields{"items": items}).send().is(http.StatusOK)
			for i := range items {
				ids = append(ids, a.text(fmt.Sprintf("results[%d].memory.id", i)))
			}
			if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 50 {
				a.broken("the ids of a batch do not rise")
			}
		}},
		{"ABadItemFailsAlone", func(c *check) {
			who := c.subject()
			a := c.post(path).json(fields{"items": []any{
				fields{"subjectId": who, "text": "good"},
				fields{"subjectId": who},
				fields{"subjectId": who, "text": "x", "colour": 1},
				fields{"text": "x"},
				fields{"subjectId": who, "text": "x", "tags": []any{"a", 7}},
				"text", nil,
				fields{"subjectId": who, "text": strings.Repeat("x", 65_537)},
				fields{"subjectId": who, "text": "last"},
			}}).send().is(http.StatusOK)
			for i, want := range []string{
				"", "items[1].text required", "items[2].colour unknown", "items[3].subjectId required", "items[4].tags[1] type", "items[5] type",
				"items[6] required|type", "items[7].text too_long", "",
			} {
				at := fmt.Sprintf("results[%d].", i)
				a.has(fields{at + "index": i})
				if want == "" {
					a.has(fields{at + "status": 201}).lacks(at + "error")
					continue
				}
				field, issue, _ := strings.Cut(want, " ")
				a.has(fields{at + "status": 400, at + "error.error": "validation_error", at + "error.details.field": field}).
					shape(map[string]string{at + "error.message": "string"}).lacks(at + "memory")
				if !oneOf(issue, a.text(at+"error.details.issue")) {
					a.broken("item %d: the issue is not %s", i, issue)
				}
			}
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 2})
		}},
		{"AnAtomicBatchIsAllOrNothing", func(c *check) {
			who := c.subject()
			good := []any{fields{"subjectId": who, "text": "one"}, fields{"subjectId": who, "text": "two"}}
			c.post(path).json(fields{"atomic": true, "items": append(good[:2:2], fields{"subjectId": who, "text": ""})}).send().
				fails(400, "validation_error", "items[2].text", "required|too_short")
			c.post(path).json(fields{"atomic": true, "items": append([]any{fields{"subjectId": who, "text": "x", "kind": "odd"}}, good...)}).send().
				fails(400, "validation_error", "items[0].kind", "not_allowed")
			c.get(subjectsPath+"/"+who).send().fails(404, "not_found")
			a := c.post(path).json(fields{"atomic": true, "items": good}).send().is(http.StatusOK)
			a.has(fields{"results[0].status": 201, "results[1].status": 201})
		}},
		{"ABatchHasAThousandItemsAtMost", func(c *check) {
			who := c.subject()
			items := make([]fields, 1001)
			for i := range items {
				items[i] = fields{"subjectId": who, "text": fmt.Sprint(i)}
			}
			c.post(path).json(fields{"items": items}).send().fails(400, "validation_error", "items", "too_long|too_large")
			a := c.post(path).json(fields{"items": items[:1000]}).send().is(http.StatusOK)
			if n := len(a.list("results")); n != 1000 {
				a.broken("%d results, want 1000", n)
			}
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 1000})
		}},
		{"ABadBatchIs400", func(c *check) {
			for _, bad := range []struct {
				body         any
				field, issue string
			}{
				{fields{}, "items", "required"},
				{fields{"items": nil}, "items", "required|type"},
				{fields{"items": "x"}, "items", "type"},
				{fields{"items": []any{}}, "items", "too_short|required"},
				{fields{"items": []fields{{"text": "x"}}, "atomic": "yes"}, "atomic", "type"},
				{fields{"items": []fields{{"text": "x"}}, "all": true}, "all", "unknown"},
				{[]any{}, "body", "type|format"},
			} {
				c.post(path).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
			c.post(path).raw("application/json", `{"items":[{"text":"x"}`).send().fails(400, "validation_error", "body", "format")
		}},
		{"ABatchMayHaveEightMebibytes", func(c *check) {
			who := c.subject()
			big := fields{"subjectId": who, "text": strings.Repeat("x", 65_000), "allowDuplicate": true}
			c.post(path).json(fields{"items": slices.Repeat([]fields{big}, 120)}).send().is(http.StatusOK).has(fields{"results[119].status": 201})
			over := c.post(path).json(fields{"items": slices.Repeat([]fields{big}, 130)})
			over.with("Expect", "100-continue").send().fails(413, "payload_too_large")
		}},
		{"AFullWorkspaceTakesNoMore", func(c *check) {
			if !c.suite.target.Disposable {
				c.skip("would change the numbers of a tier; runs against a deployment that is there for this alone")
			}
			const tiers = "/api/v1/admin/tiers"
			t := c.tenant()
			for _, who := range c.get(subjectsPath+"?limit=200").as(t.key).send().is(http.StatusOK).texts("items", "subjectId") {
				c.delete(subjectsPath + "/" + who).as(t.key).send().is(http.StatusOK)
			}
			listed := c.get(tiers + "?limit=200").send().is(http.StatusOK)
			at := fmt.Sprintf("items[%d].", slices.Index(listed.texts("items", "name"), "pro"))
			small, before := fields{}, fields{}
			for _, n := range []string{"requestsPerMinute", "daily", "monthly", "keys", "users", "documents", "memories"} {
				before[n] = listed.integer(at + n)
				small[n] = before[n]
			}
			before["storage"] = listed.integer(at + "storage")
			small["memories"] = 2
			c.patch(t.path()).json(fields{"tier": "pro"}).send().is(http.StatusOK)
			c.finally(func() { c.patch(t.path()).json(fields{"tier": "unlimited"}).send() })
			c.put(tiers + "/pro").json(small).send().is(http.StatusOK)
			c.finally(func() { c.put(tiers + "/pro").json(before).send() })

			who := c.suite.name()
			c.finally(func() { c.delete(subjectsPath + "/" + who).as(t.key).send() })
			post := func(text string, more ...fields) *answer {
				body := fields{"subjectId": who, "text": text}
				for _, m := range more {
					for name, v := range m {
						body[name] = v
					}
				}
				return c.post(memoriesPath).as(t.key).json(body).send()
			}
			post("one", fields{"key": "k"}).is(http.StatusCreated)
			two := post("two").is(http.StatusCreated)
			post("three").fails(409, "limit_reached").has(fields{"details.limit": "memories"})
			post("one again", fields{"key": "k"}).is(http.StatusOK)
			post("two").is(http.StatusOK).has(fields{"deduplicated": true})
			items := []fields{{"subjectId": who, "text": "three"}, {"subjectId": who, "text": "two"}}
			c.post(path).as(t.key).json(fields{"items": items}).send().is(http.StatusOK).has(fields{
				"results[0].status": 409, "results[0].error.error": "limit_reached", "results[0].error.details.limit": "memories", "results[1].status": 200,
			})
			c.post(memoryImport).as(t.key).raw("application/x-ndjson", line(items[0])).send().is(http.StatusOK).
				has(fields{"created": 0, "failed": 1, "errors[0].field": "memories"})
			c.delete(two.memory()).as(t.key).send().is(http.StatusNoContent)
			post("three").is(http.StatusCreated)

			// A limit of 0 bytes, the field left out (so still 0), and no limit.
			small["memories"], small["storage"] = 100, 0
			c.put(tiers + "/pro").json(small).send().is(http.StatusOK).has(fields{"storage": 0})
			delete(small, "storage")
			c.put(tiers + "/pro").json(small).send().is(http.StatusOK).has(fields{"storage": 0})
			post("four").fails(409, "limit_reached").has(fields{"details.limit": "storage"})
			c.post(path).as(t.key).json(fields{"items": items}).send().is(http.StatusOK).has(fields{
				"results[0].status": 200, "results[1].error.details.limit": "storage",
			})
			c.put("/api/v1/documents/"+c.suite.name()).as(t.key).json(fields{"text": "x"}).send().fails(409, "limit_reached").
				has(fields{"details.limit": "storage"})
			small["storage"] = nil
			c.put(tiers + "/pro").json(small).send().is(http.StatusOK).has(fields{"storage": nil})
			post("four").is(http.StatusCreated)
		}},
		{"ABatchIsMadeOncePerIdempotencyKey", func(c *check) {
			who, once := c.subject(), c.suite.name()
			post := func(texts ...string) *answer {
				var items []fields
				for _, text := range texts {
					items = append(items, fields{"subjectId": who, "text": text, "kind": "turn"})
				}
				return c.post(path).with("Idempotency-Key", once).json(fields{"items": items}).send()
			}
			first := post("a", "b").is(http.StatusOK)
			again := post("a", "b").is(http.StatusOK).head("Idempotent-Replayed", "true")
			again.has(fields{"results[1].memory.id": first.text("results[1].memory.id"), "results[1].status": 201, "results[1].memory.text": "b"})
			post("a", "c").fails(400, "validation_error", "Idempotency-Key", "reused")
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 2})
		}},
	}
}
