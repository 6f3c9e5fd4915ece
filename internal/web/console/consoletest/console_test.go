package consoletest

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/await"
	"keepsake/internal/web/console"
)

const browserAccept = "text/html,application/xhtml+xml,*/*;q=0.8"

// visitor is a person with a browser.
type visitor struct {
	t    *testing.T
	p    *apptest.Running
	http *http.Client
	head http.Header // sent with every request
}

func newVisitor(t *testing.T, p *apptest.Running) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, p: p, head: http.Header{}, http: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is a response with its text.
type page struct {
	*http.Response
	text string
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.p.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Accept", browserAccept)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.p.URL)
	}
	for name, values := range v.head {
		r.Header[name] = values
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{res, strings.ReplaceAll(string(text), "<wbr>", "")} // where a line can break
}

func (v *visitor) get(path string) page {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, form url.Values) page {
	v.t.Helper()
	return v.send(http.MethodPost, path, form)
}

// signIn signs in with an email and a password.
func (v *visitor) signIn(email, password string) {
	v.t.Helper()
	if got := v.post("/console/sign-in", url.Values{"email": {email}, "password": {password}}); got.StatusCode != http.StatusSeeOther {
		v.t.Fatalf("sign in: got %d %s", got.StatusCode, got.text)
	}
}

// admin is a visitor who has signed in as the first user.
func admin(t *testing.T, p *apptest.Running) *visitor {
	t.Helper()
	first, ok := p.App.First()
	if !ok {
		t.Fatal("there is no first user")
	}
	v := newVisitor(t, p)
	v.signIn(first.Email, first.Password)
	return v
}

// want fails the test unless the page has a status and contains the texts.
func (p page) want(t *testing.T, status int, texts ...string) page {
	t.Helper()
	if p.StatusCode != status {
		t.Fatalf("%s %s: got %d, want %d: %s", p.Request.Method, p.Request.URL, p.StatusCode, status, p.text)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			t.Errorf("%s lacks %q: %s", p.Request.URL, text, p.text)
		}
	}
	return p
}

func operator(t *testing.T, p *apptest.Running) *client.Client {
	t.Helper()
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	keyText = regexp.MustCompile(`kpsk_[0-9A-Za-z]{36}`)
	keyID   = regexp.MustCompile(`key_[0-9a-z]{26}`)
)

// allPages returns the method and the path of every page, with an ID that does not exist.
func allPages(t *testing.T) [][2]string {
	t.Helper()
	c, err := console.New(console.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list [][2]string
	for _, p := range c.Pages() {
		list = append(list, [2]string{p.Method, strings.NewReplacer("{id}", "key_00000000000000000000000000", "{n}", "1", "{delivery}", "dlv_00000000000000000000000000", "{subject}", "ada", "{sum}", "x", "{name}", "console.css").Replace(p.Path)})
	}
	return list
}

// open are the pages that need no session.
var open = map[string]bool{"/": true, console.SetupPath: true, "/console/sign-in": true, "/console/asset/x/console.css": true, "/console/alive": true}

func TestPagesNeedASession(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for _, cookie := range []string{"", "keepsake-access=nonsense; keepsake-refresh=nonsense", "keepsake-access=" + p.Key} {
		for _, at := range allPages(t) {
			v := newVisitor(t, p)
			if cookie != "" {
				v.head.Set("Cookie", cookie)
			}
			got := v.send(at[0], at[1], nil)
			if got.StatusCode == http.StatusTooManyRequests && cookie != "" && !strings.Contains(got.text, "Sign out") {
				continue // an address has few attempts with wrong credentials
			}
			if !open[at[1]] && (got.StatusCode != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/") || got.text != "") {
				t.Errorf("%s %s with %q: got %d to %q", at[0], at[1], cookie, got.StatusCode, got.Header.Get("Location"))
			}
			if at[1] == "/" && !strings.Contains(got.text, `action="/console/sign-in"`) {
				t.Errorf("with %q the start page has no form: %s", cookie, got.text)
			}
		}
	}
}

func TestPagesRunOnlyTheirOwnScripts(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	inline := regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:|(?:src|href)="(?:https?:)?//`)
	for _, v := range []*visitor{newVisitor(t, p), admin(t, p)} {
		for _, at := range allPages(t) {
			if at[1] == "/console/sign-out" {
				continue
			}
			got := v.send(at[0], at[1], nil)
			h := got.Header
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-RateLimit-Limit": "30", "X-API-Version": "1", "Access-Control-Allow-Origin": "",
			} {
				if h.Get(name) != want {
					t.Errorf("%s %s: %s is %q, want %q", at[0], at[1], name, h.Get(name), want)
				}
			}
			csp := h.Get("Content-Security-Policy")
			if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("%s %s has the policy %q", at[0], at[1], csp)
			}
			if strings.HasPrefix(h.Get("Content-Type"), "text/html") && h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s may be stored: %q", at[0], at[1], h.Get("Cache-Control"))
			}
			if found := inline.FindString(got.text); found != "" && strings.HasPrefix(h.Get("Content-Type"), "text/html") {
				t.Errorf("%s %s contains %q", at[0], at[1], found)
			}
		}
	}
}

