package conformance

import (
	"net/http"
	"time"
)

// verifyChecks checks POST /developer/verify (docs/spec/apikeys.md).
func verifyChecks() []promise {
	const path = "/api/v1/developer/verify"
	verify := func(c *check, body fields) *answer { return c.post(path).json(body).send().is(http.StatusOK) }
	code := func(c *check, want string, body fields) *answer {
		return verify(c, body).has(fields{"code": want, "valid": want == "VALID"})
	}
	return []promise{
		{"VerifyJudgesAKey", func(c *check) {
			k := c.newKey(fields{"metadata": fields{"team": "x"}, "quota": fields{"daily": 50}}, "read", "write")
			a := code(c, "VALID", fields{"key": k.text})
			a.has(fields{"keyId": k.id, "name": k.made.text("name"), "scopes": []string{"read", "write"}, "metadata": fields{"team": "x"}})
			a.shape(map[string]string{"workspaceId": "string", "rateLimit": "object", "quota": "object|null"})
			code(c, "VALID", fields{"key": k.text, "requiredScopes": []string{"read"}})
			code(c, "INSUFFICIENT_SCOPE", fields{"key": k.text, "requiredScopes": []string{"read", "admin"}})
			code(c, "VALID", fields{"key": c.newKey(nil, "admin").text, "requiredScopes": []string{"memory:write"}})
		}},
		{"EveryStateHasItsCode", func(c *check) {
			revoked, disabled, held := c.newKey(nil, "read"), c.newKey(nil, "read"), c.newKey(fields{"allowedIps": []string{"192.0.2.0/24"}}, "read")
			expired := c.expiringKey(c.suite.lifetimes()...)
			c.delete(revoked.path()).send().is(http.StatusNoContent)
			c.patch(disabled.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			code(c, "REVOKED", fields{"key": revoked.text})
			code(c, "DISABLED", fields{"key": disabled.text})
			code(c, "IP_NOT_ALLOWED", fields{"key": held.text, "ip": "198.51.100.7"})
			code(c, "VALID", fields{"key": held.text, "ip": "192.0.2.9"})
			c.pass(expired.made.moment("expiresAt").Sub(c.suite.now()) + 100*time.Millisecond)
			code(c, "EXPIRED", fields{"key": expired.text})
			for _, text := range []string{"x", c.strangersKey(), revoked.text[:40]} {
				code(c, "INVALID", fields{"key": text}).has(fields{"keyId": nil, "workspaceId": nil, "name": nil})
			}
		}},
		{"BothSecretsOfARotationAreValid", func(c *check) {
			k := c.newKey(nil, "read")
			text := c.post(k.path() + "/rotate").json(fields{}).send().is(http.StatusOK).text("key")
			code(c, "VALID", fields{"key": k.text}).has(fields{"keyId": k.id})
			code(c, "VALID", fields{"key": text}).has(fields{"keyId": k.id})
			c.post(k.path() + "/complete-rotation").send().is(http.StatusOK)
			code(c, "INVALID", fields{"key": k.text})
		}},
		{"TheJudgedKeyPaysTheCostOnce", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 20}}, "read")
			code(c, "VALID", fields{"key": k.text, "cost": 5})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "14")
			code(c, "VALID", fields{"key": k.text})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "12")
			code(c, "VALID", fields{"key": k.text, "cost": 5, "consume": false})
			code(c, "INSUFFICIENT_SCOPE", fields{"key": k.text, "cost": 5, "requiredScopes": []string{"admin"}})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "11")
			code(c, "QUOTA_EXCEEDED", fields{"key": k.text, "cost": 12})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "10")
		}},
		{"AnExhaustedMinuteIsRATE_LIMITED", func(c *check) {
			c.sameWindow(perMinute(2), func(k key) bool {
				first := c.get("/api/v1/health").as(k.text).now().send()
				verify(c, fields{"key": k.text})
				a := verify(c, fields{"key": k.text})
				if last := c.get("/api/v1/health").as(k.text).now().send(); resetsLater(first, last) {
					return false
				}
				a.has(fields{"code": "RATE_LIMITED", "valid": false, "keyId": k.id})
				return true
			})
		}},
		{"TheCallerPaysForInvalidKeysAlone", func(c *check) {
			caller, k := c.newKey(fields{"quota": fields{"daily": 30}}, "developer:manage"), c.newKey(nil, "read")
			judge := func(text, code, left string) {
				a := c.post(path).as(caller.text).json(fields{"key": text}).send().is(http.StatusOK)
				a.has(fields{"code": code}).head("X-RateLimit-Daily-Remaining", left)
			}
			for range 3 {
				judge(k.text, "VALID", "30")
			}
			judge("x", "INVALID", "29")
			judge(c.strangersKey(), "INVALID", "28")
			c.delete(k.path()).send().is(http.StatusNoContent)
			judge(k.text, "REVOKED", "28")
			c.post(path).as(caller.text).json(fields{"key": k.text, "requiredScopes": []string{"root"}}).send().is(http.StatusBadRequest)
			c.get("/api/v1/health").as(caller.text).send().head("X-RateLimit-Daily-Remaining", "27")
		}},
		{"WhoHasNoRequestsLeftIsToldOfNoInvalidKey", func(c *check) {
			caller, k := c.newKey(fields{"quota": fields{"daily": 1}}, "developer:manage"), c.newKey(nil, "read")
			c.post(path).as(caller.text).json(fields{"key": c.strangersKey()}).send().is(http.StatusOK)
			c.post(path).as(caller.text).json(fields{"key": c.strangersKey()}).now().send().fails(429, "rate_limit_exceeded")
			c.post(path).as(caller.text).json(fields{"key": k.text}).now().send().is(http.StatusOK).has(fields{"code": "VALID"})
		}},
		{"OnlyKeysOfTheCallersWorkspaceAreKnown", func(c *check) {
			t := c.tenant()
			never := c.post(path).as(t.key).json(fields{"key": c.strangersKey()}).send().is(http.StatusOK)
			k := c.newKey(fields{"quota": fields{"daily": 9}}, "read")
			a := c.post(path).as(t.key).json(fields{"key": k.text}).send().is(http.StatusOK).has(fields{"code": "INVALID", "valid": false})
			if string(a.body) != string(never.body) {
				a.broken("another workspace's key has another answer than one that never was: %s", never.body)
			}
			code(c, "INVALID", fields{"key": t.key})
			c.get("/api/v1/health").as(k.text).send().head("X-RateLimit-Daily-Remaining", "8")
		}},
		{"ABadInquiryIs400", func(c *check) {
			k := c.newKey(nil, "read")
			for _, bad := range []struct {
				body         fields
				field, issue string
			}{
				{fields{}, "key", "required"},
				{fields{"key": 1}, "key", "type"},
				{fields{"key": k.text, "cost": 0}, "cost", "too_small"},
				{fields{"key": k.text, "cost": -5}, "cost", "too_small"},
				{fields{"key": k.text, "cost": 1.5}, "cost", "type"},
				{fields{"key": k.text, "requiredScopes": []string{"root"}}, "requiredScopes[0]", "not_allowed|unknown|unsupported|invalid"},
				{fields{"key": k.text, "ip": "nowhere"}, "ip", "format"},
				{fields{"key": k.text, "consume": "no"}, "consume", "type"},
				{fields{"key": k.text, "workspaceId": "x"}, "workspaceId", "unknown"},
			} {
				c.post(path).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
		}},
		{"ItNeedsDeveloperManage", func(c *check) {
			weak := c.newKey(nil, "read", "write", "memory:read")
			c.post(path).as(weak.text).json(fields{"key": weak.text}).send().fails(403, "insufficient_scope").has(fields{"details.requiredScope": "developer:manage"})
			c.post(path).anonymous().json(fields{"key": weak.text}).send().fails(401, "missing_credentials")
			c.post(path).bearer(c.signedIn("developer").token).json(fields{"key": weak.text}).send().is(http.StatusOK).has(fields{"code": "VALID"})
		}},
	}
}
