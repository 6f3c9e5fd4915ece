package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
)

func TestProgramShowsABrowserTheStartPage(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.Deps(func(d *app.Deps) { d.Version = "v9.8.7" }))
	get := func(url, accept string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(text)
	}
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	_, port, _ := strings.Cut(strings.TrimPrefix(p.URL, "http://"), ":")
	res, text := get(p.URL+"/", browser)
	if res.StatusCode != 200 || !strings.Contains(text, "version v9.8.7") || !strings.Contains(text, "http://localhost:"+port+"/api/v1/health") ||
		res.Header.Get("X-RateLimit-Limit") == "" {
		t.Errorf("got %d %s", res.StatusCode, text)
	}
	if !strings.Contains(text, `href="/docs"`) {
		t.Error("the page has no link to the documentation")
	}
	if strings.Contains(text, p.Key) {
		t.Error("the page contains the first key")
	}
	if res, text := get(p.URL+"/", "*/*"); res.StatusCode != 200 || !strings.Contains(text, `href="/docs"`) || !strings.Contains(strings.Join(res.Header["Link"], ","), `</docs>; rel="service-doc"`) {
		t.Errorf("curl: got %d, links %q, %q", res.StatusCode, res.Header["Link"], text)
	}
	if res, text := get(p.URL+"/", "application/json"); res.StatusCode != 200 || !strings.Contains(text, `"documentation":"/docs"`) {
		t.Errorf("without HTML: got %d %q", res.StatusCode, text)
	}
	if res, text := get(p.BackendURL+"/", browser); res.StatusCode != 404 || !strings.HasSuffix(text, "}\n") {
		t.Errorf("the backend: got %d %q", res.StatusCode, text)
	}
	for _, path := range []string{"/openapi.json", "/api/versions"} {
		if res, text := get(p.URL+path, browser); res.StatusCode != 200 || !strings.HasSuffix(text, "}\n") {
			t.Errorf("%s: got %d, ending with %q", path, res.StatusCode, text[max(0, len(text)-5):])
		}
	}
}