func TestSigningInSetsStrictCookies(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = "https://keepsake.example" }))
	first, _ := p.App.First()
	form := url.Values{"email": {first.Email}, "password": {first.Password}, "next": {"/console/keys"}}
	// A proxy can send any Host, such as its own address without the port.
	for host, prefix := range map[string]string{"": "__Host-", "keepsake.example": "__Host-", "keepsake.example:443": "__Host-"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/console/sign-in", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/console/keys" {
			t.Errorf("host %q: got %d to %q", host, res.StatusCode, res.Header.Get("Location"))
		}
		set := res.Cookies()
		if len(set) != 2 {
			t.Fatalf("host %q: got the cookies %v", host, set)
		}
		for _, c := range set {
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 ||
				c.Secure != (prefix != "") || strings.HasPrefix(c.Name, "__Host-") != (prefix != "") {
				t.Errorf("host %q: got %v", host, c)
			}
		}
	}
}

func TestAWrongPasswordKeepsTheEmail(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := newVisitor(t, p)
	got := v.post("/console/sign-in", url.Values{"email": {`ada"<b>@example.org`}, "password": {"wrong and secret"}}).
		want(t, 401, "The email address or the password is wrong.", `value="ada&#34;&lt;b&gt;@example.org"`)
	if strings.Contains(got.text, "wrong and secret") || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("got %v %s", got.Header, got.text)
	}
	v.post("/console/sign-in", nil).want(t, 400, "required")
}

func TestSigningInLeadsOnlyToTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	first, _ := p.App.First()
	for next, want := range map[string]string{
		"": "/", "https://evil.example": "/", "//evil.example": "/", `/\evil.example`: "/", "/console/keys?state=active": "/console/keys?state=active",
		`/console/\..\..\evil`: "/", "/api/v1/health": "/",
	} {
		got := newVisitor(t, p).post("/console/sign-in", url.Values{"email": {first.Email}, "password": {first.Password}, "next": {next}})
		if got.Header.Get("Location") != want {
			t.Errorf("%q leads to %q, want %q", next, got.Header.Get("Location"), want)
		}
	}
	v := newVisitor(t, p)
	if got := v.get("/console/keys?state=active"); got.Header.Get("Location") != "/?next=%2Fconsole%2Fkeys%3Fstate%3Dactive" {
		t.Errorf("got %q", got.Header.Get("Location"))
	}
	v.get("/?next=%2Fconsole%2Fkeys%3Fstate%3Dactive").want(t, 200, `value="/console/keys?state=active"`)
}

func TestOtherSitesCannotUseTheSession(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		for _, at := range allPages(t) {
			if at[0] == http.MethodPost {
				v.send(at[0], at[1], url.Values{"name": {"stolen"}, "scope": {"admin"}, "once": {"12345678"}}, headers...).want(t, 403, "another site")
			}
		}
	}
	v.get("/").want(t, 200, "Sign out") // the session lives
	if text := v.get("/console/keys").want(t, 200).text; strings.Contains(text, "stolen") {
		t.Error("another site created a key")
	}
	v.send("GET", "/api/v1/profile", nil).want(t, 401, "missing_credentials") // a cookie is no credential of the API
}

