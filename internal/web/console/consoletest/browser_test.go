package consoletest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

// screenshots names a folder that gets a picture of each page; without it there are none.
const screenshots = "KEEPSAKE_SCREENSHOTS"

// onlyPlaces names the beginnings, separated by commas, of the names of pages to look at, for people who work on some.
const onlyPlaces = "KEEPSAKE_SCREENSHOTS_ONLY"

// clean fails the test if pages had errors, were refused something by their policy, or requested anything of another origin.
func clean(t *testing.T, p *apptest.Running, tab *browsertest.Tab) {
	t.Helper()
	if list := tab.Problems(); len(list) > 0 {
		t.Errorf("the pages had problems: %q", list)
	}
	if list := tab.Foreign(p.URL); len(list) > 0 {
		t.Errorf("the pages requested %q", list)
	}
}

// arrive opens the start page and signs in by keyboard.
func arrive(t *testing.T, p *apptest.Running, tab *browsertest.Tab) {
	t.Helper()
	first, _ := p.App.First()
	tab.Open(p.URL + "/")
	tab.Fill("input[name=email]", first.Email)
	tab.Press("Tab")
	tab.Do("Input.insertText", map[string]any{"text": first.Password}, nil)
	tab.Leave(func() { tab.Press("Enter") })
}

func TestAFirstVisitInABrowser(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	tab := browsertest.Start(t).Tab(t)
	tab.Open(p.URL + "/")
	tab.Eval(`dispatchEvent(new Event("online"))`, nil)
	tab.Await("a visitor without a session is no error", `performance.getEntriesByType("resource").some(e => e.name.endsWith("/console/alive") && e.responseStatus === 200)`)
	arrive(t, p, tab)
	if text := tab.Text(); !strings.Contains(text, "1 of 1B") {
		t.Errorf("the overview says %s", text)
	}
	tab.Leave(func() { tab.Click(`a[href="/console/keys"]`) })
	tab.Leave(func() { tab.Click(`a[href="/console/keys/new"]`) })
	tab.Fill("input[name=name]", "website")
	tab.Click(`input[name=expiry][value="30"]`)
	tab.Leave(func() { tab.Press("Enter") })
	var key string
	tab.Eval(`document.getElementById("secret").textContent`, &key)

	// The page asks before the key is lost, until it is copied.
	tab.Leave(func() { tab.Eval("location.reload()", nil) })
	if got := tab.Dialogs(); len(got) == 0 {
		t.Error("the page with the key was left without a question")
	}
	tab.Await("the form says that the key exists", `document.body.innerText.includes("sent twice")`)
	tab.Leave(func() { tab.Click(`main a[href$="/rotate"]`) })
	tab.Leave(func() { tab.Click("form.form button.primary") })
	tab.Eval(`document.getElementById("secret").textContent`, &key)
	tab.Click("button[data-copy=secret]")
	tab.Await("the key is copied", `document.querySelector("button[data-copy=secret]").textContent === "Copied"`)

	// The page notices the first request by itself, and so does the overview.
	newVisitor(t, p).send(http.MethodGet, "/api/v1/search?q=a", nil, "X-API-Key", key).want(t, 200)
	tab.Await("the page shows the first use", `document.body.innerText.includes("It works")`)
	before := len(tab.Dialogs())
	tab.Leave(func() { tab.Click(`a[href="/"]`) })
	if got := tab.Dialogs(); len(got) > before {
		t.Errorf("a copied key was asked for: %q", got)
	}
	tab.Await("the overview shows the request", `document.body.innerText.includes("GET /api/v1/search")`)
	clean(t, p, tab)
}

