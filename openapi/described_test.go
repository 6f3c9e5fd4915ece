package openapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// missing is a field, a parameter or an operation without a description.
type missing struct {
	where string // in the document
	code  string // regular expression of the line that declares it
	fix   string
}

// TestEverythingIsDescribed requires a description of each field, parameter and operation, because a name alone does not say what
// absence means, which unit a number has, or what an operation affects.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	eachVersion(func(_ int, file string) {
		for _, m := range undescribed(decoded(t, read(t, file))) {
			t.Errorf("%s: %s has no description: %s at %s, then run 'make openapi'", file, m.where, m.fix, strings.Join(declarations(t, m.code), ", "))
		}
	})
}

// undescribed lists what has no description in doc.
func undescribed(doc map[string]any) (list []missing) {
	check := func(v any, where, code, fix string) {
		if text, _ := v.(map[string]any)["description"].(string); text == "" {
			list = append(list, missing{where, code, fix})
		}
	}
	for object, schema := range at(doc, "components", "schemas") {
		eachField(schema, func(name string, field map[string]any) {
			check(field, object+"."+name, `\bjson:"`+name+`[,"]`, "add a doc tag")
		})
	}
	for name, op := range operations(doc) {
		id := strings.TrimPrefix(strings.TrimPrefix(op["operationId"].(string), "backend"), "ai")
		check(op, name, `(?i)"`+id+`"`, "set Description")
		parameters, _ := op["parameters"].([]any)
		for _, p := range parameters {
			if p := p.(map[string]any); p["$ref"] == nil {
				check(p, fmt.Sprintf("the parameter %s of %s", p["name"], name), fmt.Sprintf(`\b%s:"%s"`, p["in"], p["name"]), "add a doc tag")
			}
		}
	}
	eachField(doc["paths"], func(name string, field map[string]any) {
		check(field, "the field "+name+" of a body without a type", `\bjson:"`+name+`[,"]`, "add a doc tag")
	})
	slices.SortFunc(list, func(a, b missing) int { return strings.Compare(a.where, b.where) })
	return list
}

// eachField calls found with every field of every object that v describes.
func eachField(v any, found func(name string, schema map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, schema := range properties {
			if schema, ok := schema.(map[string]any); ok {
				found(name, schema)
			}
		}
		for _, member := range v {
			eachField(member, found)
		}
	case []any:
		for _, item := range v {
			eachField(item, found)
		}
	}
}

// sources are the files that declare operations and their types.
var sources = []string{"api/v1/*.go", "api/backend/*.go", "api/mcp/mcp.go", "endpoint/common.go"}

// declarations lists the lines of the sources that match code and have no description.
func declarations(t *testing.T, code string) (list []string) {
	t.Helper()
	line := regexp.MustCompile(code)
	for _, pattern := range sources {
		files, err := filepath.Glob("../internal/web/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			for i, l := range bytes.Split(read(t, file), []byte("\n")) {
				if line.Match(l) && !bytes.Contains(l, []byte(`doc:"`)) {
					list = append(list, fmt.Sprintf("%s:%d", strings.TrimPrefix(file, "../"), i+1))
				}
			}
		}
	}
	return list
}

func TestAMissingDescriptionIsFound(t *testing.T) {
	t.Parallel()
	doc := decoded(t, read(t, "v1.json"))
	delete(at(doc, "components", "schemas", "DocumentView", "properties", "title"), "description")
	delete(at(doc, "paths", "/api/v1/search", "get")["parameters"].([]any)[0].(map[string]any), "description")
	delete(at(doc, "paths", "/api/v1/search", "post"), "description")
	var found []string
	for _, m := range undescribed(doc) {
		found = append(found, m.where)
	}
	if want := []string{"DocumentView.title", "POST /api/v1/search", "the parameter q of GET /api/v1/search"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if places := declarations(t, `(?i)"searchPost"`); len(places) != 1 || !strings.HasPrefix(places[0], "internal/web/api/v1/search.go:") {
		t.Errorf("searchPost is declared at %q", places)
	}
}

// TestNullIsExplained requires that the description of a field of a response says what null means.
func TestNullIsExplained(t *testing.T) {
	t.Parallel()
	for name, schema := range at(decoded(t, read(t, "v1.json")), "components", "schemas") {
		schema := schema.(map[string]any)
		if schema["additionalProperties"] == false {
			continue // a request, where null is what an absent field is
		}
		eachField(schema, func(field string, of map[string]any) {
			if text, _ := of["description"].(string); isNullable(of) && !strings.Contains(text, "null") {
				t.Errorf("%s.%s can be null, and its description does not say when: %q", name, field, text)
			}
		})
	}
}

// isNullable reports whether null is a value of schema.
func isNullable(schema map[string]any) bool {
	types, _ := schema["type"].([]any)
	if slices.Contains(types, any("null")) {
		return true
	}
	alternatives, _ := schema["anyOf"].([]any)
	return slices.ContainsFunc(alternatives, func(one any) bool { return one.(map[string]any)["type"] == "null" })
}

// TestEveryComponentIsUsed finds components that nothing refers to. Linters warn of them.
func TestEveryComponentIsUsed(t *testing.T) {
	t.Parallel()
	doc := decoded(t, read(t, "v1.json"))
	used := map[string]bool{}
	references(doc, used)
	for _, op := range operations(doc) {
		for _, credentials := range op["security"].([]any) {
			for scheme := range credentials.(map[string]any) {
				used["#/components/securitySchemes/"+scheme] = true
			}
		}
	}
	for kind, components := range at(doc, "components") {
		for name := range components.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
	for ref := range used {
		path := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
		if at(doc, "components", path[0])[path[1]] == nil {
			t.Errorf("there is no %s", ref)
		}
	}
}

// references adds every reference in v to used.
func references(v any, used map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			used[ref] = true
		}
		for member := range maps.Values(v) {
			references(member, used)
		}
	case []any:
		for _, item := range v {
			references(item, used)
		}
	}
}
