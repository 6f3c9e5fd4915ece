package conformance

import (
	"net/http"
	"strings"
	"time"
)

// service returns a request of another service to the backend listener, with an API key. It adds the backend secret if the
// listener requires that.
func (c *check) service(path string, body fields) *call {
	t := &c.suite.target
	if t.BackendURL == "" {
		c.skip("needs the address of the backend service")
	}
	if c.backend(http.MethodPost, path).json(fields{}).send().status != http.StatusUnauthorized {
		return c.backend(http.MethodPost, path).json(body)
	}
	if t.BackendSecret == "" {
		c.skip("the backend service requires the backend secret")
	}
	return c.backend(http.MethodPost, path).json(body).with(backendHeader, t.BackendSecret)
}

// trusted returns a request to the backend listener with the backend secret instead of an API key.
func (c *check) trusted(path string, body fields) *call {
	t := &c.suite.target
	if t.BackendURL == "" || t.BackendSecret == "" {
		c.skip("needs the address and the secret of the backend service")
	}
	return c.backend(http.MethodPost, path).anonymous().json(body).with(backendHeader, t.BackendSecret)
}

const backendHeader = "X-Keepsake-Backend"

// backendChecks checks /verify and /usage on the backend listener (docs/spec/surfaces.md).
func backendChecks() []promise {
	item := func(c *check, id string, k key, at time.Time, count int) fields {
		return fields{
			"id": c.suite.mark + id, "keyId": k.id, "route": "GET /conformance/{id}", "status": 200, "count": count,
			"at": at.UTC().Format(time.RFC3339),
		}
	}
	return []promise{
		{"TheBackendServiceChecksItsCallers", func(c *check) {
			weak := c.newKey(nil, "read")
			for _, path := range []string{"/verify", "/usage"} {
				c.service(path, fields{}).send().fails(400, "validation_error")
				c.service(path, fields{}).as(weak.text).send().fails(403, "insufficient_scope")
				c.service(path, fields{}).as(c.strangersKey()).send().fails(401, "invalid_api_key")
				c.backend(http.MethodPost, path).anonymous().json(fields{}).send().fails(401, "missing_credentials")
				c.backend(http.MethodPost, path).anonymous().json(fields{}).with(backendHeader, "wrong").send().fails(401, "invalid_credentials")
			}
		}},
		{"TheBackendServiceRefusesBadInput", func(c *check) {
			for _, path := range []string{"/verify", "/usage"} {
				each := func(status int, code string, fieldAndIssue []string, change func(q *call)) {
					q := c.service(path, fields{})
					change(q)
					q.send().fails(status, code, fieldAndIssue...)
				}
				for _, given := range []string{"2", "0", "latest", "1.0"} {
					each(400, "validation_error", []string{"Accept-Version", "unsupported"}, func(q *call) { q.with("Accept-Version", given) })
				}
				for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
					each(415, "unsupported_media_type", nil, func(q *call) { q.raw(media, "{}") })
				}
				large := `{"key":"` + strings.Repeat("x", 1<<20) + `"}`
				each(413, "payload_too_large", nil, func(q *call) { q.raw("application/json", large) })
				each(413, "payload_too_large", nil, func(q *call) { q.raw("application/json", large).inChunks() })
				for body, want := range map[string][]string{
					`{"colour":"red"}`: {"colour", "unknown"}, `{`: {"body", "format"}, `[]`: {"body", "type"}, `{"colour":1,"colour":1}`: {"colour", "duplicate|unknown"},
				} {
					each(400, "validation_error", want, func(q *call) { q.raw("application/json", body) })
				}
				each(400, "validation_error", []string{"colour", "unknown"}, func(q *call) { q.path += "?colour=red" })
			}
			c.service("/verify", fields{}).send().fails(400, "validation_error", "key", "required")
			c.service("/usage", fields{"items": []any{}}).send().fails(400, "validation_error", "items", "too_short")
		}},
		{"OtherPathsAndMethodsOfTheBackendService", func(c *check) {
			c.service("/verify", fields{}) // skips the check if there is no backend service
			for _, path := range []string{
				"/", "/nothing", "/verify/", "//verify", "/v1/verify", "/api/v1/developer/verify", "/api/v1/health", "/ai/recall", "/openapi.json", "/docs",
			} {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					c.backend(method, path).anonymous().send().fails(404, "not_found")
				}
			}
			for path, allow := range map[string]string{
				"/livez": "GET, HEAD, OPTIONS", "/readyz": "GET, HEAD, OPTIONS", "/metrics": "GET, HEAD, OPTIONS", "/forward-auth": "GET, HEAD, OPTIONS",
				"/verify": "OPTIONS, POST", "/usage": "OPTIONS, POST",
			} {
				allows(c.backend(http.MethodOptions, path).anonymous().send().is(http.StatusNoContent), allow)
				for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
					a := c.backend(method, path).anonymous().json(fields{}).send().fails(405, "method_not_allowed")
					allows(a, allow)
				}
			}
		}},
		{"TheBackendServiceVerifiesKeys", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 50}}, "read")
			c.service("/verify", fields{"key": k.text, "cost": 5}).send().is(http.StatusOK).has(fields{"code": "VALID", "keyId": k.id})
			c.service("/verify", fields{"key": c.strangersKey()}).send().is(http.StatusOK).has(fields{"code": "INVALID", "keyId": nil})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "44")
		}},
		{"TheBackendSecretVerifiesKeys", func(c *check) {
			k := c.newKey(nil, "read")
			c.trusted("/verify", fields{"key": k.text}).send().is(http.StatusOK).has(fields{"code": "VALID", "keyId": k.id})
			c.trusted("/verify", fields{"key": c.strangersKey()}).send().is(http.StatusOK).has(fields{"code": "INVALID"})
		}},
		{"ReportedUsageCountsOnce", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 10}}, "read")
			now := c.suite.now()
			body := fields{"items": []fields{
				item(c, "a", k, now, 3), item(c, "b", k, now.Add(-23*time.Hour), 4), item(c, "a", k, now, 3),
				item(c, "c", k, now.Add(-25*time.Hour), 1), item(c, "d", key{id: "key_01kakakakafkhvayayayayayay"}, now, 1),
			}}
			a := c.service("/usage", body).send().is(http.StatusOK).has(fields{"accepted": 2, "duplicates": 1})
			a.has(fields{"errors[0].index": 3, "errors[0].field": "items[3].at", "errors[1].index": 4, "errors[1].field": "items[4].keyId"})
			c.service("/usage", body).send().is(http.StatusOK).has(fields{"accepted": 0, "duplicates": 3})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "2")
			c.service("/usage", fields{"items": []fields{item(c, "e", k, now, 100)}}).send().is(http.StatusOK).has(fields{"accepted": 1})
			c.get("/api/v1/health").as(k.text).now().send().fails(429, "rate_limit_exceeded")
		}},
		{"ReadinessIsForMachines", func(c *check) {
			if c.suite.target.BackendURL == "" {
				c.skip("needs the address of the backend service")
			}
			a := c.backend(http.MethodGet, "/readyz").anonymous().send().is(http.StatusOK)
			a.shape(map[string]string{
				"status": "string", "checks": "object", "checks.storage.status": "string", "checks.index.status": "string",
				"checks.redis.status": "string", "checks.clock.status": "string", "checks.disk.status": "string",
			})
		}},
	}
}
