package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// calendar is a clock that is moved to dates.
type calendar struct{ at atomic.Pointer[time.Time] }

func (c *calendar) Now() time.Time { return *c.at.Load() }

// turn moves to a moment: 2027-08-31T12:00:00Z.
func (c *calendar) turn(text string) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	c.at.Store(&at)
}

// versioned is a program whose versions are released and ended.
type versioned struct {
	*apptest.Running
	t   *testing.T
	key string
}

// said is an answer.
type said struct {
	status int
	header http.Header
	text   string
	object map[string]any
}

func startVersioned(t *testing.T, c *calendar, dir, key string, change func(*config.Config)) *versioned {
	t.Helper()
	p := apptest.Start(t, apptest.Clock(c.Now), apptest.With(func(cfg *config.Config) {
		if dir != "" {
			cfg.Data = dir
		}
		cfg.Lifecycle.AllowUndeclared = true
		if change != nil {
			change(cfg)
		}
	}))
	if key == "" {
		key = p.Key
	}
	p.Key = key // also after a restart
	return &versioned{p, t, key}
}

// ask sends a request and wants a status and, for an error, its code. Headers are pairs.
func (v *versioned) ask(status int, code, method, path, body string, header ...string) said {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.URL+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("X-API-Key", v.key)
	r.Header.Set("User-Agent", "cycle/1.0 (test)")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	a := said{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.object) // a page is none
	if a.status != status || code != "" && a.object["error"] != code {
		v.t.Fatalf("%s %s: got %d %s, want %d %s", method, path, a.status, a.text, status, code)
	}
	return a
}

// field wants a 400 about a field.
func (a said) field(t *testing.T, field, issue string) {
	t.Helper()
	details, _ := a.object["details"].(map[string]any)
	if details["field"] != field || details["issue"] != issue {
		t.Errorf("got %s, want the field %s to be %s", a.text, field, issue)
	}
}

// states wants what /api/versions tells, from version 1 on.
func (v *versioned) states(want ...string) {
	v.t.Helper()
	a := v.ask(200, "", "GET", "/api/versions", "")
	var got []string
	for _, item := range a.object["items"].([]any) {
		got = append(got, item.(map[string]any)["state"].(string))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		v.t.Errorf("the states are %v, want %v", got, want)
	}
}

const (
	first  = "/api/v1/admin/versions"
	second = "/api/v2/admin/versions"
)

// calls sends n requests to a version that count as its traffic.
func (v *versioned) calls(version string, n int) {
	v.t.Helper()
	for range n {
		v.ask(200, "", "GET", "/api/v"+version+"/search?q=x", "")
	}
}

// checks returns the verdicts of the checks of version 1, with the date that each decided on.
func (v *versioned) checks(path string) (list []string) {
	v.t.Helper()
	for _, item := range v.ask(200, "", "GET", path, "").object["checks"].([]any) {
		check := item.(map[string]any)
		list = append(list, check["verdict"].(string)+" "+check["newSunsetAt"].(string)[:10])
	}
	return list
}

