package consoletest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

func TestTheConsoleDoesNotCountItself(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "crawler", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		v.post("/console/documents", url.Values{"q": {"radiators"}}).want(t, 200)
	}
	// No other program is taken for the console.
	newVisitor(t, p).send(http.MethodGet, "/api/v1/documents", nil, "X-API-Key", key.Key, "User-Agent", "keepsake-console").want(t, 200)

	counted := func(filter ...string) (n int64) {
		s, err := c.UsageSummary(t.Context(), client.UsageQuery{Window: "1h", Filter: append(filter, "route:/api/v1/search", "route:/api/v1/documents")})
		if err != nil {
			t.Fatal(err)
		}
		return s.Requests
	}
	// Pages read usage without a charge, so waiting adds nothing to it.
	for _, path := range []string{"/console/usage?window=1h&console=true", "/console/requests?window=1h&console=true"} {
		await.Until(t, "the requests are counted", func() bool {
			shown, _, _ := strings.Cut(v.get(path).want(t, 200).text, "This page with curl")
			return strings.Contains(shown, "/api/v1/search") && strings.Contains(shown, "/api/v1/documents")
		})
	}
	if console, others := counted("surface:console"), counted("-surface:console"); console != 3 || others != 1 {
		t.Errorf("the console counts as %d and others as %d, want 3 and 1", console, others)
	}

	const tick = "Include the console's own requests"
	for _, path := range []string{"/?window=1h", "/console/overview?window=1h", "/console/usage?window=1h", "/console/requests?window=1h"} {
		without, with := v.get(path).want(t, 200), v.get(path+"&console=true").want(t, 200)
		// Both pages show their own requests as commands, so only what comes before counts.
		if shown, _, _ := strings.Cut(without.text, "This page with curl"); strings.Contains(shown, "/api/v1/search") || !strings.Contains(shown, "/api/v1/documents") {
			t.Errorf("%s counts the console: %s", path, shown)
		}
		if shown, _, _ := strings.Cut(with.text, "This page with curl"); !strings.Contains(shown, "/api/v1/search") {
			t.Errorf("%s with the tick does not count the console: %s", path, shown)
		}
		if !strings.Contains(path, "/overview") {
			without.want(t, 200, tick)
			with.want(t, 200, tick, `value="true" checked`)
		}
	}
	v.get("/console/usage?window=1h&group=surface&filter=surface:console").want(t, 200, "<code>console</code>")
	csv := v.get("/console/usage/csv?window=1h&group=surface").want(t, 200)
	if strings.Contains(csv.text, "console") {
		t.Errorf("the table counts the console: %s", csv.text)
	}

	if got := v.get("/console/versions/1").want(t, 200, "Who still uses it", "crawler", "GET /api/v1/documents", tick); strings.Contains(got.text, "keepsake-console") {
		t.Errorf("the console is named as a caller: %s", got.text)
	}
	v.get("/console/versions/1?console=true").want(t, 200, "keepsake-console", "crawler", `value="true" checked`)
}

func TestTheOverviewLeavesOutWhatWatches(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	shown := func(path string) string {
		text, _, _ := strings.Cut(v.get(path).want(t, 200).text, "This page with curl")
		return text
	}
	await.Until(t, "the reading of usage is counted", func() bool {
		if _, err := c.UsageSummary(t.Context(), client.UsageQuery{Window: "1h"}); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(shown("/console/requests?window=1h"), "/api/v1/analytics/summary")
	})
	if text := shown("/?window=1h"); strings.Contains(text, "/api/v1/analytics/") {
		t.Errorf("the most used operations are: %s", text)
	}
	if text := shown("/?window=1h&console=true"); !strings.Contains(text, "/api/v1/analytics/summary") {
		t.Errorf("with the tick, the most used operations are: %s", text)
	}
}

func TestTheErrorsOfTheOverviewAreThoseOfItsLink(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "once", Scopes: []string{"read"}, RateLimit: &client.NewRateLimit{RequestsPerMinute: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{404, 429, 429} {
		newVisitor(t, p).send(http.MethodGet, "/api/v1/documents/none", nil, "X-API-Key", key.Key).want(t, status)
	}
	const link = "/console/requests?outcome=errors&window=1h"
	await.Until(t, "the requests are counted", func() bool {
		return strings.Count(v.get("/console/requests?window=1h").want(t, 200).text, ">429</strong>") == 2
	})
	if text := v.get(link).want(t, 200, ">404</strong>").text; strings.Contains(text, ">429</strong>") {
		t.Error("the errors contain a throttled request")
	}
	v.get("/?window=1h").want(t, 200, strings.ReplaceAll(link, "&", "&amp;"))
}
