package conformance

import (
	"net/http"
	"slices"
	"time"
)

// rotationChecks checks the rotation of API keys (docs/spec/apikeys.md).
func rotationChecks() []promise {
	const health = "/api/v1/health"
	rotate := func(c *check, k key, body any) *answer { return c.post(k.path() + "/rotate").json(body).send() }
	return []promise{
		{"RotateGivesANewSecret", func(c *check) {
			k := c.newKey(fields{"metadata": fields{"a": "b"}}, "read")
			a := rotate(c, k, fields{}).is(http.StatusOK).shape(recordShape).head("ETag", `"2"`)
			a.has(fields{"id": k.id, "state": "rotating", "name": k.made.text("name"), "scopes": []string{"read"}, "metadata": fields{"a": "b"}, "createdAt": k.made.text("createdAt")})
			text := a.text("key")
			if len(text) != 41 || text == k.text || text[35:] != checksum(text[:35]) {
				a.broken("key is no new API key")
			}
			if n := len(a.list("secrets")); n != 2 {
				c.stop("a rotating key has %d secrets, want 2\n  %s", n, a.describe())
			}
			hints := a.texts("secrets", "hint")
			if a.text("hint") != text[:9] || !slices.Contains(hints, text[:9]) || !slices.Contains(hints, k.text[:9]) {
				a.broken("hint is %q and the secrets' %v, want the new one first and both", a.text("hint"), hints)
			}
			until := a.moment("secrets[" + indexOf(hints, k.text[:9]) + "].validUntil")
			if off := until.Sub(a.came.Add(24 * time.Hour)).Abs(); off > 5*time.Second+a.came.Sub(a.sent) {
				a.broken("the old secret's grace is %s off a day", off)
			}
			c.get(health).as(text).send().is(http.StatusOK).head("X-API-Key-Rotate-By", "")
			old := c.get(health).as(k.text).send().is(http.StatusOK)
			by, err := http.ParseTime(old.header.Get("X-API-Key-Rotate-By"))
			if err != nil || by.Sub(until).Abs() > time.Second {
				old.broken("X-API-Key-Rotate-By is %q, want the end of the grace", old.header.Get("X-API-Key-Rotate-By"))
			}
			c.get(k.path()).send().is(http.StatusOK).has(fields{"state": "rotating"}).lacks("key")
		}},
		{"AnOldSecretLivesForTheGraceOfARotation", func(c *check) {
			var k key
			var a *answer
			lifetimes := c.suite.lifetimes()
			for _, grace := range lifetimes {
				k = c.newKey(nil, "read")
				a = rotate(c, k, fields{"graceSeconds": int(grace / time.Second)}).is(http.StatusOK)
				until := a.moment("secrets[" + indexOf(a.texts("secrets", "hint"), k.text[:9]) + "].validUntil")
				if old := c.get(health).as(k.text).send(); old.status == http.StatusOK {
					c.pass(until.Sub(c.suite.now()) + 200*time.Millisecond)
					break
				} else if old.came.Before(until) || grace == lifetimes[len(lifetimes)-1] {
					old.is(http.StatusOK)
				}
			}
			c.get(health).as(k.text).send().fails(401, "invalid_api_key")
			c.get(health).as(a.text("key")).send().is(http.StatusOK)
			c.get(k.path()).send().has(fields{"state": "active"})
			rotate(c, k, fields{}).is(http.StatusOK)
		}},
		{"NoGraceEndsItAtOnce", func(c *check) {
			k := c.newKey(nil, "read")
			a := rotate(c, k, fields{"graceSeconds": 0}).is(http.StatusOK).has(fields{"state": "active"})
			c.get(health).as(k.text).send().fails(401, "invalid_api_key")
			c.get(health).as(a.text("key")).send().is(http.StatusOK)
		}},
		{"ARotationMayBeCompletedEarly", func(c *check) {
			k := c.newKey(nil, "read")
			a := rotate(c, k, fields{}).is(http.StatusOK)
			c.get(health).as(k.text).send().is(http.StatusOK)
			c.post(k.path() + "/complete-rotation").send().is(http.StatusOK).has(fields{"id": k.id, "state": "active"}).lacks("key")
			c.get(health).as(k.text).send().fails(401, "invalid_api_key")
			c.get(health).as(a.text("key")).send().is(http.StatusOK)
		}},
		{"RotatingWhileRotatingIs409UnlessForced", func(c *check) {
			k := c.newKey(nil, "read")
			second := rotate(c, k, fields{}).is(http.StatusOK).text("key")
			rotate(c, k, fields{}).fails(409, "rotation_in_progress")
			rotate(c, k, fields{"force": false}).fails(409, "rotation_in_progress")
			third := rotate(c, k, fields{"force": true}).is(http.StatusOK).has(fields{"state": "rotating"}).text("key")
			c.get(health).as(k.text).send().fails(401, "invalid_api_key")
			c.get(health).as(second).send().is(http.StatusOK)
			c.get(health).as(third).send().is(http.StatusOK)
		}},
		{"OfParallelRotationsOneHappens", func(c *check) {
			k := c.newKey(nil, "read")
			var texts []string
			for _, a := range c.atOnce(8, func() *call { return c.post(k.path() + "/rotate").json(fields{}) }) {
				if a.status == http.StatusOK {
					texts = append(texts, a.text("key"))
				} else {
					a.fails(409, "rotation_in_progress")
				}
			}
			if len(texts) != 1 {
				c.stop("%d of 8 parallel rotations happened, want one", len(texts))
			}
			c.get(health).as(k.text).send().is(http.StatusOK)
			c.get(health).as(texts[0]).send().is(http.StatusOK)
		}},
		{"OfParallelForcedRotationsTheLastTwoSecretsLive", func(c *check) {
			k := c.newKey(nil, "read")
			live := 0
			for _, a := range c.atOnce(6, func() *call { return c.post(k.path() + "/rotate").json(fields{"force": true}) }) {
				if c.get(health).as(a.is(http.StatusOK).text("key")).send().status == http.StatusOK {
					live++
				}
			}
			if c.get(health).as(k.text).send().fails(401, "invalid_api_key"); live != 2 {
				c.broken("%d secrets of a key live after six forced rotations, want two", live)
			}
			if n := len(c.get(k.path()).send().is(http.StatusOK).list("secrets")); n != 2 {
				c.broken("%d secrets are listed", n)
			}
		}},
		{"BothSecretsShareOneBudget", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 10}}, "read")
			text := rotate(c, k, fields{}).is(http.StatusOK).text("key")
			c.get(health).as(k.text).send().head("X-RateLimit-Daily-Remaining", "9")
			c.get(health).as(text).send().head("X-RateLimit-Daily-Remaining", "8")
			c.get(health).as(k.text).send().head("X-RateLimit-Daily-Remaining", "7")
		}},
		{"TheLastUseIsKeptPerSecret", func(c *check) {
			k := c.newKey(nil, "read")
			text := rotate(c, k, fields{}).is(http.StatusOK).text("key")
			c.get(health).as(text).send().is(http.StatusOK)
			var a *answer
			if !c.eventually(5*time.Second, func() bool {
				a = c.get(k.path()).send().is(http.StatusOK)
				return a.text("lastUsedAt") != ""
			}) {
				c.stop("lastUsedAt is still null 5 s after a key was used")
			}
			hints := a.texts("secrets", "hint")
			if used := a.text("secrets[" + indexOf(hints, text[:9]) + "].lastUsedAt"); used == "" {
				a.broken("the new secret was used and has no lastUsedAt")
			}
			if used := a.text("secrets[" + indexOf(hints, k.text[:9]) + "].lastUsedAt"); used != "" {
				a.broken("the old secret was never used and has a lastUsedAt")
			}
		}},
		{"ARotationNeitherRaisesNorExtends", func(c *check) {
			expires := c.suite.now().Add(time.Hour).UTC().Format(time.RFC3339)
			k := c.newKey(fields{"expiresAt": expires, "allowedIps": []string{"0.0.0.0/0", "::/0"}, "rateLimit": fields{"requestsPerMinute": 9}}, "read")
			for _, member := range []string{"scopes", "expiresAt", "name", "rateLimit", "quota", "key"} {
				c.post(k.path()+"/rotate").json(fields{member: "x"}).send().fails(400, "validation_error", member, "unknown")
			}
			a := rotate(c, k, fields{}).is(http.StatusOK)
			a.has(fields{"expiresAt": k.made.text("expiresAt"), "rateLimit.requestsPerMinute": 9, "allowedIps": []string{"0.0.0.0/0", "::/0"}})
		}},
		{"NobodyRotatesAMightierKey", func(c *check) {
			narrow, mighty := c.newKey(nil, "developer:manage"), c.newKey(nil, "admin")
			c.post(mighty.path()+"/rotate").as(narrow.text).json(fields{}).send().fails(403, "insufficient_scope")
			c.get(health).as(mighty.text).send().is(http.StatusOK)
			c.get(mighty.path()).send().has(fields{"state": "active", "revision": 1})
			p := c.signedIn("developer")
			c.post(mighty.path()+"/rotate").bearer(p.token).json(fields{}).send().fails(403, "insufficient_scope")
		}},
		{"AKeyThatIsOutOfUseIsNotRotated", func(c *check) {
			revoked, disabled := c.newKey(nil, "read"), c.newKey(nil, "read")
			expired := c.expiringKey(c.suite.lifetimes()...)
			c.delete(revoked.path()).send().is(http.StatusNoContent)
			c.patch(disabled.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			c.pass(expired.made.moment("expiresAt").Sub(c.suite.now()) + 100*time.Millisecond)
			for _, k := range []key{revoked, disabled, expired} {
				rotate(c, k, fields{}).fails(409, "conflict")
			}
			c.get(expired.path()).send().has(fields{"state": "expired"})
		}},
		{"ARevocationEndsBothSecrets", func(c *check) {
			k := c.newKey(nil, "read")
			text := rotate(c, k, fields{}).is(http.StatusOK).text("key")
			c.delete(k.path()).send().is(http.StatusNoContent)
			c.get(health).as(k.text).send().fails(401, "api_key_revoked")
			c.get(health).as(text).send().fails(401, "api_key_revoked")
		}},
		{"TheGraceIsFromNothingToThirtyDays", func(c *check) {
			k := c.newKey(nil, "read")
			for grace, issue := range map[any]string{-1: "too_small", 2592001: "too_large", "1": "type", 1.5: "type"} {
				rotate(c, k, fields{"graceSeconds": grace}).fails(400, "validation_error", "graceSeconds", issue)
			}
			c.get(k.path()).send().has(fields{"state": "active", "revision": 1})
			rotate(c, k, fields{"graceSeconds": 2592000}).is(http.StatusOK)
		}},
		{"AKeyRotatesItself", func(c *check) {
			k := c.newKey(nil, "developer:manage")
			a := c.post(k.path() + "/rotate").as(k.text).send().is(http.StatusOK)
			c.post(k.path() + "/complete-rotation").as(a.text("key")).send().is(http.StatusOK)
			c.get(health).as(k.text).send().fails(401, "invalid_api_key")
		}},
	}
}

// indexOf returns the index of a text in a list, for a path; the length of the list if it is missing.
func indexOf(list []string, text string) string {
	i := slices.Index(list, text)
	if i < 0 {
		i = len(list)
	}
	return string(rune('0' + i))
}
