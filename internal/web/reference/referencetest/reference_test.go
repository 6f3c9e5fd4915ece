package referencetest

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

// page is a response with its text.
type page struct {
	*http.Response
	text string
}

func get(t *testing.T, p *apptest.Running, path string, headers ...string) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page{resp, string(text)}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// crawl reads all pages that lead from one to the next, from /docs on.
func crawl(t *testing.T, p *apptest.Running) map[string]page {
	t.Helper()
	read := map[string]page{}
	for todo := []string{"/docs"}; len(todo) > 0; todo = todo[1:] {
		path := todo[0]
		if _, ok := read[path]; ok {
			continue
		}
		resp := get(t, p, path)
		read[path] = resp
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d", path, resp.StatusCode)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range hrefs.FindAllStringSubmatch(resp.text, -1) {
			next, _, _ := strings.Cut(m[1], "#")
			if strings.HasPrefix(next, "/docs") || next == "/llms.txt" || strings.HasSuffix(next, "/openapi.json") {
				todo = append(todo, next)
			}
		}
	}
	return read
}

func TestEveryLinkResolves(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.NextVersion())
	read := crawl(t, p)
	if len(read) < 40 {
		t.Errorf("got %d pages", len(read))
	}
	anchors := map[string][]string{}
	for path, resp := range read {
		for _, m := range ids.FindAllStringSubmatch(resp.text, -1) {
			if slices.Contains(anchors[path], m[1]) {
				t.Errorf("%s: the ID %s is there twice", path, m[1])
			}
			anchors[path] = append(anchors[path], m[1])
		}
	}
	for path, resp := range read {
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range hrefs.FindAllStringSubmatch(resp.text, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			switch {
			case strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://"):
				continue // a link of a guide to another site
			case to == "":
				to = path
			case !strings.HasPrefix(to, "/"):
				t.Errorf("%s: the link %s depends on its page", path, m[1])
			}
			if anchor != "" && !slices.Contains(anchors[to], anchor) {
				t.Errorf("%s: the link %s leads to no heading", path, m[1])
			}
		}
	}
}

func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	loads := regexp.MustCompile(`<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"`)
	for path, resp := range crawl(t, p) {
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if strings.Contains(resp.text, "<style") || strings.Contains(resp.text, " style=") || strings.Contains(resp.text, " onclick=") {
			t.Errorf("%s has an inline style or script", path)
		}
		for _, m := range loads.FindAllStringSubmatch(resp.text, -1) {
			if !strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "//") {
				t.Errorf("%s loads %s", path, m[1])
			}
			if got := get(t, p, m[1]); got.StatusCode != http.StatusOK {
				t.Errorf("%s loads %s: got %d", path, m[1], got.StatusCode)
			}
		}
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Tags        []string
			Codes       []string `json:"x-error-codes"`
		}
	}
	if err := json.Unmarshal([]byte(get(t, p, "/openapi.json").text), &doc); err != nil {
		t.Fatal(err)
	}
	errors := get(t, p, "/docs/errors").text
	n := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			n++
			group := get(t, p, "/docs/api/v1/"+strings.ReplaceAll(op.Tags[0], " ", "-")).text
			for _, part := range []string{
				`<section id="` + op.OperationID + `"`, path + "</code>",
			} {
				if !strings.Contains(group, part) {
					t.Errorf("%s %s: the page of %v does not contain %s", method, path, op.Tags, part)
				}
			}
			for _, code := range op.Codes {
				if !strings.Contains(errors, `id="`+code+`"`) {
					t.Errorf("%s %s: the page of errors has no %s", method, path, code)
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("got %d operations", n)
	}
}

func TestBodiesOfImportsHaveExamples(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for path, want := range map[string][]string{
		"/docs/api/v1/documents": {`spellcheck="false">[` + "\n  {\n    &#34;id&#34;: &#34;opening-hours&#34;", `<option data-example="{&#34;id&#34;:&#34;opening-hours&#34;`},
		"/docs/api/v1/memories":  {`spellcheck="false">{&#34;subjectId&#34;:&#34;p-4711&#34;,&#34;text&#34;:&#34;Prefers tea to coffee.&#34;`},
	} {
		text := get(t, p, path).text
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s", path, part)
			}
		}
	}
}

func TestVersionsHaveTheirOwnReference(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.NextVersion())
	for path, want := range map[string]int{
		"/docs/api/v1": 200, "/docs/api/v2": 404, "/docs/api/v01": 404, "/docs/api/1": 404, "/docs/api/v1/nothing": 404, "/docs/guides/nothing": 404,
		"/docs/guides/changelog": 404, "/docs/text/nothing.md": 404, "/docs/text/api": 404, "/docs/asset/0/nothing": 404,
		"/docs/api/migration/v1-to-v2": 404, "/docs/asset/0/reference.css": 200,
	} {
		if got := get(t, p, path); got.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, got.StatusCode, want)
		}
	}
}

