package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// ugly are requests that go wrong in every place there is, and a few that do not.
func ugly(key string) map[string]*http.Request {
	list := map[string]*http.Request{
		"a good one":                   request("GET", "/api/v1/ping", "", "X-API-Key", key),
		"an open one":                  request("GET", "/api/open", ""),
		"a page":                       request("GET", "/openapi.json", ""),
		"a HEAD":                       request("HEAD", "/api/v1/ping", "", "X-API-Key", key),
		"an OPTIONS":                   request("OPTIONS", "/api/v1/ping", ""),
		"no such path":                 request("GET", "/api/v1/nothing", "", "X-API-Key", key),
		"the root":                     request("GET", "/", ""),
		"a path outside":               request("GET", "/wp-admin.php", ""),
		"a slash at the end":           request("GET", "/api/v1/ping/", ""),
		"a double slash":               request("GET", "/api/v1//ping", ""),
		"a dot segment":                request("GET", "/api/v1/../v1/ping", ""),
		"an encoded slash":             request("GET", "/api/v1/notes/a%2Fb", "", "X-API-Key", key),
		"another method":               request("DELETE", "/api/v1/ping", "", "X-API-Key", key),
		"an invented method":           request("BREW", "/api/v1/ping", ""),
		"a CONNECT":                    request("CONNECT", "/api/v1/ping", ""),
		"no credential":                request("GET", "/api/v1/ping", ""),
		"a wrong credential":           request("GET", "/api/v1/ping", "", "X-API-Key", "kpsk_wrong"),
		"a version that never was":     request("GET", "/api/v9/ping", "", "X-API-Key", key),
		"version zero":                 request("GET", "/api/v0/ping", "", "X-API-Key", key),
		"an Accept-Version of no use":  request("GET", "/api/open", "", "Accept-Version", "banana"),
		"a scope that lacks":           request("GET", "/api/v1/administer", "", "X-API-Key", key),
		"another media type":           request("POST", "/api/v1/notes", "a=b", "X-API-Key", key, "Content-Type", "text/plain"),
		"no JSON":                      request("POST", "/api/v1/notes", "{", "X-API-Key", key),
		"too large":                    request("POST", "/api/v1/notes", `{"text":"`+strings.Repeat("a", 1<<20)+`"}`, "X-API-Key", key),
		"an unknown query parameter":   request("GET", "/api/v1/ping?a=b", "", "X-API-Key", key),
		"a resource that is not there": request("GET", "/api/v1/notes/x", "", "X-API-Key", key),
		"a failure":                    request("GET", "/api/v1/fails", "", "X-API-Key", key),
		"a panic":                      request("GET", "/api/v1/panics", "", "X-API-Key", key),
		"a short Idempotency-Key":      request("POST", "/api/v1/notes", `{"text":"a"}`, "X-API-Key", key, "Idempotency-Key", "short"),
	}
	asterisk := httptest.NewRequest("OPTIONS", "/", nil)
	asterisk.URL.Path, asterisk.RequestURI = "*", "*"
	list["an OPTIONS of everything"] = asterisk
	return list
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`^\d+$`)
	shapes := map[string]*regexp.Regexp{
		"X-API-Version":                 regexp.MustCompile(`^1$`),
		"X-RateLimit-Limit":             number,
		"X-RateLimit-Remaining":         number,
		"X-RateLimit-Reset":             number,
		"X-RateLimit-Daily-Remaining":   number,
		"X-RateLimit-Monthly-Remaining": number,
		"X-Request-Id":                  regexp.MustCompile(`^req_[0-7][0-9a-hjkmnp-tv-z]{25}$`),
		"X-Content-Type-Options":        regexp.MustCompile(`^nosniff$`),
	}
	b := setup(t)
	for name, r := range ugly(b.Key(apitest.Operator, auth.Read|auth.Write, nil)) {
		t.Run(name, func(t *testing.T) {
			a := b.send(r)
			for header, shape := range shapes {
				if got := a.Header.Values(header); len(got) != 1 || !shape.MatchString(got[0]) {
					t.Errorf("%s is %q, want one that matches %s", header, got, shape)
				}
			}
			checkError(t, r, a)
		})
	}
}

