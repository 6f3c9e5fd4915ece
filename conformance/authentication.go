package conformance

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// authenticationChecks checks §5.1 and §5.2.
func authenticationChecks() []promise {
	const health = "/api/v1/health"
	return []promise{
		{"AMissingKeyIs401", func(c *check) {
			c.get(health).anonymous().send().fails(401, "missing_credentials")
			c.get(health).as("").send().is(http.StatusUnauthorized)
		}},
		{"AnInvalidKeyIs401AndAllInvalidKeysLookAlike", func(c *check) {
			right := c.newKey(nil, "read").text
			first := ""
			for _, text := range []string{
				"x", "kpsk_", "kpsk_" + strings.Repeat("0", 36), c.strangersKey(), c.strangersKey()[:40], c.strangersKey() + "0",
				strings.ToUpper(right), strings.ToLower(right), right[:40], right + "=", "Bearer " + right, "'; DROP TABLE api_key;--", strings.Repeat("k", 8000),
				"kpsk_" + strings.Repeat("é", 18), strings.TrimPrefix(right, "kpsk_"), "kpsk-" + right[5:],
			} {
				a := c.get(health).as(text).send().fails(401, "invalid_api_key")
				if first == "" {
					first = a.withoutMoments()
				} else if got := a.withoutMoments(); got != first {
					c.broken("two invalid keys have different answers: %s and %s", first, got)
				}
			}
		}},
		{"ABearerTokenIsNoCredentialWhereOnlyKeysAre", func(c *check) {
			token := "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c3JfMSIsInNjb3BlIjoiYWRtaW4ifQ."
			c.get(health).anonymous().with("Authorization", token).send().fails(401, "missing_credentials")
			c.get("/api/v1/search?q=x").anonymous().with("Authorization", token).send().fails(401, "missing_credentials")
			c.get(health).with("Authorization", token).send().is(http.StatusOK)
			c.get(docsPath).anonymous().with("Authorization", token).send().fails(401, "invalid_token")
			c.get(docsPath+"?limit=1").with("Authorization", token).send().is(http.StatusOK) // if both are sent, the key is used
		}},
		{"AKeyIsNeverReadFromTheQueryOrACookie", func(c *check) {
			k := c.newKey(nil, "read").text
			for _, name := range []string{"api_key", "apiKey", "key", "access_token", "X-API-Key", "token"} {
				c.get(health+"?"+name+"="+k).anonymous().send().fails(401, "missing_credentials")
			}
			c.get(health).anonymous().with("Cookie", "X-API-Key="+k+"; access_token="+k).send().fails(401, "missing_credentials")
			c.get(health).anonymous().with("Authorization", "Basic "+k).send().fails(401, "missing_credentials")
		}},
		{"TwoKeysAtOnceAreNoKey", func(c *check) {
			q := c.get(health)
			q.header["X-Api-Key"] = []string{c.newKey(nil, "read").text, c.suite.target.Key}
			if a := q.send(); a.status == http.StatusOK {
				a.broken("a request with two different keys was served: which of them decided?")
			}
		}},
	}
}

// endpoint is a row of the table of docs/spec/scopes.md, with a request that changes nothing: with the scope, it is refused for
// its body or for a name that does not exist.
type endpoint struct {
	scope   string
	call    func() *call
	keyOnly bool // a bearer token is ignored
}

// operatorOnly marks a request that concerns the whole instance. It needs the scope admin and a credential of the operator
// workspace.
func operatorOnly(method, path string) bool {
	rest, ok := strings.CutPrefix(path, "/api/v1/admin/")
	if !ok {
		return false
	}
	area, _, _ := strings.Cut(rest, "/")
	switch area {
	case "workspaces", "tiers", "cache-stats", "signing-keys":
		return true
	case "versions":
		return method != http.MethodGet
	}
	return strings.HasPrefix(rest, "audit-log/verify")
}

// outOfReach marks a request for which no scope is enough, because it concerns the instance and the target's key is not of
// the operator workspace.
func (c *check) outOfReach(q *call) bool { return !c.suite.operator && operatorOnly(q.method, q.path) }