func TestSigningOutEndsTheSession(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	at, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, c := range v.http.Jar.Cookies(at) {
		kept = append(kept, c.String())
	}
	v.get("/").want(t, 200, "Sign out")
	if got := v.post("/console/sign-out", nil).want(t, 303); got.Header.Get("Location") != "/" {
		t.Errorf("got %q", got.Header.Get("Location"))
	}
	if left := v.http.Jar.Cookies(at); len(left) > 0 {
		t.Errorf("the browser still has %v", left)
	}
	thief := newVisitor(t, p)
	thief.head.Set("Cookie", strings.Join(kept, "; "))
	thief.get("/").want(t, 200, `action="/console/sign-in"`)
}

func TestASessionOutlivesItsAccessToken(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := admin(t, p)
	clock.Advance(20 * time.Minute)
	if got := v.get("/console/keys").want(t, 200, "API keys"); len(got.Cookies()) != 2 {
		t.Errorf("got the cookies %v", got.Cookies())
	}
	if got := v.get("/console/keys").want(t, 200); len(got.Cookies()) != 0 {
		t.Errorf("the new session is renewed again: %v", got.Cookies())
	}
	v.post("/console/sign-out", nil).want(t, 303)
	if got := v.get("/console/keys").want(t, 303); got.Header.Get("Location") != "/?next=%2Fconsole%2Fkeys" {
		t.Errorf("got %q", got.Header.Get("Location"))
	}
	if got := v.send("GET", "/console/overview", nil, "HX-Request", "true").want(t, 401); got.Header.Get("HX-Redirect") != "/" {
		t.Errorf("a part of a page leads to %q", got.Header.Get("HX-Redirect"))
	}
}

func TestAKeyLivesItsLifeInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	once := regexp.MustCompile(`name="once" value="([^"]+)"`)
	health := func(key string, status int) {
		t.Helper()
		v.send("GET", "/api/v1/health", nil, "X-API-Key", key).want(t, status)
	}

	form := v.get("/console/keys/new").want(t, 200, "90 days")
	in := url.Values{"name": {"website <search>"}, "scope": {"read", "write"}, "expiry": {"30"}, "once": {once.FindStringSubmatch(form.text)[1]}}
	created := v.post("/console/keys/new", in).want(t, 200, "cannot be shown again", "website &lt;search&gt; is ready", "curl")
	key, id := keyText.FindString(created.text), keyID.FindString(created.text)
	if created.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with the key may be stored")
	}
	again := v.post("/console/keys/new", in).want(t, 200, "sent twice")
	if keyText.MatchString(again.text) || keyID.FindString(again.text) != id {
		t.Errorf("a repeated form shows %s", again.text)
	}
	v.get("/console/keys/"+id+"/use").want(t, 200, "Waiting for the first request")
	health(key, 200)
	if list := v.get("/console/keys?state=active").want(t, 200, "website &lt;search&gt;", key[:9]); keyText.MatchString(list.text) {
		t.Error("the list shows a key")
	}
	v.get("/console/keys/"+id).want(t, 200, "Workspace, today", "Rotate", "Revoke", "curl", "/api/v1/developer/api-keys/"+id+"/limits")

	form = v.get("/console/keys/"+id+"/rotate").want(t, 200, "1 day")
	rotated := v.post("/console/keys/"+id+"/rotate", url.Values{"grace": {"3600"}, "once": {once.FindStringSubmatch(form.text)[1]}}).want(t, 200, "works until")
	next := keyText.FindString(rotated.text)
	health(key, 200)
	health(next, 200)
	v.get("/console/keys/"+id).want(t, 200, "End the old secret now")
	v.post("/console/keys/"+id+"/rotate", url.Values{"grace": {"0"}, "once": {"12345678"}}).want(t, 409, "rotation", "Rotate the key")
	v.post("/console/keys/"+id+"/complete", nil).want(t, 303)
	health(key, 401)
	v.post("/console/keys/"+id+"/enabled", url.Values{"enabled": {"false"}}).want(t, 303)
	health(next, 401)
	v.get("/console/keys/"+id).want(t, 200, "disabled", "Enable")
	v.post("/console/keys/"+id+"/enabled", url.Values{"enabled": {"true"}}).want(t, 303)
	health(next, 200)

	v.get("/console/keys/"+id+"/revoke").want(t, 200, "cannot be undone")
	v.post("/console/keys/"+id+"/revoke", url.Values{"reason": {"<leaked>"}, "once": {"87654321"}}).want(t, 303)
	health(next, 401)
	v.get("/console/keys/"+id).want(t, 200, "revoked", "&lt;leaked&gt;")
	v.get("/console/keys?state=revoked").want(t, 200, id)
}

func TestAFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	v.post("/console/keys/new", url.Values{"name": {"crawler"}, "expiry": {"7"}, "once": {"12345678"}}).
		want(t, 400, `value="crawler"`, `value="7" checked`, "scopes")
	v.post("/console/keys/new", url.Values{"name": {""}, "scope": {"memory:read"}, "expiry": {""}, "once": {"12345678"}}).
		want(t, 400, `value="memory:read" checked`, `aria-invalid="true"`)
	v.get("/console/keys?state=unknown").want(t, 400, "state")
	v.get("/console/keys/key_00000000000000000000000000").want(t, 404, "API key not found.", "Request ID")
}

const tenantPassword = "correct horse battery staple"

// tenant creates a workspace with a user, who signs in.
func tenant(t *testing.T, p *apptest.Running, tier, role string) *visitor {
	t.Helper()
	c := operator(t, p)
	w, err := c.CreateWorkspace(t.Context(), client.NewWorkspace{Name: "tenant", Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	email := role + "@tenant.example"
	if _, err := c.CreateUser(t.Context(), client.NewUser{Email: email, WorkspaceID: w.ID, Role: role, Password: tenantPassword}); err != nil {
		t.Fatal(err)
	}
	v := newVisitor(t, p)
	v.signIn(email, tenantPassword)
	return v
}

func TestAnotherWorkspaceSeesNothing(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	key, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "operators-own", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator(t, p).PutDocument(t.Context(), client.NewDocument{ID: "operators-doc", Text: "operators-own"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := operator(t, p).CreateMemory(t.Context(), client.NewMemory{SubjectID: "operators-person", Text: "operators-own"}); err != nil {
		t.Fatal(err)
	}
	v := tenant(t, p, "pro", string(account.RoleAdmin))
	v.post("/console/documents", url.Values{"q": {"operators-own"}}).want(t, 200, "0 documents")
	for _, path := range []string{"/", "/console/keys", "/console/keys/new", "/console/documents", "/console/memories", "/console/usage", "/console/requests", "/console/audit"} {
		if got := v.get(path).want(t, 200); strings.Contains(got.text, "operators-own") || strings.Contains(got.text, p.Workspace) || strings.Contains(got.text, key.ID) {
			t.Errorf("%s shows what belongs to another workspace: %s", path, got.text)
		}
	}
	for _, path := range []string{"", "/use", "/rotate", "/revoke"} {
		v.get("/console/keys/"+key.ID+path).want(t, 404, "API key not found.")
	}
	for _, path := range []string{"/console/documents/operators-doc", "/console/documents/operators-doc/delete", "/console/memories/operators-person", "/console/memories/operators-person/erase", "/console/memories/operators-person/access", "/console/memories/operators-person/copy"} {
		if got := v.get(path).want(t, 404); !strings.Contains(got.text, "not found") && !strings.Contains(got.text, "Nothing is stored about this ID") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	for _, path := range []string{"/rotate", "/revoke", "/complete", "/enabled"} {
		v.post("/console/keys/"+key.ID+path, url.Values{"once": {"12345678"}, "grace": {"0"}}).want(t, 404, "API key not found.")
	}
	if got, err := operator(t, p).APIKey(t.Context(), key.ID); err != nil || got.Revision != key.Revision {
		t.Errorf("the key has changed: %v, %v", got, err)
	}
}

func TestAViewerGetsNoKeys(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "free", string(account.RoleViewer))
	if got := v.get("/").want(t, 200, "Overview"); strings.Contains(got.text, `href="/console/keys`) {
		t.Error("a viewer gets a link to keys")
	}
	v.get("/console/keys").want(t, 403, "developer:manage")
	v.get("/console/audit").want(t, 403, "admin")
	v.post("/console/audit", nil).want(t, 403, "admin")
	v.get("/console/memories").want(t, 403, "memory:read")
	v.get("/console/memories/ada").want(t, 403, "memory:read")
	v.post("/console/documents/any/delete", nil).want(t, 403, "write")
	v.post("/console/keys/new", url.Values{"name": {"mine"}, "scope": {"read"}, "once": {"12345678"}}).want(t, 403, "developer:manage")
}

// A dashboard that stays open all day must not use up the quota that it shows, and must open when the quota is used up.
func TestReadingUsageIsFree(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now()) // that stands still: the minute of the limit does not end
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := tenant(t, p, "free", string(account.RoleAdmin))
	numbers := client.TierNumbers{RequestsPerMinute: 1, Daily: 10, Monthly: 10}
	if _, err := operator(t, p).ChangeTier(t.Context(), "free", numbers, nil); err != nil {
		t.Fatal(err)
	}
	const used = "<strong>1</strong> of 10" // the sign-in
	for range 5 {
		v.get("/").want(t, 200, used)
		v.get("/console/keys").want(t, 200)
	}
	if got := v.send("GET", "/console/overview", nil, "HX-Request", "true", "Accept", "*/*").want(t, 200, used); strings.Contains(got.text, "<html") {
		t.Errorf("a part of the page is all of it: %s", got.text)
	}
	// What changes something is charged, and refused if no requests are left.
	got := v.post("/console/keys/new", url.Values{"name": {"n"}, "scope": {"read"}, "once": {"12345678"}}).want(t, 429, "try again in")
	if !strings.Contains(got.text, `value="n"`) {
		t.Errorf("the form lost what was typed: %s", got.text)
	}
}

// Programs such as password managers read the header; a person reads the sentence.
func TestARefusedSignInSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now()) // that stands still: the minute of the limit does not end
	p := apptest.Start(t, apptest.Clock(clock.Now))
	numbers := client.TierNumbers{RequestsPerMinute: 2, Daily: 100, Monthly: 100}
	if _, err := operator(t, p).ChangeTier(t.Context(), "anonymous", numbers, nil); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"email": {"ada@example.org"}, "password": {"wrong and secret"}}
	v := newVisitor(t, p)
	for range numbers.RequestsPerMinute {
		v.post("/console/sign-in", form).want(t, 401)
	}
	got := v.post("/console/sign-in", form).want(t, 429)
	wait := got.Header.Get("Retry-After")
	if n, err := strconv.Atoi(wait); err != nil || n < 1 || n > 60 {
		t.Errorf("Retry-After is %q, want the rest of the minute", wait)
	}
	if want := "try again in " + wait + " second"; !strings.Contains(got.words(), want) {
		t.Errorf("the page lacks %q: %s", want, got.words())
	}
}