// A version lives for two years: it is current, deprecated, moved later by an operator, extended because clients still use it,
// sunset after they have left, and retired. The dates are those on which months differ in length. Each part is a run of the program.
func TestAVersionLivesForTwoYears(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), ""
	apptest.DatabaseURL(t, dir) // which outlives the steps
	c := &calendar{}
	run := func(name, at string, part func(t *testing.T, v *versioned)) {
		t.Helper()
		c.turn(at)
		t.Run(name, func(t *testing.T) {
			part(t, startVersioned(t, c, dir, key, func(cfg *config.Config) { cfg.Lifecycle.Traffic.Days = 3 }))
		})
	}

	run("Release", "2026-08-31T12:00:00Z", func(t *testing.T, v *versioned) {
		key = v.key
		v.states("active")
		v.ask(404, "version_not_found", "GET", "/api/v2/health", "")
		v.ask(404, "not_found", "GET", "/docs/api/migration/v1-to-v2", "")
		v.ask(409, "conflict", "PATCH", first+"/1", `{"sunsetAt":"2030-01-01T00:00:00Z"}`)
		v.ask(409, "conflict", "POST", first+"/1/retire", "")
		v.ask(409, "conflict", "POST", first+"/release", `{"version":3}`)
		// Six months after 31 August is the last of February.
		v.ask(400, "validation_error", "POST", first+"/release", `{"version":2,"sunsetAt":"2027-02-28T11:59:59Z"}`).field(t, "sunsetAt", "too_small")
		v.ask(400, "validation_error", "POST", first+"/release", `{"version":2,"announcedAt":"2025-01-01T00:00:00Z","sunsetAt":"2026-12-31T00:00:00Z"}`).
			field(t, "sunsetAt", "too_small")
		v.ask(400, "validation_error", "POST", first+"/release", `{"version":2,"announcedAt":"2026-08-31T12:00:01Z","sunsetAt":"2027-02-28T12:00:00Z"}`).
			field(t, "sunsetAt", "too_small")
		v.ask(400, "validation_error", "POST", first+"/release", `{"version":2,"guideUrl":"javascript:alert(1)"}`).field(t, "guideUrl", "format")
		v.states("active")

		a := v.ask(201, "", "POST", first+"/release", `{"version":2}`, "Idempotency-Key", "release-of-two")
		if a.header.Get("Location") != first+"/2" || a.header.Get("ETag") != `"1"` || a.object["state"] != "active" || a.object["version"] != "2" {
			t.Errorf("the release answers %v %s", a.header, a.text)
		}
		if again := v.ask(201, "", "POST", first+"/release", `{"version":2}`, "Idempotency-Key", "release-of-two"); again.header.Get("Idempotent-Replayed") != "true" {
			t.Error("a repeated release was not recognised")
		}
		v.ask(409, "conflict", "POST", first+"/release", `{"version":2}`)
		v.states("deprecated", "active") // at once, on routes that are there and on every surface
		resp, err := http.Get(v.BackendURL + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-API-Version"); got != "2" {
			t.Errorf("the backend service answers in version %s, want 2", got)
		}
		v.ask(200, "", "GET", "/api/v2/health", "")
		if guide := v.ask(200, "", "GET", "/docs/api/migration/v1-to-v2", ""); !strings.Contains(guide.text, "/api/v2/") {
			t.Errorf("the guide is %s", guide.text)
		}
		if a := v.ask(200, "", "GET", "/api/v2/openapi.json", ""); !strings.Contains(a.text, `"x-api-version":2`) && !strings.Contains(a.text, `"x-api-version": 2`) {
			t.Errorf("the description of version 2 is %.200s", a.text)
		}
	})

	run("Deprecated", "2026-08-31T12:00:00Z", func(t *testing.T, v *versioned) {
		for name, want := range map[string]string{
			"Deprecation": "true", "Sunset": "Sun, 28 Feb 2027 12:00:00 GMT", "X-API-Replacement-Version": "2", "X-API-Version": "1",
			"Link": `</docs/api/migration/v1-to-v2>; rel="deprecation"`,
		} {
			if got := v.ask(200, "", "GET", "/api/v1/health", "").header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if a := v.ask(404, "not_found", "GET", "/api/v1/nothing", ""); a.header.Get("Deprecation") != "true" {
			t.Error("an error of a deprecated version does not say so")
		}
		if a := v.ask(200, "", "GET", "/api/v2/health", ""); a.header.Get("Deprecation") != "" {
			t.Error("the current version says that it is deprecated")
		}

		// An operator moves the last day of February to the last of March, and not back.
		v.ask(400, "validation_error", "PATCH", first+"/1", `{"sunsetAt":"2027-02-28T11:59:59Z"}`).field(t, "sunsetAt", "too_small")
		v.ask(412, "revision_mismatch", "PATCH", first+"/1", `{"sunsetAt":"2027-03-31T12:00:00Z"}`, "If-Match", `"1"`)
		a := v.ask(200, "", "PATCH", first+"/1", `{"sunsetAt":"2027-03-31T12:00:00Z","guideUrl":"https://example.org/moving"}`, "If-Match", `"2"`)
		if a.object["sunsetAt"] != "2027-03-31T12:00:00Z" || a.object["retiresAt"] != "2028-03-31T12:00:00Z" ||
			a.object["trafficCheckAt"] != "2027-03-01T12:00:00Z" || a.object["migrationGuideUrl"] != "https://example.org/moving" || a.header.Get("ETag") != `"3"` {
			t.Errorf("the moved version is %s", a.text)
		}
		v.ask(400, "validation_error", "PATCH", first+"/1", `{"sunsetAt":"2027-03-30T12:00:00Z"}`).field(t, "sunsetAt", "too_small")
		v.ask(409, "conflict", "POST", first+"/1/retire", "")
	})

	// Clients still use version 1 on the eve of the check. The program stops, and starts again when the check is due.
	run("BeforeTheCheck", "2027-03-01T11:59:59Z", func(t *testing.T, v *versioned) {
		v.calls("1", 3)
		v.calls("2", 1)
		if got := v.checks(first + "/1"); len(got) != 0 {
			t.Errorf("checked too early: %v", got)
		}
	})
	for range 2 { // the second time there is nothing to do
		run("Extended", "2027-03-01T12:00:00Z", func(t *testing.T, v *versioned) {
			if got := v.checks(first + "/1"); !slices.Equal(got, []string{"extended 2027-06-30"}) {
				t.Errorf("the checks are %v, want three months more, to the end of June", got)
			}
			a := v.ask(200, "", "GET", first+"/1", "")
			check := a.object["checks"].([]any)[0].(map[string]any)
			traffic, thresholds := check["traffic"].(map[string]any), check["thresholds"].(map[string]any)
			if traffic["requests"].(float64) < 3 || traffic["allRequests"].(float64) <= traffic["requests"].(float64) || traffic["activeKeys"] != 1.0 || traffic["days"] != 3.0 || thresholds["percent"] != 1.0 || thresholds["days"] != 3.0 {
				t.Errorf("the check is %v", check)
			}
			if a.object["sunsetAt"] != "2027-06-30T12:00:00Z" || a.object["trafficCheckAt"] != "2027-05-31T12:00:00Z" || a.header.Get("ETag") != `"4"` {
				t.Errorf("the extended version is %s", a.text)
			}
		})
	}

	for _, day := range []string{"2027-05-29", "2027-05-30"} { // the clients have left
		run("Leaving", day+"T12:00:00Z", func(_ *testing.T, v *versioned) { v.calls("2", 2) })
	}
	run("Kept", "2027-05-31T12:00:00Z", func(t *testing.T, v *versioned) {
		if got := v.checks(first + "/1"); !slices.Equal(got, []string{"extended 2027-06-30", "kept 2027-06-30"}) {
			t.Errorf("the checks are %v", got)
		}
		c.turn("2027-06-30T11:59:59Z")
		v.states("deprecated", "active")
		v.ask(200, "", "GET", "/api/v1/health", "")
		c.turn("2027-06-30T12:00:00Z") // on the second, without a restart
		v.ask(410, "version_sunset", "GET", "/api/v1/health", "")
	})

	run("Sunset", "2027-06-30T12:00:00Z", func(t *testing.T, v *versioned) {
		v.states("sunset", "active")
		a := v.ask(410, "version_sunset", "GET", "/api/v1/health", "")
		for member, want := range map[string]any{
			"migrationGuideUrl": "https://example.org/moving", "replacementVersion": "2", "sunsetAt": "2027-06-30T12:00:00Z",
		} {
			if a.object[member] != want {
				t.Errorf("%s is %v, want %v", member, a.object[member], want)
			}
		}
		if a.header.Get("X-API-Version") != "2" {
			t.Errorf("the answer is of version %s, want the current one", a.header.Get("X-API-Version"))
		}
		v.ask(410, "version_sunset", "GET", "/api/versions", "", "Accept-Version", "1")
		v.ask(200, "", "GET", "/api/v1/openapi.json", "")
		v.ask(409, "conflict", "PATCH", second+"/1", `{"sunsetAt":"2027-12-31T00:00:00Z"}`)

		// Who still calls it is seen also now, by what would have served it.
		list := v.ask(200, "", "GET", second+"/1/usage?from=2027-06-30T12:00:00Z", "").object["items"].([]any)
		found := false
		for _, item := range list {
			caller := item.(map[string]any)
			found = found || caller["route"] == "/api/v1/health" && caller["method"] == "GET" && caller["client"] == "cycle/1.0" &&
				caller["lastAt"] == "2027-06-30T12:00:00.000Z" && caller["keyId"] != nil
		}
		if !found {
			t.Errorf("the callers of version 1 are %v", list)
		}
	})

	run("Retired", "2028-06-30T11:59:59Z", func(_ *testing.T, v *versioned) { // by itself
		v.ask(410, "version_sunset", "GET", "/api/v1/health", "")
		c.turn("2028-06-30T12:00:00Z")
		v.ask(404, "version_not_found", "GET", "/api/v1/health", "")
		v.ask(404, "version_not_found", "GET", "/api/v1/openapi.json", "")
		v.ask(400, "validation_error", "GET", "/api/versions", "", "Accept-Version", "1").field(t, "Accept-Version", "unsupported")
		v.states("retired", "active")
	})

	// The next version's check is missed, because the program does not run before its sunset, which falls on a leap day.
	run("TheNextOne", "2031-08-31T12:00:00Z", func(t *testing.T, v *versioned) {
		v.ask(201, "", "POST", second+"/release", `{"version":3,"announcedAt":"2031-08-31T12:00:00Z"}`)
		if a := v.ask(200, "", "GET", "/api/v2/health", ""); a.header.Get("Sunset") != "Sun, 29 Feb 2032 12:00:00 GMT" {
			t.Errorf("the sunset is %s, want the leap day", a.header.Get("Sunset"))
		}
		v.states("retired", "deprecated", "active")
	})
	for _, day := range []string{"2031-09-02", "2031-09-03"} {
		run("Quiet", day+"T12:00:00Z", func(*testing.T, *versioned) {})
	}
	run("Missed", "2032-03-02T12:00:00Z", func(t *testing.T, v *versioned) {
		v.states("retired", "deprecated", "active")
		if got := v.checks("/api/v3/admin/versions/2"); !slices.Equal(got, []string{"postponed 2032-04-01", "kept 2032-04-01"}) {
			t.Errorf("the checks are %v, want thirty days more", got)
		}
		c.turn("2032-04-01T12:00:00Z")
		v.ask(410, "version_sunset", "GET", "/api/v2/health", "")
		if a := v.ask(200, "", "GET", "/api/v3/admin/versions/2", ""); a.object["retiresAt"] != "2033-04-01T12:00:00Z" {
			t.Errorf("it retires at %v", a.object["retiresAt"])
		}
		a := v.ask(200, "", "POST", "/api/v3/admin/versions/2/retire", "")
		if a.object["state"] != "retired" || a.object["retiresAt"] != "2032-04-01T12:00:00Z" {
			t.Errorf("the retired version is %s", a.text)
		}
		v.ask(404, "version_not_found", "GET", "/api/v2/health", "")
		if again := v.ask(200, "", "POST", "/api/v3/admin/versions/2/retire", ""); again.header.Get("ETag") != a.header.Get("ETag") {
			t.Error("retiring a retired version changed it")
		}
		v.states("retired", "retired", "active")
	})

	run("Logged", "2032-04-02T12:00:00Z", func(t *testing.T, v *versioned) {
		got := map[string]int{}
		for _, item := range v.ask(200, "", "GET", "/api/v3/admin/audit-log?limit=200", "").object["items"].([]any) {
			got[item.(map[string]any)["action"].(string)]++
		}
		for action, want := range map[string]int{
			"version.released": 2, "version.changed": 1, "version.deprecated": 2, "version.traffic_checked": 4, "version.sunset": 2,
			"version.retired": 2,
		} {
			if got[action] != want {
				t.Errorf("%s was logged %d times, want %d", action, got[action], want)
			}
		}
	})
}

