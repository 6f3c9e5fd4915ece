package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// apiKeyManagementChecks checks the endpoints below /api/v1/developer (docs/spec/apikeys.md).
func apiKeyManagementChecks() []promise {
	return []promise{
		{"AKeyIsRead", func(c *check) {
			k := c.newKey(nil, "read")
			c.get(k.path()).send().is(http.StatusOK).shape(recordShape).has(fields{"id": k.id}).head("ETag", `"1"`)
		}},
		{"KeysAreListedNewestFirst", func(c *check) {
			older, newer := c.newKey(nil, "read"), c.newKey(nil, "read")
			a := c.get(keysPath + "?limit=200").send().is(http.StatusOK).shape(map[string]string{"items": "array", "nextCursor": "string|null"})
			ids := a.texts("items", "id")
			if i, j := slices.Index(ids, newer.id), slices.Index(ids, older.id); i < 0 || j < 0 || i > j {
				c.broken("of two new keys the newer is at %d and the older at %d of the list", i, j)
			}
		}},
		{"AListIsNarrowedByStateAndCreator", func(c *check) {
			maker := c.newKey(nil, "developer:manage", "read")
			theirs := c.newKeyAs(maker.text, nil, "read")
			revoked := c.newKeyAs(maker.text, nil, "read")
			c.delete(revoked.path()).send().is(http.StatusNoContent)
			for query, want := range map[string][]string{
				"createdBy=" + maker.id:                    {revoked.id, theirs.id},
				"createdBy=" + maker.id + "&state=active":  {theirs.id},
				"state=revoked&createdBy=" + maker.id:      {revoked.id},
				"createdBy=" + maker.id + "&state=expired": nil,
			} {
				a := c.get(keysPath + "?" + query).send().is(http.StatusOK)
				if got := a.texts("items", "id"); !slices.Equal(got, want) {
					c.broken("GET %s?%s lists %v, want %v", keysPath, query, got, want)
				}
			}
			c.get(keysPath+"?state=sleeping").send().fails(400, "validation_error", "state")
		}},
		{"AKeyIsChanged", func(c *check) {
			k := c.newKey(fields{"rateLimit": fields{"requestsPerMinute": 9}, "metadata": fields{"a": "b"}}, "read")
			a := c.patch(k.path()).json(fields{"name": "conformance changed", "scopes": []string{"read", "write"}}).send().is(http.StatusOK)
			a.has(fields{"name": "conformance changed", "scopes": []string{"read", "write"}, "revision": 2, "rateLimit.requestsPerMinute": 9})
			a.has(fields{"metadata": fields{"a": "b"}, "createdAt": k.made.text("createdAt")}).head("ETag", `"2"`)
			a = c.patch(k.path()).json(fields{"rateLimit": nil, "metadata": fields{"a": nil, "c": true}, "quota": fields{"daily": 10}}).send().is(http.StatusOK)
			a.has(fields{"rateLimit.inherited": true, "rateLimit.requestsPerMinute": c.suite.limit, "metadata": fields{"c": true}, "quota.daily": 10, "revision": 3})
			a = c.patch(k.path()).json(fields{"quota": nil, "allowedIps": []string{"192.0.2.0/24"}}).send().is(http.StatusOK)
			a.has(fields{"quota": nil, "allowedIps": []string{"192.0.2.0/24"}, "revision": 4})
			c.get(k.path()).send().has(fields{"revision": 4, "name": "conformance changed"})
		}},
		{"AChangeIsInForceAtOnce", func(c *check) {
			k := c.newKey(nil, "write")
			c.get("/api/v1/search?q=x").as(k.text).send().fails(403, "insufficient_scope")
			c.patch(k.path()).json(fields{"scopes": []string{"read"}}).send().is(http.StatusOK)
			c.get("/api/v1/search?q=x").as(k.text).send().is(http.StatusOK)
			c.patch(k.path()).json(perMinute(5)).send().is(http.StatusOK)
			c.get("/api/v1/health").as(k.text).send().is(http.StatusOK).head("X-RateLimit-Key-Limit", "5")
		}},
		{"BadChangesAreRefusedWhole", func(c *check) {
			k := c.newKey(nil, "read")
			for field, body := range map[string]fields{
				"name": {"name": nil}, "scopes": {"scopes": []string{}, "name": "half"}, "disabled": {"disabled": "yes", "name": "half"},
				"rateLimit.requestsPerMinute": {"name": "half", "rateLimit": fields{"requestsPerMinute": -1}},
				"expiresAt":                   {"name": "half", "expiresAt": "2001-01-01T00:00:00Z"}, "subjectId": {"name": "half", "subjectId": "s"},
				"agentId": {"name": "half", "agentId": "a"}, "state": {"name": "half", "state": "active"}, "allowedIps[0]": {"name": "half", "allowedIps": []string{"x"}},
			} {
				c.patch(k.path()).json(body).send().fails(400, "validation_error", field)
			}
			c.get(k.path()).send().has(fields{"revision": 1, "name": k.made.text("name")})
		}},
		{"ARevisionGuardsAChange", func(c *check) {
			k := c.newKey(nil, "read")
			c.patch(k.path()).with("If-Match", `"1"`).json(fields{"name": "conformance one"}).send().is(http.StatusOK).head("ETag", `"2"`)
			c.patch(k.path()).with("If-Match", `"1"`).json(fields{"name": "conformance two"}).send().fails(412, "revision_mismatch")
			c.get(k.path()).send().has(fields{"name": "conformance one", "revision": 2})
		}},
		{"AKeyThatIsNotThereIs404OnEveryPath", func(c *check) {
			never := keysPath + "/key_01kakakakafkhvayayayayayay"
			for _, q := range []*call{
				c.get(never), c.patch(never).json(fields{"name": "x"}), c.delete(never), c.post(never + "/revoke").json(fields{}),
				c.get(never + "/usage"), c.get(never + "/limits"), c.get(keysPath + "/key_zzzzzzzzzzzzzzzzzzzzzzzzzz"),
				c.get(keysPath + "/doc_01kakakakafkhvayayayayayay"), c.get(keysPath + "/nonsense"),
			} {
				q.send().fails(404, "not_found")
			}
		}},
		{"WhoamiTellsWhoAKeyIs", func(c *check) {
			k := c.newKey(fields{"subjectId": "person-7"}, "memory:read")
			a := c.get("/api/v1/developer/whoami").as(k.text).send().is(http.StatusOK)
			a.has(fields{"id": k.id, "scopes": []string{"memory:read"}})
			if strings.Contains(string(a.body), k.text) {
				c.broken("whoami shows the key")
			}
			c.get("/api/v1/developer/whoami").anonymous().send().fails(401, "missing_credentials")
		}},
		{"LimitsAreReadWithoutSpendingThem", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 20}}, "read")
			for range 3 {
				c.get(k.path() + "/limits").send().is(http.StatusOK)
			}
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "19")
		}},
		{"UsageIsASeries", func(c *check) {
			k := c.newKey(nil, "read")
			for range 3 {
				c.get("/api/v1/health").as(k.text).send()
			}
			a := c.get(k.path() + "/usage").send().is(http.StatusOK)
			if !c.eventually(5*time.Second, func() bool {
				a = c.get(k.path() + "/usage").send()
				return strings.Contains(string(a.body), `"requests":3`)
			}) {
				a.broken("three requests of a key are in no point of its usage after 5 s")
			}
		}},
		{"AnAddressThatIsNotAllowedIs403", func(c *check) {
			k := c.newKey(fields{"allowedIps": []string{"192.0.2.1/32", "2001:db8::/32"}}, "read")
			c.get("/api/v1/health").as(k.text).send().fails(403, "ip_not_allowed")
			c.get("/api/v1/search").as(k.text).send().fails(403, "ip_not_allowed")
			open := c.newKey(fields{"allowedIps": []string{"0.0.0.0/0", "::/0"}}, "read")
			c.get("/api/v1/health").as(open.text).send().is(http.StatusOK)
		}},
		{"ASpoofedAddressHelpsNobody", func(c *check) {
			k := c.newKey(fields{"allowedIps": []string{"192.0.2.1/32"}}, "read")
			for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP", "CF-Connecting-IP"} {
				value := "192.0.2.1"
				if name == "Forwarded" {
					value = "for=192.0.2.1"
				}
				a := c.get("/api/v1/health").as(k.text).with(name, value).send()
				if a.status == http.StatusOK && name == "X-Forwarded-For" {
					c.skip("this deployment trusts the address this suite runs at as a proxy")
				}
				a.fails(403, "ip_not_allowed")
			}
		}},
		{"BoundKeysSeeOnlyKeysBoundAlike", func(c *check) {
			bound := c.newKey(fields{"subjectId": "person-1"}, "developer:manage", "memory:read")
			other := c.newKey(fields{"subjectId": "person-2"}, "memory:read")
			free := c.newKey(nil, "memory:read")
			alike := c.newKeyAs(bound.text, fields{"subjectId": "person-1"}, "memory:read")
			alike.made.has(fields{"subjectId": "person-1"})
			for _, hidden := range []key{other, free} {
				c.get(hidden.path()).as(bound.text).send().fails(404, "not_found")
				c.patch(hidden.path()).as(bound.text).json(fields{"name": "x"}).send().fails(404, "not_found")
				c.delete(hidden.path()).as(bound.text).send().fails(404, "not_found")
				c.get("/api/v1/health").as(hidden.text).send().is(http.StatusOK)
			}
			c.get(alike.path()).as(bound.text).send().is(http.StatusOK)
			for _, id := range c.get(keysPath+"?limit=200").as(bound.text).send().is(http.StatusOK).texts("items", "id") {
				if id != bound.id && id != alike.id {
					c.get(keysPath + "/" + id).send().is(http.StatusOK).has(fields{"subjectId": "person-1"})
				}
			}
			wider := c.post(keysPath).as(bound.text).json(fields{"name": "conformance wider", "scopes": []string{"memory:read"}, "subjectId": "person-2"}).send()
			if wider.status == http.StatusCreated {
				c.removeKey(wider.text("id"))
				wider.broken("a bound key made a key for another subject")
			}
			unbound := c.post(keysPath).as(bound.text).json(fields{"name": "conformance unbound", "scopes": []string{"memory:read"}}).send()
			if unbound.status == http.StatusCreated {
				c.removeKey(unbound.text("id"))
				unbound.has(fields{"subjectId": "person-1"})
			}
		}},
	}
}