func TestAssetsAreKeptAndCompressed(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := newVisitor(t, p)
	start := v.get("/").want(t, 200, "version")
	total := len(start.text)
	for _, m := range regexp.MustCompile(`(?:href|src)="(/console/asset/[^"]+)"`).FindAllStringSubmatch(start.text, -1) {
		got := v.send("GET", m[1], nil, "Accept-Encoding", "gzip").want(t, 200)
		if got.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || got.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: got %v", m[1], got.Header)
		}
		total += len(got.text)
	}
	if total > 150<<10 {
		t.Errorf("the first page takes %d bytes, want at most 150 KiB", total)
	}
	if got := v.get("/console/asset/old/console.css").want(t, 200); got.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("an asset of another release is kept: %v", got.Header)
	}
	v.get("/console/asset/x/none.css").want(t, 404)
}

func TestDocumentsAreSearched(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	v.get("/console/documents").want(t, 200, "No documents yet")
	var file bytes.Buffer
	form := multipart.NewWriter(&file)
	part, err := form.CreateFormFile("file", "documents.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(part, `{"id":"boiler","collection":"manuals","title":"Boiler <b>","text":"Bleed the radiators & wait."}`+"\n"+
		`{"id":"tea","collection":"kitchen","title":"Tea","text":"The radiators keep the pot warm."}`+"\n"+`{"id":"bad"}`+"\n")
	form.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/console/documents/import", &file)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	res, err := v.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	page{res, string(text)}.want(t, 200, "What to change", `<td data-label="Line" class="number">3</td>`)
	v.post("/console/documents/import", nil).want(t, 400, "Choose a file")

	v.get("/console/documents").want(t, 200, "Last changed", "Boiler &lt;b&gt;")
	found := v.post("/console/documents", url.Values{"q": {"radiators"}}).
		want(t, 200, "2 documents", "<mark>radiators</mark>", "Boiler &lt;b&gt;", "kitchen", "curl -X POST")
	if strings.Contains(found.text, "q=radiators") {
		t.Error("the page makes an address with the query")
	}
	v.post("/console/documents", url.Values{"q": {"radiators"}, "collection": {"kitchen"}}).want(t, 200, "1 document in", "Tea")
	if got := v.send("POST", "/console/documents", url.Values{"q": {"boiler"}}, "HX-Request", "true").want(t, 200, "<mark>Boiler</mark>"); strings.Contains(got.text, "<html") {
		t.Error("a part of the page is all of it")
	}
	v.post("/console/documents", url.Values{"q": {strings.Repeat("a", 1025)}}).want(t, 200, "too_long")
	v.get("/console/documents/boiler").want(t, 200, "radiators &amp; wait", "manuals")
	v.get("/console/documents/boiler/delete").want(t, 200, "cannot be undone")
	v.post("/console/documents/boiler/delete", nil).want(t, 303)
	v.get("/console/documents/boiler").want(t, 404, "Document not found.")
}

