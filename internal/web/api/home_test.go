package api_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

func TestBrowserGetsTheStartPage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.Release = "v1.2<3" })
	api := b.do("GET", "/openapi.json", "").want(t, 200, "")
	a := b.do("GET", "/", "", "Accept", browserAccept, "X-Forwarded-Host", "evil.example").want(t, 200, "")
	for _, want := range []string{
		"Keepsake, version v1.2&lt;3", `href="/openapi.json"`, `href="/api/versions"`, `content="light dark"`, "width=device-width",
		"http://localhost:8080/api/v1/health", "http://localhost:8080/api/v1/documents/boiler", "http://localhost:8080/api/v1/search?q=radiators",
	} {
		if !strings.Contains(a.text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(a.text, "<code>curl "); n != 3 {
		t.Errorf("the page has %d commands", n)
	}
	for _, unwanted := range []string{"example", "<script", "<style", "<link", "<img", "src=", "migration"} {
		if strings.Contains(a.text, unwanted) {
			t.Errorf("the page contains %q", unwanted)
		}
	}
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Daily-Remaining", "X-Api-Version"} {
		if got, want := a.Header.Get(name), api.Header.Get(name); got != want || got == "" {
			t.Errorf("%s is %q, want %q as on other pages", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Vary": "Accept", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	head := b.do("HEAD", "/", "", "Accept", browserAccept).want(t, 200, "")
	if head.text != "" || head.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("HEAD: got %q, %v", head.text, head.Header)
	}
}

func TestStartPageIsServedToEveryClient(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.Release = "v1.2.3" })
	for accept, media := range map[string]string{
		browserAccept: "text/html", "text/html": "text/html", "text/*": "text/html", "": "text/html", "*/*": "text/html",
		"application/json, text/html;q=0.1": "text/html", "application/json, text/plain, */*": "text/html",
		"application/json": "application/json", "text/html;q=0, */*": "application/json", "text/plain": "application/json", "*/*;q=0": "application/json",
		";;;": "application/json",
	} {
		a := b.do("GET", "/", "", "Accept", accept).want(t, 200, "")
		if got, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); got != media || !strings.Contains(a.Header.Get("Vary"), "Accept") {
			t.Errorf("Accept %q: got %s, Vary %q", accept, got, a.Header.Get("Vary"))
		}
		if got := strings.Join(a.Header["Link"], ", "); !strings.Contains(got, `</openapi.json>; rel="service-desc"`) {
			t.Errorf("Accept %q: links %q", accept, got)
		}
		b.do("HEAD", "/", "", "Accept", accept).want(t, 200, "")
	}
	if a := b.do("GET", "/", "", "Accept", "application/json"); a.object["name"] != "Keepsake" || a.object["release"] != "v1.2.3" || a.object["description"] != "/openapi.json" {
		t.Errorf("got %s", a.text)
	}
	if a := b.do("OPTIONS", "/", ""); a.StatusCode != 204 || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: got %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
	if a := b.do("POST", "/", ""); a.StatusCode != 405 || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("POST: got %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
	for _, path := range []string{"//", "/nothing"} {
		if a := b.do("GET", path, "", "Accept", browserAccept); a.StatusCode != 404 || a.object["error"] != "not_found" || a.Header.Get("Allow") != "" {
			t.Errorf("%s: got %d %s", path, a.StatusCode, a.text)
		}
	}
}

func TestOptionsOfEverythingNamesEveryMethod(t *testing.T) {
	t.Parallel()
	r := request("OPTIONS", "/", "")
	r.URL.Path, r.RequestURI = "*", "*"
	if a := setup(t).send(r); a.StatusCode != 204 || a.Header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT" {
		t.Errorf("got %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
}

func TestStartPageShowsTheConfiguredAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := request("GET", "/", "", "Accept", browserAccept)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9443})))
	if a := b.send(r).want(t, 200, ""); !strings.Contains(a.text, " http://localhost:9443/api/v1/health") {
		t.Errorf("without publicUrl: %s", a.text)
	}

	b = successor(t) // its publicUrl is https://keepsake.example
	now := b.clock.Now()
	b.release(now, now.AddDate(1, 0, 0))
	key := b.Key(apitest.Operator, auth.Read, nil)
	a := b.do("GET", "/", "", "Accept", browserAccept, "X-API-Key", key).want(t, 200, "")
	for _, want := range []string{
		`href="https://keepsake.example/docs/api/migration/v1-to-v2"`, `href="https://keepsake.example/openapi.json"`,
		" https://keepsake.example/api/v2/health",
	} {
		if !strings.Contains(a.text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(a.text, "localhost") || strings.Contains(a.text, key) {
		t.Errorf("got %s", a.text)
	}
	b.do("GET", "/docs/api/migration/v1-to-v2", "").want(t, 200, "")
}
