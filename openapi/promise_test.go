package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// decoded decodes a document.
func decoded(t *testing.T, text []byte) (doc map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestNothingThatWasPromisedIsGone compares the document with the one that clients were last promised. It sees what was
// removed, what has another type and what is required now. TestNothingThatWasPromisedBreaks also sees narrower bounds; it
// builds oasdiff, which takes too long for the quick tier.
func TestNothingThatWasPromisedIsGone(t *testing.T) {
	t.Parallel()
	for _, file := range baselines(t) {
		for _, what := range gone(decoded(t, read(t, "baseline/"+file)), decoded(t, read(t, file))) {
			t.Errorf("%s: clients would break; such a change needs a new version of the API: %s", file, what)
		}
	}
}

// gone lists what clients of one document miss in another one.
func gone(before, after map[string]any) (list []string) {
	walk("", inlined(before), inlined(after), func(what string) { list = append(list, what) })
	slices.Sort(list)
	return list
}

// inlined copies shared responses and headers to the operations that refer to them, also the headers of every response.
// It makes no difference to clients if a response is shared. It changes and returns doc.
func inlined(doc map[string]any) map[string]any {
	headers := at(doc, "components", "headers")
	everywhere := at(doc, "x-every-response", "headers")
	resolve := func(v any, components map[string]any) map[string]any {
		object := v.(map[string]any)
		if ref, ok := object["$ref"].(string); ok {
			object = components[path.Base(ref)].(map[string]any)
		}
		return maps.Clone(object)
	}
	for _, op := range operations(doc) {
		responses := at(op, "responses")
		for status, response := range responses {
			response := resolve(response, at(doc, "components", "responses"))
			all := maps.Clone(everywhere)
			own, _ := response["headers"].(map[string]any)
			for name, header := range own {
				all[name] = resolve(header, headers)
			}
			response["headers"] = all
			responses[status] = response
		}
	}
	delete(at(doc, "components"), "responses")
	return doc
}

// operations lists the operations of doc by method and path.
func operations(doc map[string]any) map[string]map[string]any {
	list := map[string]map[string]any{}
	for path, item := range at(doc, "paths") {
		for method, op := range item.(map[string]any) {
			list[strings.ToUpper(method)+" "+path] = op.(map[string]any)
		}
	}
	return list
}

// walk walks through an object of two documents. An object that was there must be there, and everything in it.
func walk(path string, before, after map[string]any, report func(what string)) {
	if before["additionalProperties"] == false { // of a request, where null may be accepted now
		properties, _ := before["properties"].(map[string]any)
		now, _ := after["properties"].(map[string]any)
		for name := range properties {
			was, _ := properties[name].(map[string]any)
			is, _ := now[name].(map[string]any)
			if widened := []any{was["type"], "null"}; reflect.DeepEqual(is["type"], widened) {
				was["type"] = widened
			}
		}
	}
	for name, was := range before {
		here, is := path+"/"+name, after[name]
		switch was := was.(type) {
		case map[string]any:
			if is, ok := is.(map[string]any); ok {
				walk(here, was, is, report)
			} else {
				report(here + " is gone")
			}
			continue
		case []any:
			walkList(here, name, was, is, report)
		}
		if slices.Contains([]string{"type", "format", "$ref", "in", "name", "operationId"}, name) && !reflect.DeepEqual(was, is) {
			report(here + " has changed")
		}
	}
	if before["required"] != true && after["required"] == true { // a parameter or a body
		report(path + " is required now")
	}
	if properties, ok := before["properties"].(map[string]any); ok {
		for name := range properties {
			if contains(before["required"], name) != contains(after["required"], name) {
				report(path + "/required has changed for " + name)
			}
		}
	}
}

// walkList walks through a list of two documents: each value of an enum, each parameter and each alternative must be there.
func walkList(path, name string, before []any, after any, report func(what string)) {
	now, _ := after.([]any)
	for i, value := range before {
		was, ok := value.(map[string]any)
		switch {
		case !ok:
			if name == "enum" && !slices.Contains(now, value) {
				report(fmt.Sprintf("%s/%v is gone", path, value))
			}
			continue
		case name == "parameters":
			i = slices.IndexFunc(now, func(is any) bool { return sameParameter(was, is.(map[string]any)) })
		case name != "anyOf":
			continue
		}
		if i < 0 || i >= len(now) {
			report(path + " lacks one")
			continue
		}
		walk(path, was, now[i].(map[string]any), report)
	}
}

func sameParameter(a, b map[string]any) bool {
	return a["$ref"] == b["$ref"] && a["in"] == b["in"] && a["name"] == b["name"]
}

func contains(list any, name string) bool {
	all, _ := list.([]any)
	return slices.Contains(all, any(name))
}

// breaks are changes that break clients, each of the document v1.json.
var breaks = map[string]func(doc map[string]any){
	"PathRemoved": func(doc map[string]any) {
		delete(doc["paths"].(map[string]any), "/api/v1/search")
	},
	"MemberOfAnAnswerRemoved": func(doc map[string]any) {
		schema := at(doc, "components", "schemas", "DocumentView")
		delete(schema["properties"].(map[string]any), "title")
		schema["required"] = []any{"id"}
	},
	"MemberOfARequestRequired": func(doc map[string]any) {
		schema := at(doc, "components", "schemas", "NewAPIKey")
		schema["required"] = append(schema["required"].([]any), "metadata")
	},
	"TypeChanged": func(doc map[string]any) {
		at(doc, "components", "schemas", "DocumentView", "properties", "revision")["type"] = "string"
	},
}

func TestABreakingChangeIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	more := maps.Clone(breaks)
	more["MethodRemoved"] = func(doc map[string]any) { delete(at(doc, "paths", "/api/v1/search"), "post") }
	more["SharedResponseRemoved"] = func(doc map[string]any) {
		delete(at(doc, "paths", "/api/v1/search", "get", "responses"), "429")
	}
	more["HeaderOfEveryResponseRemoved"] = func(doc map[string]any) {
		delete(at(doc, "x-every-response", "headers"), "X-RateLimit-Remaining")
	}
	more["HeaderOfASharedResponseRemoved"] = func(doc map[string]any) {
		delete(at(doc, "components", "responses", "TooManyRequests", "headers"), "Retry-After")
	}
	more["ParameterRemoved"] = func(doc map[string]any) {
		search := at(doc, "paths", "/api/v1/search", "get")
		search["parameters"] = search["parameters"].([]any)[1:]
	}
	more["ParameterRequired"] = func(doc map[string]any) {
		at(doc, "paths", "/api/v1/search", "get")["parameters"].([]any)[1].(map[string]any)["required"] = true
	}
	more["ValueOfAnEnumRemoved"] = func(doc map[string]any) {
		role := at(doc, "components", "schemas", "CreateUserBody", "properties", "role")
		role["enum"] = role["enum"].([]any)[1:]
	}
	for name, change := range more {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := decoded(t, read(t, "v1.json"))
			change(doc)
			if len(gone(decoded(t, read(t, "v1.json")), doc)) == 0 {
				t.Error("it was taken for compatible")
			}
		})
	}
}
