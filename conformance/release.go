package conformance

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

const versionsPath = "/admin/versions" // below /api/v1 or /api/v2

// release is version 2, which the run released.
type release struct {
	sunsetAt time.Time // of the first
}

// versionOf returns the version that a response must name (docs/spec/versions.md).
func (s *suite) versionOf(q *call) string {
	path, _, _ := strings.Cut(q.path, "?")
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/"), "/")
	asked := strings.TrimPrefix(q.header.Get("Accept-Version"), "v")
	switch {
	case q.version != "":
		return q.version
	case !q.surfaced() && strings.HasPrefix(first, "v") && slices.Contains(s.live, first[1:]):
		return first[1:]
	case (first == "versions" || q.surfaced()) && slices.Contains(s.live, asked):
		return asked
	}
	return s.live[len(s.live)-1]
}

// left returns how long version 1 is still served: half a minute, for which the run then waits, or an hour if the suite moves
// the deployment's clock.
func (s *suite) left() time.Duration {
	if s.target.Advance != nil {
		return time.Hour
	}
	return 30 * time.Second
}

// released releases version 2, unless that is done. It was announced long ago, so little time is left for version 1.
func (c *check) released() *release {
	if !c.suite.target.Disposable {
		c.skip("would release a version; runs against a deployment that is there for this alone")
	}
	if c.suite.release == nil {
		r := &release{sunsetAt: c.suite.now().Add(c.suite.left()).UTC().Truncate(time.Second)}
		a := c.post("/api/v1" + versionsPath + "/release").json(fields{
			"version": 2, "announcedAt": c.suite.now().AddDate(0, -7, 0).UTC().Format(time.RFC3339), "sunsetAt": r.sunsetAt.Format(time.RFC3339),
		}).send()
		if a.status != http.StatusOK && a.status != http.StatusCreated {
			c.stop("want 200 or 201 for a release\n  %s", a.describe())
		}
		c.suite.release, c.suite.live = r, []string{"1", "2"}
	}
	return c.suite.release
}

// deprecated is released for a check that needs version 1 until its end. A server that is too busy gets more time.
func (c *check) deprecated() *release {
	r := c.released()
	if r.sunsetAt.Sub(c.suite.now()) < c.suite.left()*2/3 {
		later := c.suite.now().Add(c.suite.left()).UTC().Truncate(time.Second)
		c.patch("/api/v2" + versionsPath + "/1").json(fields{"sunsetAt": later.Format(time.RFC3339)}).send().is(http.StatusOK)
		r.sunsetAt = later
	}
	return r
}

