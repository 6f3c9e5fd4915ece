package consoletest

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

var formRevision = regexp.MustCompile(`name="revision" value="(\d+)"`)

// with returns the fields of a form with others in place of some.
func with(form url.Values, changes ...string) url.Values {
	other := url.Values{}
	for name, values := range form {
		other[name] = values
	}
	for i := 0; i < len(changes); i += 2 {
		other[changes[i]] = []string{changes[i+1]}
	}
	return other
}

func TestAKeyIsChangedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{
		Name: "crawler", Scopes: []string{"read"}, ExpiresAt: new(time.Date(2040, 3, 1, 0, 0, 0, 0, time.UTC)), SubjectID: "ada",
		Metadata: map[string]any{"team": "search", "old": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := "/console/keys/" + key.ID
	v.get(path).want(t, 200, `href="`+path+`/change"`, "team", "search")
	form := v.get(path+"/change").want(t, 200, `value="crawler"`, `value="read" checked`, `value="2040-03-01T00:00:00"`, `&#34;team&#34;: &#34;search&#34;`, "<code>ada</code>")
	in := url.Values{
		"revision": {formRevision.FindStringSubmatch(form.text)[1]}, "name": {"crawler <2>"}, "scope": {"read", "write"}, "expiresAt": {"2040-06-01T00:00"},
		"rateLimit.requestsPerMinute": {"1,000"}, "quota.daily": {"500"}, "quota.monthly": {""}, "allowedIps": {"203.0.113.0/24\r\n2001:db8::/32"},
		"metadata": {`{"team": "search", "seats": 4}`}, "disabled": {"true"},
	}
	v.post(path+"/change", in).want(t, 303)
	got, err := c.APIKey(t.Context(), key.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "crawler <2>" || !slices.Equal(got.Scopes, []string{"read", "write"}) || !got.ExpiresAt.Equal(time.Date(2040, 6, 1, 0, 0, 0, 0, time.UTC)) ||
		got.RateLimit != (client.RateLimit{RequestsPerMinute: 1000}) || got.Quota == nil || *got.Quota.Daily != 500 || got.Quota.Monthly != nil ||
		!slices.Equal(got.AllowedIPs, []string{"203.0.113.0/24", "2001:db8::/32"}) || got.State != "disabled" || len(got.Metadata) != 2 || got.Metadata["old"] != nil {
		t.Errorf("the key is now %+v", got)
	}

	// A form that changes nothing, such as one that is sent twice, changes nothing.
	v.post(path+"/change", with(in, "rateLimit.requestsPerMinute", "1000")).want(t, 303)
	if again, err := c.APIKey(t.Context(), key.ID); err != nil || again.Revision != got.Revision {
		t.Errorf("the key changed again: %v, %v", again, err)
	}

	form = v.get(path+"/change").want(t, 200, `value="1000"`, "203.0.113.0/24\n2001:db8::/32</textarea>", `name="disabled" value="true" checked`)
	v.post(path+"/change", url.Values{"revision": formRevision.FindStringSubmatch(form.text)[1:], "name": {"crawler"}, "scope": {"read"}}).want(t, 303)
	got, err = c.APIKey(t.Context(), key.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.ExpiresAt != nil || !got.RateLimit.Inherited || got.Quota != nil || len(got.AllowedIPs) > 0 || len(got.Metadata) > 0 || got.State != "active" {
		t.Errorf("cleared, the key is %+v", got)
	}
}

func TestAChangeOfAKeyThatIsRefusedKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "crawler", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	path := "/console/keys/" + key.ID + "/change"
	in := url.Values{"revision": {"1"}, "name": {"typed <name>"}, "scope": {"write"}}
	for field, wrong := range map[string]string{
		"name": "", "expiresAt": "2001-01-01", "rateLimit.requestsPerMinute": "many", "quota.daily": "0", "quota.monthly": "-1",
		"allowedIps": "203.0.113.0/24\nnonsense", "metadata": "team: search",
	} {
		got := v.post(path, with(in, field, wrong)).want(t, 400, `value="write" checked`, "The field to correct is marked below.")
		if strings.Count(got.text, `<small class="bad">`) != 1 || !regexp.MustCompile(`name="`+field+`"[^>]* aria-invalid="true"[^>]*>[^<]*(?:</textarea>)?\s*<small class="bad">`).MatchString(got.text) {
			t.Errorf("%s: the message is not beside its field: %s", field, got.text)
		}
		if field != "name" && !strings.Contains(got.text, `value="typed &lt;name&gt;"`) || wrong != "" && !strings.Contains(got.text, wrong) {
			t.Errorf("%s: the form lost what was typed: %s", field, got.text)
		}
	}
	v.post(path, with(in, "metadata", `{"a": {"b": 1}}`)).want(t, 400, `<small class="bad">This must be`)
	v.post(path, with(in, "allowedIps", "203.0.113.0/24\r\nnonsense")).want(t, 400, `<small class="bad">Line 2: This must be a network`)
	none := with(in)
	none.Del("scope")
	v.post(path, none).want(t, 400, `<small class="bad">`)
	if got, err := c.APIKey(t.Context(), key.ID); err != nil || got.Revision != 1 {
		t.Errorf("the key has changed: %v, %v", got, err)
	}

	// The key was changed after the form was opened. The visitor learns of it, and can then save.
	if _, err := c.ChangeAPIKey(t.Context(), key.ID, client.APIKeyChange{Name: client.To("another's")}, nil); err != nil {
		t.Fatal(err)
	}
	stale := v.post(path, in).want(t, 412, "someone else changed this", "another&#39;s", `value="typed &lt;name&gt;"`)
	v.post(path, with(in, "revision", formRevision.FindStringSubmatch(stale.text)[1])).want(t, 303)
	if got, err := c.APIKey(t.Context(), key.ID); err != nil || got.Name != "typed <name>" || !slices.Equal(got.Scopes, []string{"write"}) {
		t.Errorf("the key is now %v, %v", got, err)
	}
	v.post(path, url.Values{"name": {"without a revision"}, "scope": {"write"}}).want(t, 412, "someone else changed this")
}

func TestOnlyWhoMayChangeAKeyGetsTheForm(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c := operator(t, p)
	password := "correct horse battery staple"
	if _, err := c.CreateUser(t.Context(), client.NewUser{Email: "dev@example.org", Role: string(account.RoleDeveloper), Password: password}); err != nil {
		t.Fatal(err)
	}
	wide, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "wide", Scopes: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "narrow", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	dev := newVisitor(t, p)
	dev.signIn("dev@example.org", password)
	dev.get("/console/keys/"+narrow.ID).want(t, 200, "/change", "/rotate", "/enabled", "/revoke")
	path := "/console/keys/" + wide.ID
	if got := dev.get(path).want(t, 200, "scopes that your role lacks", "/revoke"); strings.Contains(got.text, path+"/change") || strings.Contains(got.text, path+"/rotate") {
		t.Error("a developer is offered to change a key with the scope admin")
	}
	dev.get(path+"/change").want(t, 303)
	dev.post(path+"/change", url.Values{"revision": {"1"}, "name": {"mine"}, "scope": {"admin"}}).want(t, 403, "admin")
	dev.post("/console/keys/"+narrow.ID+"/change", url.Values{"revision": {"1"}, "name": {"narrow"}, "scope": {"admin"}}).want(t, 403, "admin")

	if _, err := c.RevokeAPIKey(t.Context(), narrow.ID, ""); err != nil {
		t.Fatal(err)
	}
	path = "/console/keys/" + narrow.ID
	if got := dev.get(path).want(t, 200, "revoked"); strings.Contains(got.text, path+"/change") {
		t.Error("a revoked key is offered for a change")
	}
	viewer := tenant(t, p, "free", string(account.RoleViewer))
	viewer.get("/console/keys/new").want(t, 403, "developer:manage")
	viewer.get(path+"/change").want(t, 403, "developer:manage")
	viewer.post(path+"/change", url.Values{"revision": {"1"}, "name": {"mine"}}).want(t, 403, "developer:manage")
}

func TestANewKeyTakesItsRestrictions(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	if got := v.get("/console/keys/new").want(t, 200, "Limits and restrictions", `<details class="more">`); strings.Contains(got.text, `name="workspaceId"`) {
		t.Error("one workspace is offered to choose from")
	}
	in := url.Values{
		"once": {"12345678"}, "name": {"bot"}, "scope": {"memory:read"}, "expiry": {""}, "rateLimit.requestsPerMinute": {"60"}, "quota.daily": {"100"},
		"quota.monthly": {"2000"}, "allowedIps": {"10.0.0.0/8\r\n192.0.2.0/24"}, "subjectId": {"ada"}, "agentId": {"support"}, "metadata": {`{"team": "x"}`},
	}
	v.post("/console/keys/new", with(in, "quota.daily", "none")).want(t, 400, `<details class="more" open>`, `<small class="bad">Write a whole number.`, `value="none"`, `value="ada"`)
	v.post("/console/keys/new", with(in, "subjectId", "a b")).want(t, 400, `<details class="more" open>`, `<small class="bad">This must have 1 to 128 letters`)
	made := v.post("/console/keys/new", in).want(t, 200, "bot is ready")
	got, err := c.APIKey(t.Context(), keyID.FindString(made.text))
	if err != nil {
		t.Fatal(err)
	}
	if got.RateLimit.RequestsPerMinute != 60 || *got.Quota.Daily != 100 || *got.Quota.Monthly != 2000 || len(got.AllowedIPs) != 2 ||
		*got.SubjectID != "ada" || *got.AgentID != "support" || got.Metadata["team"] != "x" || got.ExpiresAt != nil {
		t.Errorf("the key is %+v", got)
	}
	v.get("/console/keys/"+got.ID).want(t, 200, "10.0.0.0/8", "ada", "support", "team")
}

func TestAnOperatorCreatesAKeyForAnotherWorkspace(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	w, err := operator(t, p).CreateWorkspace(t.Context(), client.NewWorkspace{Name: "clinic", Tier: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	v.get("/console/keys/new").want(t, 200, `value="`+p.Workspace+`" selected`, ">clinic<")
	in := url.Values{"once": {"12345678"}, "name": {"theirs"}, "scope": {"read"}, "expiry": {"7"}, "workspaceId": {w.ID}}
	made := v.post("/console/keys/new", in).want(t, 200, "theirs is ready", "belongs to another workspace")
	id := keyID.FindString(made.text)
	if id != "" {
		t.Errorf("the page leads to the key %s, which the visitor cannot open", id)
	}
	v.post("/console/keys/new", in).want(t, 200, "sent twice", "only its own users can rotate it")
	c, err := client.New(p.URL, keyText.FindString(made.text))
	if err != nil {
		t.Fatal(err)
	}
	if self, err := c.WhoAmI(t.Context()); err != nil || self.Workspace.ID != w.ID {
		t.Errorf("the key is of %+v, %v", self, err)
	}
	tenant := tenant(t, p, "free", string(account.RoleAdmin))
	if got := tenant.get("/console/keys/new").want(t, 200); strings.Contains(got.text, `name="workspaceId"`) {
		t.Error("an admin of another workspace can choose one")
	}
	tenant.post("/console/keys/new", in).want(t, 403)
}

func TestAKeyThatExpiresSoonIsMarked(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := admin(t, p)
	key, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "crawler", Scopes: []string{"read"}, ExpiresAt: new(clock.Now().AddDate(0, 0, 20))})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/console/keys", "/console/keys/" + key.ID} {
		if got := v.get(path).want(t, 200, "crawler"); strings.Contains(got.text, "state-expiring") {
			t.Errorf("%s marks a key that expires in 20 days", path)
		}
	}
	clock.Advance(17 * 24 * time.Hour)
	for _, path := range []string{"/console/keys", "/console/keys/" + key.ID} {
		v.get(path).want(t, 200, `<span class="state state-expiring">expires in 3 days</span>`)
	}

	// An expired key can be used again if it gets a later time.
	clock.Advance(4 * 24 * time.Hour)
	path := "/console/keys/" + key.ID
	if got := v.get(path).want(t, 200, "state-expired", path+"/change"); strings.Contains(got.text, "state-expiring") {
		t.Error("an expired key is marked as one that will expire")
	}
	later := clock.Now().AddDate(1, 0, 0).UTC().Format("2006-01-02T15:04")
	v.post(path+"/change", url.Values{"revision": {"1"}, "name": {"crawler"}, "scope": {"read"}, "expiresAt": {later}}).want(t, 303)
	v.get(path).want(t, 200, "state-active")
}

func TestKeysAreChangedByKeyboard(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	axe, err := os.ReadFile("../../../../tools/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		testtier.Missing(t, "axe (npm ci --prefix tools/axe --ignore-scripts)")
	}
	p := apptest.Start(t)
	key, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "website search", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Start(t).Tab(t)
	arrive(t, p, tab)
	focused := func(field string) { tab.Await(field+" has the focus", `document.activeElement.name === "`+field+`"`) }
	write := func(text string) { tab.Do("Input.insertText", map[string]any{"text": text}, nil) }

	// The message stands beside the field, which has the focus, so Enter sends the form again.
	tab.Open(p.URL + "/console/keys/" + key.ID + "/change")
	focused("name")
	write("new ")
	tab.Fill(`input[name="quota.daily"]`, "many")
	tab.Leave(func() { tab.Press("Enter") })
	focused("quota.daily")
	look(t, tab, string(axe), "key-change-refused")
	if _, err := operator(t, p).ChangeAPIKey(t.Context(), key.ID, client.APIKeyChange{Scopes: client.To([]string{"read", "write"})}, nil); err != nil {
		t.Fatal(err)
	}
	tab.Fill(`input[name="quota.daily"]`, "400")
	tab.Leave(func() { tab.Press("Enter") })
	look(t, tab, string(axe), "key-change-conflict")
	tab.Fill(`input[name="quota.daily"]`, "500")
	tab.Leave(func() { tab.Press("Enter") })
	if text := tab.Text(); !strings.Contains(text, "new website search") || !strings.Contains(text, "of 500") {
		t.Errorf("the page says %s", text)
	}

	// The restrictions of a new key are folded. The message about one of them opens them.
	tab.Open(p.URL + "/console/keys/new")
	focused("name")
	write("crawler")
	tab.Eval(`document.querySelector("details.more summary").focus()`, nil)
	tab.Press("Enter")
	tab.Await("the restrictions are open", `document.querySelector("details.more").open`)
	look(t, tab, string(axe), "key-new-open")
	tab.Press("Tab")
	focused("rateLimit.requestsPerMinute")
	write("0")
	tab.Leave(func() { tab.Press("Enter") })
	focused("rateLimit.requestsPerMinute")
	look(t, tab, string(axe), "key-new-refused")

	// Rotate, Revoke and Erase begin at their field.
	if _, err := operator(t, p).CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: "Prefers tea."}); err != nil {
		t.Fatal(err)
	}
	tab.Open(p.URL + "/console/memories/ada/erase")
	focused("confirm")
	tab.Open(p.URL + "/console/keys/" + key.ID + "/revoke")
	focused("reason")
	tab.Open(p.URL + "/console/keys/" + key.ID + "/rotate")
	focused("grace")
	tab.Leave(func() { tab.Press("Enter") })
	if text := tab.Text(); !strings.Contains(text, "Copy the key now") {
		t.Errorf("the page says %s", text)
	}
	clean(t, p, tab)
}

func TestALinkToANewKeyChoosesThePerson(t *testing.T) {
	t.Parallel()
	v := admin(t, apptest.Start(t))
	got := v.get("/console/keys/new?subject=p%3A4711").want(t, 200, `value="p:4711"`, `value="memory:read" checked`, `value="memory:write" checked`, "<details class=\"more\" open>")
	if strings.Contains(got.text, `value="read" checked`) {
		t.Error("the key of a person also gets the scope read")
	}
	v.get("/console/keys/new").want(t, 200, `value="read" checked`)
}
