package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// What the IDs in paths name: ownedPaths what one workspace owns, sharedPaths what the whole instance has.
var (
	ownedPaths  = []string{docsPath, setsPath, keysPath, usersPath, memoriesPath, subjectsPath, hooksPath}
	sharedPaths = []string{workspacesPath, "/api/v1/admin/versions", "/api/v1/admin/tiers"}
)

// isolationChecks checks docs/spec/workspaces.md: what belongs to another workspace looks like what never existed, for every
// operation with an ID, a cursor or a name.
func isolationChecks() []promise {
	return []promise{
		{"AnotherWorkspacesIDsAreLikeOnesThatNeverWere", func(c *check) {
			t := c.tenant()
			doc := c.suite.name()
			c.document(doc, fields{"text": "conformance"})
			who := c.subject()
			c.collection(doc, fields{"language": "en"})
			mine := map[string]string{
				docsPath: doc, setsPath: doc, keysPath: c.newKey(nil, "read").id, usersPath: c.newUser(nil).id,
				memoriesPath: c.remember(who, "conformance").text("id"), subjectsPath: who,
				hooksPath: c.newWebhook(nil).text("id"),
			}
			never := map[string]string{
				docsPath: "conformance-never-was-" + c.suite.mark, setsPath: "conformance-never-was-" + c.suite.mark, keysPath: "key_01kakakakafkhvayayayayayay", usersPath: unknownUser,
				memoriesPath: neverMemory, subjectsPath: "conformance-never-was-" + c.suite.mark,
				hooksPath: unknownHook,
			}
			for _, base := range ownedPaths {
				if mine[base] == "" || never[base] == "" {
					c.broken("this check has no ID for %s; add one that is there to mine, and one that never was to never (conformance/isolation.go)", base)
				}
			}
			tried := 0
			for _, op := range c.operationsWithID() {
				base, rest, _ := strings.Cut(op.path, "/{")
				_, rest, _ = strings.Cut(rest, "}")
				rest = strings.Replace(rest, "{deliveryId}", unknownDelivery, 1)
				if mine[base] == "" || op.method == http.MethodPut {
					continue // PUT creates the caller's own document under any ID
				}
				for name, as := range map[string]func(*call) *call{
					"key": func(q *call) *call { return q.as(t.key) }, "token": func(q *call) *call { return q.bearer(t.admin.token) },
				} {
					send := func(id string, headers ...string) *answer {
						q := as(c.call(op.method, base+"/"+id+rest))
						if body, ok := harmless[op.method+" "+op.path]; ok {
							q.json(body)
						}
						for i := 0; i+1 < len(headers); i += 2 {
							q.with(headers[i], headers[i+1])
						}
						return q.send()
					}
					for _, headers := range [][]string{nil, {"If-Match", `"1"`}, {"If-None-Match", `"1"`}, {"Idempotency-Key", c.suite.name()}} {
						theirs, nothing := send(mine[base], headers...), send(never[base], headers...)
						if slices.Contains(headers, "Idempotency-Key") && theirs.header.Get("Idempotent-Replayed") != nothing.header.Get("Idempotent-Replayed") {
							theirs.broken("Idempotent-Replayed differs between an ID of another workspace and one that does not exist")
						}
						if theirs.fails(404, "not_found"); theirs.withoutMoments() != nothing.withoutMoments() {
							theirs.broken("%s: another workspace's id has another answer than one that never was: %s", name, nothing.withoutMoments())
						}
						if got, want := headerNames(theirs), headerNames(nothing); !slices.Equal(got, want) {
							theirs.broken("the headers are %v, and %v for one that never was", got, want)
						}
					}
				}
				tried++
			}
			if tried < 20 {
				c.broken("only %d operations with an id were found in the API's own description", tried)
			}
			c.get(docsPath + "/" + doc).send().is(http.StatusOK).has(fields{"revision": 1})
		}},
		{"EveryOperationWithAnIDIsTried", func(c *check) {
			for _, op := range c.operationsWithID() {
				base, _, _ := strings.Cut(op.path, "/{")
				owned := slices.Contains(ownedPaths, base)
				if !owned && !slices.Contains(sharedPaths, base) {
					c.broken("%s %s takes an ID, and this suite does not know whose; add %q to ownedPaths if one workspace owns what it names, "+
						"or to sharedPaths if the whole instance has it (conformance/isolation.go)", op.method, op.path, base)
				}
				if _, ok := harmless[op.method+" "+op.path]; !ok && op.hasBody && owned {
					c.broken("%[1]s %[2]s takes a body, and this suite has none for it; add a valid one to harmless (conformance/isolation.go):\n\t%[3]q: fields{…},",
						op.method, op.path, op.method+" "+op.path)
				}
			}
		}},
		{"ASubjectOfAnotherWorkspaceIsSomebodyElse", func(c *check) {
			t := c.tenant()
			who, word, agent := c.subject(), c.suite.word(), c.suite.name()
			mine := c.remember(who, word, fields{"key": "k", "agentId": agent, "sessionId": agent})
			plan := c.plan(who, fields{"ids": []string{mine.text("id")}}).text("planId")
			c.finally(func() { c.delete(subjectsPath + "/" + who).as(t.key).send() })
			theirs := c.post(memoriesPath).as(t.key).json(fields{"subjectId": who, "text": word, "key": "k"}).send().is(http.StatusCreated)
			c.get(memoriesPath + "?subjectId=" + who).as(t.key).send().has(fields{"items[0].id": theirs.text("id")}).lacks("items[1]")
			c.get(memoriesPath + "?agentId=" + agent + "&sessionId=" + agent).as(t.key).send().has(fields{"items": []any{}})
			c.recallQuery(who, word).as(t.key).send().is(http.StatusOK).has(fields{"results[0].memory.id": theirs.text("id")}).lacks("results[1]")
			c.carryOut(who, plan).as(t.key).send().fails(404, "not_found")
			c.post(forgetPath).as(t.key).json(fields{"subjectId": who, "ids": []string{mine.text("id")}}).send().has(fields{"memoryIds": []any{}})
			c.post(memoryImport).as(t.key).raw("application/x-ndjson", line(fields{"id": mine.text("id"), "subjectId": who, "text": "own"})).send().is(http.StatusOK)
			c.delete(subjectsPath + "/" + who).as(t.key).send().is(http.StatusOK)
			c.get(mine.memory()).send().is(http.StatusOK).has(fields{"text": word, "revision": 1})
		}},
		{"AnIDThatAnotherWorkspaceHasIsFree", func(c *check) {
			t := c.tenant()
			id := c.suite.name()
			c.document(id, fields{"text": "mine"})
			path := docsPath + "/" + id
			c.put(path).as(t.key).json(fields{"text": "theirs"}).send().is(http.StatusCreated).has(fields{"text": "theirs", "revision": 1})
			c.get(path).send().has(fields{"text": "mine", "revision": 1})
			c.delete(path).as(t.key).send().is(http.StatusNoContent)
			c.get(path).send().is(http.StatusOK)
		}},
		{"AnotherWorkspacesCursorIs400", func(c *check) {
			t := c.tenant()
			for range 2 {
				c.document(c.suite.name(), fields{"collection": c.suite.mark, "text": "conformance " + c.suite.mark})
				c.newKey(nil, "read")
				c.newUser(nil)
				c.remember(c.subject(), "x")
			}
			for _, path := range []string{docsPath + "?limit=1", keysPath + "?limit=1", usersPath + "?limit=1", "/api/v1/search?limit=1&q=conformance", "/api/v1/admin/audit-log?limit=1", memoriesPath + "?limit=1", subjectsPath + "?limit=1"} {
				cursor := c.get(path).send().is(http.StatusOK).text("nextCursor")
				if cursor == "" {
					c.broken("%s has no next page", path)
					continue
				}
				c.get(path+"&cursor="+cursor).as(t.key).send().fails(400, "validation_error", "cursor", "invalid")
			}
		}},
		{"AnotherWorkspacesNamesInABodyAreLikeOnesThatNeverWere", func(c *check) {
			t := c.tenant()
			own := c.newUser(nil).made.text("workspaceId")
			email := func() string { return c.suite.name() + "@example.org" }
			theirs := c.post(usersPath).as(t.key).json(fields{"email": email(), "workspaceId": own}).send().fails(404, "not_found")
			never := c.post(usersPath).as(t.key).json(fields{"email": email(), "workspaceId": "wsp_01kakakakafkhvayayayayayay"}).send()
			if theirs.withoutMoments() != never.withoutMoments() {
				theirs.broken("a workspace out of reach has another answer than one that never was: %s", never.withoutMoments())
			}
			listed := c.get(usersPath + "?workspace=" + own).as(t.key).send()
			if other := c.get(usersPath + "?workspace=wsp_01kakakakafkhvayayayayayay").as(t.key).send(); listed.status == http.StatusOK || listed.withoutMoments() != other.withoutMoments() {
				listed.broken("?workspace= of another workspace: %s", other.withoutMoments())
			}
			mine := c.newKey(nil, "read")
			listed = c.get(keysPath + "?limit=200&createdBy=" + c.suite.keyID).as(t.key).send().is(http.StatusOK)
			if slices.Contains(listed.texts("items", "id"), mine.id) {
				listed.broken("a key of another workspace is listed by its maker")
			}
		}},
		{"AnotherWorkspacesDocumentsAreNeverFound", func(c *check) {
			t := c.tenant()
			word := c.suite.word()
			c.document(c.suite.name(), fields{"collection": word, "title": word, "text": word + " conformance", "tags": []string{word}})
			for _, query := range []string{"q=" + word, "q=" + word + "&prefix=true", "q=conformance&collection=" + word, "q=conformance&tag=" + word} {
				c.get("/api/v1/search?" + query).as(t.key).send().is(http.StatusOK).has(fields{"total": 0, "results": []any{}})
				c.get("/api/v1/search?" + query).send().is(http.StatusOK).has(fields{"total": 1})
			}
			c.get(docsPath + "?collection=" + word).as(t.key).send().is(http.StatusOK).has(fields{"items": []any{}})
		}},
		{"OthersCallersAreNotListed", func(c *check) {
			t := c.tenant()
			c.get("/api/v1/health").as(t.key).send().is(http.StatusOK)
			for _, as := range []func(*call) *call{
				func(q *call) *call { return q.as(t.key) }, func(q *call) *call { return q.bearer(t.admin.token) },
			} {
				a := as(c.get("/api/v1/admin/versions/1/usage?limit=200")).send()
				if strings.Contains(string(a.body), c.suite.keyID) {
					c.broken("a workspace's administrator sees who calls in another workspace")
				}
			}
		}},
		{"AnotherCredentialsIdempotencyKeyIsAnother", func(c *check) {
			t := c.tenant()
			once := c.suite.name()
			body := fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}}
			mine := c.post(keysPath).with("Idempotency-Key", once).json(body).send().is(http.StatusCreated)
			c.removeKey(mine.text("id"))
			for name, q := range map[string]*call{"key": c.post(keysPath).as(t.key), "token": c.post(keysPath).bearer(t.admin.token)} {
				a := q.with("Idempotency-Key", once).json(body).send().is(http.StatusCreated).head("Idempotent-Replayed", "")
				if a.text("id") == mine.text("id") {
					a.broken("another workspace's %s got the answer of the first", name)
				}
			}
		}},
	}
}

// harmless are valid bodies for the operations that need one, so that only the ID can be wrong.
var harmless = map[string]any{
	"PATCH " + keysPath + "/{id}": fields{"name": "conformance"}, "POST " + keysPath + "/{id}/revoke": fields{}, "POST " + keysPath + "/{id}/rotate": fields{},
	"PATCH " + usersPath + "/{id}": fields{"name": "conformance"}, "PUT " + docsPath + "/{id}": fields{"text": "conformance"},
	"PATCH " + docsPath + "/{id}":       fields{"text": "conformance"},
	"PUT " + setsPath + "/{collection}": fields{"language": "en"},
	"PATCH " + memoriesPath + "/{id}":   fields{"text": "conformance"},
	"PATCH " + hooksPath + "/{id}":      fields{"description": "conformance"}, "POST " + hooksPath + "/{id}/rotate": fields{},
}
