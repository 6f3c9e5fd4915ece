package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// workspaceShape is the record of docs/spec/admin.md.
var workspaceShape = map[string]string{
	"id": "string", "name": "string", "tier": "string", "suspended": "boolean", "createdAt": "time", "revision": "integer",
}

// adminUserChecks checks /admin/users (docs/spec/workspaces.md and admin.md).
func adminUserChecks() []promise {
	return []promise{
		{"AUserIsMadeWithAPasswordThatIsShownOnce", func(c *check) {
			p := c.newUser(fields{"name": "conformance Ada"})
			p.made.shape(userShape).head("ETag", `"1"`).located(p.path())
			p.made.has(fields{"role": "member", "disabled": false, "lastLoginAt": nil, "name": "conformance Ada", "revision": 1})
			if len(p.password) < 12 {
				p.made.broken("a generated password has %d characters", len(p.password))
			}
			read := c.get(p.path()).send().is(http.StatusOK).shape(userShape).lacks("password", "passwordHash")
			if strings.Contains(string(read.body), p.password) {
				c.broken("the password is shown again")
			}
			p.signIn(c)
			c.get(p.path()).send().shape(map[string]string{"lastLoginAt": "time"})
		}},
		{"AGivenPasswordIsNotShown", func(c *check) {
			p := c.newUser(fields{"password": "conformance given password"})
			p.made.lacks("password")
			p.signIn(c)
		}},
		{"ASetupLinkIsCreated", func(c *check) {
			p := c.newUser(nil)
			p.signIn(c)
			a := c.post(p.path() + "/setup-link").send().is(http.StatusCreated).shape(map[string]string{"url": "string", "expiresAt": "time"})
			if _, token, _ := strings.Cut(a.text("url"), "#"); !strings.HasPrefix(token, "kpsu_") {
				a.broken("the link has no token behind a #, where no proxy sees it")
			}
			p.signIn(c) // the password works until the link is used
			c.post(usersPath+"/"+unknownUser+"/setup-link").send().fails(http.StatusNotFound, "not_found")
			c.patch(p.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			c.post(p.path()+"/setup-link").send().fails(http.StatusConflict, "conflict")
		}},
		{"ARepeatShowsThatThereWasAPassword", func(c *check) {
			repeat := func(body fields) *answer {
				body["email"] = c.suite.name() + "@example.org"
				once := c.suite.name()
				first := c.post(usersPath).with("Idempotency-Key", once).json(body).send().is(http.StatusCreated)
				c.remove(usersPath + "/" + first.text("id"))
				return c.post(usersPath).with("Idempotency-Key", once).json(body).send().is(http.StatusCreated).head("Idempotent-Replayed", "true")
			}
			repeat(fields{}).has(fields{"password": nil})
			repeat(fields{"password": "conformance given password"}).lacks("password")
		}},
		{"BadUsersAreRefused", func(c *check) {
			for _, bad := range []struct {
				change       fields
				field, issue string
			}{
				{fields{"email": gone{}}, "email", "required"},
				{fields{"email": "no-address"}, "email", "format"},
				{fields{"email": ""}, "email", "required|format|too_short"},
				{fields{"email": strings.Repeat("e", 300) + "@example.org"}, "email", "too_long"},
				{fields{"email": "a@b@c"}, "email", "format"},
				{fields{"email": "a b@example.org"}, "email", "format"},
				{fields{"role": "root"}, "role", "not_allowed|unsupported|invalid|unknown"},
				{fields{"role": "Admin"}, "role", "not_allowed|unsupported|invalid|unknown"},
				{fields{"password": "elevenchars"}, "password", "too_short"},
				{fields{"password": strings.Repeat("p", 129)}, "password", "too_long"},
				{fields{"password": "password1234"}, "password", "not_allowed"},
				{fields{"name": 1}, "name", "type"},
				{fields{"name": strings.Repeat("n", 10_000)}, "name", "too_long"},
				{fields{"id": unknownUser}, "id", "unknown"},
				{fields{"scopes": []string{"admin"}}, "scopes", "unknown"},
				{fields{"disabled": false}, "disabled", "unknown"},
				{fields{"createdAt": "2020-01-01T00:00:00Z"}, "createdAt", "unknown"},
				{fields{"tier": "unlimited"}, "tier", "unknown"},
				{fields{"passwordHash": "x"}, "passwordHash", "unknown"},
			} {
				body := fields{"email": c.suite.name() + "@example.org"}
				for name, v := range bad.change {
					if _, leftOut := v.(gone); leftOut {
						delete(body, name)
					} else {
						body[name] = v
					}
				}
				a := c.post(usersPath).json(body).send().fails(400, "validation_error", bad.field, bad.issue)
				if id := a.text("id"); id != "" {
					c.remove(usersPath + "/" + id)
				}
			}
		}},
		{"AnEmailIsOneUsers", func(c *check) {
			p := c.newUser(nil)
			c.post(usersPath).json(fields{"email": p.email}).send().fails(409, "conflict")
			c.post(usersPath).json(fields{"email": " " + strings.ToUpper(p.email)}).send().fails(409, "conflict")
			c.post(usersPath).bearer(c.tenant().admin.token).json(fields{"email": p.email}).send().fails(409, "conflict")
			c.delete(p.path()).send().is(http.StatusNoContent)
			c.get(p.path()).send().fails(404, "not_found")
			c.delete(p.path()).send().fails(404, "not_found")
			c.newUser(fields{"email": p.email})
		}},
		{"OfParallelUsersWithOneEmailOneIsMade", func(c *check) {
			email := c.suite.name() + "@example.org"
			made := 0
			for _, a := range c.atOnce(6, func() *call {
				return c.post(usersPath).json(fields{"email": email, "password": "conformance given password"})
			}) {
				if a.status == http.StatusCreated {
					c.remove(usersPath + "/" + a.text("id"))
					made++
				} else {
					a.fails(409, "conflict")
				}
			}
			if made != 1 {
				c.broken("%d users with one email were made at once, want one", made)
			}
		}},
		{"OfTwoAdminsWhoDemoteEachOtherOneStays", func(c *check) {
			t := c.tenant()
			second := c.newUser(fields{"role": "admin", "workspaceId": t.id})
			paths := make(chan string, 2)
			paths <- t.admin.path()
			paths <- second.path()
			done := 0
			for _, a := range c.atOnce(2, func() *call { return c.patch(<-paths).json(fields{"role": "viewer"}) }) {
				if a.status == http.StatusOK {
					done++
				} else {
					a.fails(409, "conflict")
				}
			}
			if done != 1 {
				c.broken("%d of two admins of a workspace were demoted at once, want one", done)
			}
			for _, p := range []person{t.admin, second} {
				c.patch(p.path()).json(fields{"role": "admin"}).send().is(http.StatusOK)
			}
		}},
		{"AUserIsChanged", func(c *check) {
			p := c.newUser(nil)
			a := c.patch(p.path()).with("If-Match", `"1"`).json(fields{"name": "conformance Eve", "role": "viewer"}).send().is(http.StatusOK).shape(userShape)
			a.has(fields{"name": "conformance Eve", "role": "viewer", "revision": 2, "email": p.email}).head("ETag", `"2"`)
			c.patch(p.path()).with("If-Match", `"1"`).json(fields{"name": "x"}).send().fails(412, "revision_mismatch")
			c.patch(p.path()).json(fields{"name": nil}).send().is(http.StatusOK).has(fields{"name": nil, "role": "viewer"})
			for _, member := range []string{"email", "id", "workspaceId", "scopes", "createdAt", "lastLoginAt", "revision", "passwordHash"} {
				c.patch(p.path()).json(fields{"name": "half", member: "x"}).send().fails(400, "validation_error", member, "unknown")
			}
			c.patch(p.path()).json(fields{"name": "half", "role": "root"}).send().fails(400, "validation_error", "role")
			c.patch(p.path()).json(fields{"name": "half", "disabled": "yes"}).send().fails(400, "validation_error", "disabled", "type")
			c.get(p.path()).send().has(fields{"name": nil})
		}},
		{"UsersAreListedPageByPage", func(c *check) {
			older, newer := c.newUser(nil), c.newUser(nil)
			first := c.get(usersPath + "?limit=1").send().is(http.StatusOK).shape(map[string]string{"items": "array", "nextCursor": "string"})
			second := c.get(usersPath + "?limit=1&cursor=" + first.text("nextCursor")).send().is(http.StatusOK)
			var found []string // other checks can create users meanwhile
			for page, most := first, 200; most > 0; most-- {
				if id := page.text("items[0].id"); id == newer.id || id == older.id {
					found = append(found, id)
				}
				if len(found) == 2 || page.text("nextCursor") == "" {
					break
				}
				page = c.get(usersPath + "?limit=1&cursor=" + page.text("nextCursor")).send().is(http.StatusOK)
			}
			if !slices.Equal(found, []string{newer.id, older.id}) {
				second.broken("pages of one user each are not the newer and then the older")
			}
			c.get(usersPath+"?limit=0").send().fails(400, "validation_error", "limit", "too_small")
			c.get(usersPath+"?limit=1&cursor="+flip(first.text("nextCursor"), 4)).send().fails(400, "validation_error", "cursor", "invalid")
			c.get(keysPath+"?cursor="+first.text("nextCursor")).send().fails(400, "validation_error", "cursor", "invalid")
			for _, a := range []*answer{first, second} {
				a.lacks("items[0].password", "items[0].passwordHash")
			}
		}},
		{"TheLastAdminOfAWorkspaceStays", func(c *check) {
			t := c.tenant()
			for _, body := range []fields{{"role": "viewer"}, {"disabled": true}} {
				c.patch(t.admin.path()).json(body).send().fails(409, "conflict")
				c.patch(t.admin.path()).bearer(t.admin.token).json(body).send().fails(409, "conflict")
			}
			c.delete(t.admin.path()).send().fails(409, "conflict")
			second := c.newUser(fields{"role": "admin", "workspaceId": t.id})
			c.patch(second.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			c.delete(t.admin.path()).send().fails(409, "conflict") // a disabled admin does not count
			c.get(t.admin.path()).send().is(http.StatusOK).has(fields{"role": "admin", "disabled": false})
		}},
		{"ATiersCountOfUsersIsKept", func(c *check) {
			t := c.tenant()
			c.patch(t.path()).json(fields{"tier": "free"}).send().is(http.StatusOK)
			c.finally(func() { c.patch(t.path()).json(fields{"tier": "unlimited"}).send() })
			for range 12 {
				a := c.post(usersPath).json(fields{"email": c.suite.name() + "@example.org", "workspaceId": t.id}).send()
				if a.status == http.StatusCreated {
					c.remove(usersPath + "/" + a.text("id"))
					continue
				}
				a.fails(409, "limit_reached").has(fields{"details.limit": "users"})
				return
			}
			c.skip("the tier free has more than 12 users")
		}},
		{"ManyAtOnceAreNotMoreThanTheTierAllows", func(c *check) {
			t := c.tenant()
			c.patch(t.path()).json(fields{"tier": "free"}).send().is(http.StatusOK)
			c.finally(func() { c.patch(t.path()).json(fields{"tier": "unlimited"}).send() })
			made := 0
			for _, a := range c.atOnce(8, func() *call {
				return c.post(usersPath).json(fields{"email": c.suite.name() + "@example.org", "workspaceId": t.id, "password": "conformance given password"})
			}) {
				if a.status == http.StatusCreated {
					made++
					c.remove(usersPath + "/" + a.text("id"))
				} else {
					a.fails(409, "limit_reached")
				}
			}
			if listed := len(c.get(usersPath + "?limit=200&workspace=" + t.id).send().is(http.StatusOK).list("items")); listed != made+1 || listed > 12 {
				c.broken("%d users are listed after %d were made beside one", listed, made)
			}
		}},
	}
}

// adminWorkspaceChecks checks /admin/workspaces (docs/spec/workspaces.md and admin.md).
func adminWorkspaceChecks() []promise {
	return []promise{
		{"AWorkspaceIsTheWholeRecord", func(c *check) {
			t := c.tenant()
			a := c.get(t.path()).send().is(http.StatusOK).shape(workspaceShape).has(fields{"id": t.id, "name": tenantName, "suspended": false})
			a.head("ETag", fmt.Sprintf(`"%d"`, a.integer("revision")))
			ids := c.get(workspacesPath+"?limit=200").send().is(http.StatusOK).texts("items", "id")
			if !slices.Contains(ids, t.id) {
				c.broken("a workspace is not in the list")
			}
		}},
		{"BadWorkspacesAreRefused", func(c *check) {
			t := c.tenant()
			c.post(workspacesPath).json(fields{}).send().fails(400, "validation_error", "name", "required")
			c.post(workspacesPath).json(fields{"name": " "}).send().fails(400, "validation_error", "name", "required")
			for member, v := range map[string]any{"id": t.id, "suspended": true, "operator": true, "revision": 7, "createdAt": "2020-01-01T00:00:00Z"} {
				c.post(workspacesPath).json(fields{"name": "conformance refused", member: v}).send().fails(400, "validation_error", member, "unknown")
			}
			c.post(workspacesPath).json(fields{"name": "conformance refused", "tier": "platinum"}).send().fails(400, "validation_error", "tier")
			c.post(workspacesPath).json(fields{"name": "conformance refused", "tier": "anonymous"}).send().fails(400, "validation_error", "tier")
			c.patch(t.path()).json(fields{"operator": true}).send().fails(400, "validation_error", "operator", "unknown")
			c.patch(t.path()).with("If-Match", `"999999"`).json(fields{"name": "x"}).send().fails(412, "revision_mismatch")
			c.get(workspacesPath+"/wsp_01kakakakafkhvayayayayayay").send().fails(404, "not_found")
			c.patch(workspacesPath+"/wsp_01kakakakafkhvayayayayayay").json(fields{"name": "x"}).send().fails(404, "not_found")
		}},
		{"ASuspendedWorkspaceIs403AtOnce", func(c *check) {
			t := c.tenant()
			c.get("/api/v1/health").as(t.key).send().is(http.StatusOK)
			c.get(profilePath).bearer(t.admin.token).send().is(http.StatusOK)
			c.patch(t.path()).json(fields{"suspended": true}).send().is(http.StatusOK).has(fields{"suspended": true})
			c.finally(func() { c.patch(t.path()).json(fields{"suspended": false}).send() })
			c.get("/api/v1/health").as(t.key).send().fails(403, "workspace_suspended")
			c.get(profilePath).bearer(t.admin.token).send().fails(403, "workspace_suspended")
			c.post(docsPath).as(t.key).raw("text/plain", "x").send().fails(403, "workspace_suspended")
			c.patch(t.path()).json(fields{"suspended": false}).send().is(http.StatusOK)
			c.get("/api/v1/health").as(t.key).send().is(http.StatusOK)
			c.get(profilePath).bearer(t.admin.token).send().is(http.StatusOK)
		}},
		{"AnotherTierHoldsAtOnceAndKeepsTheUse", func(c *check) {
			t := c.tenant()
			before := c.get("/api/v1/health").as(t.key).send().is(http.StatusOK)
			tiers := c.get("/api/v1/admin/tiers").send().is(http.StatusOK)
			i := slices.Index(tiers.texts("items", "name"), "pro")
			if i < 0 {
				c.stop("there is no tier pro")
			}
			minute, daily := tiers.integer(fmt.Sprintf("items[%d].requestsPerMinute", i)), tiers.integer(fmt.Sprintf("items[%d].daily", i))
			c.patch(t.path()).json(fields{"tier": "pro"}).send().is(http.StatusOK).has(fields{"tier": "pro"})
			c.finally(func() { c.patch(t.path()).json(fields{"tier": "unlimited"}).send() })
			a := c.get("/api/v1/health").as(t.key).send().is(http.StatusOK).head("X-RateLimit-Limit", fmt.Sprint(minute)).head("X-RateLimit-Key-Limit", fmt.Sprint(minute))
			if a.number("X-RateLimit-Daily-Remaining") >= daily-1 {
				a.broken("a new tier has %d of %d left after requests were made: use was reset", a.number("X-RateLimit-Daily-Remaining"), daily)
			}
			c.patch(t.path()).json(fields{"tier": "unlimited"}).send().is(http.StatusOK)
			after := c.get("/api/v1/health").as(t.key).send()
			if spent := before.number("X-RateLimit-Daily-Remaining") - after.number("X-RateLimit-Daily-Remaining"); spent != 2 {
				after.broken("three requests over two changes of tier spent %d, want 2 between the first and the last", spent)
			}
		}},
		{"OnlyTheOperatorManagesTheInstance", func(c *check) {
			t := c.tenant()
			refused := func(q func() *call) {
				q().as(t.key).send().fails(403, "insufficient_scope")
				q().bearer(t.admin.token).send().fails(403, "insufficient_scope")
			}
			refused(func() *call { return c.get(t.path()) })
			refused(func() *call { return c.patch(t.path()).json(fields{"tier": "unlimited"}) })
			refused(func() *call { return c.patch(t.path()).json(fields{"suspended": false}) })
			for _, e := range c.endpointsByScope() {
				q := e.call()
				if operatorOnly(q.method, q.path) {
					refused(e.call)
				} else if a := q.as(t.key).send(); a.status == http.StatusForbidden && a.text("error") == "insufficient_scope" {
					a.broken("another workspace's admin is refused, and this suite does not know that only operators may do this; " +
						"if docs/spec promises it, add it to operatorOnly (conformance/authentication.go)")
				}
			}
		}},
	}
}

// adminTierChecks checks /admin/tiers (docs/spec/admin.md).
func adminTierChecks() []promise {
	const path = "/api/v1/admin/tiers"
	operator := func(c *check) *answer {
		a := c.get(path + "?limit=200").send()
		if a.status == http.StatusForbidden {
			c.skip("the key is not of the operator workspace")
		}
		return a.is(http.StatusOK)
	}
	rates := []string{"requestsPerMinute", "daily", "monthly"}
	counts := []string{"keys", "users", "documents", "memories", "storage"}
	return []promise{
		{"TheFiveTiersAreThere", func(c *check) {
			a := operator(c)
			names := a.texts("items", "name")
			for _, name := range []string{"anonymous", "free", "pro", "business", "unlimited"} {
				if !slices.Contains(names, name) {
					c.broken("there is no tier %s", name)
				}
			}
			for i := range names {
				for _, n := range rates {
					a.shape(map[string]string{fmt.Sprintf("items[%d].%s", i, n): "integer"})
				}
				for _, n := range counts {
					a.shape(map[string]string{fmt.Sprintf("items[%d].%s", i, n): "integer|null"})
				}
			}
		}},
		{"BadTiersAreRefused", func(c *check) {
			operator(c)
			good := func() fields {
				return fields{"requestsPerMinute": 600, "daily": 1000, "monthly": 10000, "keys": 5, "users": 5, "documents": 10, "memories": 10}
			}
			c.put(path+"/platinum").json(good()).send().fails(404, "not_found")
			for _, n := range rates {
				body := good()
				delete(body, n)
				c.put(path+"/free").json(body).send().fails(400, "validation_error", n, "required")
				for bad, issue := range map[any]string{nil: "required", 0: "too_small"} { // rates are always limits
					body[n] = bad
					c.put(path+"/free").json(body).send().fails(400, "validation_error", n, issue)
				}
			}
			for _, n := range slices.Concat(rates, counts) {
				for bad, issue := range map[any]string{-1: "too_small", "7": "type", "none": "type", 1.5: "type"} {
					body := good()
					body[n] = bad
					c.put(path+"/free").json(body).send().fails(400, "validation_error", n, issue)
				}
			}
			body := good()
			body["name"] = "pro"
			c.put(path+"/free").json(body).send().fails(400, "validation_error", "name", "unknown")
		}},
		{"NumbersThatCannotBeAreRefused", func(c *check) {
			a := operator(c)
			if !c.suite.target.Disposable {
				c.skip("a broken deployment would change the numbers of a tier; runs against one that is there for this alone")
			}
			own := c.get("/api/v1/developer/whoami").send().is(http.StatusOK).text("workspace.tier")
			for _, bad := range []struct {
				tier         string
				change       fields
				field, issue string
			}{
				{"business", fields{"daily": 2000, "monthly": 1999}, "daily", "too_large"},
				{own, fields{"requestsPerMinute": 59}, "requestsPerMinute", "too_small"},
				{own, fields{"daily": 999}, "daily", "too_small"},
				{own, fields{"daily": 9999, "monthly": 9999}, "monthly", "too_small"},
			} {
				body := fields{}
				for _, n := range rates {
					body[n] = a.integer(fmt.Sprintf("items[%d].%s", slices.Index(a.texts("items", "name"), bad.tier), n))
				}
				maps.Copy(body, bad.change)
				c.put(path+"/"+bad.tier).json(body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
			c.put(path+"/business").with("If-None-Match", "*").json(fields{
				"requestsPerMinute": 600, "daily": 1000, "monthly": 10000, "keys": 5, "users": 5, "documents": 10, "memories": 10,
			}).send().fails(412, "revision_mismatch")
		}},
		{"NullIsNoLimitAndZeroIsNone", func(c *check) {
			a := operator(c)
			if !c.suite.target.Disposable {
				c.skip("would change the numbers of a tier; runs against a deployment that is there for this alone")
			}
			at := fmt.Sprintf("items[%d].", slices.Index(a.texts("items", "name"), "business"))
			before := fields{}
			for _, n := range slices.Concat(rates, counts) {
				before[n], _ = a.at(at + n)
			}
			only := fields{"requestsPerMinute": before["requestsPerMinute"], "daily": before["daily"], "monthly": before["monthly"]}
			c.finally(func() { c.put(path + "/business").json(before).send() })
			want := maps.Clone(before)
			for _, n := range counts {
				for _, number := range []any{nil, 0, 7} {
					body := maps.Clone(only)
					body[n], want[n] = number, number
					c.put(path + "/business").json(body).send().is(http.StatusOK).has(want) // what is left out stays
				}
			}
		}},
		{"ATiersNumbersAreInForceWithinASecond", func(c *check) {
			a := operator(c)
			if !c.suite.target.Disposable {
				c.skip("would change the numbers of a tier; runs against a deployment that is there for this alone")
			}
			t := c.tenant()
			c.patch(t.path()).json(fields{"tier": "business"}).send().is(http.StatusOK)
			c.finally(func() { c.patch(t.path()).json(fields{"tier": "unlimited"}).send() })
			spent := c.get("/api/v1/health").as(t.key).send().is(http.StatusOK)
			i := slices.Index(a.texts("items", "name"), "business")
			body := fields{}
			for _, n := range slices.Concat(rates, counts) {
				body[n], _ = a.at(fmt.Sprintf("items[%d].%s", i, n))
			}
			body["requestsPerMinute"], body["daily"] = 777, 5000
			c.put(path + "/business").json(body).send().is(http.StatusOK).has(fields{"name": "business", "requestsPerMinute": 777})
			if !c.eventually(time.Second, func() bool {
				return c.get("/api/v1/health").as(t.key).send().number("X-RateLimit-Limit") == 777
			}) {
				c.broken("a tier's new number is not in force a second later")
			}
			now := c.get("/api/v1/health").as(t.key).send()
			used := a.integer(fmt.Sprintf("items[%d].daily", i)) - spent.number("X-RateLimit-Daily-Remaining")
			if left := now.number("X-RateLimit-Daily-Remaining"); left >= 5000-used {
				now.broken("%d of 5000 are left after %d requests and more: use was reset", left, used)
			}
		}},
	}
}
