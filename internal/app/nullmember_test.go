package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// These tests visit every member of every body that an operation declares, as the OpenAPI document describes it.

// schemaOf is what they need of a schema.
type schemaOf struct {
	Ref                  string               `json:"$ref"`
	Type                 any                  `json:"type"`
	Properties           map[string]*schemaOf `json:"properties"`
	Required             []string             `json:"required"`
	Items                *schemaOf            `json:"items"`
	AnyOf                []*schemaOf          `json:"anyOf"`
	AdditionalProperties any                  `json:"additionalProperties"`
	Enum                 []any                `json:"enum"`
	Examples             []any                `json:"examples"`
	Minimum              *float64             `json:"minimum"`
	MinItems             int                  `json:"minItems"`
	MinLength            int                  `json:"minLength"`
	Format               string               `json:"format"`
}

type describedBody struct {
	schema  *schemaOf
	schemas map[string]*schemaOf
}

// describedBodies returns the schemas of the JSON bodies of a registry's operations, by operation.
func describedBodies(t *testing.T, r *endpoint.Registry) map[string]describedBody {
	t.Helper()
	text, err := endpoint.Document(r, 1, "/")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct {
					Schema *schemaOf `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]*schemaOf `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]describedBody{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if of, ok := op.RequestBody.Content["application/json"]; ok && of.Schema != nil {
				found[op.OperationID] = describedBody{of.Schema, doc.Components.Schemas}
			}
		}
	}
	return found
}

// resolve follows references and the alternatives to null.
func (d describedBody) resolve(s *schemaOf) *schemaOf {
	for s.Ref != "" || len(s.AnyOf) > 0 {
		if s.Ref != "" {
			s = d.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
			continue
		}
		i := slices.IndexFunc(s.AnyOf, func(of *schemaOf) bool { return of.Ref != "" || of.Type != nil && of.Type != "null" })
		s = s.AnyOf[i]
	}
	return s
}

// least returns a small value that fits a schema.
func (d describedBody) least(s *schemaOf) any {
	s = d.resolve(s)
	kind, ok := s.Type.(string)
	if types, several := s.Type.([]any); several {
		kind, ok = types[0].(string), true
	}
	switch {
	case len(s.Examples) > 0 && kind != "array":
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case !ok:
		return "x"
	}
	switch kind {
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = d.least(s.Properties[name])
		}
		return object
	case "array":
		list := []any{}
		for range s.MinItems {
			list = append(list, d.least(s.Items))
		}
		return list
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return true
	}
	switch s.Format {
	case "date-time":
		return "2030-01-01T00:00:00Z"
	case "uri":
		return "https://example.com"
	case "cidr":
		return "192.0.2.0/24"
	}
	return strings.Repeat("x", max(1, s.MinLength))
}

// visitMembers calls visit for each member of an object and of the objects in it, with the object that has it and the whole body.
func (d describedBody) visitMembers(s *schemaOf, path string, whole, object map[string]any, visit func(path, name string, required bool, object map[string]any)) {
	s = d.resolve(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		visit(path+name, name, slices.Contains(s.Required, name), object)
		before, there := object[name]
		member := d.resolve(s.Properties[name])
		inner, at := map[string]any(nil), path+name
		switch {
		case member.Properties != nil:
			inner, _ = d.least(member).(map[string]any)
			object[name] = inner
		case member.Items != nil && d.resolve(member.Items).Properties != nil:
			member, at = d.resolve(member.Items), at+"[0]"
			inner, _ = d.least(member).(map[string]any)
			object[name] = []any{inner}
		}
		if inner != nil {
			d.visitMembers(member, at+".", whole, inner, visit)
		}
		if delete(object, name); there {
			object[name] = before
		}
	}
}

func everyBody(t *testing.T) map[*endpoint.Operation]describedBody {
	t.Helper()
	_, _, list := everyOperation()
	found := map[*endpoint.Operation]describedBody{}
	for _, r := range []*endpoint.Registry{app.Declared(), app.DeclaredBackend()} {
		of := describedBodies(t, r)
		for _, op := range slices.Concat(list, r.Operations()) {
			if body, ok := of[op.ID]; ok && op.Class != endpoint.Stream {
				found[op] = body
			}
		}
	}
	return found
}

func bindBody(op *endpoint.Operation, whole map[string]any) (any, error) {
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(op.Method, pathParameter.ReplaceAllString(op.Route(max(op.Since, 1)), "x"), strings.NewReader(string(text)))
	r.Header.Set("Content-Type", "application/json")
	for _, name := range pathParameter.FindAllString(op.Path, -1) {
		r.SetPathValue(strings.Trim(name, "{}"), "x")
	}
	b, err := op.Bind(r, nil)
	return b.Input(), err
}

// readAlike are members whose input tells null from absent, and whose operations read both alike: by wire.Optional.Pointer, or by
// the kind of a wire.Value.
var readAlike = map[string][]string{
	"createAPIKey": {"quota.daily", "quota.monthly", "rateLimit.requestsPerMinute"}, "putCollection": {"synonyms"},
}

func TestNullIsAbsentInEveryBody(t *testing.T) {
	t.Parallel()
	visited := 0
	for op, body := range everyBody(t) {
		whole, _ := body.least(body.schema).(map[string]any)
		if _, err := bindBody(op, whole); err != nil {
			t.Errorf("%s: the least body %v: %v", op.ID, whole, err)
			continue
		}
		// An item of a batch fails alone, so its error is in the input.
		body.visitMembers(body.schema, "", whole, whole, func(path, name string, required bool, object map[string]any) {
			visited++
			before, there := object[name]
			delete(object, name)
			absent, absentErr := bindBody(op, whole)
			object[name] = nil
			null, nullErr := bindBody(op, whole)
			if delete(object, name); there {
				object[name] = before
			}
			switch p, _ := problem.As(nullErr); {
			case op.Method == "PATCH" && nullErr == nil, op.ID == "changeTier":
			case nullErr == nil && slices.Contains(readAlike[op.ID], path):
			case required && nullErr != nil, op.Method == "PATCH" && nullErr != nil:
				if p == nil || p.Details.Field != path || p.Details.Issue != problem.Required {
					t.Errorf("%s: null for %s: %v, want it to be required", op.ID, path, nullErr)
				}
			case fmt.Sprint(nullErr) != fmt.Sprint(absentErr) || !reflect.DeepEqual(null, absent):
				t.Errorf("%s: null for %s: %+v, %v; absent: %+v, %v", op.ID, path, null, nullErr, absent, absentErr)
			}
		})
	}
	if visited < 150 {
		t.Errorf("only %d members were visited", visited)
	}
}
