package api_test

import (
	"crypto/tls"
	"testing"

	"keepsake/internal/web/api"
)

// A browser cannot run, frame, sniff or cache a response (T46). Another origin reads a response only if it is configured,
// and no response redirects to another site.
func TestABrowserGetsNothingOutOfAnAnswer(t *testing.T) {
	t.Parallel()
	b := successor(t)
	now := b.clock.Now()
	b.release(now, now.AddDate(1, 0, 0))
	page := b.do("GET", "/docs/api/migration/v1-to-v2", "").want(t, 200, "")
	if got := page.Header.Get("Content-Security-Policy"); got != "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" {
		t.Errorf("a page has the policy %q", got)
	}
	for _, path := range []string{"/docs/api/migration/v1-to-v2", "/openapi.json", "/api/v1/ping", "/api/open", "/nothing", "//evil.example/%2e%2e"} {
		for _, origin := range []string{"https://evil.example", "null", "http://localhost"} {
			a := b.do("GET", path, "", "Origin", origin, "X-Forwarded-Host", "evil.example", "Cookie", "session=1")
			for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Set-Cookie", "Location"} {
				if got := a.Header.Get(name); got != "" {
					t.Errorf("%s from %s: got %s: %s", path, origin, name, got)
				}
			}
			if got := a.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("%s may be sniffed", path)
			}
			if a.StatusCode >= 300 && a.StatusCode < 400 {
				t.Errorf("%s redirects", path)
			}
			if a.StatusCode >= 400 && a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: an error may be kept", path)
			}
		}
	}
}

func TestACookieIsNoCredential(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.Origins = []string{"https://app.example"} })
	a := b.do("GET", "/api/v1/ping", "", "Cookie", "X-API-Key=kpsk_x; Authorization=Bearer x", "Origin", "https://app.example").
		want(t, 401, "missing_credentials")
	if got := a.Header.Get("Access-Control-Allow-Credentials"); got != "" {
		t.Errorf("pages may send cookies: %s", got)
	}
}

func TestOverTLSBrowsersAreToldToStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, secure := range []bool{true, false} {
		r := request("GET", "/api/v1/ping", "")
		if secure {
			r.TLS = &tls.ConnectionState{}
		}
		if got := b.send(r).Header.Get("Strict-Transport-Security"); (got != "") != secure {
			t.Errorf("over TLS %v: Strict-Transport-Security is %q", secure, got)
		}
	}
}