// endpointsByScope is the table of docs/spec/scopes.md.
func (c *check) endpointsByScope() []endpoint {
	nowhere := keysPath + "/key_01kakakakafkhvayayayayayay"
	list := []endpoint{
		{scope: "read", keyOnly: true, call: func() *call { return c.get("/api/v1/search?q=conformance") }},
		{scope: "read", call: func() *call { return c.post("/api/v1/search").json(fields{}) }},
		{scope: "read", call: func() *call { return c.post("/api/v1/search/multi").json(fields{}) }},
		{scope: "read", call: func() *call { return c.get(docsPath + "?limit=1") }},
		{scope: "read", call: func() *call { return c.get(docsPath + "/conformance-not-there") }},
		{scope: "write", call: func() *call { return c.put(docsPath + "/conformance-not-there").json(fields{}) }},
		{scope: "write", call: func() *call { return c.post(docsPath).json(fields{}) }},
		{scope: "write", call: func() *call { return c.post(docsPath+"/import").raw("text/plain", "x") }},
		{scope: "read", call: func() *call { return c.get(docsPath + "/export?collection=conformance-not-there") }},
		{scope: "write", call: func() *call { return c.patch(docsPath + "/conformance-not-there").json(fields{}) }},
		{scope: "write", call: func() *call { return c.post(docsPath + "/delete").json(fields{}) }},
		{scope: "write", call: func() *call { return c.delete(docsPath + "/conformance-not-there") }},
		{scope: "read", call: func() *call { return c.get(setsPath + "?limit=1") }},
		{scope: "read", call: func() *call { return c.get(setsPath + "/conformance-not-there") }},
		{scope: "write", call: func() *call { return c.put(setsPath + "/conformance-not-there").json(fields{"nothing": true}) }},
		{scope: "write", call: func() *call { return c.delete(setsPath + "/conformance-not-there") }},
		{scope: "read", call: func() *call { return c.get("/api/v1/languages") }},
		{scope: "memory:read", call: func() *call { return c.get(memoriesPath + "?limit=1") }},
		{scope: "memory:read", call: func() *call { return c.get(memoriesPath + "/" + neverMemory) }},
		{scope: "memory:read", call: func() *call { return c.get(memoriesPath + "/" + neverMemory + "/history") }},
		{scope: "memory:read", call: func() *call { return c.post(memoriesPath + "/recall").json(fields{}) }},
		{scope: "memory:read", call: func() *call { return c.post(memoriesPath + "/context").json(fields{}) }},
		{scope: "memory:read", call: func() *call { return c.get(subjectsPath + "?limit=1") }},
		{scope: "memory:read", call: func() *call { return c.get(subjectsPath + "/conformance-not-there") }},
		{scope: "memory:read", call: func() *call { return c.get(subjectsPath + "/conformance-not-there/export") }},
		{scope: "memory:read", call: func() *call { return c.get(subjectsPath + "/conformance-not-there/access-log") }},
		{scope: "memory:write", call: func() *call { return c.post(memoriesPath).json(fields{}) }},
		{scope: "memory:write", call: func() *call { return c.post(memoriesPath + "/batch").json(fields{}) }},
		{scope: "memory:write", call: func() *call { return c.patch(memoriesPath + "/" + neverMemory).json(fields{"text": "x"}) }},
		{scope: "memory:write", call: func() *call { return c.delete(memoriesPath + "/" + neverMemory) }},
		{scope: "memory:write", call: func() *call { return c.post(forgetPath).json(fields{}) }},
		{scope: "memory:write", call: func() *call { return c.post(memoryImport).raw("text/plain", "x") }},
		{scope: "memory:write", call: func() *call { return c.delete(subjectsPath + "/conformance-not-there") }},
		{scope: "developer:manage", call: func() *call { return c.get(keysPath + "?limit=1") }},
		{scope: "developer:manage", call: func() *call { return c.post(keysPath).json(fields{}) }},
		{scope: "developer:manage", call: func() *call { return c.get(nowhere) }},
		{scope: "developer:manage", call: func() *call { return c.patch(nowhere).json(fields{"name": "x"}) }},
		{scope: "developer:manage", call: func() *call { return c.delete(nowhere) }},
		{scope: "developer:manage", call: func() *call { return c.post(nowhere + "/revoke").json(fields{}) }},
		{scope: "developer:manage", call: func() *call { return c.post(nowhere + "/rotate").json(fields{}) }},
		{scope: "developer:manage", call: func() *call { return c.post(nowhere + "/complete-rotation") }},
		{scope: "developer:manage", call: func() *call { return c.get(nowhere + "/usage") }},
		{scope: "developer:manage", call: func() *call { return c.get(nowhere + "/limits") }},
		{scope: "developer:manage", call: func() *call { return c.post("/api/v1/developer/verify").json(fields{}) }},
		{scope: "admin", call: func() *call { return c.get("/api/v1/admin/cache-stats") }},
	}
	for _, name := range []string{"summary", "timeseries", "top", "usage", "versions", "errors", "requests"} {
		list = append(list, endpoint{scope: "analytics:read", call: func() *call { return c.get(analyticsPath + name) }})
	}
	for _, path := range []string{
		usersPath, usersPath + "/" + unknownUser, workspacesPath, workspacesPath + "/wsp_01kakakakafkhvayayayayayay", "/api/v1/admin/tiers",
		"/api/v1/admin/audit-log", "/api/v1/admin/audit-log/verify?nothing=1", "/api/v1/admin/versions", "/api/v1/admin/versions/9",
		"/api/v1/admin/versions/9/usage", hooksPath, hooksPath + "/" + unknownHook, hooksPath + "/" + unknownHook + "/deliveries",
		hooksPath + "/" + unknownHook + "/deliveries/" + unknownDelivery,
	} {
		list = append(list, endpoint{scope: "admin", call: func() *call { return c.get(path) }})
	}
	for _, path := range []string{
		usersPath, workspacesPath, "/api/v1/admin/signing-keys/rotate?nothing=1", "/api/v1/admin/versions/release", "/api/v1/admin/versions/9/retire", "/api/v1/admin/versions/9/rehearse-sunset",
		hooksPath, hooksPath + "/" + unknownHook + "/rotate", hooksPath + "/" + unknownHook + "/ping?nothing=1",
		hooksPath + "/" + unknownHook + "/deliveries/" + unknownDelivery + "/replay?nothing=1",
	} {
		list = append(list, endpoint{scope: "admin", call: func() *call { return c.post(path).json(fields{"nothing": true}) }})
	}
	for _, path := range []string{usersPath + "/" + unknownUser, workspacesPath + "/wsp_01kakakakafkhvayayayayayay", "/api/v1/admin/versions/9", hooksPath + "/" + unknownHook} {
		list = append(list, endpoint{scope: "admin", call: func() *call { return c.patch(path).json(fields{"nothing": true}) }})
	}
	return append(list, endpoint{scope: "admin", call: func() *call { return c.put("/api/v1/admin/tiers/nothing").json(fields{}) }},
		endpoint{scope: "admin", call: func() *call { return c.delete(usersPath + "/" + unknownUser) }},
		endpoint{scope: "admin", call: func() *call { return c.post(usersPath + "/" + unknownUser + "/setup-link") }},
		endpoint{scope: "admin", call: func() *call { return c.delete(hooksPath + "/" + unknownHook) }})
}