// cacheStatsChecks checks the cache statistics (docs/spec/admin.md).
func cacheStatsChecks() []promise {
	const path = "/api/v1/admin/cache-stats"
	return []promise{
		{"AnAdminOfTheOperatorReadsThem", func(c *check) {
			a := c.get(path).send()
			if a.status == http.StatusForbidden {
				c.skip("the key is not of the operator workspace")
			}
			a.is(http.StatusOK).shape(map[string]string{"caches": "array", "limiter": "object", "limiter.mode": "string", "limiter.degraded": "boolean", "uptimeSeconds": "number"})
			a.has(fields{"requestId": a.header.Get("X-Request-Id")})
			if len(a.list("caches")) == 0 {
				a.broken("no cache is listed")
			}
			for i := range a.list("caches") {
				at := fmt.Sprintf("caches[%d].", i)
				a.shape(map[string]string{
					at + "name": "string", at + "entries": "integer", at + "capacity": "integer|null", at + "bytes": "integer|null", at + "hits": "integer",
					at + "misses": "integer", at + "hitRatio": "number|null", at + "evictions": "integer",
				})
			}
		}},
		{"EveryOtherScopeTogetherIsNotEnough", func(c *check) {
			k := c.newKey(nil, allScopes[:6]...)
			c.get(path).as(k.text).send().fails(403, "insufficient_scope").has(fields{"details.requiredScope": "admin"})
		}},
	}
}
