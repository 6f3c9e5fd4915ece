package app_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// plainTransport neither asks for gzip nor decodes it.
var plainTransport = &http.Transport{DisableCompression: true}

func TestAnswersAreCompressedWhereAccepted(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	send := func(method, path, body string, header ...string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", p.Key)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := plainTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, text
	}
	unzip := func(text []byte) []byte {
		t.Helper()
		r, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	long := strings.Repeat("The boiler of the cellar was bled in March. ", 60)
	for i := range 60 {
		send("PUT", fmt.Sprintf("/api/v1/documents/d%02d", i), `{"title":"Boiler","text":"`+long+`"}`)
	}
	send("PUT", "/api/v1/documents/short", `{"text":"short"}`)
	send("POST", "/api/v1/memories", `{"subjectId":"ada","text":"`+long+`"}`)

	for _, c := range [][3]string{
		{"GET", "/api/v1/documents/d01", ""},
		{"GET", "/api/v1/documents?limit=200", ""},
		{"GET", "/api/v1/documents/export", ""},
		{"POST", "/api/v1/search", `{"q":"zzzz boiler","limit":50}`},
		{"GET", "/api/v1/memories?subjectId=ada", ""},
		{"POST", "/api/v1/memories/recall", `{"subjectId":"ada","query":"boiler"}`},
		{"POST", "/ai/recall", `{"subjectId":"ada","query":"boiler"}`},
		{"GET", "/api/v1/memories/subjects/ada/export", ""},
	} {
		whole, plain := send(c[0], c[1], c[2])
		zipped, text := send(c[0], c[1], c[2], "Accept-Encoding", "br;q=1, gzip;q=0.5")
		if whole.StatusCode != 200 || zipped.StatusCode != 200 || whole.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" ||
			!strings.Contains(whole.Header.Get("Vary"), "Accept-Encoding") || !strings.Contains(zipped.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s %s: %d %v and %d %v", c[0], c[1], whole.StatusCode, whole.Header, zipped.StatusCode, zipped.Header)
			continue
		}
		if a, b := whole.Header.Get("ETag"), zipped.Header.Get("ETag"); a != b || strings.HasPrefix(b, "W/") {
			t.Errorf("%s %s: the tags are %s and %s", c[0], c[1], a, b)
		}
		if got := unzip(text); len(got) != len(plain) && !bytes.Contains(plain, []byte("tookMs")) && !strings.Contains(c[1], "export") {
			t.Errorf("%s %s: %d bytes are not %d", c[0], c[1], len(got), len(plain))
		}
		if len(text) > len(plain)*2/3 {
			t.Errorf("%s %s: %d bytes of %d", c[0], c[1], len(text), len(plain))
		}
		if c[0] == "GET" && !strings.Contains(c[1], "export") {
			if head, _ := send("HEAD", c[1], "", "Accept-Encoding", "gzip"); head.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("HEAD %s: %v", c[1], head.Header)
			}
		}
	}
	res, _ := send("GET", "/api/v1/documents/d01", "", "Accept-Encoding", "gzip")
	if res, _ := send("GET", "/api/v1/documents/d01", "", "Accept-Encoding", "gzip", "If-None-Match", res.Header.Get("ETag")); res.StatusCode != http.StatusNotModified {
		t.Errorf("If-None-Match: %s", res.Status)
	}
	for name, sent := range map[string][]string{
		"not accepted": {"GET", "/api/v1/documents/d01", "", "Accept-Encoding", "gzip;q=0, *;q=0.5"}, "identity": {"GET", "/api/v1/documents/d01", "", "Accept-Encoding", "identity"},
		"a cookie": {"GET", "/api/v1/documents/d01", "", "Accept-Encoding", "gzip", "Cookie", "a=b"}, "short": {"GET", "/api/v1/documents/short", "", "Accept-Encoding", "gzip"},
		"a secret": {"POST", "/api/v1/developer/api-keys", `{"name":"` + strings.Repeat("n", 90) + `","scopes":["read"],"metadata":{"a":"` + strings.Repeat("m", 1000) + `"}}`, "Accept-Encoding", "gzip"},
		"an error": {"GET", "/api/v1/documents/none", "", "Accept-Encoding", "gzip"},
	} {
		if res, _ := send(sent[0], sent[1], sent[2], sent[3:]...); res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d is compressed", name, res.StatusCode)
		}
	}
	if res, _ := send("GET", "/api/v1/documents/short", "", "Accept-Encoding", "gzip, identity;q=0"); res.Header.Get("Content-Encoding") != "gzip" {
		t.Error("only gzip is accepted, and the answer is not compressed")
	}
}
