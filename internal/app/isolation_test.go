package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

// The rule of this test (docs/spec/workspaces.md and scopes.md): what belongs to another workspace and what never was give
// the same answer at every step. It walks through the description of the API, so that it covers the operations of next year: an
// operation with a place for an id, a cursor or a name that this test does not know fails it.

// tenant is a workspace with an admin, a key with all scopes, documents and a second key.
type tenant struct {
	t         *testing.T
	base      string
	workspace string
	admin     string // id of the user
	key       string // text of the key with all scopes
	token     string // access token of the admin
	keyID     string // of the second key
	other     string // its text
	document  string
	subject   string // a person there are memories of, in this workspace alone
	memory    string
	plan      string // to forget it, not carried out
	webhook   string
}

const tenantPassword = "correct horse battery staple"

// newTenant makes one whose documents say word.
func newTenant(t *testing.T, p *apptest.Running, name, word string) *tenant {
	t.Helper()
	operator := &tenant{t: t, base: p.URL, key: p.Key}
	n := &tenant{t: t, base: p.URL}
	n.workspace = operator.make("POST", "/api/v1/admin/workspaces", `{"name":"`+name+`","tier":"business"}`)["id"].(string)
	n.admin = operator.make("POST", "/api/v1/admin/users", fmt.Sprintf(
		`{"email":"%s@example.org","role":"admin","workspaceId":"%s","password":"%s"}`, name, n.workspace, tenantPassword))["id"].(string)
	n.token = n.make("POST", "/api/auth/login", fmt.Sprintf(`{"email":"%s@example.org","password":"%s"}`, name, tenantPassword))["accessToken"].(string)
	n.key = n.make("POST", "/api/v1/developer/api-keys",
		`{"name":"all","scopes":["read","write","developer:manage","analytics:read","memory:read","memory:write","admin"]}`)["key"].(string)
	second := n.make("POST", "/api/v1/developer/api-keys", `{"name":"second","scopes":["read"]}`)
	n.keyID, n.other = second["id"].(string), second["key"].(string)
	n.make("POST", "/api/v1/admin/users", `{"email":"second-`+name+`@example.org"}`)
	for i := range 2 {
		made := n.make("POST", "/api/v1/documents", fmt.Sprintf(`{"text":"%s number %d","collection":"%s-shelf","tags":["%s-mark"]}`, word, i, word, word))
		n.document = made["id"].(string)
	}
	for _, collection := range []string{"shelf", "second"} {
		n.make("PUT", "/api/v1/collections/"+word+"-"+collection, `{"synonyms":[["`+word+`","bird"]]}`)
	}
	n.subject = name + "-person"
	for i := range 2 {
		made := n.make("POST", "/api/v1/memories", fmt.Sprintf(
			`{"subjectId":"%s","agentId":"%s-agent","sessionId":"%s-session","text":"%s number %d","tags":["%s-mark"]}`, n.subject, word, word, word, i, word))
		n.memory = made["id"].(string)
	}
	n.make("POST", "/api/v1/memories", fmt.Sprintf(`{"subjectId":"%s-second","text":"%s"}`, n.subject, word))
	n.plan = n.make("POST", "/api/v1/memories/forget", fmt.Sprintf(`{"subjectId":"%s","ids":["%s"]}`, n.subject, n.memory))["planId"].(string)
	for range 2 {
		n.webhook = n.make("POST", "/api/v1/admin/webhooks", `{"url":"https://`+word+`.example/hook","events":["version.retired"]}`)["id"].(string)
	}
	n.make("POST", "/api/v1/admin/webhooks/"+n.webhook+"/ping", "")
	return n
}

