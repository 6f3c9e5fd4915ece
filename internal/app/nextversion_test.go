package app_test

import (
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// A version 2 that drops an operation, adds one and renames a field is served next to version 1, on the same data.
func TestTwoVersionsAreServedSideBySide(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.NextVersion())
	v := &versioned{p, t, p.Key}
	before := v.ask(200, "", "GET", "/api/v1/openapi.json", "").text
	v.ask(404, "version_not_found", "GET", "/api/v2/documents/a", "")
	v.ask(201, "", "POST", first+"/release", `{"version":2}`) // the build declares it
	v.ask(409, "conflict", "POST", second+"/release", `{"version":3}`)

	// What is written in one version is read in both.
	v.ask(201, "", "PUT", "/api/v1/documents/a", `{"title":"t","text":"naïve"}`)
	wrote := v.ask(201, "", "POST", "/api/v2/documents", `{"id":"b","text":"two"}`, "Idempotency-Key", "writes-b-once")
	if got := wrote.header.Get("Location"); got != "/api/v2/documents/b" {
		t.Errorf("a document written in version 2 is at %s", got)
	}
	again := v.ask(201, "", "POST", "/api/v2/documents", `{"id":"b","text":"two"}`, "Idempotency-Key", "writes-b-once")
	if again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Location") != "/api/v2/documents/b" {
		t.Errorf("the repeated answer has the headers %v", again.header)
	}
	for id, text := range map[string]string{"a": "naïve", "b": "two"} {
		one, two := v.ask(200, "", "GET", "/api/v1/documents/"+id, ""), v.ask(200, "", "GET", "/api/v2/documents/"+id, "")
		if one.object["text"] != text || one.object["content"] != nil || one.header.Get("X-API-Version") != "1" || one.header.Get("Deprecation") != "true" {
			t.Errorf("version 1 answers %v %s", one.header, one.text)
		}
		if two.object["content"] != text || two.object["text"] != nil || two.header.Get("X-API-Version") != "2" || two.header.Get("Deprecation") != "" {
			t.Errorf("version 2 answers %v %s", two.header, two.text)
		}
		if one.object["revision"] != two.object["revision"] || one.header.Get("ETag") != two.header.Get("ETag") {
			t.Errorf("the versions disagree about the document: %s, %s", one.text, two.text)
		}
	}

	lines := []string{"Content-Type", "application/x-ndjson"}
	v.ask(200, "", "POST", "/api/v1/documents/import", `{"id":"c","text":"three"}`, lines...)
	v.ask(405, "method_not_allowed", "POST", "/api/v2/documents/import", `{"id":"c","text":"three"}`, lines...)
	if a := v.ask(200, "", "GET", "/api/v2/documents/a/length", ""); a.object["characters"] != 5.0 {
		t.Errorf("the new operation answers %s", a.text)
	}
	v.ask(404, "not_found", "GET", "/api/v1/documents/a/length", "")

	// Each description is of its own version, and that of version 1 is what it was.
	if after := v.ask(200, "", "GET", "/api/v1/openapi.json", "").text; after != before {
		t.Error("the release changed the description of version 1")
	}
	two := v.ask(200, "", "GET", "/api/v2/openapi.json", "").text
	for path, want := range map[string]bool{"/api/v2/documents/{id}/length": true, "/api/v2/documents/import": false, `"/api/v1/documents/{id}": {`: false, `"content"`: true} {
		if strings.Contains(two, path) != want {
			t.Errorf("the description of version 2 has %s: %v", path, !want)
		}
	}

	guide := v.ask(200, "", "GET", "/docs/api/migration/v1-to-v2", "").text
	for _, want := range []string{
		`id="document-text-renamed"`, "<code>GET /documents/{id}</code>", "&#34;content&#34;:&#34;Open from 9 to 5&#34;",
		`id="import-dropped"`, "<tr><td>Deprecated<td>", "<tr><td>Traffic check<td>", "<tr><td>Sunset<td>", "<tr><td>Retired<td>",
		"Its replacement is version 2.",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide lacks %s:\n%s", want, guide)
		}
	}
	v.ask(404, "not_found", "GET", "/docs/api/migration/v2-to-v3", "")
	v.ask(404, "not_found", "GET", "/docs/api/migration/v1-to-v3", "")
}
