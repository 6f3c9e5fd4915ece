package consoletest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
)

func TestTheConsoleOffersNoReleaseThatIsRefused(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	for _, path := range []string{"/console/versions", "/console/versions/1"} {
		if got := v.get(path).want(t, 200, "Version"); strings.Contains(got.text, "/release") {
			t.Errorf("%s offers to release a version that the build does not declare", path)
		}
	}
}

func TestAVersionEndsInTheConsole(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	p := apptest.Start(t, apptest.NextVersion(), apptest.Clock(clock.Now))
	key, err := operator(t, p).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "old app", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	v := admin(t, p)
	search := func(want int) {
		t.Helper()
		v.send(http.MethodGet, "/api/v1/search?q=a", nil, "X-API-Key", key.Key, "User-Agent", "old-app/1.2").want(t, want)
	}
	search(200)
	v.get("/console/versions").want(t, 200, "Version\u00a01", "active", "End version 1", "The life of version 1", "/api/v1/admin/versions")
	v.get("/console/versions/1").want(t, 200, "old app", "GET /api/v1/search", "old-app/1.2", "not announced")
	v.get("/console/versions/7").want(t, 404, "not found")
	v.get("/console/versions/nonsense").want(t, 404, "not found")

	v.get("/console/versions/1/release").want(t, 200, "Release version 2 and end version 1?", "cannot be withdrawn")
	v.post("/console/versions/1/release", url.Values{"once": {"12345678"}, "sunset": {"2027-01-01"}, "guide": {"https://example.org/moving"}}).
		want(t, 400, "sunsetAt must not be before", `value="2027-01-01" aria-invalid="true"`, `value="https://example.org/moving"`)
	v.post("/console/versions/1/release", url.Values{"once": {"12345678"}, "sunset": {"soon"}}).want(t, 400, "Write the date as", `value="soon"`)
	v.post("/console/versions/1/release", url.Values{"once": {"12345679"}}).want(t, 303)
	ended := v.get("/console/versions/1").want(t, 200, "deprecated", `datetime="2027-05-23T12:00:00Z"`, "/docs/api/migration/v1-to-v2", "Rehearse the sunset", "Version 2")
	if strings.Contains(ended.text, "End version 1<") {
		t.Error("an ended version can be ended again")
	}

	v.get("/console/versions/1/rehearse").want(t, 200, "old app", key.ID)
	v.post("/console/versions/1/rehearse", url.Values{"once": {"12345678"}, "key": {"key_00000000000000000000000000"}, "until": {"24"}}).want(t, 400, "no such API key", `value="24" checked`)
	v.post("/console/versions/1/rehearse", url.Values{"once": {"12345678"}, "key": {key.ID}, "until": {""}}).want(t, 400, "Choose how long")
	v.post("/console/versions/1/rehearse", url.Values{"once": {"12345679"}, "key": {key.ID}, "until": {"24"}}).want(t, 303)
	v.get("/console/versions/1").want(t, 200, "gets 410 until", `datetime="2026-11-24T12:00:00Z"`)
	search(410)
	clock.Advance(25 * time.Hour)
	search(200)

	if form := v.get("/console/versions/1/change").want(t, 200, `value="2027-05-23"`); strings.Contains(form.text, `value="/docs`) {
		t.Error("a browser refuses to send a path as the address of the guide")
	}
	v.post("/console/versions/1/change", url.Values{"sunset": {"2027-05-01"}}).want(t, 400, "sunsetAt", `value="2027-05-01"`)
	v.post("/console/versions/1/change", url.Values{"sunset": {"2027-08-01"}, "guide": {"https://example.org/moving"}}).want(t, 303)
	v.get("/console/versions/1").want(t, 200, `datetime="2027-08-01T00:00:00Z"`, `href="https://example.org/moving"`)
	v.post("/console/versions/1/change", url.Values{"sunset": {"2027-08-01"}}).want(t, 303) // an empty guide is the page of the instance
	v.get("/console/versions/1").want(t, 200, "/docs/api/migration/v1-to-v2")

	v.get("/console/versions/1/retire").want(t, 200, "cannot be undone")
	v.post("/console/versions/1/retire", url.Values{"once": {"12345678"}}).want(t, 409, "Retire version 1?")
	if list := v.get("/console/versions").want(t, 200, "Version\u00a02"); strings.Contains(list.text, "End version") {
		t.Error("the list ends a version that has ended")
	}
}

func TestOnlyOperatorsEndVersions(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.NextVersion())
	v := tenant(t, p, "pro", string(account.RoleAdmin))
	if got := v.get("/console/versions").want(t, 200, "Version\u00a01"); strings.Contains(got.text, "/release") {
		t.Error("another workspace gets a link that ends a version")
	}
	for _, path := range []string{"/release", "/retire", "/rehearse"} {
		form := url.Values{"once": {"12345678"}, "key": {"key_00000000000000000000000000"}, "until": {"1"}}
		v.post("/console/versions/1"+path, form).want(t, 403, "workspace that operates this instance", "Not for your role")
	}
	v.post("/console/versions/1/change", url.Values{"sunset": {"2037-01-01"}}).want(t, 403, "workspace that operates this instance")
	if got, err := operator(t, p).VersionRecord(t.Context(), 1); err != nil || got.State != "active" {
		t.Errorf("the version has changed: %v, %v", got, err)
	}
}
