package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"keepsake/internal/base/wire"
)

// schemas describes the types of one side in JSON Schema. The library derives a schema from Go types and tags. What shapes
// know better, such as optional and nullable members, overwrites it, so that the document matches the binder.
type schemas struct {
	shapes   *shapes
	registry huma.Registry
}

const schemaPrefix = "#/components/schemas/"

// newSchemas returns an empty collection. A type whose name is taken gets the suffix Input: requests are closed and
// responses can grow, so a type that is used in both has two descriptions.
func newSchemas(s side, taken map[string]*huma.Schema) *schemas {
	return &schemas{shapes: newShapes(s), registry: huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
		name := huma.DefaultSchemaNamer(t, hint)
		if _, ok := taken[name]; ok {
			name += "Input"
		}
		return name
	})}
}

// body describes a body type. hint names a type without a name.
func (c *schemas) body(t reflect.Type, hint string) *huma.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := c.shapes.of(t)
	c.alias(t, map[reflect.Type]bool{})
	return c.refined(c.registry.Schema(t, true, hint), &member{shape: s})
}

// field describes a parameter or a member.
func (c *schemas) field(m *member, hint string) *huma.Schema {
	c.alias(m.field.Type, map[reflect.Type]bool{})
	schema := huma.SchemaFromField(c.registry, m.field, hint)
	if c.shapes.side == answered {
		schema.Description = cmp.Or(schema.Description, fieldDocs[m.name])
	}
	return c.refined(schema, m)
}

// alias tells the library the JSON forms of our own types.
func (c *schemas) alias(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if inner, ok := wire.OptionalOf(t); ok {
		c.registry.RegisterTypeAlias(t, inner)
		c.alias(inner, seen)
		return
	}
	if reflect.PointerTo(t).Implements(looseType) {
		c.registry.RegisterTypeAlias(t, looseOf(t).of())
		c.alias(looseOf(t).of(), seen)
		return
	}
	if reflect.PointerTo(t).Implements(outcomeType) {
		c.registry.RegisterTypeAlias(t, outcomeOf(t))
		c.alias(outcomeOf(t), seen)
		return
	}
	switch {
	case t == timeType:
		c.registry.RegisterTypeAlias(t, reflect.TypeFor[time.Time]())
		return
	case t == valueType:
		c.registry.RegisterTypeAlias(t, reflect.TypeFor[json.RawMessage]())
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		c.alias(t.Elem(), seen)
	case reflect.Func:
		item, _ := isSequence(t)
		c.registry.RegisterTypeAlias(t, reflect.SliceOf(item))
		c.alias(item, seen)
	case reflect.Struct:
		for _, f := range visibleFields(t) {
			c.alias(f.Type, seen)
		}
	}
}

// components refines and returns all objects that were referred to.
func (c *schemas) components() map[string]*huma.Schema {
	done := map[string]bool{}
	for len(done) < len(c.registry.Map()) {
		for name := range c.registry.Map() {
			if !done[name] {
				done[name] = true
				c.rewrite(name)
				break // refining can add more names
			}
		}
	}
	return c.registry.Map()
}

func (c *schemas) rewrite(name string) {
	schema := c.registry.Map()[name]
	s := c.shapes.of(c.registry.TypeFromRef(schemaPrefix + name))
	schema.Properties, schema.Required = map[string]*huma.Schema{}, nil
	for i := range s.members {
		m := &s.members[i]
		if m.unsupported {
			continue
		}
		schema.Properties[m.name] = withoutDefault(c.field(m, name+m.field.Name))
		if m.required {
			schema.Required = append(schema.Required, m.name)
		}
	}
	schema.AdditionalProperties = false
	if c.shapes.side == answered {
		schema.AdditionalProperties = nil
	}
}

// anyItem describes the values of a list that are refused one by one.
const anyItem = "The list accepts other values too. Each is refused without affecting the other items."

// notBlank matches a text that is not blank.
const notBlank = `[^\t-\r\x20\x85\p{Z}]`

// refined overwrites in schema what m knows better.
func (c *schemas) refined(schema *huma.Schema, m *member) *huma.Schema {
	s := m.shape
	switch s.kind {
	case stringKind:
		if limit := s.rules.maxBytes; limit != nil {
			schema.Extensions = map[string]any{"x-max-bytes": *limit}
			if schema.MaxLength == nil {
				schema.MaxLength = limit // a character has at least one byte
			}
		}
		if c.shapes.side == asked && m.required {
			if schema.MinLength == nil || *schema.MinLength < 1 {
				one := 1
				schema.MinLength = &one
			}
			if schema.Pattern == "" && schema.Enum == nil {
				schema.Pattern = notBlank
			}
		}
	case anyKind:
		if s.loose != nil {
			// Null is named too, for validators that do not include it in "any".
			schema = &huma.Schema{AnyOf: []*huma.Schema{{Description: anyItem}, {Ref: schema.Ref}, {Type: "null"}}, Description: schema.Description}
		}
		if s.outcome != nil {
			schema = &huma.Schema{
				AnyOf:       []*huma.Schema{{Ref: schema.Ref}, c.body(reflect.TypeFor[errorBody](), ""), c.body(reflect.TypeFor[rateLimitBody](), "")},
				Description: schema.Description,
			}
		}
	case listKind, sequenceKind:
		schema.Items = c.refined(schema.Items, s.item)
	case mapKind:
		if kind := s.item.shape.kind; kind == scalarKind || kind == valueKind {
			scalar := []*huma.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}
			if kind == valueKind {
				scalar = append(slices.Clone(scalar), &huma.Schema{Type: "array", Items: &huma.Schema{AnyOf: scalar}})
			}
			if s.item.nullable {
				scalar = append(scalar, &huma.Schema{Type: "null"})
			}
			schema.AdditionalProperties = &huma.Schema{AnyOf: scalar}
		} else if of, ok := schema.AdditionalProperties.(*huma.Schema); ok {
			schema.AdditionalProperties = nullable(c.refined(of, s.item), c.shapes.side == asked) // an entry of null is absent
		}
	}
	if m.once {
		schema.Description = strings.TrimSpace(schema.Description + " It is shown once and is null in a replayed response.")
	}
	return nullable(schema, m.nullable && s.kind != anyKind)
}

// withoutDefault moves the default of a body's member into its description. Generators such as openapi-typescript treat a
// member with a default as required, although a request can omit it.
func withoutDefault(schema *huma.Schema) *huma.Schema {
	if schema.Default != nil {
		schema.Description = strings.TrimSpace(fmt.Sprintf("%s The default is %v.", schema.Description, schema.Default))
		schema.Default = nil
	}
	return schema
}

func nullable(schema *huma.Schema, yes bool) *huma.Schema {
	schema.Nullable = yes && schema.Ref == "" && schema.Type != ""
	switch {
	case !yes:
	case schema.Ref == "" && len(schema.AnyOf) > 0:
		schema.AnyOf = append(schema.AnyOf, &huma.Schema{Type: "null"})
	case schema.Ref != "":
		return &huma.Schema{
			AnyOf:       []*huma.Schema{{Ref: schema.Ref}, {Type: "null"}},
			Description: schema.Description,
		}
	case schema.Enum != nil:
		schema.Enum = append(slices.Clone(schema.Enum), nil)
	}
	return schema
}
