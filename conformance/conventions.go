package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// conventionChecks checks what holds for all endpoints (docs/spec/conventions.md), each at one or two of them.
func conventionChecks() []promise {
	return []promise{
		{"MetadataNumbersComeBackAsSent", func(c *check) {
			subject := c.subject()
			for _, to := range metadataCarriers(c, subject) {
				for _, number := range []string{"0.1", "9007199254740992", "-1.5e-7", "1e23"} {
					to.send(fields{"n": json.Number(number)}).is(http.StatusCreated).has(fields{"metadata": fields{"n": json.Number(written(number))}})
				}
				for number, back := range map[string]string{"0.10000000000000001": "0.1", "1.10": "1.1", "1152921504606846976": "1152921504606846976"} {
					to.send(fields{"n": json.Number(number)}).is(http.StatusCreated).has(fields{"metadata": fields{"n": json.Number(back)}})
				}
				for _, number := range []string{"9007199254740993", "1152921504606847000", "1e400", "1e-400"} {
					to.send(fields{"k": json.Number(number)}).fails(400, "validation_error", "metadata.k", "invalid")
				}
			}
		}},
		{"NullIsAbsent", func(c *check) {
			for _, to := range metadataCarriers(c, c.subject()) {
				to.send(fields{"n": nil, "m": 1}).is(http.StatusCreated).has(fields{"metadata": fields{"m": 1}})
				to.send(nil).is(http.StatusCreated).has(fields{"metadata": fields{}})
			}
			made := c.document(c.suite.name(), fields{"text": "x", "title": nil, "url": nil, "tags": nil, "collection": nil, "metadata": nil})
			made.has(fields{"title": "", "tags": []string{}, "collection": "default"})
			c.post(docsPath).json(fields{"text": nil}).send().fails(400, "validation_error", "text", "required")
			c.post("/api/v1/search").json(fields{"q": nil}).send().fails(400, "validation_error", "q", "required")
			c.post("/api/v1/search").json(fields{"q": "x", "limit": nil, "tag": nil, "filter": nil, "facets": nil, "sort": nil, "fuzzy": nil}).send().is(http.StatusOK)
			recall := fields{"subjectId": c.subject(), "query": "x", "limit": nil, "tags": nil, "kinds": nil, "from": nil, "fill": nil}
			c.post("/api/v1/memories/recall").json(recall).send().is(http.StatusOK)
		}},
		{"AFilterDoesNotRoundItsNumber", func(c *check) {
			in := "conformance-" + c.suite.name()
			for _, n := range []string{"9007199254740992", "9007199254740994"} {
				c.document(c.suite.name(), fields{"text": "rounded", "collection": in, "metadata": fields{"n": json.Number(n)}})
			}
			for filter, want := range map[string]int{
				"n:eq:9007199254740993": 0, "n:ne:9007199254740993": 2, "n:lt:9007199254740993": 1, "n:gte:9007199254740993": 1, "n:eq:9007199254740992.0": 1,
				"n:lt:1e400": 2, "n:gt:-1e999999999": 2, "n:gt:1e-400": 2, "n:lt:1e-400": 0,
			} {
				body := fields{"q": "rounded", "collection": in, "filter": []string{filter}}
				c.post("/api/v1/search").json(body).send().is(http.StatusOK).has(fields{"total": want})
				body = fields{"collection": in, "filter": []string{filter}}
				c.post(docsPath + "/delete").json(body).send().is(http.StatusOK).has(fields{"matched": want})
			}
			body := fields{"collection": in, "filter": []string{"n:eq:9007199254740993"}, "dryRun": false}
			c.post(docsPath + "/delete").json(body).send().is(http.StatusOK).has(fields{"deleted": 0})
		}},
		{"AnotherEncodingIsNamed", func(c *check) {
			for sent, looks := range map[string]string{"\xff\xfe{\x00}\x00": "looks like UTF-16", "{\"text\":\"K\xe4se\"}": "looks like Latin-1"} {
				c.post(docsPath).raw("application/json", sent).send().fails(400, "validation_error", "body", "format").says(looks)
			}
			id := c.suite.name()
			c.put(docsPath+"/"+id).raw("application/json", "\ufeff"+`{"text":"x"}`).send().is(http.StatusCreated)
			c.removeDocument(id)
			c.post(docsPath).raw("application/json", `{"text":"\ud83d"}`).send().fails(400, "validation_error", "text", "format").says("unpaired surrogate")
			c.post(docsPath).raw("application/json", `{"text":"a\u0000"}`).send().fails(400, "validation_error", "text", "format")
			memory := fields{"subjectId": c.subject(), "text": "a\x00"}
			c.post("/api/v1/memories").json(memory).send().fails(400, "validation_error", "text", "format")
			c.get("/api/v1/search?q=%00").send().fails(400, "validation_error", "q", "required")
			c.get("/api/v1/search?q=a%00b").send().is(http.StatusOK)
		}},
		{"AnUnpairedSurrogateFailsItsItemAlone", func(c *check) {
			subject := c.subject()
			body := `{"items":[{"subjectId":"` + subject + `","text":"one"},{"subjectId":"` + subject + `","text":"\ud83d"}]}`
			a := c.post("/api/v1/memories/batch").raw("application/json", body).send().is(http.StatusOK)
			a.has(fields{"results.0.status": 201, "results.1.status": 400, "results.1.error.details.field": "items[1].text", "results.1.error.details.issue": "format"})
			one, two := c.suite.name(), c.suite.name()
			for _, sent := range []string{`{"id":"` + one + `","text":"x"}` + "\n" + `{"id":"` + two + `","text":"\ud83d"}`, `[{"id":"` + one + `","text":"x"},{"id":"` + two + `","text":"\ud83d"}]`} {
				media := "application/x-ndjson"
				if sent[0] == '[' {
					media = "application/json"
				}
				a := c.post(docsPath+"/import").raw(media, "\ufeff"+sent).send().is(http.StatusOK)
				c.removeDocument(one)
				a.has(fields{"received": 2, "failed": 1, "errors.0.line": 2, "errors.0.field": "text", "issues.0.field": "text", "issues.0.issue": "format", "issues.0.count": 1})
			}
		}},
		{"IDsOfDocuments", func(c *check) {
			for _, id := range []string{"@" + c.suite.name(), "_a|b+c=d@e.f:g-" + c.suite.name()} {
				c.document(id, fields{"text": "x"}).has(fields{"id": id})
				c.get(docsPath + "/" + url.PathEscape(id)).send().is(http.StatusOK).has(fields{"id": id})
			}
			number := json.Number("9" + strconv.FormatInt(time.Now().UnixNano(), 10) + "12345")
			a := c.post(docsPath).json(fields{"id": number, "text": "x"}).send().is(http.StatusCreated)
			c.removeDocument(string(number))
			a.has(fields{"id": string(number)})
			c.post(docsPath).json(fields{"id": json.Number("1.5"), "text": "x"}).send().fails(400, "validation_error", "id", "type")
			c.post(docsPath).json(fields{"id": ".a", "text": "x"}).send().fails(400, "validation_error", "id", "format")
		}},
		{"ValuesOfAFacetAgreeWithFilters", func(c *check) {
			in := "conformance-" + c.suite.name()
			for _, k := range []any{7, "7", json.Number("7.0"), true, "true"} {
				c.document(c.suite.name(), fields{"text": "faceted", "collection": in, "metadata": fields{"k": k}})
			}
			a := c.post("/api/v1/search").json(fields{"q": "faceted", "collection": in, "facets": []string{"k"}}).send().is(http.StatusOK)
			a.has(fields{"facets.k.0.value": "7", "facets.k.0.count": 3, "facets.k.1.value": "true", "facets.k.1.count": 2})
		}},
		{"ALongPhraseIsNoError", func(c *check) {
			text := strings.Repeat("pasted ", 31) + "sentence and more of it " + strings.Repeat("again ", 60)
			id := c.suite.name()
			c.document(id, fields{"text": text, "collection": "conformance-" + id})
			body := fields{"q": `"` + text + ` not there"`, "collection": "conformance-" + id}
			c.post("/api/v1/search").json(body).send().is(http.StatusOK).has(fields{"total": 1})
			c.post("/api/v1/search").json(fields{"q": "pasted -" + `"` + text + `"`, "collection": "conformance-" + id}).send().is(http.StatusOK).has(fields{"total": 0})
		}},
		{"AnOverlongEntryOfMetadataIsNamed", func(c *check) {
			subject := c.subject()
			for _, to := range metadataCarriers(c, subject) {
				to.send(fields{"a": "short", "k": strings.Repeat("é", 1025)}).fails(400, "validation_error", "metadata.k", "too_long")
			}
		}},
		{"URLsAreHTTPOrHTTPS", func(c *check) {
			for _, url := range []string{"https://example.org/a?b=c#d", "HTTP://example.org", "http://[2001:db8::1]:8080/"} {
				c.document(c.suite.name(), fields{"text": "x", "url": url}).has(fields{"url": url})
			}
			for _, url := range []string{"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "ftp://example.org/", "mailto:a@example.org", "//example.org", "http:", "http://"} {
				c.post(docsPath).json(fields{"text": "x", "url": url}).send().fails(400, "validation_error", "url", "format")
			}
		}},
		{"AnEmptyParameterIsRequired", func(c *check) {
			for path, name := range map[string]string{
				docsPath + "?collection=": "collection", docsPath + "?tag=": "tag", keysPath + "?createdBy=": "createdBy", keysPath + "?state=": "state",
				"/api/v1/memories?subjectId=": "subjectId", "/api/v1/search?q=x&collection=": "collection", docsPath + "?limit=": "limit",
			} {
				c.get(path).send().fails(400, "validation_error", name, "required")
			}
			for name, of := range map[string]any{"cursor": "", "collection": "", "tag[1]": []string{"a", ""}, "filter[0]": []string{""}, "facets[1]": []string{"tag", ""}} {
				member, _, _ := strings.Cut(name, "[")
				c.post("/api/v1/search").json(fields{"q": "x", member: of}).send().fails(400, "validation_error", name, "required")
			}
		}},
		{"AnIntegerMayHaveAFractionOfZeros", func(c *check) {
			body := func(n string) fields {
				return fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}, "rateLimit": fields{"requestsPerMinute": json.Number(n)}}
			}
			a := c.post(keysPath).json(body("5.0")).send().is(http.StatusCreated).has(fields{"rateLimit.requestsPerMinute": 5})
			c.removeKey(a.text("id"))
			c.post(keysPath).json(body("5.5")).send().fails(400, "validation_error", "rateLimit.requestsPerMinute", "type")
		}},
		{"ATimeIsWrittenAsInRFC3339", func(c *check) {
			for _, text := range []string{
				"2090-01-01T00:00:00,5Z", "2090-01-01T0:00:00Z", "2090-01-01T00:00:00+24:00", "2090-01-01T00:00:00+01:60", "2090-01-01T00:00:00", "2090-02-30T00:00:00Z",
			} {
				c.post(keysPath).json(fields{"name": "x", "scopes": []string{"read"}, "expiresAt": text}).send().fails(400, "validation_error", "expiresAt", "format")
				c.get("/api/v1/memories?from="+strings.ReplaceAll(text, "+", "%2B")).send().fails(400, "validation_error", "from", "format")
			}
			a := c.newKey(fields{"expiresAt": "2090-01-01T01:00:00.5+01:00"}, "read").made
			a.has(fields{"expiresAt": "2090-01-01T00:00:00.500Z"})
		}},
		{"IfMatchTakesLists", func(c *check) {
			k := c.newKey(nil, "read")
			change := func(ifMatch string) *answer {
				return c.patch(k.path()).with("If-Match", ifMatch).json(fields{"name": "conformance " + c.suite.name()}).send()
			}
			change(`"7", "8"`).fails(412, "revision_mismatch")
			change(`W/"7"`).fails(412, "revision_mismatch")
			change(`"7", W/"1"`).is(http.StatusOK).head("ETag", `"2"`) // a proxy that compresses weakens the tag
			change(`"a,b","2"`).is(http.StatusOK).head("ETag", `"3"`)
			change("*").is(http.StatusOK).head("ETag", `"4"`)
			for _, malformed := range []string{"4", `"4" "5"`, `"4`, ","} {
				change(malformed).fails(400, "validation_error", "If-Match", "format")
			}
		}},
		{"IfNoneMatchKeepsAPUTFromReplacing", func(c *check) {
			path := docsPath + "/" + c.suite.name()
			put := func(ifNoneMatch, text string) *answer {
				return c.put(path).with("If-None-Match", ifNoneMatch).json(fields{"text": text}).send()
			}
			c.remove(path)
			put("*", "first").is(http.StatusCreated)
			put("*", "second").fails(412, "revision_mismatch")
			put(`"7", W/"1"`, "second").fails(412, "revision_mismatch")
			c.get(path).send().is(http.StatusOK).has(fields{"text": "first", "revision": 1})
			put(`"7"`, "second").is(http.StatusOK).has(fields{"revision": 2})
			c.get(path).with("If-None-Match", `"7", W/"2"`).send().is(http.StatusNotModified)
		}},
		{"AMergePatchMayBeCalledOne", func(c *check) {
			k := c.newKey(nil, "read")
			c.patch(k.path()).raw("application/merge-patch+json", `{"name":"conformance patched"}`).send().is(http.StatusOK).has(fields{"name": "conformance patched"})
			c.post(keysPath).raw("application/merge-patch+json", `{"name":"x","scopes":["read"]}`).send().fails(415, "unsupported_media_type")
		}},
		{"AllowNamesTheMethodsOfExactlyThatPath", func(c *check) {
			for path, allow := range map[string]string{
				"/api/v1/memories/recall": "OPTIONS, POST", "/api/v1/memories/batch": "OPTIONS, POST", docsPath + "/import": "OPTIONS, POST",
				"/api/v1/memories/subjects": "GET, HEAD, OPTIONS", "/api/v1/memories": "GET, HEAD, OPTIONS, POST",
			} {
				c.call(http.MethodOptions, path).send().is(http.StatusNoContent).head("Allow", allow)
				c.delete(path).send().fails(405, "method_not_allowed").head("Allow", allow)
			}
			c.get("/api/v1/memories/recall").send().fails(405, "method_not_allowed").head("Allow", "OPTIONS, POST")
		}},
		{"WhatCostsNothingShowsTheAnonymousTier", func(c *check) {
			for path, member := range map[string]string{"/.well-known/jwks.json": "keys", "/openapi.json": "paths", "/api/v1/openapi.json": "paths"} {
				without := c.get(path).anonymous().send().is(http.StatusOK).shape(map[string]string{member: "array|object"})
				with := c.get(path).send().is(http.StatusOK)
				if limit := with.header.Get("X-RateLimit-Limit"); limit != without.header.Get("X-RateLimit-Limit") {
					with.broken("with a key the limit is %s", limit)
				}
				if with.header.Get("X-RateLimit-Key-Limit") != "" {
					with.broken("it shows a limit of the key")
				}
			}
		}},
		{"TheDescriptionIsNotSentTwice", func(c *check) {
			a := c.get("/openapi.json").anonymous().with("Accept-Encoding", "identity").send().is(http.StatusOK).shape(map[string]string{"servers[0].url": "string"})
			tag := a.header.Get("ETag")
			if tag == "" {
				c.stop("the description has no ETag")
			}
			c.get("/openapi.json").anonymous().with("Accept-Encoding", "identity").with("If-None-Match", tag).send().is(http.StatusNotModified)
			zipped := c.get("/openapi.json").anonymous().with("Accept-Encoding", "gzip").send().is(http.StatusOK).head("Content-Encoding", "gzip")
			if len(zipped.body)*2 > len(a.body) {
				c.broken("compressed, the description has %d bytes of %d", len(zipped.body), len(a.body))
			}
		}},
	}
}

// carrier is something that is created with metadata.
type carrier struct{ send func(metadata fields) *answer }

// metadataCarriers are a document, a memory and a key.
func metadataCarriers(c *check, subject string) []carrier {
	return []carrier{
		{func(metadata fields) *answer {
			a := c.post(docsPath).json(fields{"text": "conformance", "metadata": metadata}).send()
			if id := a.text("id"); id != "" {
				c.removeDocument(id)
			}
			return a
		}},
		{func(metadata fields) *answer {
			return c.post("/api/v1/memories").json(fields{"subjectId": subject, "text": c.suite.name(), "metadata": metadata}).send()
		}},
		{func(metadata fields) *answer {
			a := c.post(keysPath).json(fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}, "metadata": metadata}).send()
			if id := a.text("id"); id != "" {
				c.removeKey(id)
			}
			return a
		}},
	}
}

// written returns a number as responses contain it, in its shortest form.
func written(number string) string {
	var n float64
	if json.Unmarshal([]byte(number), &n) != nil {
		return number
	}
	text, _ := json.Marshal(n) // a number
	return string(text)
}
