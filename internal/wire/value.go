package wire

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/problem"
)

// Optional is a member of a PATCH body, which must tell three things apart: left out (Set is false), null (Set and
// Null), and a value (Set).
type Optional[T any] struct {
	Value T
	Set   bool
	Null  bool
}

// Some is an Optional that was sent with a value.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Pointer gives the value, nil where it was left out or null.
func (o *Optional[T]) Pointer() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// UnmarshalJSONFrom reads a value or null.
func (o *Optional[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set = true
	if dec.PeekKind() == 'n' {
		o.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &o.Value)
}

// Time is a moment: written as RFC 3339 in UTC with milliseconds and Z; read with any offset, turned to UTC and cut to
// milliseconds, so that what is answered later is what is kept now.
type Time struct{ time.Time }

// At is t as it is written.
func At(t time.Time) Time { return Time{t} }

// AtOrNull is t as it is written, null where there is none.
func AtOrNull(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

// Moment gives the time a request named, nil where it named none.
func (t *Time) Moment() *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

const timeLayout = `"2006-01-02T15:04:05.000Z"`

// MarshalJSONTo writes the time.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(append(AppendTime(append(enc.AvailableBuffer(), '"'), t.Time), '"'))
}

// UnmarshalJSONFrom reads a time.
func (t *Time) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		*t = Time{}
		return dec.SkipValue()
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		return t.UnmarshalText([]byte(token.String()))
	default:
		return errType
	}
}

// MarshalText writes the time without quotes.
func (t Time) MarshalText() ([]byte, error) {
	return AppendTime(nil, t.Time), nil
}

// UnmarshalText reads a time without quotes, as in a query parameter.
func (t *Time) UnmarshalText(text []byte) error {
	if !isTime(text) {
		return errTimeFormat
	}
	moment, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return errTimeFormat
	}
	t.Time = moment.UTC().Truncate(time.Millisecond)
	return nil
}

// isTime reports whether text has the form of a time in RFC 3339. The standard library also takes a comma before a
// fraction, an hour of one digit and offsets that are none (go.dev/issue/54580).
func isTime(text []byte) bool {
	const form = "0000-00-00T00:00:00"
	if len(text) <= len(form) || !formed(text[:len(form)], form) {
		return false
	}
	text = text[len(form):]
	if text[0] == '.' {
		fraction := len(text) - len(bytes.TrimLeft(text[1:], "0123456789"))
		if fraction == 1 {
			return false
		}
		text = text[fraction:]
	}
	switch {
	case len(text) == 1:
		return text[0] == 'Z'
	case len(text) == len("+00:00") && (formed(text, "+00:00") || formed(text, "-00:00")):
		return string(text[1:3]) < "24" && string(text[4:]) < "60"
	default:
		return false
	}
}

// formed reports whether text has digits where form has zeros, and else is the same.
func formed(text []byte, form string) bool {
	for i, c := range text {
		if digit := c >= '0' && c <= '9'; form[i] == '0' && !digit || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}

// Metadata is an object of a caller's own whose values are strings (string), numbers (float64) or booleans (bool). A
// number that would not come back as it was sent is refused.
type Metadata map[string]any

// UnmarshalJSONFrom reads the object and refuses any other kind of value in it.
func (m *Metadata) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readScalars(dec, (*map[string]any)(m), false)
}

// MetadataChange is a merge patch of Metadata: a nil value takes the entry away, others set it.
type MetadataChange map[string]any

// UnmarshalJSONFrom reads the object as Metadata does, and takes null.
func (m *MetadataChange) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readScalars(dec, (*map[string]any)(m), true)
}

func readScalars(dec *jsontext.Decoder, m *map[string]any, null bool) error {
	switch dec.PeekKind() {
	case 'n':
		*m = nil
		return dec.SkipValue()
	case '{':
	default:
		return errType
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*m = map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch kind := token.Kind(); {
		case kind == '"':
			(*m)[key] = token.String()
		case kind == '0':
			number, ok := exactly(token.String())
			if !ok {
				return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: '0', Err: errInexact}
			}
			(*m)[key] = number
		case kind == 't', kind == 'f':
			(*m)[key] = token.Bool()
		case kind == 'n' && null:
			(*m)[key] = nil
		default:
			return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: token.Kind(), Err: errType}
		}
	}
	_, err := dec.ReadToken()
	return err
}

var (
	errInexact    = problem.Validation("", problem.InvalidVal, "Numbers in metadata must be exact in double precision. Send longer numbers as strings.")
	errType       = problem.Validation("", problem.Type, "A member has a value of the wrong type.")
	errTimeFormat = problem.Validation("", problem.Format, "Times must be RFC 3339, such as 2026-07-01T12:00:00Z.")
)
