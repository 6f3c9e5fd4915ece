package wire

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/problem"
)

var (
	errEmpty   = problem.Validation("body", problem.Required, "A JSON body is required.")
	errTooDeep = problem.Validation("body", problem.Format, "The JSON is nested more than 32 levels deep.")
)

// explain turns an error of decoding into v into the 400 that says which member is wrong and how. The message never
// holds what the caller sent.
func explain(err error, v any) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
			return problem.Validation(fieldAt(v, syntax.JSONPointer), problem.Duplicate, "A member of the JSON body is given twice.")
		}
		return problem.Validation("body", problem.Format, "The body is not valid JSON.").Because(syntax.Err)
	}
	meaning, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err // a target that cannot be decoded into: a defect, not the caller's
	}
	field := fieldAt(v, meaning.JSONPointer)
	if p, ok := errors.AsType[*problem.Problem](meaning.Err); ok {
		return problem.Validation(field, p.Details.Issue, p.Message)
	}
	switch {
	case errors.Is(meaning.Err, json.ErrUnknownName):
		return problem.Validation(field, problem.Unknown, "The JSON body has a member that is not known here.")
	case errors.Is(meaning.Err, strconv.ErrRange) && strings.HasPrefix(string(meaning.JSONValue), "-"):
		return problem.Validation(field, problem.TooSmall, "A number in the JSON body is too small.")
	case errors.Is(meaning.Err, strconv.ErrRange):
		return problem.Validation(field, problem.TooLargeVal, "A number in the JSON body is too large.")
	default:
		return problem.Validation(field, problem.Type, "A member of the JSON body has a value of the wrong type.")
	}
}

// maxField bounds a field path that may hold names the caller chose.
const maxField = 128

// fieldAt writes a JSON pointer into a value of v's type as we write field paths: `items[3].text`, `body` for the whole.
func fieldAt(v any, pointer jsontext.Pointer) string {
	var path strings.Builder
	t := reflect.TypeOf(v)
	for token := range pointer.Tokens() {
		t = plain(t)
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			path.WriteString("[" + token + "]")
			t = t.Elem()
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(token)
		t = memberType(t, token)
	}
	field := path.String()
	if field == "" {
		return "body"
	}
	if len(field) > maxField {
		field = strings.ToValidUTF8(field[:maxField], "") + "…"
	}
	return field
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

// memberType is the type of an object's member, nil where none is known.
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

// OptionalOf gives T for an Optional[T].
func OptionalOf(t reflect.Type) (reflect.Type, bool) {
	if !reflect.PointerTo(t).Implements(optionalType) {
		return nil, false
	}
	f, _ := t.FieldByName("Value")
	return f.Type, true
}

var optionalType = reflect.TypeFor[interface{ optional() }]()

func (o *Optional[T]) optional() {}
