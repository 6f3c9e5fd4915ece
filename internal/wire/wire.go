// Package wire is JSON as it crosses the wire: one strict decoder, one encoder and the few types both sides of an
// operation share (decisions.md, A).
//
// Reading is strict because the standard decoder's kindness is unsafe at an authorization boundary: names match
// exactly, unknown and duplicate members, trailing bytes, invalid UTF-8 and depths over 32 are refused.
package wire

import (
	"bytes"
	"errors"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays of a request may be nested.
const MaxDepth = 32

// Value is raw JSON text, read or written as it is.
type Value = jsontext.Value

// Decode reads one JSON value into v, which is a pointer. What is wrong comes back as a 400 *problem.Problem that names
// the member (`rateLimit.requestsPerMinute`, `items[3].text`; `body` for the whole) and the issue. v's fields that the
// text does not name keep what they held. A JSON null sets a field to its zero value: callers that must tell a null
// from a value use a pointer, Optional, or package endpoint's checks.
func Decode(data []byte, v any) error {
	if blank(data) {
		return errEmpty
	}
	if tooDeep(data) {
		return errTooDeep
	}
	err := json.Unmarshal(data, v, strict)
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.JSONKind == '0' {
		err = json.Unmarshal(data, v, strict, json.WithUnmarshalers(integers)) // slower, and seldom needed
	}
	if err != nil {
		return explain(err, v, positionIn(data))
	}
	return nil
}

var strict = json.RejectUnknownMembers(true)

// Encode writes v as JSON: a nil slice is [], a nil map {}, map members sorted, so that equal values have equal bytes.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append is Encode into a buffer of the caller's.
func Append(dst []byte, v any) ([]byte, error) {
	s := sinks.Get().(*sink)
	s.buf = dst
	err := json.MarshalWrite(s, v, encodeOptions)
	dst, s.buf = s.buf, nil
	sinks.Put(s)
	if err != nil {
		return nil, err
	}
	return dst, nil
}

var encodeOptions = json.Deterministic(true)

// sink is an io.Writer that appends. They are pooled because the encoder makes them escape.
type sink struct{ buf []byte }

var sinks = sync.Pool{New: func() any { return new(sink) }}

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// blank reports whether a text is nothing but JSON's white space.
func blank(text []byte) bool { return len(bytes.TrimLeft(text, " \t\r\n")) == 0 }

// tooDeep reports whether brackets are nested deeper than MaxDepth. Counting them is far cheaper than following them,
// and few texts have so many that they must be followed.
func tooDeep(data []byte) bool {
	if bytes.Count(data, []byte{'{'})+bytes.Count(data, []byte{'['}) <= MaxDepth {
		return false
	}
	var b brackets
	b.follow(data)
	return b.tooDeep
}

// brackets follows how deep brackets are nested in a text that may come in pieces. Text that is not JSON may be judged
// wrongly; the decoder refuses it all the same.
type brackets struct {
	depth           int
	quoted, escaped bool
	tooDeep         bool // they once were deeper than MaxDepth
}

func (b *brackets) follow(text []byte) {
	if b.tooDeep {
		return
	}
	depth, quoted, escaped := b.depth, b.quoted, b.escaped
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				b.tooDeep = true
				return
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	b.depth, b.quoted, b.escaped = depth, quoted, escaped
}