// release releases version 2, which ends version 1.
func release(t *testing.T, p *apptest.Running) {
	t.Helper()
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReleaseVersion(t.Context(), client.NewRelease{Version: 2}); err != nil {
		t.Fatal(err)
	}
}

func TestReleasedVersionHasItsReferenceAndGuide(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.NextVersion())
	release(t, p)
	for path, want := range map[string][]string{
		"/docs":                        {`href="/docs/api/v1"`, `href="/docs/api/v2"`, `href="/docs/api/migration/v1-to-v2"`},
		"/docs/api/v1":                 {`href="/docs/api/migration/v1-to-v2"`, "deprecated"},
		"/docs/api/v2":                 {`href="/docs/api/v2/documents"`},
		"/docs/api/v1/documents":       {`data-path="/api/v1/documents/import"`},
		"/docs/api/v2/documents":       {`data-path="/api/v2/documents/{id}/length"`, `data-path="/api/v2/documents"`},
		"/docs/api/migration/v1-to-v2": {`<nav`, `/docs/asset/`, `id="document-text-renamed"`, "Deprecated", "Traffic check", "Sunset", "Retired", "<time"},
	} {
		got := get(t, p, path, "Accept", "text/html")
		if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: got %d, %s", path, got.StatusCode, got.Header.Get("Content-Type"))
		}
		for _, part := range want {
			if !strings.Contains(got.text, part) {
				t.Errorf("%s lacks %s", path, part)
			}
		}
	}
	if text := get(t, p, "/docs/api/v2/documents").text; strings.Contains(text, `"/api/v2/documents/import"`) {
		t.Error("the reference of version 2 has an operation that it dropped")
	}
	crawl(t, p) // every page that leads on from there exists
}

func TestMissingPageIsJSONForPrograms(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for _, path := range []string{"/nothing", "/docs/nothing", "/docs/guides/nothing", "/docs/api/migration/v1-to-v2", "/docs/text/nothing.md", "/docs/asset/0/nothing"} {
		for accept, want := range map[string]string{"": "application/json", "*/*": "application/json", "application/json": "application/json", "text/html,*/*;q=0.8": "text/html"} {
			if strings.Contains(path, "/asset/") || strings.Contains(path, "/text/") {
				want = "application/json" // these are no pages
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Accept"] = []string{accept}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusNotFound || !strings.HasPrefix(got, want) {
				t.Errorf("%s, Accept: %s: got %d, %s", path, accept, resp.StatusCode, got)
			}
		}
	}
}

func TestSearchFindsGuidesOperationsAndCodes(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for query, want := range map[string]string{
		"erase+subject": `/docs/api/v1/memories#`, "insufficient_scope": `/docs/errors#insufficient_scope`, "BACKUP+restore": `/docs/guides/backups#`,
		"zzzz": "Nothing contains", "": "Type words", "%3Cscript%3E": "&lt;script&gt;", strings.Repeat("%C3%A4", 300): "Nothing contains",
	} {
		got := get(t, p, "/docs/search?q="+query)
		if got.StatusCode != http.StatusOK || !strings.Contains(got.text, want) || strings.Contains(got.text, "<script>") {
			t.Errorf("%s: got %d and no %s", query, got.StatusCode, want)
		}
	}
}

func TestLanguageModelsGetPlainTexts(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	index := get(t, p, "/llms.txt")
	links := regexp.MustCompile(`\]\((/[^)]*)\)`).FindAllStringSubmatch(index.text, -1)
	if len(links) < 15 {
		t.Fatalf("got %s", index.text)
	}
	for _, m := range links {
		if m[1] == "/ai/mcp" { // for clients of the protocol
			continue
		}
		got := get(t, p, m[1])
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d", m[1], got.StatusCode)
		}
		if strings.HasSuffix(m[1], ".md") && !strings.HasPrefix(got.text, "# ") {
			t.Errorf("%s: got %.40q", m[1], got.text)
		}
	}
}

func TestPagesAreNotSentTwice(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	first := get(t, p, "/docs/guides/api")
	tag := first.Header.Get("ETag")
	if tag == "" {
		t.Fatal("a page has no ETag")
	}
	if got := get(t, p, "/docs/guides/api", "If-None-Match", tag); got.StatusCode != http.StatusNotModified {
		t.Errorf("got %d", got.StatusCode)
	}
	if got := get(t, p, "/docs/guides/api", "Accept-Encoding", "gzip"); got.Header.Get("Content-Encoding") != "gzip" || len(got.text) > len(first.text)/2 {
		t.Errorf("got %q and %d of %d bytes", got.Header.Get("Content-Encoding"), len(got.text), len(first.text))
	}
}
