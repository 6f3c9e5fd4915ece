package config

import (
	"net/url"
	"strings"
	"testing"
)

// Browsers compare addresses in this form, so Origin, cookies and links only agree with publicUrl if it has it.
func TestAddressesAreInTheFormOfBrowsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://search.example.org":         "https://search.example.org",
		"https://search.example.org/":        "https://search.example.org",
		"HTTPS://Search.Example.ORG":         "https://search.example.org",
		"https://search.example.org:443":     "https://search.example.org",
		"https://search.example.org:443/":    "https://search.example.org",
		"https://search.example.org:0443":    "https://search.example.org",
		"https://search.example.org:":        "https://search.example.org",
		"Http://Search.Example.org:80/":      "http://search.example.org",
		"https://search.example.org:80":      "https://search.example.org:80",
		"http://search.example.org:443":      "http://search.example.org:443",
		"https://search.example.org:8443/":   "https://search.example.org:8443",
		"https://search.example.org.":        "https://search.example.org.",
		"https://keepsake_1:8080":            "https://keepsake_1:8080",
		"http://localhost:8080":              "http://localhost:8080",
		"http://127.0.0.1:80":                "http://127.0.0.1",
		"http://[::1]:80/":                   "http://[::1]",
		"https://[2001:DB8::A]:8443":         "https://[2001:db8::a]:8443",
		"https://M\u00fcnchen.example/":      "https://xn--mnchen-3ya.example",
		"https://example.org/keepsake":       "https://example.org/keepsake",
		"https://example.org/keepsake/":      "https://example.org/keepsake",
		"HTTPS://EXAMPLE.org:443/Keep-Sake/": "https://example.org/Keep-Sake", // a path has its own case
		"https://example.org/a/b.c/~d_e":     "https://example.org/a/b.c/~d_e",

		"":                                "",
		"example.org":                     "",
		"//example.org":                   "",
		"/keepsake":                       "",
		"ftp://example.org":               "",
		"https://":                        "",
		"https:///keepsake":               "",
		"https://:443":                    "",
		"https://example.org:0":           "",
		"https://example.org:65536":       "",
		"https://example.org:port":        "",
		"https://user@example.org":        "",
		"https://user:secret@example.org": "",
		"https://example.org?":            "",
		"https://example.org/?a=b":        "",
		"https://example.org#":            "",
		"https://example.org/#a":          "",
		"https://example.org//":           "",
		"https://example.org/a//b":        "",
		"https://example.org/a//":         "",
		"https://example.org/.":           "",
		"https://example.org/../a":        "",
		"https://example.org/a/./b":       "",
		"https://example.org/a%2Fb":       "",
		"https://example.org/a b":         "",
		"https://example.org/a;b":         "",
		"https://example.org/m\u00fc":     "",
		"https://[fe80::1%25eth0]/":       "",
		"https://exa mple.org":            "",
		"https://exa\"mple.org":           "",
		" https://example.org":            "",
		"https://example.org ":            "",
	} {
		if got, ok := baseURL(text); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, ok, want)
		}
	}
}

// The normal form of an address is an address in its normal form, which links and cookies can contain as it is.
func FuzzAddressHasOneNormalForm(f *testing.F) {
	for _, seed := range []string{"HTTPS://Example.org:443/A/", "http://[::1]:8080", "https://m\u00fcnchen.example", "https://a:0443/b", "https://x/..", "https://a%2eb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, ok := baseURL(text)
		if !ok {
			return
		}
		if again, ok := baseURL(normal); !ok || again != normal {
			t.Errorf("%q: %q becomes %q, %v", text, normal, again, ok)
		}
		u, err := url.Parse(normal)
		if err != nil || u.String() != normal || u.Host != strings.ToLower(u.Host) || strings.HasSuffix(normal, "/") || strings.ContainsAny(normal, " \"'<>;,\\?#@%") {
			t.Errorf("%q: got %q, %v", text, normal, err)
		}
	})
}