// scopeChecks checks §5.3 and the table of docs/spec/scopes.md.
func scopeChecks() []promise {
	list := []promise{
		{"WithoutACredentialEveryEndpointIs401", func(c *check) {
			for _, e := range c.endpointsByScope() {
				e.call().anonymous().send().fails(401, "missing_credentials")
			}
		}},
		{"TheScopeComesBeforeTheBody", func(c *check) {
			k := c.newKey(nil, "read").text
			c.post(docsPath).as(k).raw("application/json", "{broken").send().fails(403, "insufficient_scope")
			c.post(docsPath).as(k).raw("text/plain", "x").send().fails(403, "insufficient_scope")
			big := c.post(docsPath).as(k).raw("application/json", strings.Repeat(" ", 2<<20))
			big.with("Expect", "100-continue").send().fails(403, "insufficient_scope")
		}},
		{"NoKeyMakesAWiderKey", func(c *check) {
			narrow := c.newKey(nil, "read", "developer:manage")
			for _, scopes := range [][]string{{"write"}, {"admin"}, {"read", "memory:read"}, {"read", "write", "developer:manage"}} {
				a := c.post(keysPath).as(narrow.text).json(fields{"name": "conformance wider", "scopes": scopes}).send()
				a.fails(403, "insufficient_scope")
				if a.text("details.requiredScope") == "" {
					a.broken("a 403 does not name the scope that is needed")
				}
				if id := a.text("id"); id != "" {
					c.removeKey(id)
				}
			}
			same := c.newKeyAs(narrow.text, nil, "read", "developer:manage")
			c.patch(same.path()).as(narrow.text).json(fields{"scopes": []string{"read", "write"}}).send().fails(403, "insufficient_scope")
			c.patch(narrow.path()).as(narrow.text).json(fields{"scopes": []string{"admin"}}).send().fails(403, "insufficient_scope")
			c.get(same.path()).send().has(fields{"scopes": []string{"read", "developer:manage"}, "revision": 1})
		}},
		{"AMightierKeyMayBeRevoked", func(c *check) {
			narrow, mighty := c.newKey(nil, "developer:manage"), c.newKey(nil, "admin")
			c.post(mighty.path() + "/revoke").as(narrow.text).json(fields{}).send().is(http.StatusOK).has(fields{"state": "revoked"})
		}},
		{"EveryOperationOfTheAPIIsInTheTable", func(c *check) {
			open := []string{"/api/v1/health", "/api/v1/developer/whoami", "/api/v1/profile", "/api/v1/openapi.json"}
			tried := map[string]bool{}
			for _, e := range c.endpointsByScope() {
				q := e.call()
				path, _, _ := strings.Cut(q.path, "?")
				tried[q.method+" "+path] = true
			}
			for _, op := range c.operations() {
				if strings.HasPrefix(op.path, "/api/v1/") && !slices.Contains(open, op.path) && !matchesOne(tried, op) {
					scope, _ := op.operation["x-required-scope"].(string)
					body := ""
					if op.hasBody {
						body = ".json(fields{})"
					}
					c.broken("%s %s is in the API's description and not in this suite's table of scopes; add it with the scope that docs/spec promises, "+
						"which the description calls %[3]q, to endpointsByScope (conformance/authentication.go):\n\t{scope: %[3]q, call: func() *call { return c.%[4]s(%[5]q)%[6]s }},",
						op.method, op.path, scope, strings.ToLower(op.method), pathParameter.ReplaceAllString(op.path, "conformance-not-there"), body)
				}
			}
		}},
		{"AdminImpliesEveryOther", func(c *check) {
			k := c.newKey(nil, "admin").text
			for _, e := range c.endpointsByScope() {
				q := e.call()
				if c.outOfReach(q) {
					q.as(k).send().fails(403, "insufficient_scope")
					continue
				}
				if a := q.as(k).send(); a.status == http.StatusUnauthorized || a.text("details.requiredScope") != "" {
					a.broken("admin is not enough")
				}
			}
			made := c.newKeyAs(k, nil, "read", "memory:write")
			c.get("/api/v1/search?q=x").as(made.text).send().is(http.StatusOK)
		}},
	}
	for _, scope := range allScopes[:6] {
		list = append(list, promise{"AKeyWith " + scope + " MayDoThatAlone", func(c *check) {
			k := c.newKey(nil, scope).text
			for _, e := range c.endpointsByScope() {
				a := e.call().as(k).send()
				if e.scope != scope {
					a.fails(403, "insufficient_scope").has(fields{"details.requiredScope": e.scope})
				} else if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
					a.broken("%s is not enough for an endpoint that needs it", scope)
				}
			}
		}})
	}
	return list
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// matchesOne reports whether one of these requests is for an operation.
func matchesOne(requests map[string]bool, op described) bool {
	want := strings.Split(op.path, "/")
	for request := range requests {
		method, path, _ := strings.Cut(request, " ")
		got := strings.Split(path, "/")
		if method == op.method && slices.EqualFunc(got, want, func(g, w string) bool { return g == w || strings.HasPrefix(w, "{") }) {
			return true
		}
	}
	return false
}
