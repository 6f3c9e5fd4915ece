package consoletest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

func TestTablesNameWhatTheyShow(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	w, err := c.CreateWorkspace(t.Context(), client.NewWorkspace{Name: "clinic", Tier: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateUser(t.Context(), client.NewUser{Email: "ada@clinic.example", WorkspaceID: w.ID, Role: "developer", Password: tenantPassword}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateWebhook(t.Context(), client.NewWebhook{URL: "https://hooks.example/keepsake"}); err != nil {
		t.Fatal(err)
	}
	v.get("/console/documents").want(t, 200)
	link := regexp.MustCompile(`<a href="/console/users/usr_[0-9a-z]{26}" title="usr_[0-9a-z]{26}">admin@localhost</a>`)
	await.Until(t, "the requests are in the log", func() bool {
		return link.MatchString(v.get("/console/requests?console=true").want(t, 200).text)
	})
	audit := v.get("/console/audit").want(t, 200, ">first key</a>", ">ada@clinic.example</a>", ">https://hooks.example/keepsake</a>")
	if !regexp.MustCompile(`<a href="/console/workspaces/wsp_[0-9a-z]{26}" title="wsp_[0-9a-z]{26}">clinic</a>`).MatchString(audit.text) {
		t.Errorf("the audit log does not name the workspace: %s", audit.text)
	}
	v.get("/console/workspaces").want(t, 200, ">1M<", ">256 MiB<", `data-label="Storage"`)
}

// Deliveries that wait for a slow receiver were due before, so their page says now and not when that was.
func TestAnAttemptThatIsDueIsNotInThePast(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Webhooks.AllowPrivate = true }))
	arrived, release := make(chan bool, 99), make(chan bool)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- true
		<-release
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(func() { close(release) })
	c := operator(t, p)
	hook, err := c.CreateWebhook(t.Context(), client.NewWebhook{URL: receiver.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 40 { // more than are sent at once
		if _, err := c.PingWebhook(t.Context(), hook.ID); err != nil {
			t.Fatal(err)
		}
	}
	<-arrived
	admin(t, p).get("/console/webhooks/"+hook.ID).want(t, 200, "pending", `data-time="due">now</time>`, "by ", ">first key</a>")
}

func TestAVisitorWithoutASessionIsNoError(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	if got := newVisitor(t, p).get("/console/alive").want(t, 200); got.text != "ended" {
		t.Errorf("got %q, want ended", got.text)
	}
	if got := admin(t, p).get("/console/alive").want(t, 200); got.text != "session" {
		t.Errorf("got %q, want session", got.text)
	}
}

func TestAPersonWithOneMemoryIsErasedInTheSingular(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	remember(t, c, "Prefers tea.")
	v.get("/console/memories/ada/erase").want(t, 200, "1 memory and its history are erased")
	remember(t, c, "Lives in Bergen.")
	if got := v.get("/console/memories/ada/erase").want(t, 200, "2 memories and their history are erased"); strings.Contains(got.text, "1 memory") {
		t.Errorf("got %s", got.text)
	}
}

// A name without a place to break once pushed the other columns out of sight, and a long name of metadata its values.
func TestLongNamesLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	c, name := operator(t, p), strings.Repeat("Donaudampfschifffahrt", 5)
	if _, err := c.PutDocument(t.Context(), client.NewDocument{
		ID: "long", Title: name, Text: "x", URL: "https://example.org/" + name, Metadata: map[string]any{"a name of metadata that nobody has expected": "v"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: name, Scopes: []string{"read", "memory:read"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: name, Text: "x"}); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Start(t).Tab(t)
	tab.Do("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	arrive(t, p, tab)
	for _, path := range []string{"/console/documents", "/console/documents/long", "/console/keys", "/console/memories"} {
		tab.Open(p.URL + path)
		var wide []string
		tab.Eval(`[document.documentElement, ...document.querySelectorAll("main .panel, main .scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className || e.tagName)`, &wide)
		if len(wide) > 0 {
			t.Errorf("%s: the content is wider than %q", path, wide)
		}
	}
}
