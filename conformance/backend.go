package conformance

import "net/http"

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

// backendChecks checks the backend listener (decisions.md, J).
func backendChecks() []promise {
	return []promise{
		{"TheBackendServiceChecksItsCallers", func(c *check) {
			weak := c.newKey(nil, "read")
			for _, path := range []string{"/verify"} {
				c.service(path, fields{}).send().fails(400, "validation_error")
				c.service(path, fields{}).as(weak.text).send().fails(403, "insufficient_scope")
				c.service(path, fields{}).as(c.strangersKey()).send().fails(401, "invalid_api_key")
				c.backend(http.MethodPost, path).anonymous().json(fields{}).send().fails(401, "missing_credentials")
				c.backend(http.MethodPost, path).anonymous().json(fields{}).with(backendHeader, "wrong").send().fails(401, "invalid_credentials")
				c.backend(http.MethodGet, path).send().fails(405, "method_not_allowed")
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
