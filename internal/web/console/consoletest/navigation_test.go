package consoletest

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
)

var navigation = regexp.MustCompile(`(?s)<nav aria-label="Pages">.*?</nav>`)

// menu returns the groups of the navigation with their links, in their order.
func (p page) menu() string {
	var parts []string
	for _, found := range regexp.MustCompile(`class="group"[^>]*>([^<]+)<|<a href="([^"]*)"`).FindAllStringSubmatch(navigation.FindString(p.text), -1) {
		parts = append(parts, found[1]+strings.TrimPrefix(found[2], "/console"))
	}
	return strings.Join(parts, " ")
}

func TestTheNavigationHasThreeGroups(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	const want = "/ Data /documents /collections /memories Access /keys /users /workspaces /audit Operate /usage /requests /webhooks /versions /system /connect /docs"
	if got := admin(t, p).get("/").menu(); got != want {
		t.Errorf("an admin gets\n%s, want\n%s", got, want)
	}
	v := tenant(t, p, "pro", string(account.RoleViewer))
	if got, want := v.get("/").menu(), "/ Data /documents /collections Operate /usage /requests /connect /docs"; got != want {
		t.Errorf("a viewer gets\n%s, want\n%s", got, want)
	}
	v.get("/docs").want(t, 200)
}

// TestAMemberDoesWhatTheGuideSays walks through the table of docs/console.md for members.
func TestAMemberDoesWhatTheGuideSays(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "pro", string(account.RoleMember))
	if got, want := v.get("/").menu(), "/ Data /documents /collections /memories Operate /usage /requests /connect /docs"; got != want {
		t.Errorf("a member gets\n%s, want\n%s", got, want)
	}
	v.get("/console/documents").want(t, 200, "Create a document", "Import documents")
	v.get("/console/documents/import").want(t, 200)
	document := v.post("/console/new/document", v.get("/console/new/document").sent(t, url.Values{"title": {"Boiler"}})).leadsTo(t)
	v.get(document).want(t, 200, document+"/change", document+"/delete")
	memory := v.post("/console/new/memory", v.get("/console/new/memory").sent(t, url.Values{"subjectId": {"p-4711"}, "text": {"Prefers tea."}, "kind": {"fact"}})).leadsTo(t)
	v.get("/console/memories/p-4711").want(t, 200, "Recall", "Create a memory", "Open", "Forget some", "Erase the person", "Access log")
	v.get(memory).want(t, 200, memory+"/change", memory+"/delete")
	v.get("/console/memories/p-4711/access").want(t, 200, "member@tenant.example")
	for _, path := range []string{"/console/usage", "/console/requests", "/console/account", "/console/connect"} {
		v.get(path).want(t, 200)
	}
	for path, scope := range map[string]string{"/console/keys": "developer:manage", "/console/users": "admin", "/console/webhooks": "admin", "/console/audit": "admin"} {
		v.get(path).want(t, 403, "Your role, member, does not have the scope "+scope)
	}
	v.post("/console/memories/p-4711/erase", url.Values{"confirm": {"p-4711"}}).want(t, 200, "p-4711 is erased")
}