// A release in the past with a sunset some days ahead is checked, and leaves clients no thirty days if there are few.
func TestABackdatedSunsetIsExtendedOnlyByTraffic(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Traffic": "2027-03-01T00:00:00Z", "None": "2026-12-01T00:00:00Z"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, c := t.TempDir(), &calendar{}
			apptest.DatabaseURL(t, dir)
			c.turn("2026-11-21T12:00:00Z")
			key := ""
			allow := func(cfg *config.Config) { cfg.Lifecycle.AllowBackdating = true }
			t.Run("Release", func(t *testing.T) {
				v := startVersioned(t, c, dir, key, allow)
				key = v.key
				v.ask(201, "", "POST", first+"/release", `{"version":2,"announcedAt":"2026-05-01T00:00:00Z","sunsetAt":"2026-12-01T00:00:00Z"}`)
				v.calls("2", 1)
				if name == "Traffic" {
					v.calls("1", 1)
				}
			})
			t.Run("Check", func(t *testing.T) {
				v := startVersioned(t, c, dir, key, allow)
				if a := v.ask(200, "", "GET", first+"/1", ""); a.object["sunsetAt"] != want || len(a.object["checks"].([]any)) != 1 {
					t.Errorf("got %s, want the sunset at %s", a.text, want)
				}
				// An admin of another workspace sees the verdict, but not how much others call.
				seen := newTenant(t, v.Running, "clinic", "canary").make("GET", first+"/1", "")["checks"].([]any)[0].(map[string]any)
				if seen["traffic"] != nil || seen["verdict"] == nil || seen["thresholds"] == nil {
					t.Errorf("another workspace sees %v", seen)
				}
			})
		})
	}
}

