package reference

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// bodyExample returns an example of the body of a request.
func (doc *openAPI) bodyExample(m openMedia, media string) string {
	var lines string
	switch {
	case m.Schema == nil:
		return ""
	case len(m.Example) == 0:
		return doc.exampleText(m.Schema, media, true)
	case json.Unmarshal(m.Example, &lines) == nil:
		return lines
	}
	var b bytes.Buffer
	if err := json.Indent(&b, m.Example, "", "  "); err != nil { // it is part of a document that was read
		return ""
	}
	return b.String()
}

// exampleText returns an example of a body. That of a request has the required fields and those that have an example.
func (doc *openAPI) exampleText(s *schema, media string, request bool) string {
	switch {
	case media == "text/csv" || doc.resolve(s).Format == "binary":
		return ""
	case strings.HasSuffix(media, "ndjson") || strings.HasSuffix(media, "jsonl"):
		line, err := json.Marshal(doc.example(s, 0, request))
		if err != nil {
			return ""
		}
		return string(line) + "\n"
	}
	b, err := json.MarshalIndent(doc.example(s, 0, request), "", "  ")
	if err != nil { // a value of the document cannot be encoded, which its tests would show
		return ""
	}
	return string(b)
}

// object is an example of an object, whose fields have an order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// example returns an example of a value.
func (doc *openAPI) example(s *schema, depth int, request bool) any {
	s = doc.resolve(s)
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth > maxDepth:
		return nil
	case len(s.AnyOf) > 0:
		return doc.example(s.AnyOf[0], depth+1, request)
	case len(s.Type) == 0:
		return object{}
	}
	switch s.Type[0] {
	case "object":
		return doc.exampleObject(s, depth, request)
	case "array":
		if request && s.MinItems == nil && depth > 0 && doc.resolve(s.Items).Properties == nil {
			return []any{}
		}
		return []any{doc.example(s.Items, depth+1, request)}
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return false
	}
	switch s.Format {
	case "date-time":
		return "2027-01-31T12:00:00Z"
	case "date":
		return "2027-01-31"
	}
	return "…"
}

// subject is the subject of examples about memories. Keys that are bound to one need not name it, so it is not required.
const subject = "p-4711"

func (doc *openAPI) exampleObject(s *schema, depth int, request bool) object {
	list := object{}
	for _, key := range fieldOrder(s) {
		p := doc.resolve(s.Properties[key])
		switch {
		case request && doc.memories && key == "subjectId":
			list = append(list, member{key, subject})
		case slices.Contains(s.Required, key), len(p.Examples) > 0, !request && depth < 2 && !p.Type.has("null"):
			list = append(list, member{key, doc.example(p, depth+1, request)})
		}
	}
	if request && depth == 0 && len(list) == 0 && len(s.Properties) > 0 { // a change of anything
		key := fieldOrder(s)[0]
		list = object{{key, doc.example(s.Properties[key], 1, request)}}
	}
	return list
}
