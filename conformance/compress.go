package conformance

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// compressChecks checks when an answer is compressed (decisions.md, O).
func compressChecks() []promise {
	return []promise{
		{"ALongAnswerIsCompressedWhereThatIsAccepted", func(c *check) {
			for name, next := range longAnswers(c) {
				for _, accept := range []string{"gzip", "GZIP", "br, gzip;q=0.5", "*", "gzip;q=0.001, identity;q=1", "identity;q=0, gzip"} {
					a := next().with("Accept-Encoding", accept).send().is(http.StatusOK)
					if a.header.Get("Content-Encoding") != "gzip" || !varies(a) || !strings.Contains(unzipped(a), "conformance") {
						a.broken("%s with Accept-Encoding %q: Content-Encoding is %q, Vary is %q", name, accept, a.header.Get("Content-Encoding"), a.header["Vary"])
					}
				}
			}
		}},
		{"ALongAnswerIsPlainWhereCompressionIsNotAccepted", func(c *check) {
			for name, next := range longAnswers(c) {
				for _, accept := range []string{"identity", "br", "gzip;q=0", "gzip; q=0.000, br", "gzip;q=0, *;q=0.5", "*;q=0, identity"} {
					a := next().with("Accept-Encoding", accept).send().is(http.StatusOK)
					if a.header.Get("Content-Encoding") != "" || !varies(a) || !strings.Contains(string(a.body), "conformance") {
						a.broken("%s with Accept-Encoding %q: Content-Encoding is %q, Vary is %q", name, accept, a.header.Get("Content-Encoding"), a.header["Vary"])
					}
				}
			}
		}},
		{"AShortAnswerIsCompressedOnlyIfIdentityIsRefused", func(c *check) {
			id := c.suite.name()
			c.document(id, fields{"text": "conformance"}).is(http.StatusCreated)
			c.get(docsPath+"/"+id).with("Accept-Encoding", "gzip").send().is(http.StatusOK).head("Content-Encoding", "")
			for _, accept := range []string{"gzip, identity;q=0", "gzip, *;q=0"} {
				if a := c.get(docsPath+"/"+id).with("Accept-Encoding", accept).send().is(http.StatusOK).head("Content-Encoding", "gzip"); !strings.Contains(unzipped(a), id) {
					a.broken("the body is not the document")
				}
			}
		}},
		{"AnAnswerToACookieOrWithASecretIsNotCompressed", func(c *check) {
			id := c.suite.name()
			c.document(id, fields{"text": strings.Repeat("conformance ", 200)}).is(http.StatusCreated)
			c.get(docsPath+"/"+id).with("Accept-Encoding", "gzip").with("Cookie", "a=b").send().is(http.StatusOK).head("Content-Encoding", "")
			a := c.post(keysPath).with("Accept-Encoding", "gzip").json(fields{
				"name": c.suite.name(), "scopes": []string{"read"}, "metadata": fields{"a": strings.Repeat("conformance ", 80), "b": strings.Repeat("conformance ", 80)},
			}).send().is(http.StatusCreated).head("Content-Encoding", "")
			c.removeKey(a.text("id"))
		}},
		{"BothFormsHaveTheSameTag", func(c *check) {
			id := c.suite.name()
			tag := c.document(id, fields{"text": strings.Repeat("conformance ", 200)}).is(http.StatusCreated).header.Get("ETag")
			path := docsPath + "/" + id
			c.get(path).with("Accept-Encoding", "gzip").send().is(http.StatusOK).head("Content-Encoding", "gzip").head("ETag", tag)
			c.get(path).with("Accept-Encoding", "identity").send().is(http.StatusOK).head("Content-Encoding", "").head("ETag", tag)
			c.get(path).with("Accept-Encoding", "gzip").with("If-None-Match", tag).send().is(http.StatusNotModified)
			c.patch(path).with("If-Match", "W/"+tag).json(fields{"title": "conformance"}).send().is(http.StatusOK).has(fields{"revision": 2})
			c.patch(path).with("If-Match", "W/"+tag).json(fields{"title": "again"}).send().fails(412, "revision_mismatch")
		}},
	}
}

// longAnswers are requests whose answers have more than 1 KiB: JSON, a page of a list, a search, a recall and lines.
func longAnswers(c *check) map[string]func() *call {
	id, subject := c.suite.name(), c.subject()
	text := strings.Repeat("The conformance of the cellar. ", 80)
	c.document(id, fields{"collection": id, "text": text}).is(http.StatusCreated)
	for range 8 {
		name := c.suite.name()
		c.document(name, fields{"collection": id, "text": text}).is(http.StatusCreated)
	}
	c.remember(subject, text).is(http.StatusCreated)
	return map[string]func() *call{
		"a document":       func() *call { return c.get(docsPath + "/" + id) },
		"a list":           func() *call { return c.get(docsPath + "?collection=" + id) },
		"an export":        func() *call { return c.get(docsPath + "/export?collection=" + id) },
		"a search":         func() *call { return c.get("/api/v1/search?q=conformance&collection=" + id) },
		"a search by POST": func() *call { return c.post("/api/v1/search").json(fields{"q": "conformance", "collection": id}) },
		"memories":         func() *call { return c.get(memoriesPath + "?subjectId=" + subject) },
		"a recall":         func() *call { return c.recallQuery(subject, "conformance") },
	}
}

// varies reports whether Vary names Accept-Encoding.
func varies(a *answer) bool {
	return strings.Contains(strings.ToLower(strings.Join(a.header["Vary"], ",")), "accept-encoding")
}

// unzipped returns the text of a compressed body, or "" if it is none.
func unzipped(a *answer) string {
	r, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return ""
	}
	return string(text)
}
