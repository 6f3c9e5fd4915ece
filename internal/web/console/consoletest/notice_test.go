package consoletest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

// leadsTo returns the path to which a response redirects, without the notice of that page.
func (p page) leadsTo(t *testing.T) string {
	t.Helper()
	p.want(t, http.StatusSeeOther)
	path, _, _ := strings.Cut(p.Header.Get("Location"), "?done=")
	return path
}

// follow opens the page to which a response redirects.
func (v *visitor) follow(p page) page {
	v.t.Helper()
	return v.get(p.want(v.t, http.StatusSeeOther).Header.Get("Location"))
}

// noticed is how a page begins that says what was done.
const noticed = `<p class="notice notice-good" role="status" tabindex="-1" autofocus data-done-notice>`

func TestAPageSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	typed := url.Values{"id": {"boiler"}, "title": {"Boiler"}}
	v.follow(v.post("/console/new/document", v.get("/console/new/document").sent(t, typed))).want(t, 200, noticed+"Saved.")
	form := v.get("/console/documents/boiler/change").sent(t, url.Values{"title": {"Boiler"}, "collection": {"default"}})
	v.follow(v.post("/console/documents/boiler/change", form)).want(t, 200, noticed+"Nothing differed")
	form.Set("title", "Pump")
	v.follow(v.post("/console/documents/boiler/change", form)).want(t, 200, noticed+"Saved.")
	v.follow(v.post("/console/documents/boiler/delete", nil)).want(t, 200, noticed+"Deleted.")

	key := keyID.FindString(v.post("/console/keys/new", url.Values{"name": {"crawler"}, "scope": {"read"}, "once": {"12345678"}}).text)
	path := "/console/keys/" + key
	v.follow(v.post(path+"/enabled", url.Values{"enabled": {"false"}})).want(t, 200, noticed+"Disabled.")
	v.follow(v.post(path+"/enabled", url.Values{"enabled": {"true"}})).want(t, 200, noticed+"Enabled.")
	v.follow(v.post(path+"/revoke", url.Values{"once": {"12345679"}})).want(t, 200, noticed+"The key is revoked.")
	v.follow(v.post("/console/workspaces/new", url.Values{"once": {"12345680"}, "name": {"clinic"}, "tier": {"free"}})).want(t, 200, noticed+"The workspace is saved.")

	// Other pages say nothing, nor do parts of pages and pages with an error.
	for _, path := range []string{"/", "/console/documents", "/console/documents?done=nonsense", "/console/documents?done="} {
		if got := v.get(path).want(t, 200); strings.Contains(got.text, "data-done-notice") {
			t.Errorf("%s has a notice: %s", path, got.text)
		}
	}
	for _, got := range []page{
		v.send(http.MethodGet, "/console/overview?done=saved", nil, "HX-Request", "true").want(t, 200),
		v.post("/console/account/password?done=password", url.Values{"current": {"a"}, "new": {"b"}, "repeat": {"c"}}).want(t, 400),
	} {
		if strings.Contains(got.text, "data-done-notice") {
			t.Errorf("%s has a notice: %s", got.Request.URL, got.text)
		}
	}
}

func TestANoticeHasTheFocus(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	if _, err := operator(t, p).PutDocument(t.Context(), client.NewDocument{ID: "boiler", Title: "Boiler"}, nil); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Start(t).Tab(t)
	arrive(t, p, tab)
	const focused = `document.activeElement.textContent`
	was := func(what string) {
		t.Helper()
		var got string
		if tab.Eval(focused, &got); got != what {
			t.Errorf("the focus is on %q, want %q", got, what)
		}
	}
	tab.Open(p.URL + "/console/documents/boiler/change")
	tab.Fill("input[name=title]", "Pump")
	tab.Leave(func() { tab.Press("Enter") })
	was("Saved.")
	var address string
	if tab.Eval(`location.pathname + location.search`, &address); address != "/console/documents/boiler" {
		t.Errorf("the address is %s", address)
	}
	tab.Press("Tab") // the first link after the notice
	was("Documents")
	tab.Leave(func() { tab.Eval("location.reload()", nil) })
	if text := tab.Text(); strings.Contains(text, "Saved.") {
		t.Errorf("a reloaded page says again %s", text)
	}
	tab.Leave(func() { tab.Click(`main a[href$="/delete"]`) })
	tab.Leave(func() { tab.Click("form.form button.danger") })
	was("Deleted.")
	clean(t, p, tab)
}
