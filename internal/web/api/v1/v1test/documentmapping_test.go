package v1test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows imports a body of a media type with parameters.
func (c client) rows(t *testing.T, query, media, body string) *answer {
	t.Helper()
	return c.sendTo(t, "?"+query, strings.NewReader(body), "Content-Type", media)
}

func issuesOf(a *answer) []string {
	var list []string
	for _, item := range a.body["issues"].([]any) {
		issue := item.(object)
		list = append(list, fmt.Sprint(issue["field"], " ", issue["issue"], " ", issue["count"]))
	}
	return list
}

func (c client) document(t *testing.T, id string) object {
	t.Helper()
	d := c.do(t, "GET", documentsPath+"/"+id, nil).is(200).body
	for _, name := range []string{"createdAt", "updatedAt", "revision", "requestId", "language"} {
		delete(d, name)
	}
	return d
}

const (
	mediaCSV   = "text/csv"
	mediaLines = "application/x-ndjson"
)

func TestATableIsImported(t *testing.T) {
	t.Parallel()
	c := start(t)
	a := c.rows(t, "id=sku&title=name&text=about,notes&tags=kinds&url=link&into=shop&rest=metadata", mediaCSV,
		"\xef\xbb\xbfsku,name,about,notes,kinds,link,price,phone,sold,size\r\n"+
			"001,Lamp,\"A lamp,\r\nwith a \"\"switch\"\"\",Warm,light|home,https://example.org/1,9.5,+4912345,true,12345678901234567890\r\n"+
			"002,Chair,,,,,,,,\r\n"+
			"bad id,Desk,,,,,,,,\r\n"+
			"004,Shelf,x,,,ftp://example.org,,,,\r\n").is(200)
	if diff := cmp.Diff(counts(4, 2, 0, 2), counted(a)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{5.0, 6.0}, a.items("errors", "line")); diff != "" {
		t.Errorf("lines of errors (-want +got):\n%s", diff)
	}
	want := object{
		"id": "001", "collection": "shop", "title": "Lamp", "text": "A lamp,\nwith a \"switch\"\n\nWarm", "url": "https://example.org/1", "tags": []any{"light", "home"},
		"metadata": object{"price": 9.5, "phone": "+4912345", "sold": true, "size": "12345678901234567890"},
	}
	if diff := cmp.Diff(want, c.document(t, "001")); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if found := c.do(t, "GET", "/api/v1/search?q=switch&facets=sold&filter=price:lt:10", nil).is(200); found.body["total"] != 1.0 {
		t.Errorf("the very next search found %v", found.body)
	}
}

func TestAnotherMappingIsNoRetry(t *testing.T) {
	t.Parallel()
	c := start(t)
	send := func(query string) *answer {
		return c.sendTo(t, "?"+query, strings.NewReader("sku,about\nlamp,bright\n"), "Content-Type", mediaCSV, "Idempotency-Key", "mapped-once")
	}
	send("id=sku&text=about").is(200)
	if again := send("id=sku&text=about").is(200); again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the same request was not answered as a retry")
	}
	send("id=sku&title=about").fails(400, "validation_error", "Idempotency-Key", "reused")
}

