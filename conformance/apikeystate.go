package conformance

import (
	"net/http"
	"strings"
	"time"
)

// lifetimes are the lifetimes of what ends in a check. The later ones are for a busy server.
func (s *suite) lifetimes() []time.Duration {
	if s.target.Advance != nil {
		return []time.Duration{time.Hour}
	}
	return []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}
}

// expiringKey creates a key that expires soon: after the first of these lifetimes in which the server can create it.
func (c *check) expiringKey(lives ...time.Duration) key {
	var a *answer
	for _, d := range lives {
		ends := c.suite.now().Add(d)
		a = c.post(keysPath).json(fields{
			"name": "conformance " + c.suite.mark, "scopes": []string{"read"}, "expiresAt": ends.UTC().Format(time.RFC3339Nano),
		}).send()
		if a.status == http.StatusCreated || a.came.Before(ends) {
			break
		}
	}
	k := key{id: a.is(http.StatusCreated).text("id"), text: a.text("key"), made: a}
	c.removeKey(k.id)
	return k
}

// apiKeyStateChecks checks §3.2 with the states of docs/spec/apikeys.md.
func apiKeyStateChecks() []promise {
	const health = "/api/v1/health"
	use := func(c *check, k key) *answer { return c.get(health).as(k.text).send() }
	inThe := func(c *check, d time.Duration) string { return c.suite.now().Add(d).UTC().Format(time.RFC3339Nano) }
	return []promise{
		{"RevokingIsFinalAndAtOnce", func(c *check) {
			k := c.newKey(nil, "read")
			use(c, k).is(http.StatusOK)
			a := c.post(k.path() + "/revoke").json(fields{"reason": "left the company"}).send().is(http.StatusOK)
			a.has(fields{"id": k.id, "state": "revoked", "revokeReason": "left the company"}).shape(recordShape).lacks("key")
			a.shape(map[string]string{"revokedAt": "time"})
			use(c, k).fails(401, "api_key_revoked")
			again := c.post(k.path() + "/revoke").json(fields{"reason": "another reason"}).send().is(http.StatusOK)
			again.has(fields{"state": "revoked", "revokedAt": a.text("revokedAt"), "revokeReason": "left the company"})
			c.get(k.path()).send().is(http.StatusOK).has(fields{"state": "revoked"})
			c.patch(k.path()).json(fields{"name": "back again"}).send().fails(409, "conflict")
			c.patch(k.path()).json(fields{"disabled": false}).send().fails(409, "conflict")
			use(c, k).fails(401, "api_key_revoked")
		}},
		{"RevokingNeedsNoReason", func(c *check) {
			c.post(c.newKey(nil, "read").path() + "/revoke").json(fields{}).send().is(http.StatusOK).has(fields{"revokeReason": nil})
			c.post(c.newKey(nil, "read").path() + "/revoke").send().is(http.StatusOK).has(fields{"state": "revoked"})
		}},
		{"DELETERevokes", func(c *check) {
			k := c.newKey(nil, "read")
			if a := c.delete(k.path()).send().is(http.StatusNoContent); len(a.body) > 0 {
				a.broken("a 204 has a body")
			}
			use(c, k).fails(401, "api_key_revoked")
			c.get(k.path()).send().is(http.StatusOK).has(fields{"state": "revoked"})
			c.delete(k.path()).send().is(http.StatusNoContent)
		}},
		{"DisablingIsReversible", func(c *check) {
			k := c.newKey(nil, "read")
			c.patch(k.path()).json(fields{"disabled": true}).send().is(http.StatusOK).has(fields{"state": "disabled"})
			use(c, k).fails(401, "api_key_disabled")
			c.patch(k.path()).json(fields{"disabled": false}).send().is(http.StatusOK).has(fields{"state": "active"})
			use(c, k).is(http.StatusOK)
		}},
		{"AKeyExpiresOnTheSecondAndMayBeExtended", func(c *check) {
			var k key
			lifetimes := c.suite.lifetimes()
			for _, lives := range lifetimes {
				k = c.expiringKey(lives)
				if a := use(c, k); a.status == http.StatusOK {
					break
				} else if a.came.Before(k.made.moment("expiresAt")) || lives == lifetimes[len(lifetimes)-1] {
					a.is(http.StatusOK)
				}
			}
			c.pass(k.made.moment("expiresAt").Sub(c.suite.now()) + 100*time.Millisecond)
			use(c, k).fails(401, "api_key_expired")
			c.get(k.path()).send().is(http.StatusOK).has(fields{"state": "expired"})
			c.patch(k.path()).json(fields{"expiresAt": inThe(c, time.Hour)}).send().is(http.StatusOK).has(fields{"state": "active"})
			use(c, k).is(http.StatusOK)
			c.patch(k.path()).json(fields{"expiresAt": nil}).send().is(http.StatusOK).has(fields{"expiresAt": nil})
		}},
		{"DisabledComesBeforeExpiredAndRevokedBeforeBoth", func(c *check) {
			k := c.expiringKey(c.suite.lifetimes()...)
			c.patch(k.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			c.pass(k.made.moment("expiresAt").Sub(c.suite.now()) + 100*time.Millisecond)
			use(c, k).fails(401, "api_key_disabled")
			c.get(k.path()).send().has(fields{"state": "disabled"})
			c.delete(k.path()).send().is(http.StatusNoContent)
			use(c, k).fails(401, "api_key_revoked")
			c.get(k.path()).send().has(fields{"state": "revoked"})
		}},
		{"AnExpiryIsAnnounced", func(c *check) {
			soon := c.newKey(fields{"expiresAt": inThe(c, 13*24*time.Hour)}, "read")
			at, err := http.ParseTime(use(c, soon).is(http.StatusOK).header.Get("X-API-Key-Expires"))
			if off := at.Sub(soon.made.moment("expiresAt")).Abs(); err != nil || off > time.Second {
				c.broken("X-API-Key-Expires of a key with 13 days left is not its expiry: %v, %s off", err, off)
			}
			use(c, c.newKey(fields{"expiresAt": inThe(c, 15*24*time.Hour)}, "read")).head("X-API-Key-Expires", "")
			use(c, c.newKey(nil, "read")).head("X-API-Key-Expires", "").head("X-API-Key-Rotate-By", "")
		}},
		{"OnlyTheRightSecretLearnsTheState", func(c *check) {
			k := c.newKey(nil, "read")
			c.delete(k.path()).send().is(http.StatusNoContent)
			last := "0"
			if strings.HasSuffix(k.text, last) {
				last = "1"
			}
			c.get(health).as(k.text[:len(k.text)-1]+last).send().fails(401, "invalid_api_key")
			other := k.text[:34] + "x"
			if other == k.text[:35] {
				other = k.text[:34] + "y"
			}
			c.get(health).as(other+checksum(other)).send().fails(401, "invalid_api_key")
		}},
		{"LastUseIsRemembered", func(c *check) {
			k := c.newKey(nil, "read")
			before := c.suite.now().Add(-2 * time.Second)
			use(c, k).is(http.StatusOK)
			if !c.eventually(5*time.Second, func() bool { return c.get(k.path()).send().text("lastUsedAt") != "" }) {
				c.stop("lastUsedAt is still null 5 s after a key was used")
			}
			a := c.get(k.path()).send()
			if a.moment("lastUsedAt").Before(before.Add(-time.Minute)) || a.text("secrets[0].lastUsedAt") == "" {
				a.broken("lastUsedAt is not the time of the key's use")
			}
		}},
	}
}