func TestAnAnnouncementInTheFutureDeprecatesThen(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", nil)
	v.ask(201, "", "POST", first+"/release", `{"version":2,"announcedAt":"2026-12-31T00:00:00Z"}`)
	v.states("active", "active")
	c.turn("2026-12-31T00:00:00Z")
	v.states("deprecated", "active")
	if a := v.ask(200, "", "GET", "/api/v1/health", ""); a.header.Get("Sunset") != "Wed, 30 Jun 2027 00:00:00 GMT" {
		t.Errorf("the sunset is %q, want six months after the announcement", a.header.Get("Sunset"))
	}
}

func TestOfManyReleasesOneHappens(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", nil)
	var running sync.WaitGroup
	var released, refused atomic.Int32
	for range 20 {
		running.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), "POST", v.URL+first+"/release", strings.NewReader(`{"version":2}`))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("X-API-Key", v.key)
			r.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			switch resp.StatusCode {
			case http.StatusCreated:
				released.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			default:
				t.Errorf("%d", resp.StatusCode)
			}
		})
	}
	running.Wait()
	if released.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d of 20 releases happened and %d were conflicts", released.Load(), refused.Load())
	}
	v.states("deprecated", "active")
}

func TestANewVersionNeedsABuildThatDeclaresIt(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", func(cfg *config.Config) { cfg.Lifecycle.AllowUndeclared = false })
	v.ask(409, "conflict", "POST", first+"/release", `{"version":2}`)
	v.states("active")
}