// make sends a request that must succeed, and decodes its answer.
func (n *tenant) make(method, path, body string) map[string]any {
	n.t.Helper()
	status, _, text := n.send(method, path, body, n.key == "")
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil || status >= 300 {
		n.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return v
}

// send sends a request with the tenant's key, or with its token.
func (n *tenant) send(method, path, body string, bearer bool) (int, http.Header, []byte) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.base+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	switch {
	case !bearer:
		req.Header.Set("X-API-Key", n.key)
	case n.token != "":
		req.Header.Set("Authorization", "Bearer "+n.token)
	}
	switch {
	case strings.HasSuffix(path, "/import"):
		req.Header.Set("Content-Type", "application/x-ndjson")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return res.StatusCode, res.Header, text
}

// cursor is where the second page of a list of the tenant's starts, "" for a list of one page.
func (n *tenant) cursor(path string) string {
	next, _ := n.make("GET", path, "")["nextCursor"].(string)
	return next
}

// alternatives are what is put in one place: something of another workspace, and something that never was.
type alternatives struct{ theirs, nobodys string }

// places are the places of the API where something of another workspace could be named. A path parameter is named with
// what comes before it, a cursor with its operation.
func (n *tenant) places() map[string]alternatives {
	const none = "00000000000000000000000000"
	var logged string
	await.Until(n.t, "the log has two requests", func() bool {
		items := n.make("GET", "/api/v1/analytics/requests?limit=2", "")["items"].([]any)
		if len(items) > 0 {
			logged = items[0].(map[string]any)["requestId"].(string)
		}
		return len(items) == 2
	})
	cursor := func(path string) alternatives {
		return alternatives{n.cursor(path), "bm90IGEgY3Vyc29yIG9mIGFueWJvZHkh"}
	}
	return map[string]alternatives{
		"api-keys/{id}":   {n.keyID, "key_" + none},
		"users/{id}":      {n.admin, "usr_" + none},
		"workspaces/{id}": {n.workspace, "wsp_" + none},
		"documents/{id}":  {n.document, "doc_" + none},
		"memories/{id}":   {n.memory, "mem_" + none},
		"tiers/{name}":    {"business", "gold"},
		"webhooks/{id}":   {n.webhook, "whk_" + none},

		"collections/{collection}": {"canary-shelf", "nobody"},

		"subjects/{subjectId}": {n.subject, "nobody"},

		"listAPIKeys cursor":     cursor("/api/v1/developer/api-keys?limit=1"),
		"listUsers cursor":       cursor("/api/v1/admin/users?limit=1"),
		"listAuditLog cursor":    cursor("/api/v1/admin/audit-log?limit=1"),
		"listDocuments cursor":   cursor("/api/v1/documents?limit=1"),
		"listCollections cursor": cursor("/api/v1/collections?limit=1"),
		"listWebhooks cursor":    cursor("/api/v1/admin/webhooks?limit=1"),
		"search cursor":          cursor("/api/v1/search?q=canary&limit=1"),
		"searchPost cursor":      cursor("/api/v1/search?q=canary&limit=1"),
		"listMemories cursor":    cursor("/api/v1/memories?limit=1"),
		"listSubjects cursor":    cursor("/api/v1/memories/subjects?limit=1"),
		"listRequests cursor":    cursor("/api/v1/analytics/requests?limit=1"),

		// Lists that are the operator's alone, or everybody's.
		"listWorkspaces cursor":     {"bm90IGEgY3Vyc29y", "b3RoZXI"},
		"listTiers cursor":          {"bm90IGEgY3Vyc29y", "b3RoZXI"},
		"listVersionRecords cursor": {"bm90IGEgY3Vyc29y", "b3RoZXI"},
		"listLanguages cursor":      {"bm90IGEgY3Vyc29y", "b3RoZXI"},

		"workspace":   {n.workspace, "wsp_" + none},
		"requestId":   {logged, "req_" + none},
		"workspaceId": {n.workspace, "wsp_" + none},
		"keyId":       {n.keyID, "key_" + none},
		"key":         {n.other, "kpsk_0000000000000000000000000000001gcy1u"},
		"createdBy":   {n.admin, "usr_" + none},
		"actor":       {n.admin, "usr_" + none},
		"target":      {n.keyID, "key_" + none},
		"id":          {n.document, "doc_" + none},
		"q":           {"canary", "nobody"},
		"collection":  {"canary-shelf", "nobody"},
		"into":        {"canary-shelf", "nobody"},
		"tag":         {"canary-mark", "nobody"},
		"tags":        {"canary-mark", "nobody"},
		"ids":         {n.memory, "mem_" + none},
		"planId":      {n.plan, "pln_" + none},
		"query":       {"canary", "nobody"},
		"agentId":     {"canary-agent", "nobody"},
		"sessionId":   {"canary-session", "nobody"},
		"subjectId":   {n.subject, "nobody"},
	}
}

// harmless lists the parameters and fields that name nothing that exists. An email is one: it is unique in the whole
// instance, and an admin who creates users can find that out.
var harmless = map[string]bool{
	"email":    true,
	"interval": true, "groupBy": true, "format": true,
	"limit": true, "reads": true, "state": true, "role": true, "window": true, "prefix": true, "highlight": true, "passages": true, "sort": true, "fuzzy": true,
	"action": true, "from": true, "to": true, "name": true, "scopes": true, "expiresAt": true, "rateLimit": true, "quota": true,
	"allowedIps": true, "metadata": true, "disabled": true, "reason": true, "password": true,
	"tier": true, "suspended": true, "title": true, "text": true, "url": true, "graceSeconds": true, "force": true,
	"requiredScopes": true, "cost": true, "consume": true, "ip": true, "filter": true, "facets": true, "daily": true,
	"monthly": true, "keys": true, "users": true, "documents": true, "memories": true, "requestsPerMinute": true,
	"language": true, "synonyms": true, "fields": true,
	"description": true, "events": true, "event": true, "eventId": true,
	"currentPassword": true, "newPassword": true, "refreshToken": true,
	"version": true, "announcedAt": true, "sunsetAt": true, "guideUrl": true, "until": true,
	"kind": true, "speaker": true, "importance": true, "pinned": true, "occurredAt": true, "validFrom": true, "validTo": true, "source": true,
	"allowDuplicate": true, "deduplicate": true, "atomic": true, "dryRun": true, "fill": true, "kinds": true, "asOf": true, "minScore": true, "explain": true,
	"rest": true, "replace": true,
	"maxTokens": true, "maxCharacters": true, "timeZone": true, "items": true, "searches": true, // of items, and of lines, see TestNoItemAndNoLineReachesAcrossWorkspaces
}

// public are path parameters that name what everybody may know of, with something that is there.
var public = map[string]string{"versions/{n}": "1"}

// bodies are requests that are right but for what is put in their place; where they differ by what that is, its name
// follows the operation's.
var bodies = map[string]string{
	"changeAPIKey":    `{"name":"y"}`,
	"changeUser":      `{"name":"y"}`,
	"changeWorkspace": `{"name":"y"}`,
	"createAPIKey":    `{"name":"x","scopes":["read"]}`,
	"createUser":      `{"email":"new@example.org"}`,
	"createWorkspace": `{"name":"x"}`,
	"changeTier":      `{"requestsPerMinute":1,"daily":1,"monthly":1,"keys":0,"users":0,"documents":0,"memories":0}`,
	"createDocument":  `{"text":"x"}`,
	"createWebhook":   `{"url":"https://example.org"}`,
	"changeWebhook":   `{"description":"x"}`,
	"putDocument":     `{"text":"x"}`,
	"putCollection":   `{"language":"en"}`,
	"changeDocument":  `{"text":"x"}`,
	"searchPost":      `{"q":"canary"}`,
	"searchMulti":     `{"searches":[{"q":"canary"}]}`,
	"createMemory":    `{"subjectId":"sparrow-own","text":"x","allowDuplicate":true}`,
	"changeMemory":    `{"text":"x"}`,
	"createMemories":  `{"items":[{"subjectId":"sparrow-own","text":"x","allowDuplicate":true}]}`,
	"forgetMemories":  `{"subjectId":"sparrow-own","filter":{}}`,

	"forgetMemories ids":    `{"subjectId":"sparrow-own"}`,
	"forgetMemories query":  `{"subjectId":"sparrow-own"}`,
	"forgetMemories planId": `{"subjectId":"sparrow-own","dryRun":false}`,
	"recall":                `{"subjectId":"beta-person","query":"sparrow"}`,
	"recallContext":         `{"subjectId":"beta-person","query":"sparrow","maxTokens":100}`,
	"verifyAPIKey":          `{"key":"x"}`,
	"rehearseSunset":        `{"keyId":"x","until":"2027-01-01T00:00:00Z"}`,
	"releaseVersion":        `{"version":2}`,
	"changeVersion":         `{"sunsetAt":"2028-01-01T00:00:00Z"}`,
}

// companions are parameters without which another is wrong.
var companions = map[string]url.Values{"listMemories tag": {"subjectId": {"beta-person"}}}

// described is the part of the description that says where something can be named.
type described struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Surface     string `json:"x-surface"` // empty for the API
		Parameters  []struct {
			Name, In string
			Required bool
		}
		RequestBody struct {
			Content map[string]struct{ Schema member }
		} `json:"requestBody"`
	}
	Components struct{ Schemas map[string]member }
}

