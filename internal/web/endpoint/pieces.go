package endpoint

import (
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/wire"
)

// Sequence is a list that is encoded while it is sent, up to its first error. It can be nil, which is an empty list.
type Sequence[V any] iter.Seq2[*V, error]

// MarshalJSONTo encodes the list.
func (s Sequence[V]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	if s != nil {
		for item, err := range s {
			if err != nil {
				return err
			}
			if err := json.MarshalEncode(enc, item); err != nil {
				return err
			}
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

func (Sequence[V]) of() reflect.Type { return reflect.TypeFor[V]() }

// each calls out with each item.
func (s Sequence[V]) each(out func(item any) error) error {
	for item, err := range s {
		if err != nil {
			return err
		}
		if err := out(item); err != nil {
			return err
		}
	}
	return nil
}

// sequence is any Sequence[V].
type sequence interface {
	of() reflect.Type
	each(out func(item any) error) error
}

// isSequence reports whether t is Sequence[V], and returns V.
func isSequence(t reflect.Type) (item reflect.Type, ok bool) {
	if s, ok := reflect.Zero(t).Interface().(sequence); ok {
		return s.of(), true
	}
	return nil, false
}

// lines returns each item of a sequence as a line.
func (o *output) lines(s sequence) iter.Seq2[[]byte, error] {
	return o.pieces(func(p pieces) error {
		var line []byte
		return s.each(func(item any) (err error) {
			if line, err = wire.Append(line[:0], item); err != nil {
				return err
			}
			line = append(line, '\n')
			_, err = p.Write(line)
			return err
		})
	})
}

// bodyInPieces returns a body while it is encoded.
func (o *output) bodyInPieces(body any) iter.Seq2[[]byte, error] {
	return o.pieces(func(p pieces) error {
		err := wire.Write(p, body)
		if err == nil {
			_, err = p.Write([]byte{'\n'})
		}
		return err
	})
}

// pieces passes on what is written to it.
type pieces func(piece []byte, err error) bool

var errUnread = errors.New("the rest is not read")

// Write implements io.Writer.
func (p pieces) Write(piece []byte) (int, error) {
	if !p(piece, nil) {
		return 0, errUnread
	}
	return len(piece), nil
}

// pieces returns what encode writes, with an error at its end.
func (o *output) pieces(encode func(p pieces) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := encode(yield); err != nil && !errors.Is(err, errUnread) {
			yield(nil, fmt.Errorf("encode %s: %w", o.typ, err))
		}
	}
}
