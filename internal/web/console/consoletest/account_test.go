package consoletest

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

func TestVisitorsChangeTheirOwnAccount(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	created := v.post("/console/users/new", url.Values{"once": {"12345678"}, "email": {"ada@example.org"}, "role": {"viewer"}}).want(t, 200)
	password := shownPassword.FindStringSubmatch(created.text)[1]
	ada, elsewhere := newVisitor(t, p), newVisitor(t, p)
	ada.signIn("ada@example.org", password)
	elsewhere.signIn("ada@example.org", password)

	ada.get("/").want(t, 200, `href="/console/account"`)
	ada.get("/console/account").want(t, 200, "ada@example.org", "viewer")
	ada.post("/console/account", url.Values{"name": {" Ada <b> "}}).want(t, 303)
	ada.get("/console/account?done=name").want(t, 200, `value="Ada &lt;b&gt;"`, "Your name is changed.")
	ada.post("/console/account", url.Values{"name": {strings.Repeat("a", 121)}}).want(t, 400, "too_long", `aria-invalid="true"`)
	ada.post("/console/account", url.Values{"name": {""}}).want(t, 303)

	change := func(current, wanted, repeat string) url.Values {
		return url.Values{"current": {current}, "new": {wanted}, "repeat": {repeat}}
	}
	const next = "a password that Ada chose"
	ada.post("/console/account/password", change(password, next, "another one entirely")).want(t, 400, `<small class="bad" role="alert">The two new passwords differ.`, "autofocus")
	ada.post("/console/account/password", change(password, "short", "short")).want(t, 400, `aria-invalid="true"`)
	ada.post("/console/account/password", change("not the password", next, next)).want(t, 400, `aria-invalid="true"`, `<small class="bad" role="alert">The current password is wrong.`)
	ada.post("/console/account/password", change(password, next, next)).want(t, 303)
	ada.get("/console/account?done=password").want(t, 200, "Your password is changed.")
	elsewhere.get("/console/account").want(t, 303)
	newVisitor(t, p).signIn("ada@example.org", next)
}

var endSession = regexp.MustCompile(`action="(/console/account/sessions/ses_[0-9a-z]+/end)"`)

func TestVisitorsEndTheirSessions(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.Clock(clock.Now))
	c := operator(t, p)
	if _, err := c.CreateUser(t.Context(), client.NewUser{Email: "ada@example.org", Role: "viewer", Password: tenantPassword}); err != nil {
		t.Fatal(err)
	}
	signedIn := func() *visitor {
		v := newVisitor(t, p)
		v.signIn("ada@example.org", tenantPassword)
		return v
	}
	at := func(when time.Time) string { return `datetime="` + when.UTC().Format(time.RFC3339) + `"` }

	// One session: nothing to sign out of but itself.
	began := clock.Now()
	here := signedIn()
	page := here.get("/console/account").want(t, 200, "this one", at(began), "127.0.0.1")
	if endSession.MatchString(page.text) || strings.Contains(page.text, "everywhere else") {
		t.Errorf("the only session can be ended: %s", page.text)
	}

	// Times are those of each session: this one began an hour ago, and is used now.
	clock.Advance(time.Hour)
	phone := signedIn()
	page = here.get("/console/account").want(t, 200, at(began), at(clock.Now()), "Sign out everywhere else")
	if n := strings.Count(page.text, "this one"); n != 1 {
		t.Errorf("%d sessions are marked as this one", n)
	}
	ends := endSession.FindAllStringSubmatch(page.text, -1)
	if len(ends) != 1 {
		t.Fatalf("got %d sessions to end, want 1: %s", len(ends), page.text)
	}

	// An admin cannot end the session of another user either. It looks as if it did not exist.
	if got := admin(t, p).post(ends[0][1], nil).want(t, 404, "You have no such session"); strings.Contains(got.text, "ada@example.org") {
		t.Error("the page names another user")
	}
	phone.get("/console/account").want(t, 200)

	here.post(ends[0][1], nil).want(t, 303)
	here.get("/console/account?done=session").want(t, 200, "The session has ended.")
	phone.get("/console/account").want(t, 303)
	here.post(ends[0][1], nil).want(t, 404, "You have no such session")

	tablet, work := signedIn(), signedIn()
	here.post("/console/account/sessions/end", nil).want(t, 303)
	page = here.get("/console/account?done=sessions").want(t, 200, "Your other sessions have ended.")
	if endSession.MatchString(page.text) {
		t.Errorf("a session is left: %s", page.text)
	}
	tablet.get("/console/account").want(t, 303)
	work.get("/console/account").want(t, 303)

	log, err := c.ListAuditLog(t.Context(), client.AuditQuery{Action: "session.ended"})
	if err != nil || len(log.Items) != 2 {
		t.Errorf("the audit log has %d ends, %v; want one session and all others", len(log.Items), err)
	}
}

func TestSessionsAreEndedByKeyboard(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	axe, err := os.ReadFile("../../../../tools/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		testtier.Missing(t, "axe (npm ci --prefix tools/axe --ignore-scripts)")
	}
	p := apptest.Start(t)
	elsewhere, other := admin(t, p), admin(t, p)
	tab := browsertest.Start(t).Tab(t)
	arrive(t, p, tab)
	tab.Open(p.URL + "/console/account")
	look(t, tab, string(axe), "account")
	button := func(text string) {
		tab.Eval(`[...document.querySelectorAll("main button")].find(b => b.textContent === "`+text+`").focus()`, nil)
		tab.Leave(func() { tab.Press("Enter") })
	}
	button("Sign out")
	if text := tab.Text(); !strings.Contains(text, "The session has ended.") || strings.Count(text, "Signed in") != 2 {
		t.Errorf("the page says %s", text)
	}
	look(t, tab, string(axe), "account-ended")
	button("Sign out everywhere else")
	if text := tab.Text(); !strings.Contains(text, "Your other sessions have ended.") || strings.Count(text, "Signed in") != 1 {
		t.Errorf("the page says %s", text)
	}
	elsewhere.get("/console/account").want(t, 303)
	other.get("/console/account").want(t, 303)
	clean(t, p, tab)
}