func TestATableMustHaveTheNamedColumns(t *testing.T) {
	t.Parallel()
	c := start(t)
	for query, field := range map[string]string{"title=name": "title", "text=text,notes": "text", "id=sku": "id", "tags=kinds": "tags", "url=link": "url", "collection=shop": "collection"} {
		c.rows(t, query, mediaCSV, "title,text\nx,y\n").fails(400, "validation_error", field, "unknown")
	}
	c.rows(t, "", mediaCSV, "title,title\nx,y\n").fails(400, "validation_error", "title", "duplicate")
	c.rows(t, "", mediaCSV, "\n").fails(400, "validation_error", "body", "required")
	c.rows(t, "", mediaCSV, "\xff\xfet\x00,\x00").fails(400, "validation_error", "body", "format")
	c.rows(t, "rest=all", mediaCSV, "title\nx\n").fails(400, "validation_error", "rest", "not_allowed")
	c.rows(t, "replace=true", mediaCSV, "title\nx\n").fails(400, "validation_error", "into", "required")
	c.rows(t, "into=%20", mediaCSV, "title\nx\n").fails(400, "validation_error", "into", "required")
	c.rows(t, "text=a,", mediaCSV, "title\nx\n").fails(400, "validation_error", "text", "format")
	c.rows(t, "into=", mediaCSV, "title\nx\n").fails(400, "validation_error", "into", "required")
	if list := c.do(t, "GET", documentsPath, nil).is(200).items("items", "id"); len(list) > 0 {
		t.Errorf("a refused table left %v", list)
	}
	a := c.rows(t, "", mediaCSV, "title,year\nx,\ny,1\n").is(200)
	if diff := cmp.Diff(counts(2, 1, 0, 1), counted(a)); diff != "" || issuesOf(a)[0] != "year unknown 1" {
		t.Errorf("a column that is no field: %v (-want +got):\n%s", issuesOf(a), diff)
	}
}

func TestRowsOfJSONAreMapped(t *testing.T) {
	t.Parallel()
	c := start(t)
	long := strings.Repeat("ä", 1_025)
	body := `{"_id":7,"info":{"name":"One","year":1999,"cast":["A","B"],"rights":{"DE":true}},"plot":"P","cuts":[{"t":1}],"long":"` + long + `"}` + "\n" +
		`{"_id":"8","info":{"name":"Two"},"plot":null}` + "\n" +
		`{"_id":9,"info":{"name":"Three"}}` + "\n" +
		`{"_id":1.5,"info":{"name":"Four"},"plot":""}` + "\n"
	for media, text := range map[string]string{
		mediaLines:         body,
		"application/json": "[" + strings.ReplaceAll(strings.TrimSpace(body), "\n", ",") + "]",
	} {
		a := c.rows(t, "id=_id&title=info.name&text=plot&into=films&rest=metadata", media, text).is(200)
		if got := fmt.Sprint(a.body["received"], a.body["failed"]); got != "4 1" {
			t.Errorf("%s: %v", media, a.body)
		}
		if diff := cmp.Diff([]string{"id type 1", "metadata.long too_long 1", "text unknown 1"}, issuesOf(a)); diff != "" {
			t.Errorf("%s: issues (-want +got):\n%s", media, diff)
		}
		want := object{
			"id": "7", "collection": "films", "title": "One", "text": "P", "url": nil, "tags": []any{},
			"metadata": object{"info.year": 1999.0, "info.cast": []any{"A", "B"}, "info.rights.DE": true, "cuts": `[{"t":1}]`, "long": long[2:]},
		}
		if diff := cmp.Diff(want, c.document(t, "7")); diff != "" {
			t.Errorf("%s: document (-want +got):\n%s", media, diff)
		}
	}
	found := c.do(t, "GET", "/api/v1/search?q=one&filter=info.cast:eq:B&facets=info.cast", nil).is(200)
	if got := fmt.Sprint(found.body["total"], found.body["facets"]); got != "1 map[info.cast:[map[count:1 value:A] map[count:1 value:B]]]" {
		t.Errorf("found %s", got)
	}
}