func TestALostServerIsReported(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	tab := browsertest.Start(t).Tab(t)
	arrive(t, p, tab)
	online := func(is bool) {
		tab.Do("Network.emulateNetworkConditions", map[string]any{"offline": !is, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
	}
	online(false)
	tab.Await("the page says that the server is lost", `!document.getElementById("lost").hidden`)
	online(true)
	tab.Await("the page has found the server", `document.getElementById("lost").hidden`)

	// A form is not sent to a lost server, and keeps what was typed.
	tab.Open(p.URL + "/console/keys/new")
	tab.Fill("input[name=name]", "crawler")
	online(false)
	tab.Click("form.form button.primary")
	tab.Await("the form says that the server is lost", `!document.getElementById("lost").hidden`)
	online(true)
	tab.Await("the form has found the server", `document.getElementById("lost").hidden`)
	var name string
	tab.Eval(`document.querySelector("input[name=name]").value`, &name)
	if name != "crawler" {
		t.Errorf("the form now contains %q", name)
	}

	// A link opens when the server responds again.
	online(false)
	tab.Click("form.form button.primary")
	tab.Await("the form says that the server is lost", `!document.getElementById("lost").hidden`)
	tab.Click(`nav a[href="/console/usage"]`)
	tab.Leave(func() { online(true) })
	if text := tab.Text(); !strings.Contains(text, "Group by") {
		t.Errorf("the link opened %s", text)
	}

	// A form that is refused says how long to wait, and keeps what was typed.
	tenant(t, p, "free", string(account.RoleAdmin))
	tab.Do("Network.clearBrowserCookies", nil, nil)
	tab.Open(p.URL + "/?next=%2Fconsole%2Fkeys%2Fnew")
	tab.Fill("input[name=email]", "admin@tenant.example")
	tab.Fill("input[name=password]", tenantPassword)
	tab.Leave(func() { tab.Press("Enter") })
	tab.Fill("input[name=name]", "crawler")
	numbers := client.TierNumbers{RequestsPerMinute: 1, Daily: 1, Monthly: 1}
	if _, err := operator(t, p).ChangeTier(t.Context(), "free", numbers, nil); err != nil {
		t.Fatal(err)
	}
	tab.Leave(func() { tab.Press("Enter") })
	if text := tab.Text(); !strings.Contains(text, "ry again in") {
		t.Errorf("a throttled form says %s", text)
	}
	tab.Eval(`document.querySelector("input[name=name]").value`, &name)
	if name != "crawler" {
		t.Errorf("the throttled form contains %q", name)
	}

	// So does one whose session has ended.
	tab.Do("Network.clearBrowserCookies", nil, nil)
	tab.Click("form.form button.primary")
	tab.Await("the form says that the session has ended", `!document.getElementById("ended").hidden`)
	tab.Eval(`document.querySelector("input[name=name]").value`, &name)
	if name != "crawler" {
		t.Errorf("after the session the form contains %q", name)
	}
	clean(t, p, tab)
}

// places are the pages to look at. seed knows the names in braces; {id} is a key.
var places = []struct{ name, path string }{
	{"overview", "/"},
	{"keys", "/console/keys"},
	{"key-new", "/console/keys/new"},
	{"key", "/console/keys/{id}"},
	{"key-change", "/console/keys/{id}/change"},
	{"key-rotate", "/console/keys/{id}/rotate"},
	{"key-revoke", "/console/keys/{id}/revoke"},
	{"documents", "/console/documents"},
	{"document", "/console/documents/boiler-1"},
	{"document-new", "/console/new/document"},
	{"document-change", "/console/documents/boiler-1/change"},
	{"document-import", "/console/documents/import"},
	{"collections", "/console/collections"},
	{"collection", "/console/collections/manuals"},
	{"collection-delete", "/console/collections/manuals/delete"},
	{"memories", "/console/memories"},
	{"memory-new", "/console/new/memory?subject=p-4711"},
	{"memory", "/console/memories/p-4711/{memory}"},
	{"memory-change", "/console/memories/p-4711/{memory}/change"},
	{"memory-delete", "/console/memories/p-4711/{memory}/delete"},
	{"memory-saved", "/console/memories/p-4711/{memory}?done=saved"},
	{"subject", "/console/memories/p-4711"},
	{"access-log", "/console/memories/p-4711/access"},
	{"forget", "/console/memories/p-4711/forget"},
	{"erase", "/console/memories/p-4711/erase"},
	{"usage", "/console/usage?group=key"},
	{"audit", "/console/audit?reads=true"},
	{"connect", "/console/connect"},
	{"requests", "/console/requests"},
	{"requests-key", "/console/requests?key={id}"},
	{"usage-throttled", "/console/usage?group=key&filter=status:429"},
	{"versions", "/console/versions"},
	{"version", "/console/versions/1"},
	{"version-release", "/console/versions/2/release"},
	{"version-change", "/console/versions/1/change"},
	{"version-rehearse", "/console/versions/1/rehearse"},
	{"version-retire", "/console/versions/1/retire"},
	{"webhooks", "/console/webhooks"},
	{"webhook-new", "/console/webhooks/new"},
	{"webhook", "/console/webhooks/{hook}"},
	{"webhook-rotate", "/console/webhooks/{hook}/rotate"},
	{"webhook-delete", "/console/webhooks/{hook}/delete"},
	{"delivery", "/console/webhooks/{hook}/deliveries/{delivery}"},
	{"users", "/console/users"},
	{"user-new", "/console/users/new"},
	{"user", "/console/users/{user}"},
	{"user-password", "/console/users/{user}/password"},
	{"user-delete", "/console/users/{user}/delete"},
	{"workspaces", "/console/workspaces"},
	{"workspace-new", "/console/workspaces/new"},
	{"workspace", "/console/workspaces/{workspace}"},
	{"workspace-embeddings", "/console/workspaces/{workspace}/embeddings"},
	{"workspace-suspend", "/console/workspaces/{workspace}/suspend"},
	{"tier", "/console/tiers/pro"},
	{"system", "/console/system"},
	{"missing", "/console/keys/key_00000000000000000000000000"},
}

// spansOfTwoDays gives spans of time the long text that they have when they include midnight.
const spansOfTwoDays = `for (const e of document.querySelectorAll("time[data-time=span]"))
	e.textContent = "Nov 30, 2026, 11:00 PM GMT+1 – Dec 1, 2026, 12:00 AM GMT+1"`

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	axe, err := os.ReadFile("../../../../tools/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		testtier.Missing(t, "axe (npm ci --prefix tools/axe --ignore-scripts)")
	}
	p := apptest.Start(t, apptest.NextVersion(), apptest.With(func(c *config.Config) { c.Webhooks.AllowPrivate = true }), apptest.With(serveEncoder(t).with(100_000)))
	tab := browsertest.Start(t).Tab(t)
	ids := seed(t, p)
	c := operator(t, p)
	if _, err := c.ChangeWorkspace(t.Context(), p.Workspace, client.WorkspaceChange{Embeddings: client.To(true)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReleaseVersion(t.Context(), client.NewRelease{Version: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RehearseSunset(t.Context(), 1, ids.Replace("{id}"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	tab.Open(p.URL + "/")
	look(t, tab, string(axe), "sign-in")
	arrive(t, p, tab)
	only := os.Getenv(onlyPlaces)
	for _, place := range places {
		if !slices.ContainsFunc(strings.Split(only, ","), func(start string) bool { return strings.HasPrefix(place.name, start) }) {
			continue
		}
		tab.Open(p.URL + ids.Replace(place.path))
		tab.Eval(spansOfTwoDays, nil)
		look(t, tab, string(axe), place.name)
	}
	tab.Open(p.URL + "/console/audit")
	tab.Eval(`document.getElementById("menu").checked = true`, nil)
	look(t, tab, string(axe), "menu")
	tab.Open(p.URL + "/console/keys/new")
	tab.Fill("input[name=name]", "website search")
	tab.Leave(func() { tab.Click("form.form button.primary") })
	look(t, tab, string(axe), "key-created")
	tab.Open(p.URL + "/console/documents")
	tab.Fill("#q", "radiators")
	tab.Await("results appear while typing", `document.querySelectorAll("mark").length > 0`)
	look(t, tab, string(axe), "documents-found")
	tab.Open(p.URL + "/console/collections/manuals")
	tab.Fill("#q", "furnace")
	tab.Await("the preview appears while typing", `document.querySelectorAll("#preview li").length > 0`)
	look(t, tab, string(axe), "collection-preview")
	tab.Open(p.URL + "/console/memories/p-4711")
	tab.Fill("input[name=query]", "Which tea does she prefer?")
	tab.Press("Enter")
	tab.Await("the recall answers", `document.querySelectorAll("#recalled li").length > 0`)
	tab.Eval(`document.querySelector("#recalled details").open = true`, nil)
	look(t, tab, string(axe), "subject-recall")
	tab.Open(p.URL + "/console/documents/boiler-1/change")
	if _, err := c.ChangeDocument(t.Context(), "boiler-1", client.DocumentChange{Title: client.To("Manual of the boiler")}, nil); err != nil {
		t.Fatal(err)
	}
	tab.Fill("input[name=collection]", "heating")
	tab.Leave(func() { tab.Click("form.form button.primary") })
	look(t, tab, string(axe), "document-conflict")
	tab.Fill("textarea[name=metadata]", "{")
	tab.Leave(func() { tab.Click("form.form button.primary") })
	look(t, tab, string(axe), "document-refused")
	for i := range 40 {
		if _, err := c.PutDocument(t.Context(), client.NewDocument{ID: fmt.Sprintf("note-%d", i), Collection: "notes", Text: "The valve was opened."}, nil); err != nil {
			t.Fatal(err)
		}
	}
	tab.Open(p.URL + "/console/documents")
	tab.Leave(func() { tab.Click(".pages a") })
	look(t, tab, string(axe), "documents-second")
	tab.Fill("#q", "valve")
	tab.Await("results appear while typing", `document.querySelectorAll(".pages button").length > 0`)
	tab.Click(".pages button")
	tab.Await("the second page has a way back", `document.querySelector(".pages button").textContent === "Previous page"`)
	look(t, tab, string(axe), "documents-found-second")
	clean(t, p, tab)
}

// look checks and pictures the page in both colour schemes, on a desk and on a phone.
func look(t *testing.T, tab *browsertest.Tab, axe, name string) {
	t.Helper()
	tab.Eval(axe+";0", nil)
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 360} {
			tab.Dark(dark)
			tab.Size(width, 800)
			view := map[bool]string{false: "light", true: "dark"}[dark] + map[bool]string{false: "", true: "-phone"}[width == 360]
			var wide int
			tab.Eval("document.documentElement.scrollWidth", &wide)
			if wide > width {
				t.Errorf("%s, %s: the page is %d pixels wide", name, view, wide)
			}
			var cut []string
			tab.Eval(`[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth && (innerWidth > 600 || e.querySelector(".rows"))).map(e => e.ariaLabel)`, &cut)
			if len(cut) > 0 {
				t.Errorf("%s, %s: a part of the table is cut off: %q", name, view, cut)
			}
			var primary []string
			tab.Eval(`[...document.querySelectorAll("main .primary")].filter(e => e.checkVisibility()).map(e => e.innerText)`, &primary)
			if len(primary) > 1 {
				t.Errorf("%s, %s: the page has the primary buttons %q, want one", name, view, primary)
			}
			var found []string
			tab.Eval(`axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]}).then(r =>
				r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).join(" | ")))`, &found)
			for _, violation := range found {
				t.Errorf("%s, %s: %.600s", name, view, violation)
			}
			if dir := os.Getenv(screenshots); dir != "" {
				tab.Screenshot(filepath.Join(dir, name+"-"+view+".png"))
			}
		}
	}
	tab.Dark(false)
	tab.Size(1280, 800)
}

// seed creates keys and sends requests with them, so that pages have something to show. It returns the IDs in places.
func seed(t *testing.T, p *apptest.Running) *strings.Replacer {
	t.Helper()
	c := operator(t, p)
	v := newVisitor(t, p)
	id := ""
	for _, k := range []client.NewAPIKey{
		{Name: "nightly import", Scopes: []string{"write"}},
		{Name: "support agent", Scopes: []string{"memory:read", "memory:write"}},
		{Name: "website search", Scopes: []string{"read"}, RateLimit: &client.NewRateLimit{RequestsPerMinute: 40}, Quota: &client.Quota{Daily: new(int64(50))}},
	} {
		k.ExpiresAt = new(time.Now().AddDate(0, 3, 0))
		if k.Name == "support agent" {
			k.ExpiresAt = new(time.Now().AddDate(0, 0, 5))
		}
		key, err := c.CreateAPIKey(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 45 {
			if i%9 != 8 && k.Name != "website search" && i > 12 {
				continue
			}
			v.send(http.MethodGet, "/api/v1/search?q=radiators", nil, "X-API-Key", key.Key)
		}
		id = key.ID
	}
	for i, d := range []client.NewDocument{
		{ID: "boiler-1", Collection: "manuals", Title: "Boiler manual", Text: "Bleed the radiators before the first frost, from the top floor down.", Tags: []string{"heating"}},
		{ID: "boiler-2", Collection: "faq", Title: "Why are my radiators cold?", Text: "Air collects in radiators over the summer. Open the valve until water comes out.", Tags: []string{"heating", "winter"}},
		{ID: "pump", Collection: "manuals", Title: "Pump", Text: "The pump runs when the radiators call for heat."},
	} {
		if _, err := c.PutDocument(t.Context(), d, nil); err != nil {
			t.Fatal(i, err)
		}
	}
	settings := client.CollectionSettings{Synonyms: []client.Synonym{{Words: []string{"boiler", "furnace"}}}, Fields: map[string]float64{"title": 3, "text": 1}}
	if _, err := c.PutCollection(t.Context(), "manuals", nil, settings); err != nil {
		t.Fatal(err)
	}
	memory := ""
	for i, text := range []string{
		"Prefers tea to coffee, and drinks it without sugar.", "Lives in Bergen with two cats.", "Asked for an appointment in the morning.",
		"Her bicycle is a green touring bike with a squeaking front brake.",
	} {
		m := client.NewMemory{SubjectID: "p-4711", Text: text, Tags: []string{"call"}, Kind: []string{"preference", "fact", "event", "fact"}[i]}
		stored, err := c.CreateMemory(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		memory = stored.ID
	}
	if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "p-0815", Text: "Works at night."}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RevokeAPIKey(t.Context(), func() string {
		old, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "old crawler", Scopes: []string{"read"}})
		if err != nil {
			t.Fatal(err)
		}
		return old.ID
	}(), "replaced"); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the requests are counted", func() bool {
		used, err := c.APIKeyUsage(t.Context(), id, "24h")
		if err != nil {
			t.Fatal(err)
		}
		return used.Points[len(used.Points)-1].Requests+used.Points[len(used.Points)-2].Requests >= 45
	})
	hook, delivery := seedWebhook(t, c)
	w, err := c.CreateWorkspace(t.Context(), client.NewWorkspace{Name: "clinic", Tier: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.CreateUser(t.Context(), client.NewUser{Email: "ada@clinic.example", Name: "Ada", WorkspaceID: w.ID, Role: "developer", Password: tenantPassword})
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("{id}", id, "{hook}", hook, "{delivery}", delivery, "{workspace}", w.ID, "{user}", u.ID, "{memory}", memory)
}

// seedWebhook creates a webhook that works and one that fails. It returns the ID of the one that fails, and of its delivery.
func seedWebhook(t *testing.T, c *client.Client) (hook, delivery string) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pager" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(receiver.Close)
	for _, in := range []client.NewWebhook{
		{URL: receiver.URL + "/billing", Description: "quota warnings for billing", Events: []string{"quota.threshold_reached"}},
		{URL: receiver.URL + "/pager", Description: "pages the team on call"},
	} {
		w, err := c.CreateWebhook(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.PingWebhook(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		hook, delivery = w.ID, d.ID
		await.Until(t, "the test event is sent", func() bool {
			sent, err := c.Delivery(t.Context(), hook, delivery)
			if err != nil {
				t.Fatal(err)
			}
			return len(sent.Attempts) > 0
		})
	}
	return hook, delivery
}
