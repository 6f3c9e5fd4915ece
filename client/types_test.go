package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

// calls are the operations of the API with what the client sends and reads, if the signatures of its methods do not show it.
var calls = map[string]struct{ sends, reads any }{
	"listVersions": {reads: struct {
		Items []client.Version `json:"items"`
	}{}},
	"login":          {sends: struct{ Email, Password string }{}, reads: client.Tokens{}},
	"refreshToken":   {sends: struct{ RefreshToken string }{}, reads: client.Tokens{}},
	"changePassword": {sends: struct{ CurrentPassword, NewPassword string }{}},
	"changeProfile":  {sends: client.ProfileChange{}, reads: client.Profile{}},
	"getSigningKeys": {reads: struct {
		Keys []client.SigningKey `json:"keys"`
	}{}},
	"changeVersion": {sends: client.VersionChange{}, reads: client.VersionRecord{}},
	"rehearseSunset": {sends: struct {
		KeyID string    `json:"keyId"`
		Until time.Time `json:"until"`
	}{}, reads: client.StartedRehearsal{}},
	"changeWorkspace":     {sends: client.WorkspaceChange{}, reads: client.WorkspaceRecord{}},
	"changeUser":          {sends: client.UserChange{}, reads: client.User{}},
	"changeTier":          {sends: client.TierNumbers{}, reads: client.Tier{}},
	"changeAPIKey":        {sends: client.APIKeyChange{}, reads: client.APIKey{}},
	"revokeAPIKey":        {sends: struct{ Reason string }{}, reads: client.APIKey{}},
	"rotateAPIKey":        {sends: client.Rotation{}, reads: client.CreatedAPIKey{}},
	"putCollection":       {sends: client.CollectionSettings{}, reads: client.Collection{}},
	"changeWebhook":       {sends: client.WebhookChange{}, reads: client.Webhook{}},
	"rotateWebhookSecret": {sends: client.Rotation{}, reads: client.CreatedWebhook{}},
	"putDocument":         {sends: client.NewDocument{}, reads: client.Document{}},
	"changeDocument":      {sends: client.DocumentChange{}, reads: client.Document{}},
	"searchMulti": {sends: struct { // each of the results is a client.Found or a client.Error
		Searches []client.Query `json:"searches"`
	}{}},
	"createMemories": {
		sends: struct {
			Items  []client.NewMemory `json:"items"`
			Atomic bool               `json:"atomic"`
		}{},
		reads: struct {
			Results []client.BatchResult `json:"results"`
		}{},
	},
	"changeMemory": {sends: client.MemoryChange{}, reads: client.Memory{}},
	"forgetMemories": {
		sends: struct {
			client.ForgetQuery
			PlanID string `json:"planId"`
			DryRun bool   `json:"dryRun"`
		}{},
		reads: struct {
			client.ForgetPlan
			Forgotten int64 `json:"forgotten"`
		}{},
	},
	"getTopUsage": {reads: struct {
		Items []client.RankedUsage `json:"items"`
	}{}},
	"getVersionUsage": {reads: struct {
		Items []client.VersionUse `json:"items"`
	}{}},
	"listErrors": {reads: struct {
		Items []client.ErrorCount `json:"items"`
	}{}},
	"search": {reads: client.Found{}},
}

// leftOut are properties of requests that the client has no field for, with the reason.
var leftOut = map[string]string{
	"putDocument.id": "it is in the path",
}

