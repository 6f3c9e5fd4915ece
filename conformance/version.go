package conformance

import (
	"net/http"
	"regexp"
	"strings"
)

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionChecks checks §9 and docs/spec/versions.md.
func versionChecks() []promise {
	return []promise{
		{"APathOfAVersionThatNeverWasIs404", func(c *check) {
			for _, path := range []string{"/api/v9/health", "/api/v0/health", "/api/v2", "/api/v10/nothing/here", "/api/v99999999999999999999/health"} {
				c.get(path).send().fails(404, "version_not_found").head("X-API-Version", "1")
			}
			for _, path := range []string{"/api/v01/health", "/api/v/health", "/api/v1x/health", "/api/V1/health", "/api/v-1/health"} {
				if a := c.get(path).send(); a.text("error") != "not_found" {
					a.fails(404, "version_not_found")
				}
			}
		}},
		{"AnUnknownVersionComesBeforeTheCredential", func(c *check) {
			c.get("/api/v9/health").anonymous().send().fails(404, "version_not_found")
			c.delete("/api/v9/health").anonymous().send().fails(404, "version_not_found")
		}},
		{"ThePathTakesPrecedenceOverAcceptVersion", func(c *check) {
			for _, given := range []string{"1", "v1", "99", "nonsense", ""} {
				c.get("/api/v1/health").with("Accept-Version", given).send().is(http.StatusOK)
			}
			c.get("/api/v9/health").with("Accept-Version", "1").send().fails(404, "version_not_found")
		}},
		{"AcceptVersionChoosesWhereThePathDoesNot", func(c *check) {
			for _, given := range []string{"1", "v1"} {
				c.get("/api/versions").anonymous().with("Accept-Version", given).send().is(http.StatusOK).has(fields{"items[0].version": "1"})
			}
		}},
		{"AnAcceptVersionThatIsNotAvailableIs400", func(c *check) {
			for _, given := range []string{"2", "v9", "0", "-1", "1.0", "latest", "1, 2", "01", "v", "99999999999999999999"} {
				c.get("/api/versions").anonymous().with("Accept-Version", given).send().fails(400, "validation_error", "Accept-Version", "unsupported")
			}
		}},
		{"AnAcceptVersionThatIsNotAvailableComesBeforeThePath", func(c *check) {
			c.get("/api/nothing-here").with("Accept-Version", "9").send().fails(400, "validation_error", "Accept-Version", "unsupported")
		}},
		{"OpenAPISaysWhichVersionItDescribes", func(c *check) {
			for _, path := range []string{"/openapi.json", "/api/v1/openapi.json"} {
				a := c.get(path).anonymous().send().is(http.StatusOK)
				a.shape(map[string]string{"info.title": "string", "paths": "object", "components.securitySchemes": "object"})
				a.has(fields{"info.x-api-version": 1})
				// Responses can gain fields at any time, so the minor version of the description rises.
				if v := a.text("info.version"); !semver.MatchString(v) || !strings.HasPrefix(v, "1.") {
					c.broken("%s: info.version is %q, want 1.x.y", path, v)
				}
				if v := a.text("openapi"); len(v) < 4 || v[:4] != "3.1." {
					c.broken("%s: openapi is %q, want 3.1.x", path, v)
				}
			}
		}},
		{"OpenAPIHasEveryEndpointTheSpecificationNames", func(c *check) {
			a := c.get("/api/v1/openapi.json").anonymous().send().is(http.StatusOK)
			paths, _ := a.at("paths")
			all, _ := paths.(map[string]any)
			for path, methods := range map[string][]string{
				"/api/v1/health": {"get"}, "/api/v1/search": {"get", "post"}, "/api/v1/documents": {"get", "post"},
				"/api/v1/documents/{id}": {"get", "put", "patch", "delete"}, "/api/v1/documents/import": {"post"},
				"/api/v1/documents/export": {"get"}, "/api/v1/documents/delete": {"post"},
				"/api/v1/developer/api-keys": {"get", "post"}, "/api/v1/developer/api-keys/{id}": {"get", "patch", "delete"},
				"/api/v1/developer/api-keys/{id}/revoke": {"post"}, "/api/v1/developer/api-keys/{id}/usage": {"get"},
				"/api/v1/developer/api-keys/{id}/limits": {"get"}, "/api/v1/developer/whoami": {"get"}, "/api/v1/admin/cache-stats": {"get"},
			} {
				operations, _ := all[path].(map[string]any)
				for _, method := range methods {
					operation, _ := operations[method].(map[string]any)
					responses, _ := operation["responses"].(map[string]any)
					for _, status := range []string{"400", "401", "403", "429", "500"} {
						if responses[status] == nil {
							c.broken("/api/v1/openapi.json has no %s for %s %s", status, method, path)
						}
					}
				}
			}
		}},
	}
}

// surfaceChecks checks §9.5: each surface reports the same version.
func surfaceChecks() []promise {
	backend := func(name, path string, look func(c *check, a *answer)) promise {
		return promise{name, func(c *check) {
			if c.suite.target.BackendURL == "" {
				c.skip("needs the address of the backend service")
			}
			q := c.backend(http.MethodGet, path)
			look(c, q.anonymous().send())
		}}
	}
	same := func(_ *check, a *answer) { a.is(http.StatusOK).head("X-API-Version", "1") }
	return append(append(backendChecks(), forwardAuthChecks()...), []promise{
		backend("TheBackendServiceIsAlive", "/livez", same),
		backend("TheBackendServiceIsReady", "/readyz", same),
		backend("TheBackendServiceAnswers404Alike", "/nothing-here", func(_ *check, a *answer) {
			a.fails(404, "not_found").head("X-API-Version", "1")
		}),
		{"TheBackendServicesPathsAreNotOnThePrimary", func(c *check) {
			for _, path := range []string{"/livez", "/readyz", "/verify", "/usage"} {
				c.get(path).anonymous().send().fails(404, "not_found")
			}
		}},
	}...)
}