func TestADocumentsPageShowsItsMetadataAsStored(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	if _, err := operator(t, p).PutDocument(t.Context(), client.NewDocument{ID: "a", Text: "a", Metadata: map[string]any{
		"price": 1000000, "serial": int64(1) << 60, "share": 0.1e-7, "open": true,
	}}, nil); err != nil {
		t.Fatal(err)
	}
	admin(t, p).get("/console/documents/a").want(t, 200, ">1000000<", ">1152921504606846976<", ">1e-8<", ">true<")
}

func TestAPersonIsErasedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	v.get("/console/memories").want(t, 200, "No memories yet")
	for _, text := range []string{"Prefers <tea> to coffee.", "Lives in Bergen.", "Drinks tea at four."} {
		if _, err := operator(t, p).CreateMemory(t.Context(), client.NewMemory{SubjectID: "p-4711", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	v.get("/console/memories").want(t, 200, "p-4711")
	if got := v.get("/console/memories?subject=p-4711"); got.Header.Get("Location") != "/console/memories/p-4711" {
		t.Errorf("a subject's ID leads to %q", got.Header.Get("Location"))
	}
	timeline := v.get("/console/memories/p-4711").want(t, 200, "3 memories", "Prefers &lt;tea&gt; to coffee.", "Lives in Bergen.")
	v.post("/console/memories/p-4711/recall", url.Values{"query": {"Which tea does she prefer?"}}).want(t, 200, "same words", "matched", "Timeline")
	v.send("POST", "/console/memories/p-4711/recall", url.Values{"query": {"astronomy"}}, "HX-Request", "true").want(t, 200, "No memory matches")
	memory := regexp.MustCompile(`mem_[0-9a-z]{26}`).FindString(timeline.text)
	v.get("/console/memories/p-4711/"+memory).want(t, 200, "History", memory)
	v.get("/console/memories/p-4711/access").want(t, 200, "answered a question", "memory.recalled", "usr_", "signed in", "127.0.0.1", "API key", `data-time="exact"`)

	v.post("/console/memories/p-4711/forget", url.Values{"query": {"astronomy"}}).want(t, 200, "No memory contains")
	preview := v.post("/console/memories/p-4711/forget", url.Values{"query": {"Bergen"}}).want(t, 200, "1 memory will be erased", "Lives in Bergen.")
	if got := strings.Count(preview.text, "/api/v1/memories"); got != 2 || strings.Contains(preview.text, "/api/v1/memories/mem_") {
		t.Errorf("the preview sent %d requests about memories: %s", got, preview.text)
	}
	plan := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(preview.text)[1]
	v.post("/console/memories/p-4711/forget", url.Values{"plan": {plan}}).want(t, 200, "1 memory erased")
	if got := v.get("/console/memories/p-4711").want(t, 200, "2 memories"); strings.Contains(got.text, "Bergen") {
		t.Error("a forgotten memory is still there")
	}

	v.post("/console/memories/p-4711/erase", url.Values{"confirm": {"p-4712"}}).want(t, 400, "Nothing was erased")
	bound, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "kiosk", Scopes: []string{"memory:read"}, SubjectID: "p-4711"})
	if err != nil {
		t.Fatal(err)
	}
	revoke := "/console/keys/" + bound.ID + "/revoke"
	v.get("/console/memories/p-4711/erase").want(t, 200, "2 memories", `href="/console/memories/p-4711/copy"`, "What stays", "kiosk", revoke)
	v.post("/console/memories/p-4711/erase", url.Values{"confirm": {"p-4711"}}).want(t, 200, "p-4711 is erased", "signature", "liveKeyDestroyed", "kiosk", revoke, "memory#verify-a-receipt")
	for _, page := range []string{"", "/erase"} {
		v.get("/console/memories/p-4711"+page).want(t, 404, "Nothing is stored about this ID", `href="/console/memories/p-4711/access"`)
	}
	v.get("/console/memories/p-4711/access").want(t, 200, "subject.erased", ">not found<")
	v.get("/console/memories/p-4712/access").want(t, 404, "Nothing is stored about this ID", `href="/console/new/memory?subject=p-4712"`)
}

