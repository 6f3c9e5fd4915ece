package v1test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

const documentsPath = "/api/v1/documents"

func (c client) put(t *testing.T, id string, body object) *answer {
	t.Helper()
	return c.do(t, "PUT", documentsPath+"/"+id, body)
}

// items gives one member of each item of a list.
func (a *answer) items(list, name string) []any {
	a.t.Helper()
	var values []any
	items, ok := a.body[list].([]any)
	if !ok {
		a.t.Fatalf("%s has no list %q: %v", a.what, list, a.body)
	}
	for _, item := range items {
		values = append(values, item.(object)[name])
	}
	return values
}

func TestADocumentComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.put(t, "Doc.1:a_b-c", object{
		"collection": "handbook", "title": "Opening <hours>", "text": "From nine\nto five 🎉", "url": "https://example.org/a?b=c",
		"tags": []string{"one", "two", "one"}, "metadata": object{"n": -1.5, "s": "x", "b": false}, "language": "en",
	}).is(201)
	want := object{
		"id": "Doc.1:a_b-c", "collection": "handbook", "title": "Opening <hours>", "text": "From nine\nto five 🎉",
		"url": "https://example.org/a?b=c", "tags": []any{"one", "two"}, "metadata": object{"n": -1.5, "s": "x", "b": false},
		"language": "en", "createdAt": made.text("createdAt"), "updatedAt": made.text("updatedAt"), "revision": 1.0,
	}
	read := c.do(t, "GET", documentsPath+"/Doc.1:a_b-c", nil).is(200)
	for _, a := range []*answer{made, read} {
		if diff := cmp.Diff(want, a.body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.what, diff)
		}
	}
	if made.header.Get("Location") != documentsPath+"/Doc.1:a_b-c" || made.header.Get("ETag") != `"1"` || read.header.Get("ETag") != `"1"` {
		t.Errorf("headers are %v and %v", made.header, read.header)
	}
	least := c.put(t, "least", object{"text": "x"}).is(201)
	want = object{
		"id": "least", "collection": "default", "title": "", "text": "x", "url": nil, "tags": []any{}, "metadata": object{},
		"language": nil, "createdAt": least.text("createdAt"), "updatedAt": least.text("updatedAt"), "revision": 1.0,
	}
	if diff := cmp.Diff(want, least.body); diff != "" {
		t.Errorf("what nobody chose (-want +got):\n%s", diff)
	}
}

func TestAReplacementIsANewRevisionOfTheWhole(t *testing.T) {
	t.Parallel()
	c := start(t)
	first := c.put(t, "a", object{"title": "one", "text": "x", "tags": []string{"t"}}).is(201)
	second := c.put(t, "a", object{"text": "y"}).is(200)
	if second.body["revision"] != 2.0 || second.body["title"] != "" || len(second.body["tags"].([]any)) != 0 ||
		second.text("createdAt") != first.text("createdAt") || second.header.Get("Location") != "" {
		t.Errorf("replaced %v by %v, %v", first.body, second.body, second.header)
	}
}

func TestConditionsGuardWrites(t *testing.T) {
	t.Parallel()
	c := start(t)
	write := func(method, id, condition string) *answer {
		t.Helper()
		var body object
		if method == "PUT" {
			body = object{"text": "x"}
			return c.do(t, method, documentsPath+"/"+id, body, "If-Match", condition)
		}
		return c.do(t, method, documentsPath+"/"+id, nil, "If-Match", condition)
	}
	write("PUT", "a", "*").fails(412, "revision_mismatch")
	write("PUT", "a", `"1"`).fails(412, "revision_mismatch")
	c.put(t, "a", object{"text": "x"}).is(201)
	write("PUT", "a", `"2"`).fails(412, "revision_mismatch")
	write("PUT", "a", `"1"`).is(200)
	write("PUT", "a", "*").is(200)
	write("PUT", "a", `"other"`).fails(412, "revision_mismatch")
	write("PUT", "a", `nonsense`).fails(400, "validation_error", "If-Match", "format")
	write("DELETE", "a", `"1"`).fails(412, "revision_mismatch")
	write("DELETE", "b", `"1"`).fails(404, "not_found")
	write("DELETE", "b", "*").fails(404, "not_found")
	if a := c.do(t, "GET", documentsPath+"/a", nil, "If-None-Match", `"3"`).is(304); a.body != nil {
		t.Errorf("304 came with %v", a.body)
	}
	write("DELETE", "a", `"3"`).is(204)
	c.do(t, "GET", documentsPath+"/a", nil).fails(404, "not_found")
	c.do(t, "DELETE", documentsPath+"/a", nil).fails(404, "not_found")
	if a := c.put(t, "a", object{"text": "x"}).is(201); a.body["revision"] != 1.0 {
		t.Errorf("a document made again has revision %v", a.body["revision"])
	}
}

