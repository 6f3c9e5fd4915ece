package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// collectionShape is a collection with its settings (docs/spec/documents.md).
var collectionShape = map[string]string{
	"collection": "string", "documents": "integer", "language": "string|null", "synonyms": "array", "fields": "object|null",
	"updatedAt": "time|null", "revision": "integer",
}

const languagesPath = "/api/v1/languages"

// collectionChecks checks /api/v1/collections, /api/v1/languages, and the language of documents (docs/spec/documents.md).
func collectionChecks() []promise {
	return []promise{
		{"LanguagesAreListed", func(c *check) {
			a := c.get(languagesPath + "?limit=200").send().is(http.StatusOK).has(fields{"nextCursor": nil})
			codes := a.texts("items", "language")
			for _, code := range []string{"en", "de", "fr", "ru", "ar", "tr", "vi"} {
				if !slices.Contains(codes, code) {
					a.broken("the language %s is missing", code)
				}
			}
			if len(codes) < 3 {
				c.stop("there are %d languages", len(codes))
			}
			page := c.get(languagesPath + "?limit=2").send().is(http.StatusOK)
			next := c.get(languagesPath + "?limit=2&cursor=" + page.text("nextCursor")).send().is(http.StatusOK)
			if next.text("items[0].language") != codes[2] {
				next.broken("the second page begins with %s, want %s", next.text("items[0].language"), codes[2])
			}
		}},
		{"ADocumentHasALanguage", func(c *check) {
			id := c.suite.name()
			path := docsPath + "/" + id
			c.document(id, fields{"text": "x", "language": "de"}).has(fields{"language": "de"})
			c.get(path).send().has(fields{"language": "de"})
			c.patch(path).json(fields{"title": "x"}).send().is(http.StatusOK).has(fields{"language": "de"})
			c.patch(path).json(fields{"language": "fr"}).send().is(http.StatusOK).has(fields{"language": "fr"})
			c.patch(path).json(fields{"language": nil}).send().is(http.StatusOK).has(fields{"language": nil})
			c.document(id, fields{"text": "x", "language": nil}).has(fields{"language": nil})
			for _, wrong := range []string{"xx", "German", "DE", "de-AT"} {
				c.put(path).json(fields{"text": "x", "language": wrong}).send().fails(400, "validation_error", "language", "not_allowed")
				c.patch(path).json(fields{"language": wrong}).send().fails(400, "validation_error", "language", "not_allowed")
			}
			c.put(path).json(fields{"text": "x", "language": 1}).send().fails(400, "validation_error", "language", "type")
			c.post(docsPath+"/import").raw("application/x-ndjson", line(fields{"id": id, "text": "x", "language": "xx"})).send().is(http.StatusOK).
				has(fields{"failed": 1, "errors[0].field": "language", "errors[0].issue": "not_allowed"})
		}},
		{"TheLanguageOfADocumentDecidesItsStemmer", func(c *check) {
			id, mark := c.suite.name(), c.suite.word()
			c.document(id, fields{"text": "Häuser " + mark, "language": "de", "collection": mark})
			query := url.Values{"q": {"Haus"}, "collection": {mark}, "fuzzy": {"off"}, "prefix": {"false"}}
			c.search(query).has(fields{"total": 1})
			c.document(id, fields{"text": "Häuser " + mark, "language": "en", "collection": mark})
			c.search(query).has(fields{"total": 0})
		}},
		{"SettingsComeBack", func(c *check) {
			name := c.suite.name()
			settings := fields{
				"language": "de", "synonyms": []any{[]any{"sofa", "couch"}, fields{"from": "tv", "to": []any{"television"}}, "english"},
				"fields": fields{"title": 3, "text": 1, "metadata.author": 2},
			}
			a := c.collection(name, settings).has(settings).has(fields{"collection": name, "documents": 0, "revision": 1}).head("ETag", `"1"`)
			a.shape(collectionShape)
			c.get(setsPath+"/"+name).send().is(http.StatusOK).has(settings).has(fields{"revision": 1}).head("ETag", `"1"`)
			c.put(setsPath + "/" + name).json(fields{"synonyms": "english"}).send().is(http.StatusOK).has(fields{"synonyms": []any{"english"}})
			c.put(setsPath + "/" + name).json(fields{}).send().is(http.StatusOK).
				has(fields{"language": nil, "synonyms": []any{}, "fields": nil, "revision": 3})
		}},
		{"SynonymsApplyToTheNextSearch", func(c *check) {
			name, one, two, three := c.suite.name(), c.suite.word(), c.suite.word(), c.suite.word()
			first, second, third := c.suite.name(), c.suite.name(), c.suite.name()
			c.document(first, fields{"text": one, "collection": name})
			c.document(second, fields{"text": two, "collection": name})
			c.document(third, fields{"text": "a " + three + " " + one, "collection": name})
			finds := func(q string, ids ...string) {
				a := c.search(url.Values{"q": {q}, "collection": {name}, "fuzzy": {"off"}, "prefix": {"false"}})
				if got := a.texts("results", "id"); !sameSet(got, ids) {
					a.broken("found %v, want %v", got, ids)
				}
			}
			finds(two, second)
			c.collection(name, fields{"synonyms": []any{[]any{one, two}}})
			finds(two, second, first, third)
			finds(one, first, second, third)
			finds("\""+one+"\"", first, third)
			c.put(setsPath + "/" + name).json(fields{"synonyms": []any{fields{"from": two, "to": []any{three + " " + one}}}}).send().is(http.StatusOK)
			finds(two, second, third)
			finds(three, third)
			c.put(setsPath + "/" + name).json(fields{"synonyms": []any{"english"}}).send().is(http.StatusOK)
			finds(two, second)
			c.delete(setsPath + "/" + name).send().is(http.StatusNoContent)
			finds(one, first, third)
		}},
		{"FieldsHaveWeightsAndMetadataIsSearchedIfNamed", func(c *check) {
			name, word := c.suite.name(), c.suite.word()
			inTitle, inText, inAuthor := c.suite.name(), c.suite.name(), c.suite.name()
			c.document(inTitle, fields{"title": word, "text": "other", "metadata": fields{"author": "nobody"}, "collection": name})
			c.document(inText, fields{"title": "other", "text": word, "metadata": fields{"author": "nobody"}, "collection": name})
			c.document(inAuthor, fields{"title": "other", "text": "other", "metadata": fields{"author": "Ada " + word}, "collection": name})
			ranks := func(weights fields, ids ...string) {
				c.collection(name, fields{"fields": weights})
				var got []string
				if !c.eventually(10*time.Second, func() bool {
					got = c.search(url.Values{"q": {word}, "collection": {name}, "fuzzy": {"off"}}).texts("results", "id")
					return slices.Equal(got, ids)
				}) {
					c.broken("with the weights %v, found %v, want %v", weights, got, ids)
				}
			}
			ranks(nil, inTitle, inText)
			ranks(fields{"title": 1, "text": 20}, inText, inTitle)
			ranks(fields{"title": 3, "text": 1, "metadata.author": 20}, inAuthor, inTitle, inText)
			ranks(fields{"metadata.author": 1}, inAuthor)
			ranks(fields{"title": 1}, inTitle)
		}},
		{"CollectionsAreListedWithCounts", func(c *check) {
			name, empty := c.suite.name(), c.suite.name()
			c.document(c.suite.name(), fields{"text": "x", "collection": name})
			c.document(c.suite.name(), fields{"text": "x", "collection": name})
			c.collection(empty, fields{"language": "de"})
			found := map[string]any{}
			cursor := ""
			for {
				a := c.get(setsPath + "?limit=2" + cursor).send().is(http.StatusOK)
				for _, item := range a.list("items") {
					members, _ := item.(map[string]any)
					for member := range collectionShape {
						if _, ok := members[member]; !ok {
							a.broken("a collection of the list has no %s", member)
						}
					}
					found[fmt.Sprint(members["collection"])] = members["documents"]
				}
				if a.text("nextCursor") == "" {
					break
				}
				cursor = "&cursor=" + a.text("nextCursor")
			}
			if fmt.Sprint(found[name]) != "2" || fmt.Sprint(found[empty]) != "0" {
				c.broken("the list has %v documents of a collection with 2, and %v of one with none", found[name], found[empty])
			}
			c.get(setsPath + "/" + name).send().is(http.StatusOK).
				has(fields{"documents": 2, "language": nil, "synonyms": []any{}, "fields": nil, "updatedAt": nil, "revision": 0})
			c.get(setsPath+"/"+c.suite.name()).send().fails(404, "not_found")
		}},
		{"DeletedSettingsLeaveTheDocuments", func(c *check) {
			name, id := c.suite.name(), c.suite.name()
			c.document(id, fields{"text": "x", "collection": name})
			c.collection(name, fields{"language": "de"})
			c.delete(setsPath + "/" + name).send().is(http.StatusNoContent)
			c.delete(setsPath+"/"+name).send().fails(404, "not_found")
			c.get(setsPath + "/" + name).send().is(http.StatusOK).has(fields{"documents": 1, "language": nil})
			c.get(docsPath + "/" + id).send().is(http.StatusOK)
		}},
		{"SettingsHaveConditions", func(c *check) {
			name := c.suite.name()
			path := setsPath + "/" + name
			c.put(path).json(fields{}).with("If-Match", "*").send().fails(412, "revision_mismatch")
			c.put(path).json(fields{}).with("If-Match", `"1"`).send().fails(412, "revision_mismatch")
			c.collection(name, fields{"language": "de"})
			c.put(path).json(fields{}).with("If-None-Match", "*").send().fails(412, "revision_mismatch")
			c.put(path).json(fields{}).with("If-Match", `"7"`).send().fails(412, "revision_mismatch")
			c.put(path).json(fields{}).with("If-Match", `"7", "1"`).send().is(http.StatusOK).has(fields{"revision": 2})
			c.get(path).with("If-None-Match", `"2"`).send().is(http.StatusNotModified)
			c.delete(path).with("If-Match", `"1"`).send().fails(412, "revision_mismatch")
			c.delete(path).with("If-Match", `"2"`).send().is(http.StatusNoContent)
			c.put(path).json(fields{}).with("If-Match", `"2"`).send().fails(412, "revision_mismatch")
		}},
		{"InvalidSettingsAre400", func(c *check) {
			path := setsPath + "/" + c.suite.name()
			entries := func(n int) []any {
				list := make([]any, n)
				for i := range list {
					list[i] = fmt.Sprintf("w%d", i)
				}
				return list
			}
			rows := make([]any, 1001)
			nine := fields{}
			for i := range rows {
				rows[i] = []any{"a", "b"}
			}
			for i := range 9 {
				nine[fmt.Sprintf("metadata.m%d", i)] = 1
			}
			for _, w := range []struct {
				body         fields
				field, issue string
			}{
				{fields{"language": "xx"}, "language", "not_allowed"},
				{fields{"nothing": 1}, "nothing", "unknown"},
				{fields{"synonyms": 1}, "synonyms", "type"},
				{fields{"synonyms": []any{1}}, "synonyms[0]", "type"},
				{fields{"synonyms": []any{[]any{"a"}}}, "synonyms[0]", "too_short"},
				{fields{"synonyms": []any{[]any{"a", "b"}, entries(11)}}, "synonyms[1]", "too_long"},
				{fields{"synonyms": []any{[]any{"a", 1}}}, "synonyms[0][1]", "type"},
				{fields{"synonyms": []any{[]any{"a", " "}}}, "synonyms[0][1]", "required"},
				{fields{"synonyms": []any{[]any{"a", strings.Repeat("b", 129)}}}, "synonyms[0][1]", "too_long"},
				{fields{"synonyms": []any{[]any{"a", "!"}}}, "synonyms[0][1]", "invalid"},
				{fields{"synonyms": []any{fields{"to": []any{"a"}}}}, "synonyms[0].from", "required"},
				{fields{"synonyms": []any{fields{"from": "a"}}}, "synonyms[0].to", "too_short"},
				{fields{"synonyms": []any{fields{"from": "a", "to": entries(11)}}}, "synonyms[0].to", "too_long"},
				{fields{"synonyms": []any{fields{"from": "a", "to": []any{"b"}, "x": 1}}}, "synonyms[0].x", "unknown"},
				{fields{"synonyms": []any{"klingon"}}, "synonyms[0]", "not_allowed"},
				{fields{"synonyms": rows}, "synonyms", "too_long"},
				{fields{"fields": fields{}}, "fields", "too_short"},
				{fields{"fields": fields{"body": 1}}, "fields.body", "unknown"},
				{fields{"fields": fields{"metadata.": 1}}, "fields.metadata.", "unknown"},
				{fields{"fields": fields{"title": 0}}, "fields.title", "too_small"},
				{fields{"fields": fields{"title": -1}}, "fields.title", "too_small"},
				{fields{"fields": fields{"title": 101}}, "fields.title", "too_large"},
				{fields{"fields": fields{"title": "3"}}, "fields.title", "type"},
				{fields{"fields": nine}, "fields", "too_long"},
			} {
				c.put(path).json(w.body).send().fails(400, "validation_error", w.field, w.issue)
			}
			c.get(path).send().fails(404, "not_found")
			c.put(setsPath+"/"+strings.Repeat("x", 129)).json(fields{}).send().fails(400, "validation_error", "collection", "too_long")
			c.get(setsPath+"/"+strings.Repeat("x", 129)).send().fails(404, "not_found")
		}},
		{"TheLargestSettingsAreAccepted", func(c *check) {
			rows := make([]any, 1000)
			for i := range rows {
				row := make([]any, 10)
				for j := range row {
					row[j] = fmt.Sprintf("w%dx%d", i, j)
				}
				rows[i] = row
			}
			weights := fields{"title": 0.5, "text": 100}
			for i := range 8 {
				weights[fmt.Sprintf("metadata.m%d", i)] = 1
			}
			c.collection(c.suite.name(), fields{"synonyms": rows, "fields": weights}).has(fields{"synonyms[999][9]": "w999x9"})
		}},
	}
}