func TestBackdatingEndsAVersionAtOnce(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", func(cfg *config.Config) { cfg.Lifecycle.AllowBackdating = true })
	v.ask(400, "validation_error", "POST", first+"/release", `{"version":2,"announcedAt":"2026-05-31T00:00:00Z","sunsetAt":"2026-11-21T00:00:00Z"}`).
		field(t, "sunsetAt", "too_small")
	v.ask(201, "", "POST", first+"/release", `{"version":2,"announcedAt":"2026-05-01T00:00:00Z","sunsetAt":"2026-11-21T00:00:00Z"}`)
	v.ask(410, "version_sunset", "GET", "/api/v1/health", "")
	v.ask(200, "", "GET", "/api/v2/health", "")
}

func TestASunsetIsRehearsedByOneKey(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", nil)
	made := v.ask(201, "", "POST", "/api/v1/developer/api-keys", `{"name":"migrating","scopes":["read"]}`)
	keyID, migrating := made.object["id"].(string), []string{"X-API-Key", made.object["key"].(string)}
	rehearse := func(until string) string { return `{"keyId":"` + keyID + `","until":"` + until + `"}` }

	v.ask(409, "conflict", "POST", first+"/1/rehearse-sunset", rehearse("2026-12-01T00:00:00Z")) // it is active
	v.ask(201, "", "POST", first+"/release", `{"version":2}`)
	v.ask(404, "not_found", "POST", first+"/9/rehearse-sunset", rehearse("2026-12-01T00:00:00Z"))
	v.ask(400, "validation_error", "POST", first+"/1/rehearse-sunset", rehearse("2026-11-21T12:00:00Z")).field(t, "until", "too_small")
	v.ask(400, "validation_error", "POST", first+"/1/rehearse-sunset", `{"keyId":"key_nobody","until":"2026-12-01T00:00:00Z"}`).field(t, "keyId", "invalid")
	a := v.ask(200, "", "POST", first+"/1/rehearse-sunset", rehearse("2026-12-01T00:00:00Z"))
	if a.object["version"] != "1" || a.object["keyId"] != keyID || a.object["until"] != "2026-12-01T00:00:00Z" {
		t.Errorf("the rehearsal is %s", a.text)
	}
	if a := v.ask(200, "", "GET", first+"/1", ""); len(a.object["rehearsals"].([]any)) != 1 {
		t.Errorf("the version does not tell of the rehearsal: %s", a.text)
	}

	for _, path := range []string{"/api/v1/health", "/api/v1/search?q=x", "/api/v1/nothing", "/api/v1/admin/versions"} {
		a := v.ask(410, "version_sunset", "GET", path, "", migrating...)
		if a.object["replacementVersion"] != "2" || a.object["sunsetAt"] != "2027-05-21T12:00:00Z" ||
			a.header.Get("X-API-Version") != "2" || a.header.Get("Deprecation") != "" {
			t.Errorf("%s: the rehearsed answer is %v %s", path, a.header, a.text)
		}
	}
	v.ask(410, "version_sunset", "GET", "/api/versions", "", append(migrating, "Accept-Version", "1")...)
	v.ask(200, "", "GET", "/api/v1/openapi.json", "", migrating...)
	v.ask(200, "", "GET", "/api/v2/health", "", migrating...)
	v.ask(200, "", "GET", "/api/versions", "", migrating...)
	v.ask(200, "", "GET", "/api/v1/health", "") // everybody else
	v.ask(401, "invalid_api_key", "GET", "/api/v1/health", "", "X-API-Key", "kpsk_wrong")
	v.ask(401, "missing_credentials", "GET", "/api/v1/profile", "") // which takes no key, as ever

	// A new moment ends it early.
	v.ask(200, "", "POST", first+"/1/rehearse-sunset", rehearse("2026-11-21T12:00:01Z"))
	c.turn("2026-11-21T12:00:01Z")
	v.ask(200, "", "GET", "/api/v1/health", "", migrating...)
	if a := v.ask(200, "", "GET", first, ""); strings.Contains(a.text, keyID) {
		t.Errorf("a rehearsal that is over is still listed: %s", a.text)
	}
}

