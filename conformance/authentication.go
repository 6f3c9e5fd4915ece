package conformance

import (
	"net/http"
	"strings"
)

// authenticationChecks is §5.1 and §5.2.
func authenticationChecks() []promise {
	const health = "/api/v1/health"
	return []promise{
		{"AMissingKeyIs401", func(c *check) {
			c.get(health).anonymous().send().fails(401, "missing_credentials")
			c.get(health).as("").send().is(http.StatusUnauthorized)
		}},
		{"AnInvalidKeyIs401AndAllInvalidKeysLookAlike", func(c *check) {
			right := c.newKey(nil, "read").text
			first := ""
			for _, text := range []string{
				"x", "kpsk_", "kpsk_" + strings.Repeat("0", 36), c.strangersKey(), c.strangersKey()[:40], c.strangersKey() + "0",
				strings.ToUpper(right), strings.ToLower(right), right[:40], right + "=", "Bearer " + right, "'; DROP TABLE api_key;--", strings.Repeat("k", 8000),
				"kpsk_" + strings.Repeat("é", 18), strings.TrimPrefix(right, "kpsk_"), "kpsk-" + right[5:],
			} {
				a := c.get(health).as(text).send().fails(401, "invalid_api_key")
				if first == "" {
					first = a.withoutMoments()
				} else if got := a.withoutMoments(); got != first {
					c.broken("two invalid keys have different answers: %s and %s", first, got)
				}
			}
		}},
		{"ABearerTokenIsNoCredentialHere", func(c *check) {
			token := "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c3JfMSIsInNjb3BlIjoiYWRtaW4ifQ."
			c.get(health).anonymous().with("Authorization", token).send().fails(401, "missing_credentials")
			c.get("/api/v1/search?q=x").anonymous().with("Authorization", token).send().fails(401, "missing_credentials")
			c.get(health).with("Authorization", token).send().is(http.StatusOK)
		}},
		{"AKeyIsNeverReadFromTheQueryOrACookie", func(c *check) {
			k := c.newKey(nil, "read").text
			for _, name := range []string{"api_key", "apiKey", "key", "access_token", "X-API-Key", "token"} {
				c.get(health+"?"+name+"="+k).anonymous().send().fails(401, "missing_credentials")
			}
			c.get(health).anonymous().with("Cookie", "X-API-Key="+k+"; access_token="+k).send().fails(401, "missing_credentials")
			c.get(health).anonymous().with("Authorization", "Basic "+k).send().fails(401, "missing_credentials")
		}},
		{"TwoKeysAtOnceAreNoKey", func(c *check) {
			q := c.get(health)
			q.header["X-Api-Key"] = []string{c.newKey(nil, "read").text, c.suite.target.Key}
			if a := q.send(); a.status == http.StatusOK {
				a.broken("a request with two different keys was served: which of them decided?")
			}
		}},
		waits("ABearerTokenIsTakenWhereTheEndpointTakesOne", "bearer tokens"),
		waits("AForgedTokenIs401", "bearer tokens"),
	}
}

// endpointsByScope is the table of decisions.md, E, with requests that change nothing: where the scope is there they are
// refused for their body, or for a name that is not there.
func (c *check) endpointsByScope() []struct {
	scope string
	call  func() *call
} {
	nowhere := "/key_01kakakakafkhvayayayayayay"
	return []struct {
		scope string
		call  func() *call
	}{
		{"read", func() *call { return c.get("/api/v1/search?q=conformance") }},
		{"read", func() *call { return c.post("/api/v1/search").json(fields{}) }},
		{"read", func() *call { return c.get(docsPath + "?limit=1") }},
		{"read", func() *call { return c.get(docsPath + "/conformance-not-there") }},
		{"write", func() *call { return c.put(docsPath + "/conformance-not-there").json(fields{}) }},
		{"write", func() *call { return c.post(docsPath).json(fields{}) }},
		{"write", func() *call { return c.post(docsPath+"/import").raw("text/plain", "x") }},
		{"write", func() *call { return c.delete(docsPath + "/conformance-not-there") }},
		{"developer:manage", func() *call { return c.get(keysPath + "?limit=1") }},
		{"developer:manage", func() *call { return c.post(keysPath).json(fields{}) }},
		{"developer:manage", func() *call { return c.get(keysPath + nowhere) }},
		{"developer:manage", func() *call { return c.patch(keysPath + nowhere).json(fields{"name": "x"}) }},
		{"developer:manage", func() *call { return c.delete(keysPath + nowhere) }},
		{"developer:manage", func() *call { return c.post(keysPath + nowhere + "/revoke").json(fields{}) }},
		{"developer:manage", func() *call { return c.get(keysPath + nowhere + "/usage") }},
		{"developer:manage", func() *call { return c.get(keysPath + nowhere + "/limits") }},
		{"admin", func() *call { return c.get("/api/v1/admin/cache-stats") }},
	}
}

