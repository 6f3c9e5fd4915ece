package consoletest

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
)

var (
	userID        = regexp.MustCompile(`usr_[0-9a-z]{26}`)
	shownPassword = regexp.MustCompile(`id="secret" class="secret-text">([^<]+)<`)
)

func TestAUserLivesInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	v.get("/console/users/new").want(t, 200, "generates a password")
	v.post("/console/users/new", url.Values{"once": {"12345678"}, "email": {"nonsense"}, "name": {"Ada <b>"}, "role": {"viewer"}}).
		want(t, 400, `value="nonsense"`, `value="Ada &lt;b&gt;"`, `value="viewer" checked`, `aria-invalid="true"`)
	in := url.Values{"once": {"12345679"}, "email": {"ada@example.org"}, "name": {"Ada <b>"}, "role": {"viewer"}}
	created := v.post("/console/users/new", in).want(t, 200, "ada@example.org can sign in", "Copy the password now")
	password := shownPassword.FindStringSubmatch(created.text)[1]
	v.post("/console/users/new", in).want(t, 200, "sent twice")
	v.get("/console/users?role=viewer").want(t, 200, "ada@example.org", "Ada &lt;b&gt;")
	v.get("/console/users?role=nonsense").want(t, 400, "role")
	path := "/console/users/" + userID.FindString(created.text)

	ada := newVisitor(t, p)
	ada.signIn("ada@example.org", password)
	ada.get("/console/users").want(t, 403, "Your role, viewer, does not have the scope admin")
	v.get(path).want(t, 200, "ada@example.org", `value="viewer" checked`, "Last sign-in")
	v.post(path, url.Values{"name": {""}, "role": {"developer"}}).want(t, 303)
	ada.get("/console/keys").want(t, 200)
	if got := v.get(path).want(t, 200, `value="developer" checked`); strings.Contains(got.text, "Ada") {
		t.Error("the name is still there")
	}
	v.post(path, url.Values{"name": {strings.Repeat("a", 121)}, "role": {"viewer"}}).want(t, 400, "too_long", `value="viewer" checked`)

	v.get(path+"/password").want(t, 200, "signed out everywhere")
	reset := v.post(path+"/password", nil).want(t, 200, "The new password of ada@example.org")
	next := shownPassword.FindStringSubmatch(reset.text)[1]
	if strings.Count(reset.text, next) != 1 {
		t.Error("the password is shown more than once")
	}
	ada.get("/console/keys").want(t, 303)
	ada.post("/console/sign-in", url.Values{"email": {"ada@example.org"}, "password": {password}}).want(t, 401)
	ada.signIn("ada@example.org", next)
	v.post(path+"/enabled", url.Values{"enabled": {"false"}}).want(t, 303)
	ada.get("/console/keys").want(t, 303)
	v.get(path).want(t, 200, "disabled", "cannot sign in")
	v.post(path+"/enabled", url.Values{"enabled": {"true"}}).want(t, 303)
	v.get(path+"/delete").want(t, 200, "cannot be undone")
	v.post(path+"/delete", nil).want(t, 303)
	v.get(path).want(t, 404, "not found")

	// The last admin stays.
	self, err := operator(t, p).ListUsers(t.Context(), client.UserQuery{Role: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	path = "/console/users/" + self.Items[0].ID
	v.post(path, url.Values{"role": {"viewer"}}).want(t, 409, "last admin", `value="viewer" checked`)
	v.post(path+"/enabled", url.Values{"enabled": {"false"}}).want(t, 409, "last admin")
	v.post(path+"/delete", nil).want(t, 409, "last admin")
}

func TestAnAdminSeesTheUsersOfOneWorkspace(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "pro", string(account.RoleAdmin))
	if got := v.get("/console/users").want(t, 200, "admin@tenant.example"); strings.Contains(got.text, "admin@localhost") || strings.Contains(got.text, `href="/console/workspaces`) {
		t.Errorf("an admin sees another workspace: %s", got.text)
	}
	users, err := operator(t, p).ListUsers(t.Context(), client.UserQuery{Workspace: p.Workspace})
	if err != nil {
		t.Fatal(err)
	}
	path := "/console/users/" + users.Items[0].ID
	v.get(path).want(t, 404, "not found")
	for _, action := range []string{"", "/enabled", "/password", "/delete"} {
		v.post(path+action, url.Values{"role": {"viewer"}, "enabled": {"false"}}).want(t, 404, "not found")
	}
	v.post("/console/users/new", url.Values{"once": {"12345678"}, "email": {"spy@example.org"}, "role": {"admin"}, "workspace": {p.Workspace}}).want(t, 404)
	for _, at := range []string{"/console/workspaces", "/console/workspaces/new", "/console/workspaces/" + p.Workspace, "/console/tiers/free", "/console/system"} {
		v.get(at).want(t, 403, "workspace that operates this instance")
	}
	v.post("/console/workspaces/new", url.Values{"once": {"12345678"}, "name": {"n"}, "tier": {"free"}}).want(t, 403)
	v.post("/console/workspaces/"+p.Workspace, url.Values{"name": {"n"}, "tier": {"free"}}).want(t, 403)
	v.post("/console/workspaces/"+p.Workspace+"/suspend", url.Values{"suspended": {"true"}}).want(t, 403)
	v.post("/console/tiers/free", url.Values{"requestsPerMinute": {"1"}}).want(t, 403)
}

func TestAWorkspaceGetsATierInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	v.get("/console/workspaces").want(t, 200, "default", "free", "pro", "Requests per minute")
	v.post("/console/workspaces/new", url.Values{"once": {"12345678"}, "name": {""}, "tier": {"pro"}}).want(t, 400, `value="pro" selected`, `aria-invalid="true"`)
	made := v.post("/console/workspaces/new", url.Values{"once": {"12345679"}, "name": {"clinic <a>"}, "tier": {"free"}}).want(t, 303)
	path := made.leadsTo(t)
	v.get(path).want(t, 200, "clinic &lt;a&gt;", "Accepted today", "Suspend")
	v.post(path, url.Values{"name": {"clinic"}, "tier": {"pro"}}).want(t, 303)
	v.get(path).want(t, 200, `value="pro" selected`)
	v.post(path, url.Values{"name": {"clinic"}, "tier": {"gold"}}).want(t, 400, "tier")
	v.get(path+"/suspend").want(t, 200, "Suspend clinic?")
	v.post(path+"/suspend", url.Values{"suspended": {"true"}}).want(t, 303)
	v.get(path).want(t, 200, "suspended", "Resume")
	v.post(path+"/suspend", url.Values{"suspended": {"false"}}).want(t, 303)
	v.get(path).want(t, 200, "active")
	id := strings.TrimPrefix(path, "/console/workspaces/")
	v.get("/console/users/new?workspace="+id).want(t, 200, `value="`+id+`" selected`)
	v.get("/console/users?workspace="+id).want(t, 200, "In the workspace clinic", "No users have this role")

	v.get("/console/tiers/free").want(t, 200, "Requests per minute", "Stored bytes")
	v.post("/console/tiers/free", url.Values{"requestsPerMinute": {"many"}, "daily": {"7"}}).want(t, 400, "must be a whole number", `value="many"`, `value="7"`)
	v.post("/console/tiers/free", url.Values{"requestsPerMinute": {"0"}}).want(t, 400, "requestsPerMinute")
	v.post("/console/tiers/free", url.Values{"requestsPerMinute": {"1,234"}, "daily": {"9000"}, "monthly": {"90000"}, "keys": {"5"}, "storage": {"1048576"}}).want(t, 303)
	v.get("/console/workspaces").want(t, 200, "1,234", "1 MiB", "no limit")
	v.get("/console/tiers/nonsense").want(t, 404, "no such tier")
}

func TestTheSystemIsShown(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	page := v.get("/console/system").want(t, 200, "healthy", "all parts work", "search indexes of workspaces", "with its own database", "free space of the disk",
		`curl -H &#34;X-API-Key: $KEEPSAKE_KEY&#34; http`, "/api/v1/admin/cache-stats")
	if strings.Contains(page.text, "--data-binary") {
		t.Error("the command of a read sends a file")
	}
	if got := v.send("GET", "/console/system", nil, "HX-Request", "true").want(t, 200, "healthy"); strings.Contains(got.text, "<html") {
		t.Error("a part of the page is all of it")
	}
}

var shownLink = regexp.MustCompile(`id="secret" class="secret-text" data-absolute>([^<]+)<`)

func TestASetupLinkOfAnAdminSetsThePasswordOnce(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	created := v.post("/console/users/new", url.Values{"once": {"12345678"}, "email": {"ada@example.org"}, "role": {"member"}}).want(t, 200)
	ada := newVisitor(t, p)
	ada.signIn("ada@example.org", shownPassword.FindStringSubmatch(created.text)[1])
	path := "/console/users/" + userID.FindString(created.text)

	v.get(path).want(t, 200, "Create a setup link")
	page := v.post(path+"/setup-link", nil).want(t, 200, "A setup link for ada@example.org", "It works once and expires ")
	address, token, _ := strings.Cut(shownLink.FindStringSubmatch(page.text)[1], "#")
	ada.get("/console/documents").want(t, 200)
	guest := newVisitor(t, p)
	guest.get(address).want(t, 200, "with your email address and this password")
	guest.post(address, url.Values{"token": {token}, "password": {"a password that Ada chose"}}).want(t, 303)
	guest.get("/console/documents").want(t, 200)
	ada.get("/console/documents").want(t, 303)
	newVisitor(t, p).post(address, url.Values{"token": {token}, "password": {"another password entirely"}}).want(t, 401)
	v.post(path+"/enabled", url.Values{"enabled": {"false"}}).want(t, 303)
	v.post(path+"/setup-link", nil).want(t, 409, "The user is disabled")
}