// An admin sees who of its own workspace calls a version, and changes nothing; the operator's admins see everybody.
func TestVersionCallersAreSeenByTheirWorkspace(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	c.turn("2026-11-21T12:00:00Z")
	v := startVersioned(t, c, "", "", nil)
	n := newTenant(t, v.Running, "clinic", "canary")
	v.ask(200, "", "GET", "/api/v1/search?q=secret", "", "User-Agent", "Mozilla/5.0 (of somebody)")
	v.ask(200, "", "GET", "/api/v1/search?q=secret", "", "User-Agent", "")
	v.ask(404, "not_found", "GET", "/api/v1/nothing", "")

	type row = map[string]any
	callers := func(object map[string]any) map[string][]row {
		byWorkspace := map[string][]row{}
		for _, item := range object["items"].([]any) {
			caller := item.(row)
			workspace := caller["workspaceId"].(string)
			byWorkspace[workspace] = append(byWorkspace[workspace], caller)
		}
		return byWorkspace
	}
	all := callers(v.ask(200, "", "GET", first+"/1/usage?limit=200", "").object)
	own := callers(n.make("GET", first+"/1/usage?limit=200", ""))
	if len(all[v.Workspace]) == 0 || len(all[n.workspace]) == 0 {
		t.Errorf("the operator sees the callers of %d workspaces, want both", len(all))
	}
	if len(own) != 1 || len(own[n.workspace]) < len(all[n.workspace]) {
		t.Errorf("the clinic's admin sees %v, want its own callers alone", own)
	}
	byUser := false
	for _, caller := range own[n.workspace] {
		byUser = byUser || caller["userId"] == n.admin && caller["keyId"] == nil
	}
	if !byUser {
		t.Errorf("the admin, who used a token, is not among %v", own)
	}
	clients := map[any]bool{}
	for _, caller := range all[v.Workspace] {
		if caller["route"] == "/api/v1/search" {
			clients[caller["client"]] = true
		}
		if caller["route"] == nil && caller["method"] != nil {
			t.Errorf("a path that is none shows as %v", caller)
		}
	}
	if len(clients) != 2 || !clients["Mozilla/5.0"] || !clients[nil] {
		t.Errorf("the clients of the search are %v", clients)
	}

	// Page by page it is the same list, and a page of one workspace opens nothing in another.
	var paged int
	for cursor := ""; ; {
		a := v.ask(200, "", "GET", first+"/1/usage?limit=3"+cursor, "")
		paged += len(a.object["items"].([]any))
		next, more := a.object["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	if now := len(all[v.Workspace]) + len(all[n.workspace]); paged < now {
		t.Errorf("the pages hold %d callers, the whole list %d", paged, now)
	}
	theirs := v.ask(200, "", "GET", first+"/1/usage?limit=1", "").object["nextCursor"].(string)
	n.want(false, 400, "validation_error", "GET", first+"/1/usage?limit=1&cursor="+theirs, "")

	n.want(false, 200, "", "GET", first, "")
	n.want(true, 200, "", "GET", first+"/1", "")
	for _, path := range []string{"/release", "/1/rehearse-sunset", "/1/retire"} {
		n.want(false, 403, "insufficient_scope", "POST", first+path, "")
	}
	n.want(true, 403, "insufficient_scope", "PATCH", first+"/1", "{}")

	// A rehearsal is seen by the workspace whose key it is.
	v.ask(201, "", "POST", first+"/release", `{"version":2}`)
	v.ask(200, "", "POST", first+"/1/rehearse-sunset", `{"keyId":"`+n.keyID+`","until":"2026-12-01T00:00:00Z"}`)
	other := newTenant(t, v.Running, "school", "blackboard")
	for who, want := range map[*tenant]bool{n: true, other: false} {
		status, _, text := who.send("GET", first+"/1", "", false)
		if status != 200 || strings.Contains(string(text), n.keyID) != want {
			t.Errorf("%s: got %d %s, whose rehearsal it is: %v", who.workspace, status, text, want)
		}
	}
}
