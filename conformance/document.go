package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// documentShape is the record of docs/spec/documents.md.
var documentShape = map[string]string{
	"id": "string", "collection": "string", "title": "string", "text": "string", "url": "string|null", "tags": "array",
	"metadata": "object", "createdAt": "time", "updatedAt": "time", "revision": "integer",
}

// rowIDs match the IDs of rows that were imported without one.
var rowIDs = regexp.MustCompile(`^row_[0-9a-hjkmnp-tv-z]{26}$`)

var documentIDs = regexp.MustCompile(`^doc_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// documentChecks checks /api/v1/documents (docs/spec/documents.md).
func documentChecks() []promise {
	list := []promise{
		{"PUTCreatesThenReplaces", func(c *check) {
			id := c.suite.name()
			whole := fields{
				"collection": "conformance", "title": "Ein Titel – 題名", "text": "First text.\nSecond line. 👩‍👩‍👧", "url": "https://example.org/a?b=c",
				"tags": []string{"x", "y z", "日本"}, "metadata": fields{"lang": "de", "year": 2026, "draft": false, "ratio": 0.25},
			}
			made := c.document(id, whole).is(http.StatusCreated).shape(documentShape).has(whole).has(fields{"id": id, "revision": 1}).head("ETag", `"1"`)
			c.get(docsPath+"/"+id).send().is(http.StatusOK).shape(documentShape).has(whole).head("ETag", `"1"`)
			c.wait(5 * time.Millisecond)
			again := c.document(id, fields{"text": "Only a text."}).is(http.StatusOK).head("ETag", `"2"`)
			again.has(fields{"revision": 2, "text": "Only a text.", "title": "", "url": nil, "tags": []string{}, "metadata": fields{}, "createdAt": made.text("createdAt")})
			if !again.moment("updatedAt").After(made.moment("updatedAt")) {
				again.broken("updatedAt did not move")
			}
		}},
		{"POSTMakesAnID", func(c *check) {
			a := c.post(docsPath).json(fields{"title": "conformance"}).send().is(http.StatusCreated).shape(documentShape).has(fields{"revision": 1})
			c.removeDocument(a.text("id"))
			if !documentIDs.MatchString(a.text("id")) {
				a.broken("id is %q, want doc_ and 26 characters", a.text("id"))
			}
			c.get(docsPath + "/" + a.text("id")).send().is(http.StatusOK).has(fields{"title": "conformance"})
		}},
		{"POSTTakesAnIDThatIsFree", func(c *check) {
			id := c.suite.name()
			c.post(docsPath).json(fields{"id": id, "text": "one"}).send().is(http.StatusCreated).has(fields{"id": id})
			c.removeDocument(id)
			c.post(docsPath).json(fields{"id": id, "text": "two"}).send().fails(409, "conflict")
			c.get(docsPath + "/" + id).send().has(fields{"text": "one", "revision": 1})
		}},
		{"DELETERemoves", func(c *check) {
			id := c.suite.name()
			c.document(id, fields{"text": "x"})
			c.delete(docsPath + "/" + id).send().is(http.StatusNoContent)
			c.get(docsPath+"/"+id).send().fails(404, "not_found")
			c.delete(docsPath+"/"+id).send().fails(404, "not_found")
			c.document(id, fields{"text": "y"}).is(http.StatusCreated)
		}},
		{"ARevisionGuardsAWrite", func(c *check) {
			id := c.suite.name()
			path := docsPath + "/" + id
			c.put(path).with("If-Match", `"1"`).json(fields{"text": "x"}).send().fails(412, "revision_mismatch")
			c.get(path).send().fails(404, "not_found")
			c.document(id, fields{"text": "x"}).is(http.StatusCreated)
			c.put(path).with("If-Match", `"2"`).json(fields{"text": "no"}).send().fails(412, "revision_mismatch")
			c.put(path).with("If-Match", `"1"`).json(fields{"text": "y"}).send().is(http.StatusOK).has(fields{"revision": 2})
			c.delete(path).with("If-Match", `"1"`).send().fails(412, "revision_mismatch")
			c.get(path).send().has(fields{"text": "y"})
			c.delete(path).with("If-Match", `"2"`).send().is(http.StatusNoContent)
		}},
		{"OfParallelWritesWithOneRevisionOneWins", func(c *check) {
			id := c.suite.name()
			c.document(id, fields{"text": "x"})
			const times = 8
			answers := make(chan *answer, times)
			for i := range times {
				go func() {
					a, err := c.put(docsPath+"/"+id).with("If-Match", `"1"`).json(fields{"text": fmt.Sprint(i)}).once(c.ctx)
					if err != nil {
						a = nil
					}
					answers <- a
				}()
			}
			won := 0
			for range times {
				if a := <-answers; a == nil {
					c.stop("one of %d parallel writes had no answer", times)
				} else if a.status == http.StatusOK {
					won++
				} else {
					a.fails(412, "revision_mismatch")
				}
			}
			if won != 1 {
				c.broken("%d of %d parallel writes of one revision won, want 1", won, times)
			}
		}},
		{"AnUnchangedDocumentIs304", func(c *check) {
			id := c.suite.name()
			etag := c.document(id, fields{"text": "x"}).header.Get("ETag")
			a := c.get(docsPath+"/"+id).with("If-None-Match", etag).send().is(http.StatusNotModified).head("ETag", etag)
			if len(a.body) > 0 {
				a.broken("a 304 has a body")
			}
			c.get(docsPath+"/"+id).with("If-None-Match", `"9"`).send().is(http.StatusOK)
		}},
		{"ListsAreNarrowedByCollectionAndTag", func(c *check) {
			collection := c.suite.name()
			both, one := c.suite.name(), c.suite.name()
			c.document(both, fields{"collection": collection, "text": "x", "tags": []string{"red", "big"}})
			c.document(one, fields{"collection": collection, "text": "x", "tags": []string{"red"}})
			for query, want := range map[string]int{"": 2, "&tag=red": 2, "&tag=red&tag=big": 1, "&tag=blue": 0} {
				a := c.get(docsPath + "?collection=" + collection + query).send().is(http.StatusOK)
				if n := len(a.list("items")); n != want {
					a.broken("%d documents, want %d", n, want)
				}
			}
		}},
		{"ListsAreSorted", func(c *check) {
			collection := c.suite.name()
			first, second := c.suite.name(), c.suite.name()
			c.document(first, fields{"collection": collection, "text": "x"})
			c.wait(5 * time.Millisecond)
			c.document(second, fields{"collection": collection, "text": "x"})
			c.wait(5 * time.Millisecond)
			third := c.suite.name()
			c.document(third, fields{"collection": collection, "text": "x"})
			for sort, want := range map[string][]string{"updatedAt": {first, second, third}, "-updatedAt": {third, second, first}, "id": slices.Sorted(slices.Values([]string{first, second, third}))} {
				var got []string
				path := docsPath + "?limit=2&collection=" + collection + "&sort=" + sort
				for cursor := ""; ; {
					a := c.get(path + cursor).send().is(http.StatusOK)
					got = append(got, a.texts("items", "id")...)
					if next, _ := a.at("nextCursor"); next == nil {
						break
					}
					cursor = "&cursor=" + a.text("nextCursor")
				}
				if !slices.Equal(got, want) {
					c.broken("by %s the list is %v, want %v", sort, got, want)
				}
			}
			c.get(docsPath+"?sort=title").send().fails(400, "validation_error", "sort", "not_allowed")
		}},
		{"ListsAreFilteredByMetadata", func(c *check) {
			collection := c.suite.name()
			for n := range 3 {
				c.document(c.suite.name(), fields{"collection": collection, "text": "x", "metadata": fields{"n": n, "name": fmt.Sprint("name ", n), "even": n%2 == 0}})
			}
			for filter, want := range map[string]int{
				"n:eq:1": 1, "n:ne:1": 2, "n:lt:1": 1, "n:lte:1": 2, "n:gt:0": 2, "n:gte:3": 0, "name:eq:name 2": 1, "even:eq:true": 2, "none:eq:1": 0,
			} {
				a := c.get(docsPath + "?collection=" + collection + "&filter=" + url.QueryEscape(filter)).send().is(http.StatusOK)
				if n := len(a.list("items")); n != want {
					a.broken("the filter %s gives %d documents, want %d", filter, n, want)
				}
			}
			if n := len(c.get(docsPath + "?collection=" + collection + "&filter=n:gte:1&filter=even:eq:true").send().is(http.StatusOK).list("items")); n != 1 {
				c.broken("two filters give %d documents, want 1", n)
			}
			for _, bad := range []string{"n", "n:eq", "n:like:1"} {
				c.get(docsPath+"?filter="+bad).send().fails(400, "validation_error", "filter|filter[0]", "format|invalid|not_allowed")
			}
			c.get(docsPath+"?filter=").send().fails(400, "validation_error", "filter|filter[0]", "required")
		}},
		{"PATCHMerges", func(c *check) {
			id := c.suite.name()
			path := docsPath + "/" + id
			c.document(id, fields{"title": "one", "text": "two", "tags": []string{"x"}, "metadata": fields{"a": 1, "b": 2}})
			for _, media := range []string{"application/json", "application/merge-patch+json"} {
				a := c.patch(path).raw(media, `{"title":"three","metadata":{"a":null,"c":"x"}}`).send().is(http.StatusOK).shape(documentShape)
				a.has(fields{"title": "three", "text": "two", "tags": []string{"x"}, "metadata": fields{"b": 2, "c": "x"}})
			}
			c.get(path).send().is(http.StatusOK).has(fields{"title": "three", "revision": 3}).head("ETag", `"3"`)
			c.patch(path).with("If-Match", `"2"`).json(fields{"text": "x"}).send().fails(412, "revision_mismatch")
			c.patch(path).with("If-Match", `"3"`).json(fields{"title": nil, "tags": nil}).send().is(http.StatusOK).has(fields{"title": "", "tags": []string{}, "revision": 4})
			c.patch(path).json(fields{"text": nil}).send().fails(400, "validation_error", "text|title", "required|type")
			c.patch(path).with("If-Match", `"3"`).json(fields{"text": nil}).send().fails(400, "validation_error", "text|title", "required|type")
			c.patch(path).json(fields{"revision": 1}).send().fails(400, "validation_error", "revision", "unknown")
			c.patch(docsPath+"/"+c.suite.name()).json(fields{"text": "x"}).send().fails(404, "not_found")
		}},
		{"APatchedDocumentIsFoundAtOnce", func(c *check) {
			id, word := c.suite.name(), c.suite.word()
			c.document(id, fields{"text": "x"})
			c.patch(docsPath + "/" + id).json(fields{"text": word}).send().is(http.StatusOK)
			c.finds(word, id)
		}},
		{"ManyAreDeletedByID", func(c *check) {
			ids := []string{c.suite.name(), c.suite.name(), c.suite.name()}
			for _, id := range ids {
				c.document(id, fields{"text": "x"})
			}
			some := append([]string{c.suite.name()}, ids[:2]...)
			c.post(docsPath + "/delete").json(fields{"ids": some}).send().is(http.StatusOK).has(fields{"matched": 2, "deleted": 0})
			c.post(docsPath + "/delete").json(fields{"ids": some, "dryRun": false}).send().is(http.StatusOK).has(fields{"matched": 2, "deleted": 2})
			c.get(docsPath+"/"+ids[0]).send().fails(404, "not_found")
			c.get(docsPath + "/" + ids[2]).send().is(http.StatusOK)
			for _, nothing := range []fields{{}, {"dryRun": false}} {
				c.post(docsPath+"/delete").json(nothing).send().fails(400, "validation_error", "ids", "required")
			}
		}},
		{"ManyAreDeletedBySelection", func(c *check) {
			collection, word := c.suite.name(), c.suite.word()
			for n := range 4 {
				c.document(c.suite.name(), fields{"collection": collection, "text": word, "tags": []string{fmt.Sprint("t", n%2)}, "metadata": fields{"n": n}})
			}
			remove := func(more fields) *answer {
				more["collection"] = collection
				return c.post(docsPath + "/delete").json(more).send().is(http.StatusOK)
			}
			remove(fields{}).has(fields{"matched": 4, "deleted": 0})
			remove(fields{"tags": []string{"t1"}, "filter": []string{"n:gte:2"}, "dryRun": false}).has(fields{"matched": 1, "deleted": 1})
			remove(fields{"dryRun": false}).has(fields{"matched": 3, "deleted": 3})
			c.finds(word)
			remove(fields{"dryRun": false}).has(fields{"matched": 0, "deleted": 0})
		}},
		{"AnExportIsAnImport", func(c *check) {
			collection := c.suite.name()
			for n := range 3 {
				c.document(c.suite.name(), fields{"collection": collection, "title": fmt.Sprint("Title ", n), "text": "x", "tags": []string{"x"}, "metadata": fields{"n": n}})
			}
			a := c.get(docsPath+"/export?collection="+collection).send().is(http.StatusOK).head("Content-Type", "application/x-ndjson")
			if n := len(a.lines()); n != 3 {
				a.broken("%d lines, want 3", n)
			}
			c.post(docsPath+"/import").raw("application/x-ndjson", string(a.body)).send().is(http.StatusOK).has(fields{"received": 3, "replaced": 3, "failed": 0})
			if again := c.get(docsPath + "/export?collection=" + collection).send().is(http.StatusOK); string(again.body) != string(a.body) {
				again.broken("an export of what was imported differs from the first one")
			}
		}},
		{"EveryAllowedIDIsAPath", func(c *check) {
			for _, id := range []string{"0", "Z", "a.b_c:d-e", strings.Repeat("x", 128-len(c.suite.mark)) + c.suite.mark} {
				if len(id) == 1 && c.get(docsPath+"/"+id).send().status == http.StatusOK {
					continue // of another run
				}
				c.document(id, fields{"text": "x"}).has(fields{"id": id})
				c.get(docsPath + "/" + id).send().is(http.StatusOK).has(fields{"id": id})
			}
		}},
		{"AnIDThatIsNotAllowedIs400", func(c *check) {
			for _, id := range []string{".x", ":x", "a b", "a/b", "é", strings.Repeat("x", 129), "a\x00b", "a\nb", "%", "a,b"} {
				c.put(docsPath+"/"+url.PathEscape(id)).json(fields{"text": "x"}).send().fails(400, "validation_error", "id", "format|too_long|invalid")
				c.post(docsPath).json(fields{"id": id, "text": "x"}).send().fails(400, "validation_error", "id", "format|too_long|invalid")
			}
		}},
		{"LimitsAreReachedExactly", func(c *check) {
			id := c.suite.name()
			tags, metadata := []string{}, fields{}
			for i := range 32 {
				tags = append(tags, fmt.Sprintf("%02d%s", i, strings.Repeat("é", 62)))
				metadata[fmt.Sprintf("m%d", i)] = strings.Repeat("ü", 1024)
			}
			most := fields{"title": strings.Repeat("題", 1024), "text": strings.Repeat("x", 262_144), "tags": tags, "metadata": metadata}
			c.document(id, most).is(http.StatusCreated)
			c.get(docsPath + "/" + id).send().is(http.StatusOK).has(most)
		}},
		{"ABlankTitleOrABlankTextAloneIsFine", func(c *check) {
			c.document(c.suite.name(), fields{"title": "", "text": "x"}).has(fields{"title": "", "text": "x"})
			c.document(c.suite.name(), fields{"title": "x", "text": "  "}).has(fields{"title": "x", "text": "  "})
		}},
	}
	return append(list, documentRefusals()...)
}

// documentRefusals are invalid bodies of a document. None of them is stored.
func documentRefusals() []promise {
	tags, metadata := make([]string, 33), fields{}
	for i := range 33 {
		tags[i] = fmt.Sprint(i)
		metadata[fmt.Sprint(i)] = i
	}
	var list []promise
	for _, bad := range []struct {
		name         string
		body         fields
		field, issue string
	}{
		{"WithNothing", fields{}, "text|title", "required"},
		{"WithBlanksOnly", fields{"title": " ", "text": "\n\t "}, "text|title", "required"},
		{"WithALongTitle", fields{"title": strings.Repeat("é", 1025)}, "title", "too_long"},
		{"WithALongText", fields{"text": strings.Repeat("x", 262_145)}, "text", "too_long"},
		{"WithALongTextInFewCharacters", fields{"text": strings.Repeat("é", 131_073)}, "text", "too_long"},
		{"WithTooManyTags", fields{"text": "x", "tags": tags}, "tags", "too_long|too_large"},
		{"WithALongTag", fields{"text": "x", "tags": []string{"ok", strings.Repeat("é", 65)}}, "tags[1]", "too_long"},
		{"WithAnEmptyTag", fields{"text": "x", "tags": []string{""}}, "tags[0]", "too_short|required|format"},
		{"WithANumberAsTag", fields{"text": "x", "tags": []any{1}}, "tags[0]", "type"},
		{"WithTextForTags", fields{"text": "x", "tags": "a"}, "tags", "type"},
		{"WithTooMuchMetadata", fields{"text": "x", "metadata": metadata}, "metadata", "too_long|too_large"},
		{"WithLongMetadata", fields{"text": "x", "metadata": fields{"m": strings.Repeat("x", 1025)}}, "metadata|metadata.m", "too_long"},
		{"WithNestedMetadata", fields{"text": "x", "metadata": fields{"m": []any{[]int{1}}}}, "metadata.m", "type"},
		{"WithANumberForText", fields{"text": 1}, "text", "type"},
		{"WithANumberForACollection", fields{"text": "x", "collection": 1}, "collection", "type"},
		{"WithAnUnknownMember", fields{"text": "x", "author": "me"}, "author", "unknown"},
		{"WithARevision", fields{"text": "x", "revision": 7}, "revision", "unknown"},
		{"WithATime", fields{"text": "x", "createdAt": "2020-01-01T00:00:00Z"}, "createdAt", "unknown"},
		{"WithAWorkspace", fields{"text": "x", "workspaceId": "wsp_x"}, "workspaceId", "unknown"},
	} {
		list = append(list, promise{"ADocumentIsRefused/" + bad.name, func(c *check) {
			path := docsPath + "/" + c.suite.name()
			c.put(path).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			c.get(path).send().fails(404, "not_found")
			c.post(docsPath).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
		}})
	}
	return list
}
