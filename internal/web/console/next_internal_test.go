package console

import (
	"net/url"
	"strings"
	"testing"
)

func TestSignInReturnsToThePageThatWasAsked(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/console/keys": "/console/keys", "/console/keys?state=active&q=a+b": "/console/keys?q=a+b&state=active",
		"/console/memory/ada%20b": "/console/memory/ada%20b", "/console/documents/a%2Fb": "/console/documents/a%2Fb",
		"": "/", "/": "/", "//example.org": "/", "https://example.org/console/": "/", "/consolex": "/", `/console/\example.org`: "/",
		"/console/\x00": "/", "/console/%00": "/", "/console/%0d%0aX: y": "/", "/console/\r\nX: y": "/", "//example.org/console/": "/",
		"/console/\u0085": "/", "javascript:/console/": "/", "/console/é": "/console/%C3%A9", "/console/%5cexample.org": "/", "/console/\xff": "/",
	} {
		if got := next(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

func FuzzNextIsAPathOfTheConsole(f *testing.F) {
	f.Add("/console/keys?x=y")
	f.Add("/console/%00")
	f.Fuzz(func(t *testing.T, path string) {
		got := next(path)
		u, err := url.Parse(got)
		if err != nil || u.Host != "" || u.Scheme != "" || got != "/" && !strings.HasPrefix(got, "/console/") {
			t.Errorf("%q: got %q", path, got)
		}
		for _, c := range []byte(got) {
			if c <= ' ' || c > '~' || c == '\\' {
				t.Errorf("%q: %q cannot stand in a header", path, got)
			}
		}
	})
}
