package wire

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/problem"
)

var (
	errEmpty   = problem.Validation("body", problem.Required, "A JSON body is required.")
	errTooDeep = problem.Validation("body", problem.Format, "The JSON is nested more than 32 levels deep.")
	errNoArray = problem.Validation("body", problem.Type, "The body must be an array, not null.")
)

// place is where a text was read.
type place struct {
	what string // "body", or "line"
	text []byte // what is known of it
	at   func(offset int64) position
}

// says returns a position in words.
func (p place) says(offset int64) string {
	if where := p.at(offset); p.what == "body" {
		return fmt.Sprintf("line %d, column %d", where.line, where.column)
	} else {
		return fmt.Sprintf("column %d", where.column)
	}
}

// explain converts a decoding error into a 400 that names the invalid member and the reason. The message contains names of
// members, but no value that the caller sent.
func explain(err error, v any, read place) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
			m := locate(v, syntax.JSONPointer)
			return problem.Validation(m.field, problem.Duplicate, fmt.Sprintf("The field %q is given twice.", m.field))
		}
		if offset := unpairedSurrogate(read.text); offset >= 0 {
			return surrogateIn(locate(v, syntax.JSONPointer), read, offset).Because(syntax.Err)
		}
		message := fmt.Sprintf("The %s is not valid JSON: %s.", read.what, read.says(syntax.ByteOffset))
		if read.what == "line" && LooksLikeCSV(read.text) {
			message += " It looks like CSV: convert it to JSON objects."
		}
		return problem.Validation("body", problem.Format, message).Because(syntax.Err)
	}
	meaning, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err // v cannot be decoded into: a bug, not the caller's error
	}
	m := locate(v, meaning.JSONPointer)
	if p, ok := errors.AsType[*problem.Problem](meaning.Err); ok && p.Details.Issue != problem.Type {
		return problem.Validation(m.field, p.Details.Issue, p.Message)
	}
	switch {
	case errors.Is(meaning.Err, json.ErrUnknownName):
		return problem.Validation(m.field, problem.Unknown, unknownField(m))
	case errors.Is(meaning.Err, strconv.ErrRange) && strings.HasPrefix(string(meaning.JSONValue), "-"):
		return problem.Validation(m.field, problem.TooSmall, m.says("is too small a number."))
	case errors.Is(meaning.Err, strconv.ErrRange):
		return problem.Validation(m.field, problem.TooLargeVal, m.says("is too large a number."))
	default:
		return problem.Validation(m.field, problem.Type, m.says(m.wrongType(meaning.JSONKind)))
	}
}

// notUTF8 returns the problem of a text in another encoding.
func notUTF8(what, looks string) *problem.Problem {
	return problem.Validation("body", problem.Format, fmt.Sprintf("The %s is not UTF-8: it looks like %s. Convert it to UTF-8.", what, looks))
}

// surrogateIn returns the problem of an escape that is half of a pair, which is no character.
func surrogateIn(m memberOf, read place, offset int) *problem.Problem {
	return problem.Validation(m.field, problem.Format, m.says("contains an unpaired surrogate: an escape such as \\ud83d without its other half ("+read.says(int64(offset))+")."))
}

// unknownField names the unknown member and the one that was probably meant.
func unknownField(m memberOf) string {
	return fmt.Sprintf("There is no field %q.", m.field) + problem.Meant(m.name, memberNames(m.parent))
}

// wrongType names the expected and the received type of a member.
func (m memberOf) wrongType(sent jsontext.Kind) string {
	must, was := typeName(m.typ), kindNames[sent]
	switch {
	case m.parent == listsType || m.parent == listsChangeType:
		if sent == 'n' {
			return "must not contain null."
		}
		return "must be a string, a number, a boolean or an array of these. Flatten nested values, for example to names with dots."
	case m.parent != nil && m.parent.Kind() == reflect.Map && must == "" && (sent == '{' || sent == '['):
		return "must be a string, a number or a boolean, not " + was + ": values cannot be nested. Flatten them, for example to names with dots."
	case m.parent != nil && m.parent.Kind() == reflect.Map && must == "":
		return "must be a string, a number or a boolean."
	case must == "":
		return "has the wrong type."
	case must == "an integer" && sent == '0':
		return "must be a whole number."
	case was == "" || was == must:
		return "must be " + must + "."
	}
	return "must be " + must + ", not " + was + "."
}

var (
	listsType       = reflect.TypeFor[MetadataLists]()
	listsChangeType = reflect.TypeFor[MetadataListsChange]()
)

var kindNames = map[jsontext.Kind]string{
	'"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null", '{': "an object", '[': "an array",
}

// typeName returns the JSON name of a type, or "" if it accepts several JSON types.
func typeName(t reflect.Type) string {
	if t = plain(t); t == nil {
		return ""
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return ""
	}
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// maxField is the max length of a field path, which can contain names that the caller chose.
const maxField = 128

// memberOf is a position in the decoded text.
type memberOf struct {
	field  string       // its path: `items[3].text`, or `body` for the whole
	name   string       // its own name
	parent reflect.Type // of the object that contains it; nil if unknown
	typ    reflect.Type // nil if unknown
}

// says returns a sentence about the member.
func (m memberOf) says(text string) string {
	if m.field == "body" {
		return "The body " + text
	}
	return m.field + " " + text
}

// locate resolves a JSON pointer in a value of v's type.
func locate(v any, pointer jsontext.Pointer) memberOf {
	var path strings.Builder
	m := memberOf{typ: reflect.TypeOf(v)}
	for token := range pointer.Tokens() {
		m.parent, m.name = plain(m.typ), token
		if m.parent != nil && (m.parent.Kind() == reflect.Slice || m.parent.Kind() == reflect.Array) {
			path.WriteString("[" + token + "]")
			m.typ = m.parent.Elem()
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(token)
		m.typ = memberType(m.parent, token)
	}
	m.field = path.String()
	if m.field == "" {
		m.field = "body"
	}
	if len(m.field) > maxField {
		m.field = strings.ToValidUTF8(m.field[:maxField], "") + "…"
	}
	return m
}

// memberNames lists the members of an object.
func memberNames(t reflect.Type) []string {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// position is a position in a text, from 1. Columns count bytes.
type position struct{ line, column int64 }

// positionIn returns a function that converts offsets to positions in a text.
func positionIn(text []byte) func(offset int64) position {
	return func(offset int64) position {
		before := text[:max(0, min(offset, int64(len(text))))]
		return position{
			line:   int64(bytes.Count(before, []byte{'\n'})) + 1,
			column: int64(len(before) - bytes.LastIndexByte(before, '\n')),
		}
	}
}

// plain strips pointers and Optional from t.
func plain(t reflect.Type) reflect.Type {
	for t != nil {
		if inner, ok := OptionalOf(t); ok {
			t = inner
		} else if t.Kind() == reflect.Pointer {
			t = t.Elem()
		} else {
			break
		}
	}
	return t
}

// memberType returns the type of an object's member, or nil if it is unknown.
func memberType(t reflect.Type, name string) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
				return f.Type
			}
		}
	}
	return nil
}

// OptionalOf returns T for an Optional[T].
func OptionalOf(t reflect.Type) (reflect.Type, bool) {
	if !reflect.PointerTo(t).Implements(optionalType) {
		return nil, false
	}
	f, _ := t.FieldByName("Value")
	return f.Type, true
}

var optionalType = reflect.TypeFor[interface{ optional() }]()

func (o *Optional[T]) optional() {}