type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"` // a name, or a list with "null"
	Format     string            `json:"format"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	OneOf      []schema          `json:"oneOf"`
	AnyOf      []schema          `json:"anyOf"`
	AllOf      []schema          `json:"allOf"`
}

type content struct {
	Content map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"`
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string             `json:"operationId"`
		Surface     string             `json:"x-surface"`
		RequestBody content            `json:"requestBody"`
		Responses   map[string]content `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

func TestTypesAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../openapi/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var api document
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	read, called := readBy(t)
	for path, methods := range api.Paths {
		for method, op := range methods {
			if op.Surface != "" { // the client calls the API alone
				continue
			}
			call, ok := calls[op.OperationID]
			seen[op.OperationID] = ok
			if !ok {
				call, ok = read[op.OperationID]
			}
			if !ok && (called[op.OperationID] || uncalled[op.OperationID] != "") { // else it has no method yet, see TestEveryOperationHasAMethod
				t.Errorf("%s %s: the signature of its method does not show what is sent and read; add the types to calls (client/types_test.go): %q: {sends: client.…{}, reads: client.…{}},",
					method, path, op.OperationID)
			}
			c := comparison{t: t, api: &api}
			if call.sends != nil {
				c.compare(op.OperationID, typeOf(call.sends), op.RequestBody.Content["application/json"].Schema, true)
			}
			for status, answer := range op.Responses {
				if call.reads != nil && strings.HasPrefix(status, "2") {
					c.compare(op.OperationID, typeOf(call.reads), answer.Content["application/json"].Schema, false)
				}
			}
		}
	}
	for id := range calls {
		if !seen[id] {
			t.Errorf("the API has no operation %s", id)
		}
	}
}

// readBy returns the types that the method of each operation sends and reads, as far as its signature shows them: the body is its
// last argument, and the answer is a struct. called are all operations that have a method.
func readBy(t *testing.T) (found map[string]struct{ sends, reads any }, called map[string]bool) {
	api := readDescription(t)
	found, called = map[string]struct{ sends, reads any }{}, map[string]bool{}
	for name, requests := range callEvery(t, "primary", http.StatusOK) {
		method, _ := reflect.TypeFor[*client.Client]().MethodByName(name)
		for _, r := range requests {
			op, ok := api.find(r.Method, r.URL.EscapedPath())
			if !ok {
				continue
			}
			called[op.ID] = true
			var call struct{ sends, reads any }
			switch {
			case method.Type.NumOut() == 2 && method.Type.Out(0).Kind() == reflect.Pointer:
				call.reads = method.Type.Out(0).Elem()
			case method.Type.NumOut() == 2 || method.Type.Out(0).Kind() == reflect.Func:
				continue
			}
			if r.Header.Get("Content-Type") == "application/json" {
				last := method.Type.In(method.Type.NumIn() - 1)
				if last.Kind() != reflect.Struct {
					continue
				}
				call.sends = last
			}
			found[op.ID] = call
		}
	}
	return found, called
}

// typeOf returns a type of calls: that of a value, or one that a method has.
func typeOf(v any) reflect.Type {
	if of, ok := v.(reflect.Type); ok {
		return of
	}
	return reflect.TypeOf(v)
}

// TestTypesOfAReportAreThoseOfTheBackend compares them with a response, because the API's description lacks the backend service.
// The types of /verify are those of verifyAPIKey.
func TestTypesOfAReportAreThoseOfTheBackend(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	self := must(connect(t, p.URL, p.Key).WhoAmI(t.Context()))(t, "whoami")
	now := time.Now()
	body := must(json.Marshal(map[string]any{"items": []client.ServedRequests{
		{ID: "a", KeyID: self.ID, Route: "GET /a", Status: 200, Count: 2, At: now},
		{ID: "b", KeyID: self.ID, Route: "GET /a", Status: 200, Count: 2, At: now.Add(time.Hour)},
	}}))(t, "encode")
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, p.BackendURL+"/usage", bytes.NewReader(body)))(t, "request")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Keepsake-Backend", p.Secret)
	res := must(http.DefaultClient.Do(req))(t, "report")
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t, "read")
	var receipt client.UsageReceipt
	if err := json.Unmarshal(text, &receipt); err != nil || receipt.Accepted != 1 || len(receipt.Errors) != 1 {
		t.Fatalf("got %d %s, %v", res.StatusCode, text, err)
	}
	if again := must(json.Marshal(receipt))(t, "encode"); string(again) != strings.TrimSpace(string(text)) {
		t.Errorf("%s was read as %s", text, again)
	}
}

type comparison struct {
	t   *testing.T
	api *document
}

// compare walks a Go type and a schema together. Requests may lack optional properties for a reason; answers may lack
// none.
func (c *comparison) compare(where string, g reflect.Type, s schema, sent bool) {
	s, nullable := c.resolve(s)
	if change, ok := changed(g); ok {
		g, nullable = change, false
	}
	if g.Kind() == reflect.Pointer {
		g, nullable = g.Elem(), false
	} else if nullable && !sent && g.Kind() != reflect.Slice && g.Kind() != reflect.Map && g.Kind() != reflect.String && g.Kind() != reflect.Interface {
		c.t.Errorf("%s: may be null, and %s cannot tell", where, g)
	}
	if g == reflect.TypeFor[time.Time]() {
		if s.Format != "date-time" {
			c.t.Errorf("%s: is a %v %s, not a time", where, s.Type, s.Format)
		}
		return
	}
	if reflect.PointerTo(g).Implements(reflect.TypeFor[json.Unmarshaler]()) { // it has several forms
		return
	}
	if sent && name(s) == "" && s.Properties == nil { // any value
		return
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}[g.Kind()]
	if g.Kind() != reflect.Interface && want != name(s) {
		c.t.Errorf("%s: is %v, and %s reads %q", where, s.Type, g, want)
		return
	}
	switch g.Kind() {
	case reflect.Slice:
		c.compare(where+"[]", g.Elem(), *s.Items, sent)
	case reflect.Struct:
		c.compareFields(where, g, s, sent)
	}
}

func (c *comparison) compareFields(where string, g reflect.Type, s schema, sent bool) {
	fields := fieldsOf(g)
	for property, of := range s.Properties {
		at := where + "." + property
		if field, ok := fields[property]; ok {
			c.compare(at, field, of, sent)
		} else if leftOut[at] == "" && property != "$schema" {
			c.t.Errorf("%s has no field for %s; add it to the type in client/, or say in leftOut (client/types_test.go) why not: %q: \"…\",", g, at, at)
		}
	}
	for property := range fields {
		if _, ok := s.Properties[property]; !ok && leftOut[where+"."+property] == "" {
			c.t.Errorf("%s.%s: the API has no such property", where, property)
		}
	}
}

// resolve follows references and reports whether null is allowed.
func (c *comparison) resolve(s schema) (_ schema, nullable bool) {
	for {
		switch {
		case s.Ref != "":
			s = c.api.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		case len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 && s.Properties == nil:
			all := slices.Concat(s.OneOf, s.AnyOf, s.AllOf)
			s = all[0]
			for _, other := range all {
				if other.Type == "null" {
					nullable = true
				} else {
					s = other
				}
			}
		default:
			if types, ok := s.Type.([]any); ok {
				nullable = nullable || slices.Contains(types, any("null"))
			}
			return s, nullable
		}
	}
}

// name is the schema's type, without null.
func name(s schema) string {
	if types, ok := s.Type.([]any); ok {
		for _, t := range types {
			if t != "null" {
				return t.(string)
			}
		}
	}
	one, _ := s.Type.(string)
	return one
}

// changed gives T of a client.Change[T].
func changed(g reflect.Type) (reflect.Type, bool) {
	if g.Kind() == reflect.Struct && strings.HasPrefix(g.Name(), "Change[") {
		value, _ := g.FieldByName("value")
		return value.Type, true
	}
	return nil, false
}

// fieldsOf lists the JSON members of a struct, those of embedded structs too.
func fieldsOf(g reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range g.NumField() {
		f := g.Field(i)
		if f.Anonymous {
			for name, of := range fieldsOf(f.Type) {
				fields[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		fields[name] = f.Type
	}
	return fields
}
