package wire

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Row is a JSON object of any form. DecodeLine decodes one; names must not repeat.
type Row struct{ Members []Member }

// Member is a member of a Row: a string, a Number, a bool, nil, a Row or a List.
type Member struct {
	Name  string
	Value any
}

// Number is a number as it is spelled.
type Number string

// List is an array.
type List struct {
	Text    string // as JSON, without white space
	Scalars []any  // strings, Numbers, bools and nil; nil if Nested
	Nested  bool   // the array contains an object or an array
}

// UnmarshalJSONFrom decodes the object.
func (r *Row) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != '{' {
		if kind == 0 {
			_, err := dec.ReadToken()
			return err
		}
		return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: kind, Err: errType}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := Member{Name: name.String()}
		if m.Value, err = readAny(dec); err != nil {
			return err
		}
		r.Members = append(r.Members, m)
	}
	_, err := dec.ReadToken()
	return err
}

func readAny(dec *jsontext.Decoder) (any, error) {
	switch dec.PeekKind() {
	case '{':
		var r Row
		err := r.UnmarshalJSONFrom(dec)
		return r, err
	case '[':
		return readAnyList(dec)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case '0':
		return Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func readAnyList(dec *jsontext.Decoder) (any, error) {
	text, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	text = text.Clone()
	if err := text.Compact(); err != nil {
		return nil, err
	}
	list := List{Text: string(text), Scalars: []any{}}
	elements := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := elements.ReadToken(); err != nil {
		return nil, err
	}
	for elements.PeekKind() != ']' {
		if kind := elements.PeekKind(); kind == '{' || kind == '[' {
			return List{Text: list.Text, Nested: true}, nil
		}
		element, err := readAny(elements)
		if err != nil {
			return nil, err
		}
		list.Scalars = append(list.Scalars, element)
	}
	return list, nil
}