func TestJSONBodiesEndWithOneNewline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.Read|auth.Write, nil)
	b.notes.text["n"] = "text"
	for name, r := range ugly(key) {
		a := b.send(r)
		if name == "a page" || name == "the root" || r.Method == http.MethodHead || a.StatusCode == http.StatusNoContent {
			continue // the page's text is that of the test
		}
		if !strings.HasSuffix(a.text, "}\n") {
			t.Errorf("%s: the body ends with %q", name, a.text[max(0, len(a.text)-5):])
		}
	}
	shown := b.do("GET", "/api/v1/notes/n", "", "X-API-Key", key).want(t, 200, "")
	asked := b.do("HEAD", "/api/v1/notes/n", "", "X-API-Key", key).want(t, 200, "")
	if got := asked.Header.Get("Content-Length"); got != strconv.Itoa(len(shown.text)) || asked.text != "" {
		t.Errorf("HEAD announces %s bytes for %q", got, shown.text)
	}
	for range 2 {
		if a := b.do("GET", "/api/v1/notes/n", "", "X-API-Key", key, "If-None-Match", `"1"`); a.StatusCode != 304 || a.text != "" {
			t.Errorf("a 304 has the body %q", a.text)
		}
	}
	create := []string{"X-API-Key", key, "Idempotency-Key", "one-note"}
	first := b.do("POST", "/api/v1/notes", `{"text":"a"}`, create...).want(t, 201, "")
	again := b.do("POST", "/api/v1/notes", `{"text":"a"}`, create...).want(t, 201, "")
	if want := strings.Replace(first.text, `"shown once"`, "null", 1); again.text != want || !strings.HasSuffix(want, "}\n") {
		t.Errorf("the repeated response is %q, want %q", again.text, want)
	}
	b.notes.fail = problem.New(problem.Conflict, problem.CodeConflict, "Conflict.")
	create[3] = "another-note"
	first = b.do("POST", "/api/v1/notes", `{"text":"b"}`, create...).want(t, 409, "")
	again = b.do("POST", "/api/v1/notes", `{"text":"b"}`, create...).want(t, 409, "")
	if again.text != first.text {
		t.Errorf("the repeated error is %q, want %q", again.text, first.text)
	}
}

// checkError compares an error response with §2.3 and with what every error has.
func checkError(t *testing.T, r *http.Request, a answer) {
	t.Helper()
	if a.StatusCode < 400 {
		return
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q, want application/json", got)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	if r.Method == http.MethodHead {
		return
	}
	code, _ := a.object["error"].(string)
	message, _ := a.object["message"].(string)
	if code == "" || message == "" || a.object["requestId"] != a.Header.Get("X-Request-Id") {
		t.Errorf("body is %s, want error, message and the request's id", a.text)
	}
	if strings.Contains(a.text, "secret of") {
		t.Errorf("body %s tells the cause", a.text)
	}
	switch a.StatusCode {
	case http.StatusUnauthorized:
		if a.Header.Get("WWW-Authenticate") == "" {
			t.Error("a 401 without WWW-Authenticate")
		}
	case http.StatusMethodNotAllowed:
		if a.Header.Get("Allow") == "" {
			t.Error("a 405 without Allow")
		}
	case http.StatusBadRequest:
		if a.details("field") == nil || a.details("issue") == nil || code != "validation_error" {
			t.Errorf("body %s, want a validation_error with field and issue", a.text)
		}
	}
}

func TestUglyRequestsAreAnsweredAsTheyDeserve(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"a good one": 200, "an open one": 200, "a page": 200, "a HEAD": 200, "an OPTIONS": 204, "an OPTIONS of everything": 204,
		"no such path": 404, "the root": 200, "a path outside": 404, "a slash at the end": 404, "a double slash": 404, "a dot segment": 404,
		"an encoded slash": 404, "another method": 405, "an invented method": 405, "a CONNECT": 404, "no credential": 401,
		"a wrong credential": 401, "a version that never was": 404, "version zero": 404, "an Accept-Version of no use": 400,
		"a scope that lacks": 403, "another media type": 415, "no JSON": 400, "too large": 413, "an unknown query parameter": 400,
		"a resource that is not there": 404, "a failure": 500, "a panic": 500, "a short Idempotency-Key": 400,
	}
	b := setup(t)
	requests := ugly(b.Key(apitest.Operator, auth.Read|auth.Write, nil))
	for name, r := range requests {
		if got := b.send(r).StatusCode; got != want[name] {
			t.Errorf("%s: got %d, want %d", name, got, want[name])
		}
	}
	if len(want) != len(requests) {
		t.Errorf("%d requests and %d expectations", len(requests), len(want))
	}
}

func TestWellFormedRequestIDIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id, kept := range map[string]bool{
		"abcDEF_-12": true, "12345678": true, strings.Repeat("a", 64): true,
		"1234567": false, strings.Repeat("a", 65): false, "with space": false, "semi;colon": false, "ünicode-id": false,
	} {
		got := b.do("GET", "/api/v1/nothing", "", "X-Request-Id", id)
		if (got.Header.Get("X-Request-Id") == id) != kept || got.object["requestId"] != got.Header.Get("X-Request-Id") {
			t.Errorf("sent %q, got %q and body %s; kept must be %v", id, got.Header.Get("X-Request-Id"), got.text, kept)
		}
	}
}

func TestAllowListsTheMethodsOfAPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, allow := range map[string]string{
		"/api/v1/ping":    "GET, HEAD, OPTIONS",
		"/api/v1/notes":   "OPTIONS, POST",
		"/api/v1/notes/x": "GET, HEAD, OPTIONS",
		"/openapi.json":   "GET, HEAD, OPTIONS",
		// Beside /notes/{id}; the names are those paths' alone.
		"/api/v1/notes/import":     "OPTIONS, POST",
		"/api/v1/notes/imp%6Frt":   "OPTIONS, POST",
		"/api/v1/notes/a%2Fimport": "GET, HEAD, OPTIONS",
	} {
		for _, method := range []string{"OPTIONS", "PUT"} {
			if got := b.do(method, path, "").Header.Get("Allow"); got != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got, allow)
			}
		}
	}
	key := b.Key(apitest.Operator, auth.All, nil)
	for _, method := range []string{"GET", "HEAD"} {
		b.do(method, "/api/v1/notes/import", "", "X-API-Key", key).want(t, 405, "")
		b.do(method, "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	}
	if a := b.do("OPTIONS", "/api/v1/nothing", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("OPTIONS of nothing: got %d, want 404", a.StatusCode)
	}
}

func TestTheDescriptionIsSentOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := b.do("GET", "/openapi.json", "").want(t, 200, "")
	tag := plain.Header.Get("ETag")
	if tag == "" || plain.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("as it is: %v", plain.Header)
	}
	if a := b.do("GET", "/openapi.json", "", "If-None-Match", tag); a.StatusCode != http.StatusNotModified || a.text != "" || a.Header.Get("ETag") != tag {
		t.Errorf("again: %d %q %v", a.StatusCode, a.text, a.Header)
	}
	for header, zipped := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "*": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=0, *": false, "br": false, "identity": false, "": false,
	} {
		a := b.do("GET", "/openapi.json", "", "Accept-Encoding", header).want(t, 200, "")
		text := a.text
		if got := a.Header.Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("Accept-Encoding %q: got it zipped: %v", header, got)
			continue
		}
		if zipped {
			r, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			text = string(all)
			if own := a.Header.Get("ETag"); own != tag || b.do("GET", "/openapi.json", "", "Accept-Encoding", header, "If-None-Match", own).StatusCode != http.StatusNotModified {
				t.Errorf("Accept-Encoding %q: its ETag is %s", header, own)
			}
		}
		if text != plain.text {
			t.Errorf("Accept-Encoding %q: another text", header)
		}
	}
}

func TestConditionalReadIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.Read, nil)
	b.notes.text["n"] = "text"
	a := b.do("GET", "/api/v1/notes/n", "", "X-API-Key", key).want(t, 200, "")
	again := b.do("GET", "/api/v1/notes/n", "", "X-API-Key", key, "If-None-Match", a.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || again.text != "" || again.Header.Get("ETag") != `"1"` {
		t.Errorf("got %d %q with ETag %q, want 304 without a body", again.StatusCode, again.text, again.Header.Get("ETag"))
	}
	b.do("GET", "/api/v1/notes/n", "", "X-API-Key", key, "If-None-Match", `"2"`).want(t, 200, "")
}

func TestCORSAnswersConfiguredOriginsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.Origins = []string{"https://app.example"} })
	ask := func(origin string) answer {
		return b.do("OPTIONS", "/api/v1/notes", "", "Origin", origin, "Access-Control-Request-Method", "POST")
	}
	if a := ask("https://app.example"); a.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), "X-API-Key") || a.Header.Get("Vary") != "Origin" {
		t.Errorf("preflight of a configured origin got %v", a.Header)
	}
	if a := ask("https://other.example"); a.Header.Get("Access-Control-Allow-Origin") != "" || a.Header.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("preflight of another origin got %v", a.Header)
	}
	if a := setup(t).do("GET", "/api/open", "", "Origin", "https://app.example"); a.Header.Get("Access-Control-Allow-Origin") != "" || a.Header.Get("Vary") != "" {
		t.Errorf("without configured origins got %v", a.Header)
	}
}
