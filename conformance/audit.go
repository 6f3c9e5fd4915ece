package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// auditChecks checks /admin/audit-log (docs/spec/admin.md).
func auditChecks() []promise {
	const path = "/api/v1/admin/audit-log"
	return []promise{
		{"WhatAnAdministratorDoesIsLogged", func(c *check) {
			p := c.newUser(nil)
			c.patch(p.path()).json(fields{"role": "viewer", "name": "conformance canary name"}).send().is(http.StatusOK)
			c.delete(p.path()).send().is(http.StatusNoContent)
			a := c.get(path + "?limit=50&target=" + p.id).send().is(http.StatusOK).shape(map[string]string{"items": "array", "nextCursor": "string|null"})
			actions := a.texts("items", "action")
			for _, want := range []string{"user.created", "user.changed", "user.deleted"} {
				if !slices.Contains(actions, want) {
					a.broken("%s is not among %v", want, actions)
				}
			}
			for i := range a.list("items") {
				a.has(fields{fmt.Sprintf("items[%d].target", i): p.id, fmt.Sprintf("items[%d].actor", i): c.suite.keyID})
			}
			for _, text := range []string{p.email, p.password, "canary name"} {
				if strings.Contains(string(a.body), text) {
					c.broken("the log contains the email that was typed")
				}
			}
		}},
		{"TheLogIsFiltered", func(c *check) {
			k := c.newKey(nil, "read")
			c.delete(k.path()).send().is(http.StatusNoContent)
			if n := len(c.get(path + "?action=api_key.revoked&target=" + k.id).send().is(http.StatusOK).list("items")); n != 1 {
				c.broken("one revocation of a key is logged %d times", n)
			}
			if n := len(c.get(path + "?actor=" + unknownUser).send().is(http.StatusOK).list("items")); n != 0 {
				c.broken("a user who never was has done %d things", n)
			}
			later := c.suite.now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
			if n := len(c.get(path + "?from=" + later).send().is(http.StatusOK).list("items")); n != 0 {
				c.broken("%d things were done in the future", n)
			}
			c.get(path+"?from=yesterday").send().fails(400, "validation_error", "from", "format")
			c.get(path+"?colour=red").send().fails(400, "validation_error", "colour", "unknown")
		}},
		{"TheLogIsExportedInLines", func(c *check) {
			k := c.newKey(nil, "read")
			a := c.get(path+"?target="+k.id).with("Accept", "application/x-ndjson").send().is(http.StatusOK)
			if media := a.header.Get("Content-Type"); !strings.HasPrefix(media, "application/x-ndjson") {
				a.broken("Content-Type is %q, want application/x-ndjson", media)
			}
			if lines := strings.Count(string(a.body), "\n"); lines != 1 || !strings.Contains(string(a.body), k.id) {
				a.broken("the export of one row has %d lines", lines)
			}
		}},
		{"TheLogVerifies", func(c *check) {
			document := c.get("/api/v1/openapi.json").anonymous().send().is(http.StatusOK)
			methods, _ := document.at("paths")
			all, _ := methods.(map[string]any)
			item, _ := all[path+"/verify"].(map[string]any)
			method := http.MethodGet
			if item["get"] == nil {
				method = http.MethodPost
			}
			a := c.call(method, path+"/verify").send()
			if a.status == http.StatusForbidden {
				c.skip("the key is not of the operator workspace")
			}
			a.is(http.StatusOK)
			if !strings.Contains(string(a.body), "true") {
				a.broken("the log of this deployment does not verify")
			}
		}},
		{"AnAdministratorReadsItsOwnWorkspaceAlone", func(c *check) {
			t := c.tenant()
			mine, theirs := c.newKey(nil, "read"), c.newKeyAs(t.key, nil, "read")
			c.finally(func() { c.delete(theirs.path()).as(t.key).send() })
			for _, as := range []func(*call) *call{
				func(q *call) *call { return q.as(t.key) }, func(q *call) *call { return q.bearer(t.admin.token) },
			} {
				if n := len(as(c.get(path + "?target=" + theirs.id)).send().is(http.StatusOK).list("items")); n != 1 {
					c.broken("a workspace's administrator sees %d rows of its own key, want 1", n)
				}
				if n := len(as(c.get(path + "?target=" + mine.id)).send().is(http.StatusOK).list("items")); n != 0 {
					c.broken("a workspace's administrator sees %d rows of another's key", n)
				}
			}
			c.get(path).as(c.newKey(nil, allScopes[:6]...).text).send().fails(403, "insufficient_scope")
		}},
	}
}
