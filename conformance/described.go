package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// described is an operation of the API's OpenAPI description.
type described struct {
	method, path string
	hasBody      bool
	operation    map[string]any
}

// description returns the OpenAPI description, which is read once per run.
func (c *check) description() *answer {
	d := &c.suite.description
	d.Lock()
	defer d.Unlock()
	if d.answer == nil {
		d.answer = c.get("/api/v1/openapi.json").anonymous().send().is(http.StatusOK)
	}
	return d.answer
}

// operations returns the operations of the description, in no order.
func (c *check) operations() []described {
	paths, _ := c.description().at("paths")
	all, _ := paths.(map[string]any)
	if len(all) == 0 {
		c.stop("the API's description has no paths")
	}
	var list []described
	for path, item := range all {
		methods, _ := item.(map[string]any)
		for method, operation := range methods {
			o, isOperation := operation.(map[string]any)
			if isOperation && o["responses"] != nil {
				list = append(list, described{strings.ToUpper(method), path, o["requestBody"] != nil, o})
			}
		}
	}
	return list
}

// operationsWithID returns the operations with a path parameter.
func (c *check) operationsWithID() []described {
	return slices.DeleteFunc(c.operations(), func(op described) bool {
		return !strings.Contains(op.path, "{") || !strings.HasPrefix(op.path, "/api/v1/")
	})
}

// members returns the fields of an operation's body; ok is false if it has none, or if it is not one JSON object.
func (op *described) members(c *check) (list []string, ok bool) {
	schema := c.at(op.operation, "requestBody.content.application/json.schema")
	return c.properties(schema), schema != nil
}

// answered returns the fields of all successful responses in the description.
func (c *check) answered() []string {
	var list []string
	for _, op := range c.operations() {
		responses, _ := op.operation["responses"].(map[string]any)
		for status, response := range responses {
			if strings.HasPrefix(status, "2") {
				list = append(list, c.properties(c.at(response, "content.application/json.schema"))...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// properties returns the names of a schema's fields.
func (c *check) properties(schema any) []string {
	var list []string
	all, _ := c.at(schema, "properties").(map[string]any)
	for name := range all {
		list = append(list, name)
	}
	return list
}

// at follows a path of names joined by dots through the description, and resolves references.
func (c *check) at(v any, path string) any {
	resolve := func(v any) any {
		m, _ := v.(map[string]any)
		if name, ok := m["$ref"].(string); ok {
			target, _ := c.description().at(strings.ReplaceAll(strings.TrimPrefix(name, "#/"), "/", "."))
			return target
		}
		return v
	}
	v = resolve(v)
	for rest := path; rest != ""; {
		m, _ := v.(map[string]any)
		if m == nil {
			return nil
		}
		step, more, _ := strings.Cut(rest, ".")
		v, rest = resolve(m[step]), more
	}
	return v
}
