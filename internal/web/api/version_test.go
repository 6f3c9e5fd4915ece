package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// successor makes a surface whose code knows a version 2: it inherits everything of version 1 but /read, which it
// answers differently, and adds /fresh. Version 2 is not released yet.
func successor(t *testing.T, change ...func(o *api.Options)) *bundle {
	return setup(t, append(change, func(o *api.Options) {
		type none struct{}
		type said struct {
			Body struct {
				Says    string `json:"says"`
				Version int    `json:"version"`
			}
		}
		says := func(text string) func(ctx context.Context, _ *none) (*said, error) {
			return func(ctx context.Context, _ *none) (*said, error) {
				out := &said{}
				out.Body.Says, out.Body.Version = text, endpoint.RequestOf(ctx).APIVersion()
				return out, nil
			}
		}
		op := endpoint.Operation{Method: "GET", Since: 2, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Scope: auth.Read, Status: 200}
		op.ID, op.Path = "readAgain", "/read"
		endpoint.Add(o.Operations, op, says("version 2"))
		op.ID, op.Path = "fresh", "/fresh"
		endpoint.Add(o.Operations, op, says("fresh"))
		o.PublicURL = "https://keepsake.example"
		o.Steps = []lifecycle.Step{{
			Version: 2, ID: "read-says", Summary: "It says <something> else.", Routes: []string{"GET /read"},
			Before: `{"says":"its scopes"}`, After: `{"says":"<version 2>"}`,
		}}
	})...)
}

func (b *bundle) release(at, sunset time.Time) {
	b.t.Helper()
	one := lifecycle.First()
	one.AnnouncedAt, one.SunsetAt, one.RetiredAt, one.Checked = at, sunset, lifecycle.AddMonths(sunset, 12), true
	if err := b.Versions.Replace([]lifecycle.Version{one, {Number: 2, Since: at}}); err != nil {
		b.t.Fatal(err)
	}
}

func TestVersion2InheritsVersion1(t *testing.T) {
	t.Parallel()
	b := successor(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	get := func(path string, headers ...string) answer {
		return b.do("GET", path, "", append(headers, "X-API-Key", key)...)
	}
	get("/api/v2/ping").want(t, 404, "version_not_found")
	get("/api/v1/fresh").want(t, 404, "not_found")
	if a := get("/api/v1/ping"); a.Header.Get("Deprecation") != "" || a.Header.Get("X-API-Version") != "1" {
		t.Errorf("before the release version 1 answers %v", a.Header)
	}

	now := b.clock.Now()
	b.release(now, lifecycle.AddMonths(now, 6)) // 2027-05-21

	if a := get("/api/v2/ping").want(t, 200, ""); a.Header.Get("X-API-Version") != "2" || a.Header.Get("Deprecation") != "" {
		t.Errorf("the inherited operation answers %v, want version 2, not deprecated", a.Header)
	}
	if a := get("/api/v2/read").want(t, 200, ""); a.object["says"] != "version 2" || a.object["version"] != 2.0 {
		t.Errorf("the changed operation answers %s", a.text)
	}
	if a := get("/api/v1/read").want(t, 200, ""); a.object["scopes"] == nil {
		t.Errorf("version 1 of the changed operation answers %s", a.text)
	}
	get("/api/v2/fresh").want(t, 200, "")
	get("/api/v1/fresh").want(t, 404, "not_found")

	for _, path := range []string{"/api/v1/ping", "/api/v1/nothing", "/api/v1/notes/a%20b"} {
		want := map[string]string{
			"X-API-Version": "1", "Deprecation": "true", "Sunset": "Fri, 21 May 2027 12:00:00 GMT", "X-API-Replacement-Version": "2",
			"Link": `<https://keepsake.example/docs/api/migration/v1-to-v2>; rel="deprecation"|` +
				`<https://keepsake.example` + strings.Replace(path, "v1", "v2", 1) + `>; rel="successor-version"`,
		}
		a := get(path)
		for name, value := range want {
			if got := strings.Join(a.Header.Values(name), "|"); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
	}
	if a := get("/api/open", "Accept-Version", "v1"); a.Header.Get("X-API-Version") != "1" || a.Header.Get("Deprecation") != "true" {
		t.Errorf("Accept-Version v1 got %v", a.Header)
	}
	if a := get("/api/open"); a.Header.Get("X-API-Version") != "2" {
		t.Errorf("without Accept-Version got version %s, want the current one", a.Header.Get("X-API-Version"))
	}
	if a := get("/api/v2/ping", "Accept-Version", "1"); a.Header.Get("X-API-Version") != "2" {
		t.Errorf("the path's version lost against Accept-Version")
	}
	guide := get("/docs/api/migration/v1-to-v2").want(t, 200, "")
	for _, want := range []string{
		`<li id="read-says"><p>It says &lt;something&gt; else.`, "<code>GET /read</code>", "&lt;version 2&gt;", "<tr><td>Sunset<td>",
	} {
		if !strings.Contains(guide.text, want) {
			t.Errorf("the guide lacks %s: %s", want, guide.text)
		}
	}
	get("/docs/api/migration/v2-to-v3").want(t, 404, "not_found")
	get("/docs/api/migration/v01-to-v2").want(t, 404, "not_found")

	b.clock.Move(lifecycle.AddMonths(now, 6).Sub(now))
	a := get("/api/v1/ping").want(t, 410, "version_sunset")
	if a.object["migrationGuideUrl"] != "https://keepsake.example/docs/api/migration/v1-to-v2" || a.object["replacementVersion"] != "2" ||
		a.object["sunsetAt"] != "2027-05-21T12:00:00Z" || a.Header.Get("X-API-Version") != "2" {
		t.Errorf("a sunset version answers %s in version %s", a.text, a.Header.Get("X-API-Version"))
	}
	get("/api/v1/nothing").want(t, 410, "version_sunset")
	get("/api/v1/openapi.json").want(t, 200, "")
	get("/api/open", "Accept-Version", "1").want(t, 410, "version_sunset")
	get("/api/v2/ping").want(t, 200, "")

	b.clock.Move(lifecycle.AddMonths(b.clock.Now(), 12).Sub(b.clock.Now()))
	get("/api/v1/ping").want(t, 404, "version_not_found")
	get("/api/v1/openapi.json").want(t, 404, "version_not_found")
	get("/api/open", "Accept-Version", "1").want(t, 400, "validation_error")
	get("/api/v2/ping").want(t, 200, "")
}

func TestAcceptVersionOnAPathWithoutAVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for value, status := range map[string]int{
		"1": 200, "v1": 200, "2": 400, "v2": 400, "0": 400, "01": 400, "1.0": 400, "-1": 400, "v": 400, "vv1": 400, "99999999999999999999": 400,
	} {
		a := b.do("GET", "/api/open", "", "Accept-Version", value)
		if a.StatusCode != status || a.Header.Get("X-API-Version") != "1" {
			t.Errorf("Accept-Version %q: got %d in version %s, want %d in version 1", value, a.StatusCode, a.Header.Get("X-API-Version"), status)
		}
		if status == 400 && (a.details("field") != "Accept-Version" || a.details("issue") != "unsupported") {
			t.Errorf("Accept-Version %q: got %s", value, a.text)
		}
	}
	b.do("GET", "/api/v1/nothing", "", "Accept-Version", "banana").want(t, 404, "not_found")
	if a := b.do("GET", "/openapi.json", ""); a.text != `{"version":1}` {
		t.Errorf("/openapi.json is %s, want the description of the current version", a.text)
	}
}