func TestACopyOfAPersonIsDownloaded(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	m, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "p:4711", Text: "Prefers <tea>."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ChangeMemory(t.Context(), m.ID, client.MemoryChange{Text: client.To("Prefers coffee.")}, nil); err != nil {
		t.Fatal(err)
	}
	var exported bytes.Buffer
	if err := c.ExportSubject(t.Context(), "p:4711", &exported); err != nil {
		t.Fatal(err)
	}
	v.get("/console/memories/p:4711").want(t, 200, `href="/console/memories/p:4711/copy"`, `href="/console/keys/new?subject=p%3A4711"`)
	got := v.get("/console/memories/p:4711/copy").want(t, 200)
	if got.text != exported.String() || got.Header.Get("Content-Type") != "application/x-ndjson" ||
		got.Header.Get("Content-Disposition") != `attachment; filename="memories-p_4711.ndjson"` {
		t.Errorf("got %v: %s", got.Header, got.text)
	}
	log := v.get("/console/memories/p:4711/access/copy").want(t, 200)
	if got := strings.Count(log.text, `"action":"memory.exported"`); got != 2 || strings.Contains(log.text, "coffee") {
		t.Errorf("the log has %d exports, want 2: %s", got, log.text)
	}
	for _, page := range []string{"copy", "access/copy"} {
		v.get("/console/memories/ada/"+page).want(t, 404, "Nothing is stored about this ID")
	}
}

func TestRequestsAreFoundByTheirID(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	sent := v.send("GET", "/api/v1/search", nil, "X-API-Key", p.Key).want(t, 400)
	id := sent.Header.Get("X-Request-Id")
	await.Until(t, "the request is in the log", func() bool {
		return strings.Contains(v.get("/console/requests?id="+id).want(t, 200).text, "validation_error")
	})
	v.get("/console/requests?outcome=statusClass%3A4xx&window=1h").want(t, 200, id, "first key", "GET /api/v1/search")
	v.get("/console/requests?outcome=statusClass%3A5xx").want(t, 200, "No requests match")
	v.get("/console/requests?outcome=nonsense").want(t, 400, "filter")
	await.Until(t, "the requests are counted", func() bool {
		return strings.Contains(v.get("/console/usage?group=status&filter=status%3A400").want(t, 200).text, ">400<")
	})
	v.get("/console/usage?group=key&window=1h&console=true").want(t, 200, "first key", "without a key", "Download CSV")
	v.get("/console/usage?filter=nonsense").want(t, 400, `value="nonsense"`, "A filter is a dimension")
	if got := v.get("/console/usage/csv?group=status&window=1h").want(t, 200, "requests", ",400,"); got.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("got %v", got.Header)
	}
}

func TestTheAuditLogIsVerified(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	key, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "n", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	v.get("/console/audit?target="+key.ID).want(t, 200, "api_key.created", key.ID)
	v.get("/console/audit?action=api_key.revoked").want(t, 200, "No entries match")
	v.post("/console/audit", nil).want(t, 200, "complete and unchanged", "api_key.created")
	v.get("/console/connect").want(t, 200, "/ai/mcp", p.URL[len("http://127.0.0.1"):])
}
