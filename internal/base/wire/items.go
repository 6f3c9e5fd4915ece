package wire

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Items decodes a list of one type item by item. EachOf creates one.
type Items func(*span) *json.Unmarshalers

// span is where a text has the items of a list.
type span struct{ from, to int64 }

// EachOf returns Items for the list of E. add appends what it decodes from the text of an item, which is only valid during the call.
func EachOf[E any](add func(list []E, text []byte) []E) Items {
	return func(s *span) *json.Unmarshalers {
		return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]E) error {
			if dec.PeekKind() != '[' {
				return errors.ErrUnsupported // the decoder explains what is wrong
			}
			*list = []E{}
			if _, err := dec.ReadToken(); err != nil {
				return err
			}
			s.from = dec.InputOffset()
			for dec.PeekKind() != ']' {
				text, err := dec.ReadValue()
				if err != nil {
					return err
				}
				*list = add(*list, text)
			}
			s.to = dec.InputOffset()
			_, err := dec.ReadToken()
			return err
		})
	}
}

// surrogates accepts unpaired surrogates in items, which then fail alone. Texts with it are checked to be UTF-8 otherwise.
var surrogates = jsontext.AllowInvalidUTF8(true)

// DecodeItems is Decode for a text with one list that is decoded item by item. rest is the text without these items.
func DecodeItems(data []byte, v any, items Items) (rest []byte, err error) {
	data = bytes.TrimPrefix(data, ByteOrderMark)
	var s span
	if err := decode(data, v, "body", items(&s)); err != nil {
		return nil, err
	}
	read := place{what: "body", at: positionIn(data)}
	for _, part := range []span{{0, s.from}, {s.to, int64(len(data))}} {
		if offset := unpairedSurrogate(data[part.from:part.to]); offset >= 0 {
			return nil, surrogateIn(locate(v, ""), read, int(part.from)+offset)
		}
	}
	return slices.Concat(data[:s.from], data[s.to:]), nil
}

// Array returns the values of a JSON array. They are syntactically correct, but otherwise not checked: Decode does that for each.
func Array(data []byte) ([]Value, error) {
	data = bytes.TrimPrefix(data, ByteOrderMark)
	if blank(data) {
		return nil, errEmpty
	}
	var list []Value
	if looks := encodingOf(data); looks != "" {
		return nil, notUTF8("body", looks)
	}
	if err := json.Unmarshal(data, &list, jsontext.AllowDuplicateNames(true), surrogates); err != nil {
		return nil, explain(err, &list, place{what: "body", text: data, at: positionIn(data)})
	}
	if list == nil {
		return nil, errNoArray
	}
	return list, nil
}
