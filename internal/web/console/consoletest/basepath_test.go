package consoletest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/testtier"
)

// linking matches what makes a browser request an address.
var linking = regexp.MustCompile(` (?:href|src|action|formaction|hx-get|hx-post|hx-push-url)="([^"]*)"`)

// below is a visitor of an instance whose publicUrl has the path /keepsake.
type below struct {
	t      *testing.T
	base   string // the address of the listener
	client *http.Client
}

const publicPath = "/keepsake"

func (b *below) do(method, path string, form url.Values, header ...string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(text)
}

// Every address that a page of the console and of the documentation leads to is below the path of publicUrl, and exists.
func TestEveryLinkStaysBelowThePublicPath(t *testing.T) {
	t.Parallel()
	const public = "http://keepsake.example" + publicPath
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = public }))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &below{t, p.URL, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	first, _ := p.App.First()
	b.do("PUT", "/api/v1/documents/a", nil, "X-API-Key", first.APIKey)

	res, _ := b.do("GET", publicPath+"/console/keys", nil)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != publicPath+"/?next=%2Fconsole%2Fkeys" {
		t.Errorf("a signed-out visitor: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	res, _ = b.do("POST", publicPath+"/console/sign-in", url.Values{"email": {first.Email}, "password": {first.Password}, "next": {"/console/keys"}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != publicPath+"/console/keys" {
		t.Fatalf("sign-in: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	for _, cookie := range res.Cookies() {
		if cookie.Path != publicPath {
			t.Errorf("the cookie %s has the path %q", cookie.Name, cookie.Path)
		}
	}

	seen, waiting := map[string]bool{}, []string{publicPath, publicPath + "/", publicPath + "/docs", publicPath + "/llms.txt"}
	most := testtier.Rounds(120, 2000)
	for len(waiting) > 0 && len(seen) < most {
		at := waiting[0]
		waiting = waiting[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		res, text := b.do("GET", at, nil)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", at, res.Status)
		}
		for _, m := range linking.FindAllStringSubmatch(text, -1) {
			link := strings.ReplaceAll(m[1], "&amp;", "&")
			link, _, _ = strings.Cut(strings.TrimPrefix(link, "http://keepsake.example"), "#")
			switch {
			case link == "" || strings.HasPrefix(link, "?"), strings.HasPrefix(link, "https://"), strings.HasPrefix(link, "http://"):
			case !strings.HasPrefix(link, publicPath+"/"):
				t.Errorf("%s leads to %q", at, m[1])
			case strings.Contains(m[0], "href=") || strings.Contains(m[0], "src="):
				waiting = append(waiting, link)
			}
		}
		if at == publicPath+"/llms.txt" && (!strings.Contains(text, "("+public+"/docs/errors)") || strings.Contains(text, "](/")) {
			t.Errorf("llms.txt: %s", text)
		}
	}
	t.Logf("%d pages", len(seen))
	if len(seen) < 60 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

func TestTheAPIIsServedBelowThePublicPathToo(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = "https://keepsake.example" + publicPath }))
	b := &below{t, p.URL, http.DefaultClient}
	key := []string{"X-API-Key", p.Key}
	for _, prefix := range []string{"", publicPath} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+prefix+"/api/v1/memories", strings.NewReader(`{"subjectId":"ada","text":"Likes tea.","allowDuplicate":true}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", p.Key)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		location := res.Header.Get("Location")
		if res.StatusCode != http.StatusCreated || !strings.HasPrefix(location, publicPath+"/api/v1/memories/mem_") {
			t.Errorf("%q: %s at %q", prefix, res.Status, location)
		}
		if res, text := b.do("GET", location, nil, key...); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", location, res.Status, text)
		}
		for _, path := range []string{"/openapi.json", "/api/versions", "/.well-known/jwks.json", "/api/v1/health", "/docs"} {
			if res, text := b.do("GET", prefix+path, nil, key...); res.StatusCode != http.StatusOK {
				t.Errorf("%s%s: %s %s", prefix, path, res.Status, text)
			} else if path == "/openapi.json" && !strings.Contains(text, `"url": "https://keepsake.example/keepsake"`) {
				t.Error("the description names another server")
			}
		}
		for _, path := range []string{"//api/versions", "/nothing", "/keepsake/keepsake/api/versions"} {
			if res, _ := b.do("GET", prefix+path, nil); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s%s: %s", prefix, path, res.Status)
			}
		}
	}
	const metadata = "/.well-known/oauth-protected-resource/keepsake/ai/mcp"
	if res, text := b.do("GET", metadata, nil); res.StatusCode != http.StatusOK || !strings.Contains(text, `"resource":"https://keepsake.example/keepsake/ai/mcp"`) {
		t.Errorf("the metadata: %s %s", res.Status, text)
	}
	res, _ := b.do("POST", publicPath+"/ai/mcp", nil)
	if got := strings.Join(res.Header["Www-Authenticate"], ", "); !strings.Contains(got, `resource_metadata="https://keepsake.example`+metadata+`"`) {
		t.Errorf("the challenge is %s", got)
	}
	first, _ := p.App.First()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	b.client = client
	res, _ = b.do("POST", "/console/sign-in", url.Values{"email": {first.Email}, "password": {first.Password}})
	for _, cookie := range res.Cookies() {
		if !strings.HasPrefix(cookie.Name, "__Secure-") || cookie.Path != publicPath || !cookie.Secure || !cookie.HttpOnly {
			t.Errorf("got the cookie %s with the path %q", cookie.Name, cookie.Path)
		}
	}
	if len(res.Cookies()) != 2 {
		t.Errorf("got %d cookies", len(res.Cookies()))
	}
}
