package api_test

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"keepsake/internal/web/api"
)

// from sends a GET from an address, with the names and values of headers.
func (b *bundle) from(address, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 40_000).String()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func TestAnAddressCannotFloodWhatIsFree(t *testing.T) {
	t.Parallel()
	proxy := netip.MustParsePrefix("10.0.0.1/32")
	b := setup(t, func(o *api.Options) { o.TrustedProxies = []netip.Prefix{proxy} })
	const generous = 600
	paths := []string{"/", "/openapi.json", "/api/v1/openapi.json", "/docs/api/migration/v1-to-v2"}
	for i := range generous {
		path := paths[i%len(paths)]
		if w := b.from("192.0.2.1", path); w.Code == 429 {
			t.Fatalf("request %d, %s: got 429", i+1, path)
		}
		if w := b.from("2001:db8:1:2:3::"+strings.Repeat("1", i%4+1), path); w.Code == 429 {
			t.Fatalf("request %d from a network: got 429", i+1)
		}
	}
	for _, path := range paths {
		w := b.from("192.0.2.1", path)
		wait := w.Header().Get("Retry-After")
		body := w.Body.String()
		if w.Code != 429 || wait == "" || !strings.Contains(body, `"policy":"anonymous"`) || !strings.Contains(body, "try again in "+wait+" second") {
			t.Errorf("%s: got %d, Retry-After %q, %s", path, w.Code, wait, body)
		}
		//lint:ignore SA1008 The server writes the header in this spelling.
		if got := w.Header()["X-RateLimit-Remaining"]; len(got) != 1 || got[0] == "0" {
			t.Errorf("%s: X-RateLimit-Remaining is %q, want the anonymous tier's", path, got)
		}
		w = b.from("192.0.2.1", path, "Accept", browserAccept)
		if got := w.Header().Get("Content-Type"); w.Code != 429 || got != "text/html; charset=utf-8" || !strings.Contains(w.Body.String(), "<p>This address sends too many requests; try again in "+wait+" second") {
			t.Errorf("%s in a browser: got %d %s, %s", path, w.Code, got, w.Body)
		}
	}
	if w := b.from("2001:db8:1:2:ffff::", "/"); w.Code != 429 {
		t.Errorf("another address of the network: got %d, want 429", w.Code)
	}

	// Others are not affected, and neither is what has limits of its own.
	for range generous + 1 {
		if w := b.from("10.0.0.1", "/"); w.Code != 200 {
			t.Fatalf("the proxy: got %d", w.Code)
		}
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"another address":       b.from("192.0.2.2", "/"),
		"another network":       b.from("2001:db8:1:3::1", "/"),
		"a client of the proxy": b.from("10.0.0.1", "/", "X-Forwarded-For", "192.0.2.3"),
		"the API":               b.from("192.0.2.1", "/api/open"),
	} {
		if w.Code != 200 {
			t.Errorf("%s: got %d, want 200", name, w.Code)
		}
	}
	if w := b.from("10.0.0.1", "/", "X-Forwarded-For", "192.0.2.1"); w.Code != 429 {
		t.Errorf("the address behind the proxy: got %d, want 429", w.Code)
	}
	b.clock.Move(time.Minute)
	if w := b.from("192.0.2.1", "/"); w.Code != 200 {
		t.Errorf("a minute later: got %d, want 200", w.Code)
	}
}
