package conformance

import (
	"net/http"
	"strings"
)

// lifecycleChecks checks §3.1 while version 1 is the only one. The checks of a release come last, because a release cannot be
// undone (releaseChecks).
func lifecycleChecks() []promise {
	return []promise{
		{"VersionsAreListedWithTheirStates", func(c *check) {
			a := c.get("/api/versions").anonymous().send().is(http.StatusOK)
			a.head("X-API-Version", "1").has(fields{"items[0].version": "1", "items[0].state": "active", "items[0].sunsetAt": nil})
			a.shape(map[string]string{"items": "array", "items[0].since": "string", "items[0].announcedAt": "null"})
			if !strings.HasPrefix(a.text("items[0].since"), "2026-07") {
				a.broken("version 1 is active since July 2026 (§9)")
			}
		}},
		{"AnActiveVersionAnnouncesNoEnd", func(c *check) {
			a := c.get("/api/v1/health").send().is(http.StatusOK)
			for _, name := range []string{"Deprecation", "Sunset", "X-API-Replacement-Version", "Link"} {
				a.head(name, "")
			}
		}},
		{"WithoutASecondVersionThereIsNoMigrationGuide", func(c *check) {
			a := c.get("/api/versions").anonymous().send()
			if len(a.list("items")) > 1 {
				c.skip("this deployment has more than one version")
			}
			c.get("/docs/api/migration/v1-to-v2").anonymous().send().fails(404, "not_found")
		}},
	}
}