func TestARowWithoutAnIDIsOneDocumentOfItsCollection(t *testing.T) {
	t.Parallel()
	c := start(t)
	table := "name,year\nA,1\nB,2\nA,1\n,3\n"
	into := func(query, media, body string) *answer {
		t.Helper()
		return c.rows(t, "title=name&rest=metadata&"+query, media, body).is(200)
	}
	first := into("into=one", mediaCSV, table)
	if diff := cmp.Diff(counts(4, 2, 0, 1), counted(first)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"body duplicate 1", "text required 1"}, issuesOf(first)); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts(4, 0, 2, 1), counted(into("into=one", mediaCSV, table))); diff != "" {
		t.Errorf("counts of the second time (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts(4, 2, 0, 1), counted(into("into=two", mediaCSV, table))); diff != "" {
		t.Errorf("counts of another collection (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts(2, 1, 1, 0), counted(into("into=one", mediaLines, `{"year":1,"name":"A"}`+"\n"+`{"year":3,"name":"A"}`))); diff != "" {
		t.Errorf("counts of lines (-want +got):\n%s", diff)
	}
	ids := c.do(t, "GET", documentsPath+"?collection=one", nil).is(200).items("items", "id")
	if len(ids) != 3 || slices.ContainsFunc(ids, func(id any) bool { return !strings.HasPrefix(id.(string), "row_") || len(id.(string)) != 30 }) {
		t.Errorf("the IDs are %v", ids)
	}
	// Equal rows are one even if many lie between them.
	var many strings.Builder
	many.WriteString("name\n")
	for i := range 900 {
		fmt.Fprintf(&many, "n%d\n", i%700)
	}
	a := into("into=many", mediaCSV, many.String())
	if diff := cmp.Diff(counts(900, 700, 0, 0), counted(a)); diff != "" || issuesOf(a)[0] != "body duplicate 200" {
		t.Errorf("many rows: %v (-want +got):\n%s", issuesOf(a), diff)
	}
	again := into("into=many", mediaCSV, many.String())
	if diff := cmp.Diff(counts(900, 0, 700, 0), counted(again)); diff != "" || issuesOf(again)[0] != "body duplicate 200" {
		t.Errorf("many rows again: %v (-want +got):\n%s", issuesOf(again), diff)
	}
}

func TestAnImportReplacesACollection(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.put(t, "elsewhere", object{"text": "x", "collection": "other"}).is(201)
	replace := func(body string) *answer {
		t.Helper()
		return c.rows(t, "into=shop&replace=true", mediaLines, body).is(200)
	}
	ids := func() string {
		t.Helper()
		return fmt.Sprint(c.do(t, "GET", documentsPath+"?collection=shop", nil).is(200).items("items", "id"))
	}
	replace(`{"id":"a","text":"x"}` + "\n" + `{"id":"b","text":"x"}`)
	if a := replace(`{"id":"b","text":"y"}` + "\n" + `{"id":"c","text":"y"}`); a.body["deleted"] != 1.0 || a.body["created"] != 1.0 || a.body["replaced"] != 1.0 {
		t.Errorf("replaced: %v", a.body)
	}
	if got := ids(); got != "[b c]" {
		t.Errorf("the collection has %s", got)
	}
	if a := replace(`{"id":"d","text":"y"}` + "\n" + `{"id":"e"}`); a.body["deleted"] != 0.0 || ids() != "[b c d]" {
		t.Errorf("with a row that failed: %v, %s", a.body, ids())
	}
	c.rows(t, "into=shop&replace=true", mediaLines, "").fails(400, "validation_error", "body", "required")
	if a := c.rows(t, "into=shop&replace=true", mediaCSV, "id,text\n").is(200); a.body["deleted"] != 3.0 || ids() != "[]" {
		t.Errorf("a table without rows: %v, %s", a.body, ids())
	}
	c.do(t, "GET", documentsPath+"/elsewhere", nil).is(200)
	if found := c.do(t, "GET", "/api/v1/search?q=y", nil).is(200); found.body["total"] != 0.0 {
		t.Errorf("the very next search found %v", found.body)
	}
}

func TestHostileTablesFailRowByRow(t *testing.T) {
	t.Parallel()
	c := start(t)
	huge := strings.Repeat("x", 3<<20)
	body := "id,text\n" +
		"a,\"never closed\n" +
		"b,fine\n" +
		"c," + huge + "\n" +
		"d,fine" + strings.Repeat(",", 100_000) + "\n" +
		"e,fine," + strings.Repeat("y,", 10) + "\n" +
		"f,caf\xe9\n" +
		"g,fine\x00\n" +
		"h,fine\n"
	a := c.rows(t, "", mediaCSV, body).is(200)
	for id, status := range map[string]int{"a": 404, "b": 200, "c": 404, "d": 404, "e": 404, "f": 404, "g": 404, "h": 200} {
		if got := c.do(t, "GET", documentsPath+"/"+id, nil).status; got != status {
			t.Errorf("%s: %d, want %d", id, got, status)
		}
	}
	if diff := cmp.Diff(counts(8, 2, 0, 6), counted(a)); diff != "" {
		t.Errorf("counts (-want +got):\n%s%v", diff, a.body["errors"])
	}
	c.rows(t, "", mediaCSV, strings.Repeat("a,", 1_000_000)).fails(400, "validation_error", "body", "too_long")
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	if a := c.rows(t, "rest=metadata", mediaLines, deep+"\n"+`{"title":"x"}`).is(200); issuesOf(a)[0] != "body format 1" || a.body["created"] != 1.0 {
		t.Errorf("deep nesting: %v", a.body)
	}
}

func TestMetadataCanBeLists(t *testing.T) {
	t.Parallel()
	c := start(t)
	list := []any{"red", 38.0, true, 0.1}
	made := c.put(t, "a", object{"text": "shoe", "metadata": object{"sizes": list, "none": []any{}, "gone": nil}}).is(201)
	if diff := cmp.Diff(object{"sizes": list, "none": []any{}}, made.body["metadata"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	c.put(t, "b", object{"text": "shoe", "metadata": object{"sizes": "red"}}).is(201)
	c.put(t, "c", object{"text": "shoe"}).is(201)
	for filter, want := range map[string]string{
		"sizes:eq:red": "[a b]", "sizes:eq:38": "[a]", "sizes:ne:red": "[c]", "sizes:ne:38": "[b c]", "sizes:gte:38": "[a b]", "sizes:lt:1": "[a]", "sizes:eq:true": "[a]",
	} {
		query := "filter=" + url.QueryEscape(filter)
		listed := c.do(t, "GET", documentsPath+"?"+query, nil).is(200).items("items", "id")
		found := c.do(t, "GET", "/api/v1/search?q=shoe&"+query, nil).is(200).items("results", "id")
		slices.SortFunc(found, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		if fmt.Sprint(listed) != want || fmt.Sprint(found) != want {
			t.Errorf("%s: listed %v, found %v, want %s", filter, listed, found, want)
		}
	}
	facets := c.do(t, "GET", "/api/v1/search?q=shoe&facets=sizes", nil).is(200).body["facets"].(object)["sizes"].([]any)
	if got := fmt.Sprint(facets); !strings.HasPrefix(got, "[map[count:2 value:red]") || len(facets) != 4 {
		t.Errorf("facets: %s", got)
	}
	// A facet counts a document once for values that one filter finds together.
	c.put(t, "both", object{"text": "boot", "metadata": object{"k": []any{7, "7", "7.0", true, "true"}}}).is(201)
	facets = c.do(t, "GET", "/api/v1/search?q=boot&facets=k", nil).is(200).body["facets"].(object)["k"].([]any)
	if got := fmt.Sprint(facets); len(facets) != 3 || strings.Count(got, "count:1") != 3 {
		t.Errorf("facets of equal values: %s", got)
	}
	patched := c.do(t, "PATCH", documentsPath+"/a", object{"metadata": object{"sizes": []any{"blue"}, "none": nil}}).is(200)
	if diff := cmp.Diff(object{"sizes": []any{"blue"}}, patched.body["metadata"]); diff != "" {
		t.Errorf("patched (-want +got):\n%s", diff)
	}
	for name, c2 := range map[string]struct {
		value any
		issue string
	}{
		"long":   {make([]int, 65), "too_long"},
		"nested": {[]any{[]any{1}}, "type"},
		"object": {[]any{object{}}, "type"},
		"null":   {[]any{nil}, "type"},
		"text":   {[]any{strings.Repeat("x", 1_025)}, "too_long"},
	} {
		c.put(t, "d", object{"text": "x", "metadata": object{"k": c2.value}}).fails(400, "validation_error", "metadata.k", c2.issue)
		_ = name
	}
	c.put(t, "d", object{"text": "x", "metadata": object{"k": make([]int, 64)}}).is(201)
	if a := c.do(t, "POST", documentsPath+"/delete", object{"filter": []string{"sizes:eq:blue"}, "dryRun": false}).is(200); a.body["deleted"] != 1.0 {
		t.Errorf("deleted %v", a.body)
	}
}
