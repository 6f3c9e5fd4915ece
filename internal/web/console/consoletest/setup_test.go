package consoletest

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

const chosen = "a password that a person chose"

// setupLink returns the link of a first start, and its token.
func setupLink(t *testing.T, p *apptest.Running) (link, token string) {
	t.Helper()
	link, err := p.App.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path, token, ok := strings.Cut(link, "#")
	if !ok || !strings.HasSuffix(path, "/console/setup") || token == "" {
		t.Fatalf("the link is %q", link)
	}
	return link, token
}

// setUp sends the form of a setup link.
func (v *visitor) setUp(token, password string) page {
	v.t.Helper()
	return v.post("/console/setup", url.Values{"token": {token}, "password": {password}})
}

func TestSetupLinkSignsIn(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	first, _ := p.App.First()
	_, token := setupLink(t, p)
	v := newVisitor(t, p)
	form := v.get("/console/setup")
	if form.StatusCode != http.StatusOK || !strings.Contains(form.text, `name="token"`) || form.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the form: got %d %v", form.StatusCode, form.Header)
	}
	// A password that is refused leaves the link as it is, and the form keeps the token.
	weak := v.setUp(token, "short")
	if weak.StatusCode != http.StatusBadRequest || !strings.Contains(weak.text, `value="`+token+`"`) || strings.Contains(weak.text, `value="short"`) {
		t.Errorf("a weak password: got %d %s", weak.StatusCode, weak.text)
	}
	if got := v.setUp(token, chosen); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Fatalf("got %d %s", got.StatusCode, got.text)
	}
	if got := v.get("/"); !strings.Contains(got.text, "Overview") {
		t.Errorf("the visitor is not signed in: %s", got.text)
	}
	newVisitor(t, p).signIn(first.Email, chosen)

	// Used again, also as a replay of the same form.
	for _, password := range []string{chosen, "another password entirely"} {
		if got := newVisitor(t, p).setUp(token, password); got.StatusCode != http.StatusUnauthorized || len(got.Cookies()) > 0 {
			t.Errorf("used twice: got %d", got.StatusCode)
		}
	}
	newVisitor(t, p).signIn(first.Email, chosen)
}

func TestSetupLinkThatIsNotValidIsRefused(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.Clock(clock.Now))
	first, _ := p.App.First()
	_, token := setupLink(t, p)
	v := newVisitor(t, p)
	for name, wrong := range map[string]string{"none": "", "garbage": "kpsu_a.b.c.d", "changed": token[:len(token)-2] + "!!", "long": strings.Repeat("x", 100_000)} {
		if got := v.setUp(wrong, chosen); got.StatusCode != http.StatusUnauthorized || strings.Contains(got.text, wrong) && wrong != "" {
			t.Errorf("%s: got %d", name, got.StatusCode)
		}
	}
	fromElsewhere := v.send(http.MethodPost, "/console/setup", url.Values{"token": {token}, "password": {chosen}},
		"Origin", "https://example.org", "Sec-Fetch-Site", "cross-site")
	if fromElsewhere.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: got %d", fromElsewhere.StatusCode)
	}
	clock.Advance(account.SetupLifetime)
	if got := v.setUp(token, chosen); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("expired: got %d", got.StatusCode)
	}
	_, token = setupLink(t, p)
	v.signIn(first.Email, first.Password) // the password of the first start still works
	if got := newVisitor(t, p).setUp(token, chosen); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("after a login: got %d", got.StatusCode)
	}
}

func TestSetupTokenIsInNoLog(t *testing.T) {
	t.Parallel()
	var log apptest.Buffer
	p := apptest.Start(t, apptest.Log(&log))
	_, token := setupLink(t, p)
	v := newVisitor(t, p)
	v.setUp(token, chosen)
	v.setUp(token, chosen)
	if strings.Contains(log.String(), token) || strings.Contains(log.String(), chosen) {
		t.Error("the log contains the token or the password")
	}
}

func TestSetupPagesAreAccessible(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	axe, err := os.ReadFile("../../../../tools/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		testtier.Missing(t, "axe (npm ci --prefix tools/axe --ignore-scripts)")
	}
	p := apptest.Start(t)
	_, token := setupLink(t, p)
	tab := browsertest.Start(t).Tab(t)
	tab.Open(p.URL + "/console/setup#" + token)
	look(t, tab, string(axe), "setup")
	tab.Fill("input[name=password]", "passwordpassword")
	tab.Leave(func() { tab.Press("Enter") })
	look(t, tab, string(axe), "setup-refused")
	tab.Fill("input[name=password]", chosen)
	tab.Leave(func() { tab.Press("Enter") })
	tab.Open(p.URL + "/console/setup#" + token)
	tab.Fill("input[name=password]", chosen)
	tab.Leave(func() { tab.Press("Enter") })
	look(t, tab, string(axe), "setup-over")
	clean(t, p, tab)
}

func TestSetupLinkInABrowser(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	_, token := setupLink(t, p)
	tab := browsertest.Start(t).Tab(t)
	tab.Open(p.URL + "/console/setup#" + token)
	tab.Await("the script has taken the code from the address", `location.hash === "" && document.querySelector("[data-setup]").hidden`)
	tab.Fill("input[name=password]", chosen)
	tab.Leave(func() { tab.Press("Enter") })
	if text := tab.Text(); !strings.Contains(text, "Overview") {
		t.Errorf("the page says %s", text)
	}
	tab.Open(p.URL + "/console/setup#" + token)
	tab.Fill("input[name=password]", chosen)
	tab.Leave(func() { tab.Press("Enter") })
	if text := tab.Text(); !strings.Contains(text, "does not work") {
		t.Errorf("the page says %s", text)
	}
	clean(t, p, tab)
}
