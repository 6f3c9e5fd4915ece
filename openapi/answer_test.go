package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/web/endpoint"
)

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// caller asks the running program and holds each of its answers to the document.
type caller struct {
	t    *testing.T
	doc  *openapi3.T
	base string
	key  string
	seen map[string][]int // operation id: statuses that were answered
}

// call sends a request for the operation at template, whose one parameter ({id}) is id, and gives the decoded body. Header is
// pairs.
func (c *caller) call(want int, method, template, id, query, body string, header ...string) map[string]any {
	c.t.Helper()
	item := c.doc.Paths.Value(template)
	if item == nil || item.GetOperation(method) == nil {
		c.t.Fatalf("%s %s is not in the document", method, template)
	}
	op := item.GetOperation(method)
	path := template
	for one := range strings.SplitSeq(id, ",") { // an ID for each parameter
		if at := pathParameter.FindStringIndex(path); at != nil {
			path = path[:at[0]] + one + path[at[1]:]
		}
	}
	target := c.base + path + query
	request, err := http.NewRequestWithContext(c.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("X-API-Key", c.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if response.StatusCode != want {
		c.t.Errorf("%s %s: got %d, want %d\n%s", method, template, response.StatusCode, want, text)
	}
	c.seen[op.OperationID] = append(c.seen[op.OperationID], response.StatusCode)
	c.compare(op, method+" "+template, request, response, text)
	if media := response.Header.Get("Content-Type"); len(text) == 0 || !strings.HasPrefix(media, "application/json") {
		return nil
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		c.t.Fatalf("%s %s: %v\n%s", method, template, err, text)
	}
	return value
}

func (c *caller) compare(op *openapi3.Operation, name string, request *http.Request, response *http.Response, text []byte) {
	c.t.Helper()
	described := op.Responses.Status(response.StatusCode)
	if described == nil {
		c.t.Errorf("%s: the document knows no answer %d", name, response.StatusCode)
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request, Route: &routers.Route{Spec: c.doc, Method: request.Method, Operation: op},
		},
		Status: response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(text)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if lines := described.Value.Content[endpoint.MediaLines]; lines != nil && response.Header.Get("Content-Type") == endpoint.MediaLines {
		input.Options.ExcludeResponseBody = true
		for line := range bytes.Lines(text) {
			var value any
			if err := json.Unmarshal(line, &value); err != nil {
				c.t.Errorf("%s: a line is no JSON: %v", name, err)
			} else if err := lines.Schema.Value.VisitJSON(value); err != nil {
				c.t.Errorf("%s: a line is not as documented: %v\n%s", name, err, line)
			}
		}
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		c.t.Errorf("%s: the answer %d is not as documented: %v\n%s", name, response.StatusCode, err, text)
	}
	documented := []string{"Date", "Content-Type", "Content-Length", "Allow"} // of every HTTP answer
	for header := range described.Value.Headers {
		documented = append(documented, http.CanonicalHeaderKey(header))
	}
	for header := range at(c.doc.Extensions, "x-every-response", "headers") {
		documented = append(documented, http.CanonicalHeaderKey(header))
	}
	for header := range response.Header {
		if !slices.Contains(documented, header) {
			c.t.Errorf("%s: the answer %d has the header %s, which is not documented", name, response.StatusCode, header)
		}
	}
	for _, header := range []string{
		"X-API-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Daily-Remaining",
		"X-RateLimit-Monthly-Remaining", "X-Request-Id", "X-Content-Type-Options",
	} {
		if response.Header.Get(header) == "" {
			c.t.Errorf("%s: the answer %d lacks the header %s", name, response.StatusCode, header)
		}
	}
	if response.StatusCode < 400 {
		return
	}
	var body struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		c.t.Errorf("%s: the error is no JSON: %s", name, text)
	}
	codes, _ := op.Extensions["x-error-codes"].([]any)
	if !slices.Contains(codes, any(body.Error)) || endpoint.StatusOf(body.Error) != response.StatusCode {
		c.t.Errorf("%s: the answer %d has the code %s, documented are %v", name, response.StatusCode, body.Error, codes)
	}
}

func TestTheProgramAnswersAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(read(t, "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	// On a clock that stands still no window of a limit ends.
	clock := apptest.NewClock(time.Now())
	running := apptest.Start(t, apptest.Clock(clock.Now), apptest.With(func(cfg *config.Config) { cfg.Lifecycle.AllowUndeclared = true }))
	clock.Advance(time.Second) // what the program creates first is older than what the requests create
	c := &caller{t: t, doc: doc, base: running.URL, key: running.Key, seen: map[string][]int{}}
	const (
		keys, key           = "/api/v1/developer/api-keys", "/api/v1/developer/api-keys/{id}"
		documents, document = "/api/v1/documents", "/api/v1/documents/{id}"
		search              = "/api/v1/search"
	)

	c.call(200, "GET", "/api/versions", "", "", "")
	c.call(200, "GET", "/api/v1/health", "", "", "")
	c.call(400, "GET", "/api/v1/health", "", "?verbose=1", "")
	c.call(200, "GET", "/api/v1/admin/cache-stats", "", "", "")
	c.call(200, "GET", "/api/v1/developer/whoami", "", "", "")

	whole := `{"title":"Opening hours","text":"From nine to five.","url":"https://example.com/","tags":["a"],"metadata":{"n":1,"b":true,"s":"t"}}`
	made := c.call(201, "POST", documents, "", "", whole, "Idempotency-Key", "the-first-document")
	again := c.call(201, "POST", documents, "", "", whole, "Idempotency-Key", "the-first-document")
	if made["id"] != again["id"] {
		t.Errorf("a repeated request made another document: %v, %v", made["id"], again["id"])
	}
	c.call(400, "POST", documents, "", "", `{"text":"other"}`, "Idempotency-Key", "the-first-document")
	id := made["id"].(string)
	c.call(409, "POST", documents, "", "", `{"id":"`+id+`","text":"again"}`)
	c.call(415, "POST", documents, "", "", whole, "Content-Type", "text/plain")
	c.call(413, "POST", documents, "", "", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	c.call(201, "PUT", document, "mine", "", `{"text":"mine"}`)
	c.call(200, "PUT", document, "mine", "", `{"text":"mine again"}`, "If-Match", `"1"`)
	c.call(412, "PUT", document, "mine", "", `{"text":"mine again"}`, "If-Match", `"1"`)
	c.call(200, "GET", document, id, "", "")
	c.call(304, "GET", document, id, "", "", "If-None-Match", `"1"`)
	c.call(404, "GET", document, "nobody", "", "")
	c.call(200, "GET", documents, "", "?limit=1", "")
	c.call(200, "POST", documents+"/import", "", "", "{\"id\":\"l1\",\"text\":\"one\"}\n{\"text\":1}\n", "Content-Type", "application/x-ndjson")
	c.call(200, "POST", documents+"/import", "", "", `[{"id":"l2","text":"one"},{}]`, "Content-Type", "application/json")
	c.call(200, "GET", documents+"/export", "", "?collection=default", "")
	c.call(200, "PATCH", document, "l1", "", `{"title":"one","metadata":{"n":1}}`)
	c.call(412, "PATCH", document, "l1", "", `{"title":null}`, "If-Match", `"1"`)
	c.call(200, "GET", documents, "", "?sort=-updatedAt&filter=n:eq:1", "")
	c.call(200, "POST", documents+"/delete", "", "", `{"ids":["l1","l2"],"dryRun":false}`)
	c.call(400, "POST", documents+"/delete", "", "", `{}`)
	c.call(200, "GET", search, "", "?q=nine+mine&limit=1", "")
	c.call(400, "GET", search, "", "", "")
	c.call(200, "POST", search, "", "", `{"q":"\"nine to five\" -never"}`)
	c.call(200, "POST", search+"/multi", "", "", `{"searches":[{"q":"nine","passages":1},{"q":""}]}`)
	c.call(400, "POST", search+"/multi", "", "", `{"searches":[]}`)
	c.call(204, "DELETE", document, "mine", "", "")
	const collections, collection = "/api/v1/collections", "/api/v1/collections/{collection}"
	c.call(200, "PUT", collection, "default", "", `{"language":"de","synonyms":[["sofa","couch"],{"from":"tv","to":["television"]},"english"],"fields":{"title":3,"metadata.by":2}}`)
	c.call(412, "PUT", collection, "default", "", `{}`, "If-None-Match", "*")
	c.call(400, "PUT", collection, "default", "", `{"synonyms":[["sofa"]]}`)
	c.call(200, "GET", collection, "default", "", "")
	c.call(304, "GET", collection, "default", "", "", "If-None-Match", `"1"`)
	c.call(404, "GET", collection, "nothing", "", "")
	c.call(200, "GET", collections, "", "?limit=1", "")
	c.call(412, "DELETE", collection, "default", "", "", "If-Match", `"7"`)
	c.call(204, "DELETE", collection, "default", "", "")
	c.call(404, "DELETE", collection, "default", "", "")
	c.call(200, "GET", "/api/v1/languages", "", "?limit=3", "")

	newKey := c.call(201, "POST", keys, "", "", `{"name":"reader","scopes":["read"],"rateLimit":{"requestsPerMinute":3},"quota":{"daily":3},
		"expiresAt":"2126-01-01T00:00:00Z","allowedIps":["127.0.0.0/8"],"metadata":{"team":"a"}}`)
	c.call(400, "POST", keys, "", "", `{"name":"reader"}`)
	keyID := newKey["id"].(string)
	c.call(200, "GET", keys, "", "?state=active", "")
	c.call(200, "GET", key, keyID, "", "")
	c.call(200, "PATCH", key, keyID, "", `{"name":"renamed","rateLimit":{"requestsPerMinute":3}}`)
	c.call(200, "GET", key+"/usage", keyID, "", "")
	c.call(200, "GET", key+"/limits", keyID, "", "")
	reader := *c
	reader.key = newKey["key"].(string)
	reader.call(200, "GET", search, "", "?q=nine", "")
	reader.call(403, "DELETE", document, id, "", "")
	reader.call(200, "GET", "/api/v1/health", "", "", "")
	reader.call(429, "GET", "/api/v1/health", "", "", "")
	turned := c.call(201, "POST", keys, "", "", `{"name":"turned","scopes":["read"]}`)
	turnedID, older := turned["id"].(string), *c
	older.key = turned["key"].(string)
	rotated := c.call(200, "POST", key+"/rotate", turnedID, "", `{"graceSeconds":60}`, "Idempotency-Key", "the-first-rotation")
	c.call(200, "POST", key+"/rotate", turnedID, "", `{"graceSeconds":60}`, "Idempotency-Key", "the-first-rotation")
	older.call(200, "GET", "/api/v1/health", "", "", "")
	c.call(409, "POST", key+"/rotate", turnedID, "", "")
	c.call(400, "POST", key+"/rotate", turnedID, "", `{"graceSeconds":-1}`)
	c.call(200, "POST", key+"/complete-rotation", turnedID, "", "")
	older.call(401, "GET", "/api/v1/health", "", "", "")
	c.call(200, "POST", "/api/v1/developer/verify", "", "", fmt.Sprintf(`{"key":%q,"requiredScopes":["read"],"cost":2}`, rotated["key"]))
	c.call(200, "POST", "/api/v1/developer/verify", "", "", fmt.Sprintf(`{"key":%q,"consume":false,"ip":"192.0.2.1"}`, turned["key"]))
	c.call(400, "POST", "/api/v1/developer/verify", "", "", `{"key":"kpsk_","cost":0}`)

	c.call(200, "POST", key+"/revoke", keyID, "", `{"reason":"over"}`)
	reader.call(401, "GET", "/api/v1/health", "", "", "")
	c.call(204, "DELETE", key, keyID, "", "")

	c.callAnalytics()
	c.callWebhooks()
	c.callMemories()
	c.callAdministration()
	c.callLogin()
	c.callAuditLog()
	c.callVersions(keyID)
	c.callSurfaces(running.BackendURL, running.Secret)

	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if len(c.seen[op.OperationID]) == 0 {
				id := ""
				if strings.Contains(path, "{") {
					id = "…" // to replace by one that is there
				}
				t.Errorf("%s %s (%s) was not called; add a call with the path parameter, the query and the body to openapi/answer_test.go or a file next to it:\n\tc.call(%s, %q, %q, %q, \"\", \"\")",
					method, path, op.OperationID, success(op), method, path, id)
			}
		}
	}
}

// success returns the status that an operation answers if all is well.
func success(op *openapi3.Operation) string {
	for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		if strings.HasPrefix(status, "2") {
			return status
		}
	}
	return "200"
}

