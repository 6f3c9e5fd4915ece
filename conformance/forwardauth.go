package conformance

import (
	"net/http"
	"strings"
)

// carried is the header of a 429 that was sent as 403, for proxies that pass on no other refusal.
const carried = "X-Keepsake-Status"

// ask returns a request of a proxy to /forward-auth, with an API key of its client, which can be empty.
func (c *check) ask(query, key string) *call {
	t := &c.suite.target
	if t.BackendURL == "" {
		c.skip("needs the address of the backend service")
	}
	request := func(key string) *call {
		q := c.backend(http.MethodGet, "/forward-auth"+query).as(key)
		if key == "" {
			q.anonymous()
		}
		if t.BackendSecret != "" {
			q.with(backendHeader, t.BackendSecret)
		}
		return q
	}
	if t.BackendSecret == "" && strings.Contains(request("").send().text("message"), backendHeader) {
		c.skip("the backend service requires the backend secret")
	}
	return request(key)
}

// forwardAuthChecks checks /forward-auth on the backend listener (docs/spec/surfaces.md).
func forwardAuthChecks() []promise {
	const own = "X-RateLimit-Daily-Remaining"
	return []promise{
		{"AProxyLearnsWhoseKeyItIs", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 50}}, "read", "write")
			for _, q := range []*call{
				c.ask("", k.text), c.ask("?scope=read&cost=1&carry429=false", k.text), c.ask("?scope=read+write", k.text),
				c.ask("", "").with("Authorization", "Bearer "+k.text),
			} {
				a := q.send().is(http.StatusOK).head("X-Keepsake-Key-Id", k.id).head("X-Keepsake-Scopes", "read write").head("Cache-Control", "no-store")
				if !strings.HasPrefix(a.header.Get("X-Keepsake-Workspace-Id"), "wsp_") || a.header.Get(carried) != "" {
					a.broken("want the workspace's ID and no %s", carried)
				}
			}
			head := c.ask("", k.text)
			head.method = http.MethodHead
			head.send().is(http.StatusOK).head("X-Keepsake-Key-Id", k.id).head(own, "45")
		}},
		{"AProxyLearnsWhoseTokenItIs", func(c *check) {
			p := c.signedIn("viewer")
			a := c.ask("?scope=read", "").bearer(p.token).send().is(http.StatusOK).head("X-Keepsake-Key-Id", "")
			if !strings.HasPrefix(a.header.Get("X-Keepsake-Workspace-Id"), "wsp_") || !strings.Contains(a.header.Get("X-Keepsake-Scopes"), "read") {
				a.broken("want the workspace's ID and the scopes of the role")
			}
			c.ask("?scope=admin", "").bearer(p.token).send().fails(403, "insufficient_scope")
			c.ask("", "").bearer(p.token[:len(p.token)-2]).send().fails(401, "invalid_token")
		}},
		{"AProxyLearnsWhyNot", func(c *check) {
			k, held, disabled := c.newKey(nil, "read"), c.newKey(fields{"allowedIps": []string{"192.0.2.0/24"}}, "read"), c.newKey(nil, "read")
			c.patch(disabled.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			c.ask("", "").send().fails(401, "missing_credentials")
			c.ask("", c.strangersKey()).send().fails(401, "invalid_api_key")
			c.ask("", disabled.text).send().fails(401, "api_key_disabled")
			c.ask("?scope=write", k.text).send().fails(403, "insufficient_scope")
			c.ask("?scope=read,write", k.text).send().fails(403, "insufficient_scope")
			c.ask("", held.text).send().fails(403, "ip_not_allowed")
		}},
		{"TheJudgedKeyPaysTheCostOfItsRequest", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 10}}, "read")
			c.ask("?cost=4", k.text).send().is(http.StatusOK).head(own, "6")
			c.ask("?cost=4&scope=write", k.text).send().fails(403, "insufficient_scope")
			c.ask("?cost=7", k.text).now().send().fails(429, "rate_limit_exceeded")
			a := c.ask("?cost=7&carry429=true", k.text).now().send()
			if a.fails(403, "rate_limit_exceeded").head(carried, "429"); a.number("Retry-After") < 1 {
				a.broken("want Retry-After")
			}
			c.ask("?cost=6&carry429=true", k.text).send().is(http.StatusOK).head(own, "0")
			c.get("/api/v1/health").as(k.text).now().send().fails(429, "rate_limit_exceeded")
		}},
		{"AProxysParametersAreStrict", func(c *check) {
			k := c.newKey(nil, "read")
			for query, want := range map[string][]string{
				"?scope=reed": {"scope", "not_allowed"}, "?cost=0": {"cost", "too_small"}, "?cost=x": {"cost", "type"}, "?cost=1&cost=1": {"cost", "duplicate"},
				"?carry429=1": {"carry429", "type"}, "?scopes=read": {"scopes", "unknown"},
			} {
				c.ask(query, k.text).send().fails(400, "validation_error", want...)
			}
			post := c.ask("", k.text)
			post.method = http.MethodPost
			post.send().fails(405, "method_not_allowed")
			c.get("/forward-auth").send().fails(404, "not_found")
		}},
	}
}
