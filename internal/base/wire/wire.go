// Package wire is the JSON of the API: one strict decoder, one encoder and the few types that both directions share
// (docs/spec/conventions.md).
//
// Decoding is strict, because tolerance is unsafe at an authorization boundary: names must match exactly, and unknown
// or duplicate members, trailing bytes, invalid UTF-8 and depths over 32 are rejected.
package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the max nesting of objects and arrays in a request.
const MaxDepth = 32

// Value is raw JSON text, read and written unchanged.
type Value = jsontext.Value

// Decode decodes one JSON value into the pointer v. An error is a 400 *problem.Problem that names the member
// (`rateLimit.requestsPerMinute`, `items[3].text`; `body` for the whole) and the issue. Fields of v that are absent in
// the text keep their value. A JSON null sets a field to its zero value; callers that must distinguish null use a
// pointer, Optional, or package endpoint's checks.
func Decode(data []byte, v any) error { return decode(data, v, "body", nil) }

// DecodeLine is Decode for a text that is a line or an item of a larger one. Its errors give no number of a line, because the
// caller knows which line it is.
func DecodeLine(data []byte, v any) error { return decode(data, v, "line", nil) }

// decode decodes a list that items are for item by item.
func decode(data []byte, v any, what string, items *json.Unmarshalers) error {
	data = bytes.TrimPrefix(data, ByteOrderMark)
	if blank(data) {
		return errEmpty
	}
	if looks := encodingOf(data); looks != "" {
		return notUTF8(what, looks)
	}
	if tooDeep(data) {
		return errTooDeep
	}
	read, options := place{what: what, text: data, at: positionIn(data)}, strict
	if items != nil {
		read.text = nil // its unpaired surrogates are accepted
		options = json.JoinOptions(strict, surrogates, json.WithUnmarshalers(items))
	}
	err := json.Unmarshal(data, v, options)
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.JSONKind == '0' {
		err = json.Unmarshal(data, v, options, json.WithUnmarshalers(json.JoinUnmarshalers(items, integers))) // slower, and seldom needed
	}
	if err != nil {
		return explain(err, v, read)
	}
	return nil
}

var strict json.Options = json.RejectUnknownMembers(true)

// Encode encodes v as JSON. A nil slice is [], a nil map is {}, and map members are sorted, so that equal values have
// equal bytes.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append is Encode into the caller's buffer.
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

// Write is Encode into a writer, while v is encoded.
func Write(w io.Writer, v any) error { return json.MarshalWrite(w, v, encodeOptions) }

var encodeOptions = json.Deterministic(true)

// sink is an io.Writer that appends. Sinks are pooled, because the encoder makes them escape to the heap.
type sink struct{ buf []byte }

var sinks = sync.Pool{New: func() any { return new(sink) }}

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// blank reports whether a text contains only JSON white space.
func blank(text []byte) bool { return len(bytes.TrimLeft(text, " \t\r\n")) == 0 }

// tooDeep reports whether brackets are nested deeper than MaxDepth. Counting them is much cheaper than following them,
// and few texts have so many that they must be followed. The result for invalid JSON can be wrong; the decoder rejects it anyway.
func tooDeep(data []byte) bool {
	if bytes.Count(data, []byte{'{'})+bytes.Count(data, []byte{'['}) <= MaxDepth {
		return false
	}
	depth, quoted, escaped := 0, false, false
	for _, c := range data {
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
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
