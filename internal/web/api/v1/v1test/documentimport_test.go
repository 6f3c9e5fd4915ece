package v1test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/testing/await"
)

// load imports lines.
func (c client) load(t *testing.T, lines string, header ...string) *answer {
	t.Helper()
	return c.send(t, strings.NewReader(lines), header...)
}

func (c client) send(t *testing.T, body io.Reader, header ...string) *answer {
	t.Helper()
	return c.sendTo(t, "", body, header...)
}

func (c client) sendTo(t *testing.T, query string, body io.Reader, header ...string) *answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.URL+documentsPath+"/import"+query, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", c.key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := &answer{t: t, what: "import", status: response.StatusCode, header: response.Header}
	if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
		t.Fatal(err)
	}
	return a
}

func counts(received, created, replaced, failed int) object {
	return object{
		"received": float64(received), "created": float64(created), "replaced": float64(replaced), "failed": float64(failed),
	}
}

func counted(a *answer) object {
	got := object{}
	for _, name := range []string{"received", "created", "replaced", "failed"} {
		got[name] = a.body[name]
	}
	return got
}

func TestABadLineFailsAlone(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.put(t, "there", object{"text": "old"}).is(201)
	a := c.load(t, strings.Join([]string{
		`{"id":"there","text":"new"}`,
		`{"id":"made","title":"made"}`,
		``,
		`not json`,
		`{"text":"without an id"}`,
		`{"id":"bad id","text":"x"}`,
		`{"id":"blank","text":" "}`,
		`{"id":"more","text":"x","extra":1}`,
		`{"id":"twice","text":"a","text":"b"}`,
		`{"id":"long","text":"` + strings.Repeat("x", 262_145) + `"}`,
		`{"id":"far-too-long","text":"` + strings.Repeat("x", 3<<20) + `"}`,
		`{"id":"tagged","text":"x","tags":["a","` + strings.Repeat("y", 65) + `"]}`,
		"{\"id\":\"windows\",\"text\":\"x\"}\r",
		`{"id":"made","title":"made again"}`,
	}, "\n")).is(200)
	if diff := cmp.Diff(counts(13, 3, 2, 8), counted(a)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var got []string
	for _, item := range a.body["errors"].([]any) {
		e := item.(object)
		if e["message"] == "" {
			t.Errorf("an error without a message: %v", e)
		}
		got = append(got, fmt.Sprint(e["line"], " ", e["field"], " ", e["issue"]))
	}
	want := []string{
		"4 body format", "6 id format", "7 text required", "8 extra unknown", "9 text duplicate", "10 text too_long",
		"11 body too_long", "12 tags[1] too_long",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if made := c.do(t, "GET", documentsPath+"/made", nil).is(200); made.body["revision"] != 2.0 {
		t.Errorf("made is %v", made.body)
	}
	if found := c.do(t, "GET", "/api/v1/search?q=new", nil).is(200); found.body["total"] != 1.0 {
		t.Errorf("the very next search found %v", found.body)
	}
}

func TestAnImportTellsItsFirstHundredErrors(t *testing.T) {
	t.Parallel()
	c := start(t)
	var body strings.Builder
	for i := range 700 {
		fmt.Fprintf(&body, "{\"text\":\"x%d\"}\n{}\n", i)
	}
	a := c.load(t, body.String()).is(200)
	if diff := cmp.Diff(counts(1400, 700, 0, 700), counted(a)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	lines := a.items("errors", "line")
	if len(lines) != 100 || lines[0] != 2.0 || lines[99] != 200.0 {
		t.Errorf("errors of lines %v", lines)
	}
}

func TestARepeatedImportHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	c := start(t)
	lines := `{"id":"a","text":"x"}` + "\n" + `{"text":"y"}` + "\n"
	first := c.load(t, lines, "Idempotency-Key", "import-one").is(200)
	if diff := cmp.Diff(counts(2, 2, 0, 0), counted(first)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	again := c.load(t, lines, "Idempotency-Key", "import-one").is(200)
	if diff := cmp.Diff(first.body, again.body); diff != "" || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated import (-first +again):\n%s", diff)
	}
}

func TestAnImportIsOfItsMediaTypeAndSize(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.load(t, `{"text":"x"}`, "Content-Type", "text/plain").fails(415, "unsupported_media_type")
	for _, media := range []string{"application/ndjson", "application/jsonl", "application/x-ndjson; charset=utf-8"} {
		if diff := cmp.Diff(counts(1, 1, 0, 0), counted(c.load(t, `{"text":"`+media+`"}`, "Content-Type", media).is(200))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", media, diff)
		}
	}
	a := c.load(t, "").is(200)
	if diff := cmp.Diff(object{"received": 0.0, "created": 0.0, "replaced": 0.0, "deleted": 0.0, "failed": 0.0, "errors": []any{}, "issues": []any{}}, a.body,
		cmp.FilterPath(func(p cmp.Path) bool { return strings.Contains(p.String(), "requestId") }, cmp.Ignore())); diff != "" {
		t.Errorf("an import of nothing (-want +got):\n%s", diff)
	}
}

func TestAnImportCanBeAnArray(t *testing.T) {
	t.Parallel()
	c := start(t)
	array := func(body string, header ...string) *answer {
		t.Helper()
		return c.load(t, body, append([]string{"Content-Type", "application/json"}, header...)...)
	}
	a := array(` [{"id":"a","text":"x"},7,{"id":"b","text":"x","text":"y"},{"id":"c","text":"x","colour":1},null,{"id":"d","text":"z"}] `).is(200)
	if diff := cmp.Diff(counts(6, 2, 0, 4), counted(a)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{2.0, 3.0, 4.0, 5.0}, a.items("errors", "line")); diff != "" {
		t.Errorf("lines of the errors (-want +got):\n%s", diff)
	}
	c.do(t, "GET", documentsPath+"/d", nil).is(200)
	array(`[]`).is(200)
	for body, issue := range map[string]string{"  ": "required", "null": "type", `{"id":"e","text":"x"}`: "type", `[{"id":"e","text":"x"}`: "format", `[{"id":"e","text":"x"}]]`: "format"} {
		array(body).fails(400, "validation_error", "body", issue)
	}
	c.do(t, "GET", documentsPath+"/e", nil).fails(404, "not_found")
	array(`["`+strings.Repeat("x", 8<<20)+`"]`).fails(413, "payload_too_large")
	if a := array(`[{"text":"x"}]`, "Idempotency-Key", "array-import-1").is(200); a.body["created"] != 1.0 {
		t.Errorf("an item without an ID in a request that can be repeated: %v", a.body)
	}
	if again := array(`[{"id":"f","text":"x"}]`, "Idempotency-Key", "array-import-2").is(200); again.body["created"] != 1.0 {
		t.Errorf("imported %v", again.body)
	}
}

func TestAnExportCanBeImported(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.put(t, "a", object{"text": "one", "collection": "red", "tags": []string{"x"}, "metadata": object{"n": 1.5}, "url": "https://example.org/", "language": "de"}).is(201)
	c.put(t, "b", object{"title": "two"}).is(201)
	export := func(query string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", c.URL+documentsPath+"/export"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", c.key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("export: %d %s, %v", response.StatusCode, response.Header.Get("Content-Type"), err)
		}
		return string(body)
	}
	const a = `{"id":"a","collection":"red","title":"","text":"one","url":"https://example.org/","tags":["x"],"metadata":{"n":1.5},"language":"de"}` + "\n"
	const b = `{"id":"b","collection":"default","title":"two","text":"","url":null,"tags":[],"metadata":{},"language":null}` + "\n"
	if got := export(""); got != a+b {
		t.Errorf("export:\n%s", got)
	}
	if got := export("?collection=red"); got != a {
		t.Errorf("export of a collection:\n%s", got)
	}
	if diff := cmp.Diff(counts(2, 0, 2, 0), counted(c.load(t, export("")).is(200))); diff != "" {
		t.Errorf("import of an export (-want +got):\n%s", diff)
	}
}

// An import is stored while it arrives: what came before the body broke off is there, and the service goes on.
func TestAnImportThatBreaksOffKeepsWhatCame(t *testing.T) {
	t.Parallel()
	c := start(t)
	body, end := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.URL+documentsPath+"/import", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", c.key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	answered := make(chan int, 1)
	go func() {
		status := 0
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
			status = response.StatusCode
		}
		answered <- status
	}()
	for i := range 1_000 {
		fmt.Fprintf(end, "{\"id\":\"d%d\",\"text\":\"x\"}\n", i)
	}
	await.Until(t, "a document is stored while the import arrives", func() bool {
		return c.do(t, "GET", documentsPath+"/d0", nil).status == 200
	})
	end.CloseWithError(io.ErrUnexpectedEOF)
	if status := <-answered; status == 200 {
		t.Error("a broken import answered 200")
	}
	c.do(t, "GET", documentsPath+"/d0", nil).is(200)
	c.put(t, "after", object{"text": "x"}).is(201)
}