func (c *caller) callWebhooks() {
	c.t.Helper()
	const hooks, hook = "/api/v1/admin/webhooks", "/api/v1/admin/webhooks/{id}"
	made := c.call(201, "POST", hooks, "", "", `{"url":"https://hooks.invalid/a","events":["memory.created"],"description":"a"}`, "Idempotency-Key", "the-first-webhook")
	c.call(201, "POST", hooks, "", "", `{"url":"https://hooks.invalid/a","events":["memory.created"],"description":"a"}`, "Idempotency-Key", "the-first-webhook")
	c.call(400, "POST", hooks, "", "", `{"url":"ftp://hooks.invalid"}`)
	id := made["id"].(string)
	c.call(200, "GET", hooks, "", "?limit=1", "")
	c.call(200, "GET", hook, id, "", "")
	c.call(404, "GET", hook, "whk_01kakakakafkhvayayayayayay", "", "")
	c.call(200, "PATCH", hook, id, "", `{"events":null,"description":"b"}`)
	c.call(200, "POST", hook+"/rotate", id, "", `{"graceSeconds":60}`)
	c.call(409, "POST", hook+"/rotate", id, "", "")
	delivery := c.call(201, "POST", hook+"/ping", id, "", "")["id"].(string)
	c.call(200, "GET", hook+"/deliveries", id, "?event=webhook.ping", "")
	c.call(200, "GET", hook+"/deliveries/{deliveryId}", id+","+delivery, "", "")
	c.call(404, "POST", hook+"/deliveries/{deliveryId}/replay", id+",dlv_01kakakakafkhvayayayayayay", "", "")
	c.call(204, "DELETE", hook, id, "", "")
}

func (c *caller) callAnalytics() {
	c.t.Helper()
	const analytics = "/api/v1/analytics/"
	await.Until(c.t, "a request is counted", func() bool {
		return c.call(200, "GET", analytics+"summary", "", "", "")["requests"].(float64) > 0
	})
	c.call(200, "GET", analytics+"timeseries", "", "?window=1h&groupBy=route,statusClass&limit=3", "")
	c.call(200, "GET", analytics+"top", "", "?groupBy=key,status", "")
	c.call(200, "GET", analytics+"usage", "", "", "")
	c.call(200, "GET", analytics+"versions", "", "?workspace=all", "")
	c.call(200, "GET", analytics+"errors", "", "?interval=day", "")
	c.call(200, "GET", analytics+"requests", "", "?filter=status:200&filter=method:GET&limit=1", "")
	c.call(200, "GET", analytics+"requests", "", "?limit=1", "", "Accept", endpoint.MediaCSV)
	c.call(200, "GET", analytics+"timeseries", "", "?format=csv", "")
	c.call(400, "GET", analytics+"top", "", "?groupBy=country", "")
}
