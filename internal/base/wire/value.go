package wire

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/number"
	"keepsake/internal/base/problem"
)

// Optional is a member of a PATCH body, which distinguishes three cases: omitted (Set is false), null (Set and Null),
// and a value (Set).
type Optional[T any] struct {
	Value T
	Set   bool
	Null  bool
}

// Some returns an Optional with a value.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Pointer returns the value, or nil if it is omitted or null.
func (o *Optional[T]) Pointer() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// UnmarshalJSONFrom decodes a value or null.
func (o *Optional[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set = true
	if dec.PeekKind() == 'n' {
		o.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &o.Value)
}

// Time is written as RFC 3339 in UTC with milliseconds and Z. It is read with any offset, converted to UTC and
// truncated to milliseconds, so that it is stored exactly as it is returned later.
type Time struct {
	time.Time
	// Chosen is whether a client chose the time, or it follows from one that a client chose. A whole second is then written
	// without a fraction, as most clients write it.
	Chosen bool
}

// At returns t as a Time.
func At(t time.Time) Time { return Time{Time: t} }

// Chosen returns t as a Time that a client chose.
func Chosen(t time.Time) Time { return Time{Time: t, Chosen: true} }

// AtOrNull returns t as a Time, or null for nil.
func AtOrNull(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{Time: *t}
}

// ChosenOrNull returns t as a Time that a client chose, or null for nil.
func ChosenOrNull(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{Time: *t, Chosen: true}
}

// Moment returns the time in a request, or nil if there is none.
func (t *Time) Moment() *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

const timeLayout = `"2006-01-02T15:04:05.000Z"`

// MarshalJSONTo encodes the time.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(append(t.Append(append(enc.AvailableBuffer(), '"')), '"'))
}

// UnmarshalJSONFrom decodes a time.
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

// MarshalText formats the time without quotes.
func (t Time) MarshalText() ([]byte, error) {
	return t.Append(nil), nil
}

// Append formats the time without quotes.
func (t Time) Append(dst []byte) []byte {
	dst = AppendTime(dst, t.Time)
	if t.Chosen && t.Nanosecond() < int(time.Millisecond) {
		dst = append(dst[:len(dst)-len(".000Z")], 'Z')
	}
	return dst
}

// UnmarshalText parses a time without quotes, as in a query parameter.
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

// isTime reports whether text has the form of an RFC 3339 time. The standard library also accepts a comma before a
// fraction, an hour of one digit and invalid offsets (go.dev/issue/54580).
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

// formed reports whether text has digits where form has zeros, and otherwise equals form.
func formed(text []byte, form string) bool {
	for i, c := range text {
		if digit := c >= '0' && c <= '9'; form[i] == '0' && !digit || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}

// Metadata is an object of the client whose values are strings (string), numbers (float64) or booleans (bool). A null entry
// is absent. Package number says which numbers are rejected.
type Metadata map[string]any

// UnmarshalJSONFrom decodes the object and rejects other kinds of values in it.
func (m *Metadata) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readMetadata(dec, (*map[string]any)(m), metadataForm{})
}

// MarshalJSONTo encodes the object with sorted names.
func (m Metadata) MarshalJSONTo(enc *jsontext.Encoder) error { return writeMetadata(enc, m) }

// MetadataLists is Metadata whose values can also be lists ([]any) of strings, numbers and booleans.
type MetadataLists map[string]any

// UnmarshalJSONFrom decodes the object and rejects other kinds of values in it.
func (m *MetadataLists) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readMetadata(dec, (*map[string]any)(m), metadataForm{lists: true})
}

// MarshalJSONTo encodes the object with sorted names.
func (m MetadataLists) MarshalJSONTo(enc *jsontext.Encoder) error { return writeMetadata(enc, m) }

func writeMetadata(enc *jsontext.Encoder, m map[string]any) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := writeEntry(enc, m[name]); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func writeEntry(enc *jsontext.Encoder, entry any) error {
	switch entry := entry.(type) {
	case string:
		return enc.WriteToken(jsontext.String(entry))
	case bool:
		return enc.WriteToken(jsontext.Bool(entry))
	case float64:
		return enc.WriteValue(number.Append(enc.AvailableBuffer(), entry))
	case []any:
		if err := enc.WriteToken(jsontext.BeginArray); err != nil {
			return err
		}
		for _, element := range entry {
			if err := writeEntry(enc, element); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndArray)
	default:
		return json.MarshalEncode(enc, entry)
	}
}

// MetadataChange is a merge patch of Metadata: a nil value removes the entry, others set it.
type MetadataChange map[string]any

// UnmarshalJSONFrom decodes the object as Metadata does, but keeps null.
func (m *MetadataChange) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readMetadata(dec, (*map[string]any)(m), metadataForm{null: true})
}

// MetadataListsChange is MetadataChange for MetadataLists.
type MetadataListsChange map[string]any

// UnmarshalJSONFrom decodes the object as MetadataLists does, but keeps null.
func (m *MetadataListsChange) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readMetadata(dec, (*map[string]any)(m), metadataForm{lists: true, null: true})
}

// metadataForm says which values an object of metadata can have beside strings, numbers and booleans.
type metadataForm struct {
	lists bool
	null  bool // kept as nil; otherwise an entry of null is absent
}

func readMetadata(dec *jsontext.Decoder, m *map[string]any, form metadataForm) error {
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
		key, at := name.String(), dec.StackPointer()
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch kind := token.Kind(); {
		case kind == '[' && form.lists:
			(*m)[key], err = readList(dec, at)
		case kind == 'n' && form.null:
			(*m)[key] = nil
		case kind == 'n':
		default:
			(*m)[key], err = scalarOf(token, at)
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// readList reads the rest of a list of scalars. Errors name the entry at a pointer.
func readList(dec *jsontext.Decoder, at jsontext.Pointer) ([]any, error) {
	list := []any{}
	for dec.PeekKind() != ']' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		value, err := scalarOf(token, at)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := dec.ReadToken()
	return list, err
}

// scalarOf returns the string, float64 or bool of a token. Errors name the entry at a pointer.
func scalarOf(token jsontext.Token, at jsontext.Pointer) (any, error) {
	switch kind := token.Kind(); kind {
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	case '0':
		if value, ok := number.Read(token.String()); ok {
			return value, nil
		}
		return nil, &json.SemanticError{JSONPointer: at, JSONKind: kind, Err: errInexact}
	default:
		return nil, &json.SemanticError{JSONPointer: at, JSONKind: kind, Err: errType}
	}
}

var (
	errInexact    = problem.Validation("", problem.InvalidVal, "The number cannot be stored in double precision without changing. Send longer numbers as strings.")
	errType       = problem.Validation("", problem.Type, "A member has a value of the wrong type.")
	errTimeFormat = problem.Validation("", problem.Format, "Times must be RFC 3339, such as 2026-07-01T12:00:00Z.")
)
