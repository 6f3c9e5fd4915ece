package conformance

import (
	"net/http"
	"slices"
	"time"
)

// apiKeyBoundChecks checks that a key grants itself and other keys no more than it has (docs/spec/apikeys.md).
func apiKeyBoundChecks() []promise {
	return []promise{
		{"AKeyNeverWidensItselfOrItsChildren", func(c *check) {
			own, wider := c.bounds()
			k := c.newKey(own, "developer:manage", "read")
			wider["scopes"] = fieldValues{"scopes", []any{[]string{"read", "write"}}}
			for member, w := range wider {
				for _, value := range w.values {
					c.patch(k.path()).as(k.text).json(fields{member: value}).send().fails(403, "insufficient_scope", w.field)
					if value == nil { // in a creation, null is the same as absent
						continue
					}
					body := fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}, member: value}
					a := c.post(keysPath).as(k.text).json(body).send().fails(403, "insufficient_scope", w.field)
					if id := a.text("id"); id != "" {
						c.removeKey(id)
					}
				}
			}
			c.get(k.path()).send().is(http.StatusOK).has(fields{"revision": 1, "scopes": []string{"read", "developer:manage"}})
		}},
		{"AKeysChildrenTakeOverItsBounds", func(c *check) {
			own, _ := c.bounds()
			k := c.newKey(own, "developer:manage", "read")
			child := c.newKeyAs(k.text, nil, "read").made
			child.has(fields{
				"expiresAt": k.made.text("expiresAt"), "quota": own["quota"], "allowedIps": own["allowedIps"],
				"rateLimit.requestsPerMinute": k.made.integer("rateLimit.requestsPerMinute"), "rateLimit.inherited": false,
			})
			c.newKeyAs(k.text, fields{"quota": fields{"daily": 10}}, "read").made.has(fields{"quota": fields{"daily": 10, "monthly": 20000}})
		}},
		{"AKeyTouchesNoKeyWiderThanItself", func(c *check) {
			own, wider := c.bounds()
			k := c.newKey(own, "developer:manage", "read")
			for member, w := range wider {
				members := fields{}
				for name, v := range own {
					if name != member {
						members[name] = v
					}
				}
				other := c.newKey(members, "read")
				c.post(other.path()+"/rotate").as(k.text).json(fields{}).send().fails(403, "insufficient_scope", w.field)
				c.patch(other.path()).as(k.text).json(fields{"name": "x"}).send().fails(403, "insufficient_scope", w.field)
				c.get(other.path()).send().has(fields{"revision": 1, "state": "active"})
			}
			alike := c.newKey(own, "read")
			c.post(alike.path() + "/rotate").as(k.text).json(fields{}).send().is(http.StatusOK)
		}},
		{"OnlyAnOperatorMakesKeysForAnotherWorkspace", func(c *check) {
			t := c.tenant()
			body := fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read", "developer:manage"}, "workspaceId": t.id}
			a := c.post(keysPath).json(body).send().is(http.StatusCreated)
			made := key{id: a.text("id"), text: a.text("key")}
			seen := c.get(keysPath+"?limit=200").as(t.key).send().is(http.StatusOK).texts("items", "id")
			if !slices.Contains(seen, made.id) {
				a.broken("the workspace does not list the key that was made for it")
			}
			c.get("/api/v1/developer/whoami").as(made.text).send().is(http.StatusOK).has(fields{"workspace.id": t.id})
			c.get(made.path()).send().fails(404, "not_found")
			for _, id := range []string{t.id, "wsp_01kakakakafkhvayayayayayay"} {
				c.post(keysPath).as(made.text).json(fields{"name": "x", "scopes": []string{"read"}, "workspaceId": id}).
					send().fails(403, "insufficient_scope", "workspaceId")
			}
			c.post(keysPath).json(fields{"name": "x", "scopes": []string{"read"}, "workspaceId": "wsp_01kakakakafkhvayayayayayay"}).
				send().fails(404, "not_found")
			c.delete(made.path()).as(t.key).send().is(http.StatusNoContent)
		}},
	}
}

// fieldValues are values for which a request is refused, by the field that the refusal names.
type fieldValues struct {
	field  string
	values []any
}

// bounds are the restrictions of a key, and for each field a wider value.
func (c *check) bounds() (own fields, wider map[string]fieldValues) {
	at := func(d time.Duration) string {
		return c.suite.now().Add(d).UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	own = fields{
		"expiresAt": at(24 * time.Hour), "quota": fields{"daily": 1000, "monthly": 20000},
		"allowedIps": []string{"0.0.0.0/0", "::/0"}, "rateLimit": fields{"requestsPerMinute": c.suite.limit - 1},
	}
	wider = map[string]fieldValues{
		"expiresAt":  {"expiresAt", []any{nil, at(48 * time.Hour)}},
		"quota":      {"quota.daily", []any{nil, fields{"daily": 1001, "monthly": 20000}}},
		"allowedIps": {"allowedIps", []any{[]string{}}},
		"rateLimit":  {"rateLimit.requestsPerMinute", []any{nil, fields{"requestsPerMinute": c.suite.limit}}},
	}
	return own, wider
}