// releaseChecks checks §3.1 and docs/spec/versions.md, from the announcement of a version to the end of its predecessor.
func releaseChecks() []promise {
	release := func(c *check, body fields) *answer {
		return c.post("/api/v1" + versionsPath + "/release").json(body).send()
	}
	month := func(c *check, n int) string { return c.suite.now().AddDate(0, n, 2).UTC().Format(time.RFC3339) }
	return []promise{
		{"VersionsAreListedForAdministrators", func(c *check) {
			a := c.get("/api/v1" + versionsPath).send()
			if a.status == http.StatusForbidden {
				c.skip("the key is not of the operator workspace")
			}
			a.is(http.StatusOK).has(fields{"items[0].version": "1", "items[0].state": "active"})
		}},
		{"BadReleasesAreRefused", func(c *check) {
			if !c.suite.target.Disposable {
				c.skip("would release a version where it is not refused; runs against a deployment that is there for this alone")
			}
			release(c, fields{}).fails(400, "validation_error", "version", "required")
			release(c, fields{"version": "2"}).fails(400, "validation_error", "version", "type")
			for _, version := range []any{1, 0, -1, 2.5, true, "v2", nil, []int{2}} {
				release(c, fields{"version": version}).fails(400, "validation_error", "version")
			}
			release(c, fields{"version": 2, "colour": "red"}).fails(400, "validation_error", "colour", "unknown")
			release(c, fields{"version": 2, "sunsetAt": "soon"}).fails(400, "validation_error", "sunsetAt", "format")
			release(c, fields{"version": 2, "sunsetAt": month(c, 5)}).fails(400, "validation_error", "sunsetAt")
			release(c, fields{"version": 2, "announcedAt": month(c, 1), "sunsetAt": month(c, 6)}).fails(400, "validation_error", "sunsetAt|announcedAt")
			for _, version := range []int{3, 7, 255, 256, 100_000, math.MaxInt32 + 1} {
				release(c, fields{"version": version}).fails(409, "conflict")
			}
			c.post("/api/v1"+versionsPath+"/1/retire").json(fields{}).send().fails(409, "conflict")
			c.patch("/api/v1" + versionsPath + "/1").json(fields{"sunsetAt": month(c, 9)}).send().is(409)
			c.get("/api/v1" + versionsPath + "/9/usage").send().is(http.StatusNotFound)
			c.get("/api/versions").anonymous().send().has(fields{"items[0].state": "active", "items[0].sunsetAt": nil})
		}},
		{"ADeprecatedVersionSaysSoInItsHeaders", func(c *check) {
			r := c.deprecated()
			for _, q := range []*call{
				c.get("/api/v1/health"), c.get("/api/v1/health").anonymous(), c.get("/api/v1/search"), c.get("/api/v1/nothing-here"),
				c.delete("/api/v1/health"), c.get("/api/v1/search?q=x").as(c.newKey(nil, "write").text), c.call(http.MethodHead, "/api/v1/health"),
			} {
				a := q.send().head("Deprecation", "true").head("X-API-Replacement-Version", "2").head("X-API-Version", "1")
				if at, err := http.ParseTime(a.header.Get("Sunset")); err != nil || !at.Equal(r.sunsetAt) {
					a.broken("header Sunset is %q, want %s", a.header.Get("Sunset"), r.sunsetAt.Format(http.TimeFormat))
				}
				links := strings.Join(a.header.Values("Link"), ", ")
				for _, want := range []string{`rel="deprecation"`, `rel="successor-version"`, "/docs/api/migration/v1-to-v2"} {
					if !strings.Contains(links, want) {
						a.broken("header Link is %q and lacks %s", links, want)
					}
				}
			}
			a := c.get("/api/v1/health").send().is(http.StatusOK).has(fields{"version": "1", "status": "healthy"})
			if links := strings.Join(a.header.Values("Link"), ", "); !strings.Contains(links, "/api/v2/health") {
				a.broken("header Link is %q and does not lead to the same path of version 2", links)
			}
		}},
		{"TheNewVersionServesEverythingOfTheOldOne", func(c *check) {
			c.deprecated()
			a := c.get("/api/v2/health").send().is(http.StatusOK).has(fields{"version": "2"}).head("X-API-Version", "2")
			for _, name := range []string{"Deprecation", "Sunset", "X-API-Replacement-Version", "Link"} {
				a.head(name, "")
			}
			c.get("/api/v2/search?q=conformance").send().is(http.StatusOK)
			c.get("/api/v2/openapi.json").anonymous().send().is(http.StatusOK).has(fields{"info.x-api-version": 2})
			c.get("/openapi.json").anonymous().send().is(http.StatusOK).has(fields{"info.x-api-version": 2})
			c.get("/api/versions").anonymous().send().head("X-API-Version", "2").has(fields{"items[0].version": "1", "items[0].state": "deprecated", "items[1].version": "2", "items[1].state": "active"})
			for given, serving := range map[string]string{"1": "1", "v1": "1", "2": "2", "v2": "2"} {
				c.get("/api/versions").anonymous().with("Accept-Version", given).send().is(http.StatusOK).head("X-API-Version", serving)
			}
			c.get("/api/v1/health").with("Accept-Version", "2").send().is(http.StatusOK).head("X-API-Version", "1")
			c.get("/api/v3/health").send().fails(404, "version_not_found").head("X-API-Version", "2")
			for given, serving := range map[string]string{"": "2", "1": "1", "v1": "1", "2": "2"} {
				q := c.ai(aiRecall).json(fields{"subjectId": c.suite.name(), "query": "x"})
				if given != "" {
					q.with("Accept-Version", given)
				}
				deprecation := map[string]string{"1": "true"}[serving]
				q.send().is(http.StatusOK).head("X-API-Version", serving).head("Deprecation", deprecation)
			}
		}},
		{"AMigrationGuideIsPublished", func(c *check) {
			c.deprecated()
			c.get("/docs/api/migration/v1-to-v2").anonymous().send().is(http.StatusOK)
			c.get("/docs/api/migration/v2-to-v3").anonymous().send().fails(404, "not_found")
		}},
		{"WhoStillCallsIsListed", func(c *check) {
			c.deprecated()
			k := c.newKey(nil, "read")
			c.get("/api/v1/health").as(k.text).send().is(http.StatusOK)
			var a *answer
			if !c.eventually(5*time.Second, func() bool {
				for next := ""; ; {
					a = c.get("/api/v2" + versionsPath + "/1/usage?limit=200" + next).send().is(http.StatusOK)
					i := slices.Index(a.texts("items", "keyId"), k.id)
					if i >= 0 {
						a.has(fields{fmt.Sprintf("items[%d].route", i): "/api/v1/health"}).shape(map[string]string{fmt.Sprintf("items[%d].lastAt", i): "time"})
						return true
					}
					if next = a.text("nextCursor"); next == "" {
						return false
					}
					next = "&cursor=" + next
				}
			}) {
				a.broken("a key that called version 1 is not listed within 5 s")
			}
		}},
		{"ASunsetIsRehearsedForOneKeyAlone", func(c *check) {
			c.deprecated()
			k, other := c.newKey(nil, "read"), c.newKey(nil, "read")
			path := "/api/v2" + versionsPath + "/1/rehearse-sunset"
			until := c.suite.now().Add(time.Minute).UTC().Format(time.RFC3339)
			c.post(path).json(fields{"until": until}).send().fails(400, "validation_error", "keyId", "required")
			if a := c.post(path).json(fields{"keyId": "key_01kakakakafkhvayayayayayay", "until": until}).send(); a.status != http.StatusNotFound {
				a.fails(400, "validation_error", "keyId", "invalid")
			}
			if a := c.post(path).json(fields{"keyId": k.id, "until": until}).send(); a.status/100 != 2 {
				a.broken("want a 2xx for a rehearsal")
			}
			c.get("/api/v1/health").as(k.text).serving("2").send().fails(410, "version_sunset").has(fields{"replacementVersion": "2"}) // as it will be
			c.get("/api/v2/health").as(k.text).send().is(http.StatusOK)
			c.get("/api/v1/health").as(other.text).send().is(http.StatusOK)
		}},
		{"ASunsetDateMovesLaterAndNeverEarlier", func(c *check) {
			r := c.deprecated()
			path := "/api/v2" + versionsPath + "/1"
			c.patch(path).json(fields{"sunsetAt": r.sunsetAt.Add(-2 * time.Second).Format(time.RFC3339)}).send().fails(400, "validation_error", "sunsetAt")
			later := r.sunsetAt.Add(2 * time.Second)
			c.patch(path).json(fields{"sunsetAt": later.Format(time.RFC3339)}).send().is(http.StatusOK)
			r.sunsetAt = later
			if at, err := http.ParseTime(c.get("/api/v1/health").send().header.Get("Sunset")); err != nil || !at.Equal(later) {
				c.broken("header Sunset does not tell the later date")
			}
		}},
		{"ASunsetVersionIs410WithGuideAndReplacement", func(c *check) {
			r := c.released()
			c.pass(max(0, r.sunsetAt.Sub(c.suite.now())) + 200*time.Millisecond)
			c.suite.live = []string{"2"}
			for _, q := range []*call{
				c.get("/api/v1/health"), c.get("/api/v1/health").anonymous(), c.get("/api/v1/nothing-here"), c.delete("/api/v1/health"),
				c.post("/api/v1/documents").raw("text/plain", "x"), c.get("/api/v1/search").as(c.strangersKey()),
			} {
				a := q.send().fails(410, "version_sunset")
				a.has(fields{"replacementVersion": "2", "requestId": a.header.Get("X-Request-Id")}).shape(map[string]string{"sunsetAt": "time"})
				if guide := a.text("migrationGuideUrl"); !strings.HasSuffix(guide, "/docs/api/migration/v1-to-v2") {
					a.broken("migrationGuideUrl is %q", guide)
				}
			}
			c.call(http.MethodHead, "/api/v1/health").send().is(http.StatusGone)
			c.get("/api/v1/openapi.json").anonymous().serving("1").send().is(http.StatusOK)
			c.get("/api/versions").anonymous().with("Accept-Version", "1").send().fails(410, "version_sunset")
			c.ai(aiRecall).json(fields{}).with("Accept-Version", "1").send().fails(410, "version_sunset").head("X-API-Version", "2")
			c.ai(aiRecall).json(fields{"subjectId": c.suite.name(), "query": "x"}).send().is(http.StatusOK).head("X-API-Version", "2")
			c.get("/api/versions").anonymous().send().has(fields{"items[0].state": "sunset"})
			c.get("/api/v2/health").send().is(http.StatusOK)
		}},
		{"ARetiredVersionIs404", func(c *check) {
			r := c.released()
			c.pass(max(0, r.sunsetAt.Sub(c.suite.now())) + 200*time.Millisecond)
			c.suite.live = []string{"2"}
			if a := c.post("/api/v2" + versionsPath + "/1/retire").json(fields{}).send(); a.status/100 != 2 {
				c.stop("want a 2xx for retiring a sunset version\n  %s", a.describe())
			}
			for _, path := range []string{"/api/v1/health", "/api/v1/nothing-here", "/api/v1/openapi.json"} {
				c.get(path).send().fails(404, "version_not_found").head("X-API-Version", "2")
			}
			c.get("/api/versions").anonymous().with("Accept-Version", "1").send().fails(400, "validation_error", "Accept-Version", "unsupported")
			c.get("/api/versions").anonymous().send().has(fields{"items[0].state": "retired"})
			c.get("/api/v2" + versionsPath).send().is(http.StatusOK).has(fields{"items[0].state": "retired"})
		}},
	}
}