func TestCreationMakesAnIdOrRefusesATakenOne(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.do(t, "POST", documentsPath, object{"text": "x"}).is(201)
	if id := made.text("id"); !strings.HasPrefix(id, "doc_") || made.header.Get("Location") != documentsPath+"/"+id {
		t.Errorf("made %s at %s", id, made.header.Get("Location"))
	}
	c.do(t, "POST", documentsPath, object{"id": "mine", "text": "x"}).is(201)
	c.do(t, "POST", documentsPath, object{"id": "mine", "text": "y"}).fails(409, "conflict")
	first := c.do(t, "POST", documentsPath, object{"text": "x"}, "Idempotency-Key", "only-once").is(201)
	again := c.do(t, "POST", documentsPath, object{"text": "x"}, "Idempotency-Key", "only-once").is(201)
	if diff := cmp.Diff(first.body, again.body); diff != "" || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated creation (-first +again):\n%s", diff)
	}
}

func TestInvalidDocumentIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t)
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("t", i))
		}
		return list
	}
	entries := object{}
	for i := range 33 {
		entries[fmt.Sprint(i)] = i
	}
	for _, bad := range []struct {
		body         object
		field, issue string
	}{
		{object{}, "text", "required"},
		{object{"title": " ", "text": "\n"}, "text", "required"},
		{object{"title": strings.Repeat("ž", 1025)}, "title", "too_long"},
		{object{"text": strings.Repeat("x", 262_145)}, "text", "too_long"},
		{object{"text": "a\x00b"}, "text", "format"},
		{object{"text": nil}, "text", "required"},
		{object{"text": "x", "tags": many(33)}, "tags", "too_long"},
		{object{"text": "x", "tags": []string{"ok", strings.Repeat("x", 65)}}, "tags[1]", "too_long"},
		{object{"text": "x", "tags": []string{" "}}, "tags[0]", "required"},
		{object{"text": "x", "metadata": entries}, "metadata", "too_long"},
		{object{"text": "x", "metadata": object{"a": object{}}}, "metadata.a", "type"},
		{object{"text": "x", "metadata": object{"a": strings.Repeat("x", 1025)}}, "metadata.a", "too_long"},
		{object{"text": "x", "metadata": object{"a": json.Number("9007199254740993")}}, "metadata.a", "invalid"},
		{object{"text": "x", "url": "javascript:alert(1)"}, "url", "format"},
		{object{"text": "x", "url": "http://"}, "url", "format"},
		{object{"text": "x", "url": "not an address"}, "url", "format"},
		{object{"text": "x", "url": ""}, "url", "format"},
		{object{"text": "x", "collection": ""}, "collection", "too_short"},
		{object{"text": "x", "collection": strings.Repeat("x", 129)}, "collection", "too_long"},
		{object{"text": "x", "more": 1}, "more", "unknown"},
		{object{"text": "x", "revision": 1}, "revision", "unknown"},
	} {
		c.put(t, "a", bad.body).fails(400, "validation_error", bad.field, bad.issue)
	}
	for _, id := range []string{":a", ".a", "a%20b", strings.Repeat("a", 129), "%C3%A9"} {
		c.put(t, id, object{"text": "x"}).fails(400, "validation_error", "id", "format")
		c.do(t, "GET", documentsPath+"/"+id, nil).fails(404, "not_found")
	}
	c.put(t, strings.Repeat("a", 128), object{"text": strings.Repeat("x", 262_144), "title": strings.Repeat("ž", 1024), "tags": many(32)}).is(201)
}