type member struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]member
	AnyOf      []member
	OneOf      []member
}

// members are the names in an object's schema, and whether each is a list.
func (d *described) members(m member) map[string]bool {
	for m.Ref != "" {
		m = d.Components.Schemas[m.Ref[strings.LastIndexByte(m.Ref, '/')+1:]]
	}
	names := map[string]bool{}
	for name, of := range m.Properties {
		text, _ := json.Marshal(of.Type)
		names[name] = strings.Contains(string(text), "array")
	}
	for _, other := range slices.Concat(m.AnyOf, m.OneOf) {
		maps.Copy(names, d.members(other))
	}
	delete(names, "$schema")
	return names
}

var (
	parameterInPath = regexp.MustCompile(`[^/]+/\{[^}]+\}`)
	parameter       = regexp.MustCompile(`\{[^}]+\}`)
)

func TestNothingReachesAcrossWorkspaces(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) {
		generous := c.Tiers["anonymous"]
		generous.RequestsPerMinute, generous.Daily = 100_000, 100_000 // half of the requests bring a credential that is not taken
		c.Tiers["anonymous"] = generous
	}))
	alpha, beta := newTenant(t, p, "alpha", "canary"), newTenant(t, p, "beta", "sparrow")
	before := alpha.everything()
	places := alpha.places()
	for place, a := range places {
		if a.theirs == "" {
			t.Errorf("there is nothing of the other workspace for %s: let newTenant make it, and two of what a cursor's list contains", place)
		}
	}

	text, err := app.OpenAPI(1)
	if err != nil {
		t.Fatal(err)
	}
	var api described
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	for path, methods := range api.Paths {
		for method, op := range methods {
			if op.Surface != "" {
				delete(methods, method)
			}
		}
		if len(methods) == 0 {
			delete(api.Paths, path)
		}
	}
	paths := slices.Sorted(maps.Keys(api.Paths))
	for path, same := range map[string]string{ // the AI services have operations of the API
		"/ai/remember": "/api/v1/memories", "/ai/recall": "/api/v1/memories/recall", "/ai/context": "/api/v1/memories/context",
	} {
		methods := maps.Clone(api.Paths[same])
		delete(methods, "get")
		api.Paths[path] = methods
		paths = append(paths, path) // last, because it stores what lists then contain
	}
	probes := 0
	look := func(operation, method, path, body string) {
		t.Helper()
		for _, bearer := range []bool{false, true} {
			_, _, text := beta.send(strings.ToUpper(method), path, body, bearer)
			for _, mark := range []string{alpha.workspace, alpha.admin, alpha.keyID, alpha.document, alpha.memory, alpha.plan, alpha.webhook, alpha.other, "canary", "alpha@"} {
				if bytes.Contains(text, []byte(mark)) {
					t.Errorf("%s, bearer %v: the answer holds %s of another workspace:\n%s", operation, bearer, mark, text)
				}
			}
		}
	}
	for _, path := range paths {
		for _, method := range slices.Sorted(maps.Keys(api.Paths[path])) {
			op := api.Paths[path][method]
			body := bodies[op.OperationID]
			query := url.Values{}
			for _, q := range op.Parameters {
				if q.In == "query" && q.Required {
					query.Set(q.Name, "canary")
				}
			}
			probe := func(place string, request func(value string) (path, body string)) {
				t.Helper()
				a, known := places[op.OperationID+" "+place]
				if !known {
					a, known = places[place]
				}
				if !known {
					t.Errorf("%s: this test does not know what %s names. %s", op.OperationID, place, remedy(op.OperationID, place))
					return
				}
				for _, bearer := range []bool{false, true} {
					theirs, nobodys := beta.answer(method, request, a.theirs, bearer), beta.answer(method, request, a.nobodys, bearer)
					if theirs != nobodys {
						t.Errorf("%s, %s, bearer %v: what is another workspace's is told from what never was:\n%s\n%s",
							op.OperationID, place, bearer, theirs, nobodys)
					}
					if strings.HasPrefix(theirs, "400") && place != "cursor" {
						t.Errorf("%s, %s: the request was not right; correct it in bodies or companions (internal/app/isolation_test.go):\n%s", op.OperationID, place, theirs)
					}
					probes++
				}
			}
			place := parameterInPath.FindString(path)
			if known := public[place]; known != "" {
				look(op.OperationID, method, strings.Replace(path, parameter.FindString(place), known, 1), body)
				continue
			}
			if place == "" && method == "get" {
				query := maps.Clone(query)
				for name := range query {
					query.Set(name, "sparrow")
				}
				if op.OperationID == "exportDocuments" {
					query.Set("collection", "sparrow-shelf") // the probes made others that are named after the other workspace
				}
				look(op.OperationID, method, path+"?"+query.Encode(), body)
			}
			if place != "" {
				template := parameterInPath.FindStringIndex(path)
				probe(place, func(value string) (string, string) {
					noun, _, _ := strings.Cut(place, "/")
					return path[:template[0]] + noun + "/" + value + path[template[1]:], body
				})
				continue // whatever else it names is of a thing that is not there
			}
			for _, q := range op.Parameters {
				if q.In == "query" && !harmless[q.Name] {
					probe(q.Name, func(value string) (string, string) {
						other := maps.Clone(query)
						maps.Copy(other, companions[op.OperationID+" "+q.Name])
						other.Set(q.Name, value)
						return path + "?" + other.Encode(), body
					})
				}
			}
			if strings.HasPrefix(path, "/api/auth/") {
				continue // no credential reaches a workspace there
			}
			for media, content := range op.RequestBody.Content {
				if media != "application/json" {
					continue
				}
				for name, list := range api.members(content.Schema) {
					if !harmless[name] {
						probe(name, func(value string) (string, string) {
							return path, with(t, op.OperationID, name, value, list)
						})
					}
				}
			}
		}
	}
	if probes < 50 {
		t.Errorf("only %d places were probed", probes)
	}
	if after := alpha.everything(); after != before {
		t.Errorf("the other workspace was changed:\n%s\n%s", before, after)
	}
}

