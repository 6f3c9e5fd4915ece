package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// importChecks checks POST /api/v1/documents/import (docs/spec/documents.md).
func importChecks() []promise {
	const path, media = docsPath + "/import", "application/x-ndjson"
	return []promise{
		{"LinesBecomeDocuments", func(c *check) {
			word, ids := c.suite.word(), []string{c.suite.name(), c.suite.name(), c.suite.name()}
			var lines strings.Builder
			for _, id := range ids {
				c.removeDocument(id)
				fmt.Fprintln(&lines, line(fields{"id": id, "text": word, "collection": "conformance"}))
			}
			a := c.post(path).raw(media, lines.String()).send().is(http.StatusOK)
			a.has(fields{"received": 3, "created": 3, "replaced": 0, "failed": 0, "errors": []any{}})
			if n := c.search(url.Values{"q": {word}}).integer("total"); n != 3 {
				c.broken("of three imported documents the next search finds %d", n)
			}
			again := c.post(path).raw(media, strings.TrimSuffix(lines.String(), "\n")).send().is(http.StatusOK)
			again.has(fields{"received": 3, "created": 0, "replaced": 3, "failed": 0})
		}},
		{"ABadLineFailsAlone", func(c *check) {
			good, last := c.suite.name(), c.suite.name()
			c.removeDocument(good)
			c.removeDocument(last)
			lines := []string{
				line(fields{"id": good, "text": "x"}), `{"id":"conformance-bad","text":`, line(fields{"id": "conformance-bad", "text": "x", "colour": 1}),
				line(fields{"id": "conformance-bad"}), line(fields{"id": "not allowed", "text": "x"}), `{"id":"conformance-bad","text":"x","text":"y"}`,
				line(fields{"id": "conformance-bad", "text": "x", "tags": []any{"a", 1}}), "[]", line(fields{"id": last, "text": "x"}),
			}
			a := c.post(path).raw(media, strings.Join(lines, "\n")).send().is(http.StatusOK)
			a.has(fields{"received": 9, "created": 2, "replaced": 0, "failed": 7})
			for i, want := range [][2]string{{"body", "format"}, {"colour", "unknown"}, {"text|title", "required"}, {"id", "format|invalid"}, {"text", "duplicate"}, {"tags[1]", "type"}, {"body", "type|format"}} {
				at := fmt.Sprintf("errors[%d].", i)
				a.has(fields{at + "line": i + 2}).shape(map[string]string{at + "message": "string"})
				if !oneOf(want[0], a.text(at+"field")) || !oneOf(want[1], a.text(at+"issue")) {
					a.broken("line %d: field %q and issue %q, want %s and %s", i+2, a.text(at+"field"), a.text(at+"issue"), want[0], want[1])
				}
			}
			c.get(docsPath + "/" + good).send().is(http.StatusOK)
			c.get(docsPath + "/" + last).send().is(http.StatusOK)
			c.get(docsPath+"/conformance-bad").send().fails(404, "not_found")
		}},
		{"AHundredErrorsAreTold", func(c *check) {
			a := c.post(path).raw(media, strings.Repeat("{}\n", 150)).send().is(http.StatusOK).has(fields{"received": 150, "failed": 150, "created": 0})
			if n := len(a.list("errors")); n != 100 {
				a.broken("%d errors are listed, want the first 100", n)
			}
		}},
		{"ALineWithoutAnIDGetsOne", func(c *check) {
			word := c.suite.word()
			lines := line(fields{"text": word}) + "\n" + line(fields{"text": word, "title": word})
			c.post(path).raw(media, lines).send().is(http.StatusOK).has(fields{"created": 2})
			c.post(path).raw(media, lines).send().is(http.StatusOK).has(fields{"created": 0, "replaced": 2})
			found := c.search(url.Values{"q": {word}})
			for _, id := range found.texts("results", "id") {
				c.removeDocument(id)
				if !rowIDs.MatchString(id) {
					c.broken("the id made for a line is %q, want row_ and 26 characters", id)
				}
			}
			found.has(fields{"total": 2})
		}},
		{"AnEmptyImportIsNoError", func(c *check) {
			for _, body := range []string{"", "\n"} {
				if a := c.post(path).raw(media, body).send(); a.status != http.StatusOK {
					a.fails(400, "validation_error", "body", "required|format")
				} else {
					a.has(fields{"created": 0})
				}
			}
		}},
		{"TheSameIDTwiceKeepsTheLater", func(c *check) {
			id := c.suite.name()
			c.removeDocument(id)
			lines := line(fields{"id": id, "text": "first"}) + "\n" + line(fields{"id": id, "text": "second"}) + "\n"
			c.post(path).raw(media, lines).send().is(http.StatusOK).has(fields{"received": 2, "created": 1, "replaced": 1})
			c.get(docsPath + "/" + id).send().has(fields{"text": "second", "revision": 2})
		}},
		{"NDJSONHasSeveralNames", func(c *check) {
			for _, name := range []string{media, "application/ndjson", "application/jsonl"} {
				id := c.suite.name()
				c.removeDocument(id)
				c.post(path).raw(name, "\xef\xbb\xbf"+line(fields{"id": id, "text": "x"})).send().is(http.StatusOK).has(fields{"received": 1, "created": 1})
			}
		}},
		{"AnArrayIsAnImport", func(c *check) {
			first, last := c.suite.name(), c.suite.name()
			c.removeDocument(first)
			c.removeDocument(last)
			body := "[" + line(fields{"id": first, "text": "x"}) + "," + line(fields{"id": "not allowed", "text": "x"}) + "," + line(fields{"id": last, "text": "x"}) + "]"
			a := c.post(path).raw("application/json", body).send().is(http.StatusOK).has(fields{"received": 3, "created": 2, "failed": 1})
			a.has(fields{"errors[0].line": 2, "errors[0].field": "id"})
			for _, bad := range []string{line(fields{"id": first, "text": "x"}), "[", "7"} {
				c.post(path).raw("application/json", bad).send().fails(400, "validation_error", "body", "type|format")
			}
			c.post(path).raw("application/json", "["+strings.Repeat(" ", 8<<20)+"]").send().fails(413, "payload_too_large")
		}},
		{"ItTakesNoOtherMediaType", func(c *check) {
			for _, other := range []string{"text/plain", "text/xml", ""} {
				c.post(path).raw(other, line(fields{"text": "x"})).send().fails(415, "unsupported_media_type")
			}
		}},
		{"ItIsStreamedPastOneMebibyte", func(c *check) {
			const count = 24
			text := strings.Repeat("conformance ", 10_000)
			var lines strings.Builder
			for range count {
				id := c.suite.name()
				c.removeDocument(id)
				fmt.Fprintln(&lines, line(fields{"id": id, "text": text}))
			}
			c.post(path).raw(media, lines.String()).inChunks().send().is(http.StatusOK).has(fields{"received": count, "created": count})
		}},
		{"AnIdempotencyKeyReplays", func(c *check) {
			id, once := c.suite.name(), c.suite.name()
			c.removeDocument(id)
			good := c.post(path).with("Idempotency-Key", once).raw(media, line(fields{"id": id, "text": "x"})).send()
			good.is(http.StatusOK).has(fields{"created": 1})
			replay := c.post(path).with("Idempotency-Key", once).raw(media, line(fields{"id": id, "text": "x"})).send()
			replay.is(http.StatusOK).has(fields{"created": 1}).head("Idempotent-Replayed", "true")
			c.post(path).with("Idempotency-Key", once).raw(media, line(fields{"id": id, "text": "y"})).send().fails(400, "validation_error", "Idempotency-Key", "reused")
		}},
		{"EqualLinesAreOneDocument", func(c *check) {
			word := c.suite.word()
			lines := strings.Repeat(line(fields{"text": word})+"\n", 3)
			a := c.post(path).raw(media, lines).send().is(http.StatusOK).has(fields{"received": 3, "created": 1, "replaced": 0, "failed": 0})
			a.has(fields{"issues[0].issue": "duplicate", "issues[0].count": 2})
			for _, id := range c.search(url.Values{"q": {word}}).texts("results", "id") {
				c.removeDocument(id)
			}
		}},
		{"ATableIsAnImport", func(c *check) {
			first, last := c.suite.name(), c.suite.name()
			c.removeDocument(first)
			c.removeDocument(last)
			body := "sku,name,price,more\n" + first + ",\"One\ntwo\",00123,1.5\n" + last + ",\n" + last + ",Three,,true\n"
			a := c.post(path+"?id=sku&title=name&rest=metadata").raw("text/csv", body).send().is(http.StatusOK)
			a.has(fields{"received": 3, "created": 2, "failed": 1, "errors[0].line": 4, "errors[0].field": "text", "errors[0].issue": "required"})
			c.get(docsPath + "/" + first).send().has(fields{"title": "One\ntwo", "metadata.price": "00123", "metadata.more": 1.5})
			c.get(docsPath + "/" + last).send().has(fields{"title": "Three", "metadata.more": true})
			c.post(path+"?title=none").raw("text/csv", body).send().fails(400, "validation_error", "title", "unknown")
		}},
		{"RowsAreMapped", func(c *check) {
			id := c.suite.name()
			c.removeDocument(id)
			row := line(fields{"key": id, "name": "N", "about": "A", "notes": "B", "year": 1999, "maker": fields{"city": "X"}, "sizes": []int{1, 2}})
			mapped := path + "?id=key&title=name&text=about,notes&into=conformance"
			c.post(mapped).raw(media, row).send().is(http.StatusOK).has(fields{"failed": 1, "errors[0].issue": "unknown"})
			c.post(mapped+"&rest=metadata").raw(media, row).send().is(http.StatusOK).has(fields{"created": 1})
			c.get(docsPath + "/" + id).send().has(fields{"title": "N", "text": "A\n\nB", "collection": "conformance", "metadata.year": 1999})
			c.post(mapped+"&rest=drop").raw(media, row).send().is(http.StatusOK).has(fields{"replaced": 1})
		}},
	}
}

// line returns a document as a line.
func line(document fields) string {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // the suite's own literals
	}
	return string(text)
}