func TestListsFollowIdsAndFilters(t *testing.T) {
	t.Parallel()
	c := start(t)
	for i := range 7 {
		c.put(t, fmt.Sprint("d", i), object{
			"text": "x", "collection": []string{"even", "odd"}[i%2], "tags": []string{"all", fmt.Sprint("mod", i%3)},
		}).is(201)
	}
	var ids []any
	path := documentsPath + "?limit=3"
	for cursor := ""; ; {
		a := c.do(t, "GET", path+cursor, nil).is(200)
		ids = append(ids, a.items("items", "id")...)
		next, ok := a.body["nextCursor"].(string)
		if !ok {
			break
		}
		cursor = "&cursor=" + next
		c.do(t, "GET", documentsPath+"?limit=3&tag=all"+cursor, nil).fails(400, "validation_error", "cursor", "invalid")
	}
	if want := []any{"d0", "d1", "d2", "d3", "d4", "d5", "d6"}; !slices.Equal(ids, want) {
		t.Errorf("pages gave %v, want %v", ids, want)
	}
	for query, want := range map[string][]any{
		"collection=odd":                  {"d1", "d3", "d5"},
		"tag=all&tag=mod0":                {"d0", "d3", "d6"},
		"collection=even&tag=mod0&tag=no": nil,
		"collection=Odd":                  nil,
	} {
		if got := c.do(t, "GET", documentsPath+"?"+query, nil).is(200).items("items", "id"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	c.do(t, "GET", documentsPath+"?limit=201", nil).fails(400, "validation_error", "limit", "too_large")
	c.do(t, "GET", documentsPath+"?collection=a&collection=b", nil).fails(400, "validation_error", "collection", "duplicate")
	c.do(t, "GET", documentsPath+"?q=x", nil).fails(400, "validation_error", "q", "unknown")
}

func TestListsAreSortedAndFilteredByMetadata(t *testing.T) {
	t.Parallel()
	c := start(t)
	for i, id := range []string{"c", "a", "b"} {
		c.put(t, id, object{"text": "x", "metadata": object{"n": i, "name": id}}).is(201)
	}
	c.put(t, "a", object{"text": "y", "metadata": object{"n": 1, "name": "a"}}).is(200)
	for query, want := range map[string][]any{
		"sort=id": {"a", "b", "c"}, "filter=n:gte:1": {"a", "b"}, "filter=n:gte:1&filter=name:ne:a": {"b"}, "filter=none:eq:x": nil,
	} {
		if got := c.do(t, "GET", documentsPath+"?"+query, nil).is(200).items("items", "id"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	for sort, least := range map[string]int{"updatedAt": -1, "-updatedAt": 1} {
		var times []string
		for cursor := ""; ; {
			a := c.do(t, "GET", documentsPath+"?limit=2&sort="+sort+cursor, nil).is(200)
			for _, at := range a.items("items", "updatedAt") {
				times = append(times, at.(string))
			}
			next, ok := a.body["nextCursor"].(string)
			if !ok {
				break
			}
			cursor = "&cursor=" + next
			c.do(t, "GET", documentsPath+"?limit=2"+cursor, nil).fails(400, "validation_error", "cursor", "invalid")
		}
		if len(times) != 3 || !slices.IsSortedFunc(times, func(a, b string) int { return -least * strings.Compare(a, b) }) {
			t.Errorf("by %s: %v", sort, times)
		}
	}
	c.do(t, "GET", documentsPath+"?sort=title", nil).fails(400, "validation_error", "sort", "not_allowed")
	c.do(t, "GET", documentsPath+"?filter=n", nil).fails(400, "validation_error", "filter", "format")
	c.do(t, "GET", documentsPath+"?filter=", nil).fails(400, "validation_error", "filter", "required")
}

func TestAPatchIsMergedIntoADocument(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.put(t, "d", object{"title": "one", "text": "two", "collection": "red", "tags": []string{"x"}, "metadata": object{"a": 1, "b": 2}, "url": "https://example.org/"}).is(201)
	patch := func(body any, header ...string) *answer {
		t.Helper()
		return c.do(t, "PATCH", documentsPath+"/d", body, header...)
	}
	a := patch(object{"title": nil, "collection": nil, "url": nil, "metadata": object{"a": nil, "c": "x"}}, "If-Match", `"1"`).is(200)
	for name, want := range map[string]any{"title": "", "text": "two", "collection": "default", "url": nil, "revision": 2.0} {
		if a.body[name] != want {
			t.Errorf("%s is %v, want %v", name, a.body[name], want)
		}
	}
	if diff := cmp.Diff(object{"b": 2.0, "c": "x"}, a.body["metadata"]); diff != "" || a.header.Get("ETag") != `"2"` {
		t.Errorf("ETag %s, metadata (-want +got):\n%s", a.header.Get("ETag"), diff)
	}
	patch(object{"tags": nil, "metadata": nil}).is(200)
	patch(object{"text": "three"}, "If-Match", `"1"`).fails(412, "revision_mismatch")
	patch(object{"text": nil}).fails(400, "validation_error", "text", "required")
	patch(object{"id": "e"}).fails(400, "validation_error", "id", "unknown")
	patch(object{"url": "javascript:x"}).fails(400, "validation_error", "url", "format")
	c.do(t, "PATCH", documentsPath+"/none", object{"text": "x"}).fails(404, "not_found")
}

func TestDocumentsAreDeletedByIDsOrSelection(t *testing.T) {
	t.Parallel()
	c := start(t)
	for i := range 6 {
		c.put(t, fmt.Sprint("d", i), object{"text": "x", "collection": []string{"even", "odd"}[i%2], "tags": []string{fmt.Sprint("mod", i%3)}, "metadata": object{"n": i}}).is(201)
	}
	remove := func(body object, header ...string) *answer {
		t.Helper()
		return c.do(t, "POST", documentsPath+"/delete", body, header...)
	}
	gives := func(a *answer, matched, deleted float64) {
		t.Helper()
		if a.is(200); a.body["matched"] != matched || a.body["deleted"] != deleted {
			t.Errorf("got %v, want %v matched and %v deleted", a.body, matched, deleted)
		}
	}
	for _, nothing := range []object{{}, {"ids": []string{}}, {"dryRun": false}, {"tags": []string{}, "filter": []string{}}} {
		remove(nothing).fails(400, "validation_error", "ids", "required")
	}
	remove(object{"ids": []string{"d0"}, "collection": "even"}).fails(400, "validation_error", "ids", "not_allowed")
	remove(object{"ids": []string{"a b"}}).fails(400, "validation_error", "ids[0]", "format")
	remove(object{"filter": []string{"n:eq:1", "n"}}).fails(400, "validation_error", "filter[1]", "format")
	gives(remove(object{"collection": "even"}), 3, 0)
	gives(remove(object{"collection": "even", "tags": []string{"mod2"}, "dryRun": false}), 1, 1)
	gives(remove(object{"filter": []string{"n:gte:4"}, "dryRun": false}, "Idempotency-Key", "delete-1"), 2, 2)
	again := remove(object{"filter": []string{"n:gte:4"}, "dryRun": false}, "Idempotency-Key", "delete-1")
	if gives(again, 2, 2); again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("a repeated deletion was not a replay")
	}
	gives(remove(object{"ids": []string{"d0", "d4", "none"}, "dryRun": false}), 1, 1)
	if got := c.do(t, "GET", documentsPath, nil).is(200).items("items", "id"); !slices.Equal(got, []any{"d1", "d3"}) {
		t.Errorf("%v are left, want d1 and d3", got)
	}
}

func TestAFullWorkspaceTakesNoMoreDocuments(t *testing.T) {
	t.Parallel()
	c := start(t, apptest.With(func(cfg *config.Config) {
		tier := cfg.Tiers["unlimited"]
		tier.Documents = new(int64(2))
		cfg.Tiers["unlimited"] = tier
	}))
	c.put(t, "a", object{"text": "x"}).is(201)
	c.put(t, "b", object{"text": "x"}).is(201)
	a := c.put(t, "c", object{"text": "x"})
	a.fails(409, "limit_reached")
	if details := a.body["details"].(object); details["limit"] != "documents" {
		t.Errorf("details are %v", details)
	}
	c.put(t, "a", object{"text": "y"}).is(200)
	imported := c.load(t, `{"id":"b","text":"z"}`+"\n"+`{"id":"c","text":"z"}`).is(200)
	if diff := cmp.Diff(counts(2, 0, 1, 1), counted(imported)); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
	c.do(t, "DELETE", documentsPath+"/b", nil).is(204)
	c.put(t, "c", object{"text": "x"}).is(201)
}