// scopeChecks is §5.3 and the table of decisions.md, E.
func scopeChecks() []promise {
	list := []promise{
		{"WithoutACredentialEveryEndpointIs401", func(c *check) {
			for _, e := range c.endpointsByScope() {
				e.call().anonymous().send().fails(401, "missing_credentials")
			}
		}},
		{"TheScopeComesBeforeTheBody", func(c *check) {
			k := c.newKey(nil, "read").text
			c.post(docsPath).as(k).raw("application/json", "{broken").send().fails(403, "insufficient_scope")
			c.post(docsPath).as(k).raw("text/plain", "x").send().fails(403, "insufficient_scope")
			big := c.post(docsPath).as(k).raw("application/json", strings.Repeat(" ", 2<<20))
			big.with("Expect", "100-continue").send().fails(403, "insufficient_scope")
		}},
		{"NoKeyMakesAWiderKey", func(c *check) {
			narrow := c.newKey(nil, "read", "developer:manage")
			for _, scopes := range [][]string{{"write"}, {"admin"}, {"read", "memory:read"}, {"read", "write", "developer:manage"}} {
				a := c.post(keysPath).as(narrow.text).json(fields{"name": "conformance wider", "scopes": scopes}).send()
				a.fails(403, "insufficient_scope")
				if a.text("details.requiredScope") == "" {
					a.broken("a 403 does not name the scope that is needed")
				}
				if id := a.text("id"); id != "" {
					c.removeKey(id)
				}
			}
			same := c.newKeyAs(narrow.text, nil, "read", "developer:manage")
			c.patch(same.path()).as(narrow.text).json(fields{"scopes": []string{"read", "write"}}).send().fails(403, "insufficient_scope")
			c.patch(narrow.path()).as(narrow.text).json(fields{"scopes": []string{"admin"}}).send().fails(403, "insufficient_scope")
			c.get(same.path()).send().has(fields{"scopes": []string{"read", "developer:manage"}, "revision": 1})
		}},
		{"AMightierKeyMayBeRevoked", func(c *check) {
			narrow, mighty := c.newKey(nil, "developer:manage"), c.newKey(nil, "admin")
			c.post(mighty.path() + "/revoke").as(narrow.text).json(fields{}).send().is(http.StatusOK).has(fields{"state": "revoked"})
		}},
		{"AdminImpliesEveryOther", func(c *check) {
			k := c.newKey(nil, "admin").text
			for _, e := range c.endpointsByScope() {
				if a := e.call().as(k).send(); a.status == http.StatusUnauthorized || a.text("details.requiredScope") != "" {
					a.broken("admin is not enough")
				}
			}
			made := c.newKeyAs(k, nil, "read", "memory:write")
			c.get("/api/v1/search?q=x").as(made.text).send().is(http.StatusOK)
		}},
	}
	for _, scope := range allScopes[:6] {
		list = append(list, promise{"AKeyWith " + scope + " MayDoThatAlone", func(c *check) {
			k := c.newKey(nil, scope).text
			for _, e := range c.endpointsByScope() {
				a := e.call().as(k).send()
				if e.scope != scope {
					a.fails(403, "insufficient_scope").has(fields{"details.requiredScope": e.scope})
				} else if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
					a.broken("%s is not enough for an endpoint that needs it", scope)
				}
			}
		}})
	}
	return list
}