// remedy says how this test gets to know a place.
func remedy(operation, place string) string {
	add := `add something that another workspace has there, and something that never was, to places (internal/app/isolation_test.go): "` + place + `": {n.…, "…"},`
	switch {
	case place == "cursor":
		return "Add the list to places (internal/app/isolation_test.go): \"" + operation + ` cursor": cursor("/api/v1/…?limit=1"),`
	case strings.Contains(place, "{"):
		return "If everybody may know of it, add it with one that is there to public; else " + add
	default:
		return "If it names nothing that a workspace has, add it to harmless; else " + add
	}
}

// with puts a value in an operation's body.
func with(t *testing.T, operation, name, value string, list bool) string {
	t.Helper()
	fields := map[string]any{}
	body, ok := bodies[operation+" "+name]
	if !ok {
		body = bodies[operation]
	}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &fields); err != nil {
			t.Fatalf("the body of %s: %v", operation, err)
		}
	}
	fields[name] = value
	if list {
		fields[name] = []string{value}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever differs between two answers to the same question.
var (
	moments = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"`)
	numbers = regexp.MustCompile(`"(requestId|tookMs|remaining)":("[^"]*"|[0-9.]+)`)
	made    = regexp.MustCompile(`\b(usr|doc|key|wsp|mem|pln|rcp|aud|whk|dlv|evt)_[0-9a-z]{26}\b|kpsk_[0-9A-Za-z]+|eyJ[\w.-]+|"(hint|password)":"[^"]*"`)
)

// answer is what a request gets, without what differs between any two answers and without the value it repeats.
func (n *tenant) answer(method string, request func(value string) (path, body string), value string, bearer bool) string {
	path, body := request(value)
	method = strings.ToUpper(method)
	status, header, text := n.send(method, path, body, bearer)
	text = bytes.ReplaceAll(text, []byte(value), []byte("VALUE"))
	for _, varies := range []*regexp.Regexp{moments, numbers, made} {
		text = varies.ReplaceAll(text, []byte("…"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", status)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		switch {
		case name == "Date" || name == "X-Request-Id" || name == "Content-Length" || name == "Location" || strings.HasPrefix(name, "X-Ratelimit-"):
		default:
			fmt.Fprintf(&b, "%s: %s\n", name, header.Values(name))
		}
	}
	b.Write(text)
	return b.String()
}

var uses = regexp.MustCompile(`"(lastUsedAt|lastLoginAt)":[^,}]*`)

// everything is what the tenant sees of itself, but for when it looked.
func (n *tenant) everything() string {
	var b strings.Builder
	for _, path := range []string{
		"/api/v1/developer/api-keys", "/api/v1/admin/users", "/api/v1/documents", "/api/v1/documents/" + n.document,
		"/api/v1/memories", "/api/v1/memories/" + n.memory + "/history",
	} {
		_, _, text := n.send("GET", path, "", false)
		b.Write(uses.ReplaceAll(text, nil))
	}
	status, _, _ := (&tenant{t: n.t, base: n.base, key: n.other}).send("GET", "/api/v1/health", "", false)
	fmt.Fprint(&b, status)
	return b.String()
}

func TestIdempotencyKeysAreSeparatePerWorkspace(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	alpha, beta := newTenant(t, p, "alpha", "canary"), newTenant(t, p, "beta", "sparrow")
	ids := map[string]bool{}
	for _, n := range []*tenant{alpha, beta} {
		for _, bearer := range []bool{false, true} {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", p.URL+"/api/v1/documents", strings.NewReader(`{"text":"the same"}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", "the same key")
			if bearer {
				req.Header.Set("Authorization", "Bearer "+n.token)
			} else {
				req.Header.Set("X-API-Key", n.key)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var d client.Document
			if err := json.NewDecoder(res.Body).Decode(&d); err != nil || res.StatusCode != http.StatusCreated || ids[d.ID] {
				t.Errorf("bearer %v: got %d %+v, a repetition: %v", bearer, res.StatusCode, d, ids[d.ID])
			}
			ids[d.ID] = true
		}
	}
}

// TestNoItemAndNoLineReachesAcrossWorkspaces names what is another workspace's in items of a batch, in one of several searches and
// in lines of an import. There it is a name that is free.
func TestNoItemAndNoLineReachesAcrossWorkspaces(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	alpha, beta := newTenant(t, p, "alpha", "canary"), newTenant(t, p, "beta", "sparrow")
	before := alpha.everything()
	places := alpha.places()
	for _, probe := range []struct{ place, path, body string }{
		{"subjectId", "/api/v1/memories/batch", `{"items":[{"subjectId":"%s","text":"canary","key":"k"},{"text":"x"}]}`},
		{"agentId", "/api/v1/memories/batch", `{"items":[{"subjectId":"sparrow-own","agentId":"%s","text":"canary"}]}`},
		{"subjectId", "/api/v1/memories/import", `{"subjectId":"%s","text":"canary number 1","tags":["canary-mark"]}`},
		{"memories/{id}", "/api/v1/memories/import", `{"id":"%s","subjectId":"sparrow-own","text":"x"}`},
		{"q", "/api/v1/search/multi", `{"searches":[{"q":"%s"}]}`},
		{"collection", "/api/v1/search/multi", `{"searches":[{"q":"canary","collection":"%s"}]}`},
		{"searchPost cursor", "/api/v1/search/multi", `{"searches":[{"q":"canary","limit":1,"cursor":"%s"}]}`},
		{"documents/{id}", "/api/v1/documents/import", `{"id":"%s","text":"x"}`},
	} {
		request := func(value string) (path, body string) { return probe.path, fmt.Sprintf(probe.body, value) }
		a := places[probe.place]
		theirs, nobodys := beta.answer("POST", request, a.theirs, false), beta.answer("POST", request, a.nobodys, false)
		if theirs != nobodys || !strings.HasPrefix(theirs, "200") {
			t.Errorf("%s, %s: what is another workspace's is told from what never was:\n%s\n%s", probe.path, probe.place, theirs, nobodys)
		}
	}
	if after := alpha.everything(); after != before {
		t.Errorf("the other workspace was changed:\n%s\n%s", before, after)
	}
}
