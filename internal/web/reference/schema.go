package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// field is a field of a body, or a parameter or a header.
type field struct {
	Name, Type, Text string
	Required         bool
	Limits           []string // such as "at most 256 characters"
	Values           []string // all values that are allowed; empty: any
	Fields           []field  // of an object, or of the items of a list
}

// schema is the part of a JSON schema that the API uses.
type schema struct {
	Ref         string `json:"$ref"`
	Type        types
	Format      string
	Description string
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	Enum        []any
	AnyOf       []*schema
	Additional  additional `json:"additionalProperties"`
	Examples    []any
	Default     any
	Pattern     string

	Minimum, Maximum                         *float64
	MinLength, MaxLength, MinItems, MaxItems *int64
	MaxProperties                            *int64
}

// types is a type, or several.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	var one string
	err := json.Unmarshal(b, &one)
	*t = types{one}
	return err
}

func (t types) has(name string) bool { return slices.Contains(t, name) }

// additional is the schema of fields without a name of their own; nil if there is none.
type additional struct{ *schema }

// UnmarshalJSON implements json.Unmarshaler.
func (a *additional) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' { // true or false
		return nil
	}
	return json.Unmarshal(b, &a.schema)
}

// maxDepth is how deep fields are shown. No body of the API is deeper; it ends the description of a schema that contains
// itself.
const maxDepth = 8

// resolve returns the schema that a reference names.
func (doc *openAPI) resolve(s *schema) *schema {
	if s == nil {
		return &schema{}
	}
	if named := doc.Components.Schemas[name(s.Ref)]; named != nil {
		return named
	}
	return s
}

// fields returns the fields of an object or of a list's items.
func (doc *openAPI) fields(s *schema, depth int, request bool) []field {
	s = doc.resolve(s)
	switch {
	case depth > maxDepth:
		return nil
	case s.Items != nil:
		return doc.fields(s.Items, depth, request)
	case len(s.Properties) == 0 && s.Additional.schema != nil:
		return doc.fields(s.Additional.schema, depth, request)
	case len(s.Properties) == 0 && len(s.AnyOf) > 0:
		for _, one := range s.AnyOf {
			if list := doc.fields(one, depth, request); list != nil {
				return list
			}
		}
	}
	var list []field
	for _, key := range fieldOrder(s) {
		p := s.Properties[key]
		list = append(list, doc.field(key, p, p.Description, slices.Contains(s.Required, key), depth, request))
	}
	return list
}

// fieldOrder returns the required fields in the order of the document, then the others by name.
func fieldOrder(s *schema) []string {
	list := slices.DeleteFunc(slices.Clone(s.Required), func(key string) bool { return s.Properties[key] == nil })
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return list
}

func (doc *openAPI) field(key string, s *schema, text string, required bool, depth int, request bool) field {
	named := doc.resolve(s)
	f := field{Name: key, Type: doc.typeOf(s), Text: text, Required: required, Fields: doc.fields(s, depth+1, request)}
	if f.Text == "" {
		f.Text = named.Description
	}
	if values := named; values != nil {
		if values.Items != nil {
			values = doc.resolve(values.Items)
		}
		for _, v := range values.Enum {
			if v != nil {
				f.Values = append(f.Values, textOf(v))
			}
		}
	}
	if request {
		f.Limits = limits(named)
	}
	return f
}

// textOf is text, for places where a parameter has that name.
func textOf(v any) string { return text(v) }

// typeOf names the type of a value.
func (doc *openAPI) typeOf(s *schema) string {
	s = doc.resolve(s)
	var list []string
	for _, one := range s.AnyOf {
		list = append(list, doc.typeOf(one))
	}
	for _, t := range s.Type {
		switch {
		case t == "array":
			t = "list of " + doc.typeOf(s.Items)
		case t == "object" && s.Additional.schema != nil && len(s.Properties) == 0:
			t = "object of " + doc.typeOf(s.Additional.schema)
		case s.Format == "date-time" && t == "string":
			t = "time"
		case s.Format == "date" && t == "string":
			t = "date"
		case s.Format == "binary":
			t = "stream"
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return "any"
	}
	return strings.Join(slices.Compact(list), " or ")
}

// limits returns the limits of a value in words.
func limits(s *schema) []string {
	var list []string
	span := func(low, high *int64, unit string) {
		switch {
		case low != nil && high != nil && *low == *high:
			list = append(list, fmt.Sprintf("%d %s", *low, unit))
		case low != nil && high != nil:
			list = append(list, fmt.Sprintf("%d to %d %s", *low, *high, unit))
		case high != nil:
			list = append(list, fmt.Sprintf("at most %d %s", *high, unit))
		case low != nil && *low > 0:
			list = append(list, fmt.Sprintf("at least %d %s", *low, unit))
		}
	}
	span(s.MinLength, s.MaxLength, "characters")
	span(s.MinItems, s.MaxItems, "items")
	span(nil, s.MaxProperties, "names")
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		list = append(list, number(s.Minimum)+" to "+number(s.Maximum))
	case s.Minimum != nil:
		list = append(list, "at least "+number(s.Minimum))
	case s.Maximum != nil:
		list = append(list, "at most "+number(s.Maximum))
	}
	if s.Default != nil {
		list = append(list, "default "+text(s.Default))
	}
	return list
}
