package conformance

import "net/http"

// profileChecks checks /api/v1/profile (§4; docs/spec/login.md).
func profileChecks() []promise {
	return []promise{
		{"TheProfileIsTheCallers", func(c *check) {
			for role, scopes := range roles {
				p := c.signedIn(role)
				a := c.get(profilePath).bearer(p.token).send().is(http.StatusOK).shape(profileShape)
				a.has(fields{"id": p.id, "email": p.email, "role": role, "name": nil, "createdAt": p.made.text("createdAt"), "workspace.id": p.made.text("workspaceId")})
				a.shape(map[string]string{"lastLoginAt": "time"}).lacks("password", "passwordHash", "disabled")
				if !sameScopes(a.list("scopes"), scopes) {
					a.broken("the scopes of a %s are not %v", role, scopes)
				}
			}
		}},
		{"ANameIsChangedAndTakenAway", func(c *check) {
			p := c.signedIn("viewer")
			first := c.get(profilePath).bearer(p.token).send().is(http.StatusOK)
			a := c.patch(profilePath).bearer(p.token).json(fields{"name": "conformance Grace"}).send().is(http.StatusOK).shape(profileShape)
			a.has(fields{"name": "conformance Grace", "revision": first.integer("revision") + 1})
			c.get(p.path()).send().is(http.StatusOK).has(fields{"name": "conformance Grace"})
			c.patch(profilePath).bearer(p.token).with("If-Match", first.header.Get("ETag")).json(fields{"name": "x"}).send().fails(412, "revision_mismatch")
			c.patch(profilePath).bearer(p.token).with("If-Match", a.header.Get("ETag")).json(fields{"name": nil}).send().is(http.StatusOK).has(fields{"name": nil})
		}},
		{"NothingButTheNameIsChanged", func(c *check) {
			p := c.signedIn("viewer")
			for _, member := range []string{"id", "email", "role", "scopes", "workspace", "workspaceId", "createdAt", "lastLoginAt", "revision", "disabled", "password", "tier"} {
				c.patch(profilePath).bearer(p.token).json(fields{"name": "half", member: "admin"}).send().fails(400, "validation_error", member, "unknown")
			}
			c.get(profilePath).bearer(p.token).send().has(fields{"name": nil, "role": "viewer"})
			c.patch(profilePath).bearer(p.token).json(fields{"name": 7}).send().fails(400, "validation_error", "name", "type")
		}},
		{"ItTakesABearerTokenAlone", func(c *check) {
			c.get(profilePath).send().fails(401, "missing_credentials")
			c.get(profilePath).anonymous().send().fails(401, "missing_credentials")
			p := c.signedIn("viewer")
			c.get(profilePath).bearer(p.token).as(c.suite.target.Key).send().is(http.StatusOK).has(fields{"id": p.id})
			c.get(profilePath).bearer(p.token).as("kpsk_nonsense").send().is(http.StatusOK)
			c.get(profilePath+"/x.css").bearer(p.token).send().fails(404, "not_found")
		}},
	}
}
