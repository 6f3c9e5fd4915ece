package consoletest

import (
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
	const want = "/ Data /documents /memories Access /keys /users /workspaces /audit Operate /usage /requests /webhooks /versions /system /connect /docs"
	if got := admin(t, p).get("/").menu(); got != want {
		t.Errorf("an admin gets\n%s, want\n%s", got, want)
	}
	v := tenant(t, p, "pro", string(account.RoleViewer))
	if got, want := v.get("/").menu(), "/ Data /documents Operate /usage /requests /connect /docs"; got != want {
		t.Errorf("a viewer gets\n%s, want\n%s", got, want)
	}
	v.get("/docs").want(t, 200)
}
