package endpoint

import (
	"fmt"
	"iter"
	"reflect"
)

// isSequence reports whether t is iter.Seq2[*T, error], and returns T.
func isSequence(t reflect.Type) (item reflect.Type, ok bool) {
	if t.Kind() != reflect.Func || !t.CanSeq2() {
		return nil, false
	}
	yield := t.In(0)
	if yield.In(0).Kind() != reflect.Pointer || yield.In(1) != reflect.TypeFor[error]() {
		return nil, false
	}
	return yield.In(0).Elem(), true
}

// items returns the items of a sequence, which can be nil, up to its first error.
func items(sequence reflect.Value) iter.Seq2[reflect.Value, error] {
	return func(yield func(reflect.Value, error) bool) {
		if sequence.IsNil() {
			return
		}
		for item, failed := range sequence.Seq2() {
			if err, _ := failed.Interface().(error); err != nil {
				yield(reflect.Value{}, err)
				return
			}
			if !yield(item.Elem(), nil) {
				return
			}
		}
	}
}

// encodeLines passes each item of a Lines field to out as a line. A piece is valid until out returns. If out returns false,
// encodeLines stops.
func (o *output) encodeLines(sequence reflect.Value, out func(piece []byte) bool) error {
	var line []byte
	for item, err := range items(sequence) {
		if err != nil {
			return err
		}
		if line, err = o.line.append(line[:0], item); err != nil {
			return err
		}
		line = append(line, '\n')
		if !out(line) {
			return nil
		}
	}
	return nil
}

// encodeItems passes a body with a sequence to out, one item per piece. The first and the last piece contain the rest.
func (o *output) encodeItems(body reflect.Value, out func(piece []byte) bool) error {
	before, list, after := o.body.members[:o.sequence], &o.body.members[o.sequence], o.body.members[o.sequence+1:]
	piece, err := appendMembers([]byte{'{'}, before, body)
	if err != nil {
		return err
	}
	piece = append(list.appendName(piece), '[')
	comma := ""
	for item, err := range items(list.of(body)) {
		if err != nil {
			return err
		}
		if piece, err = list.shape.item.append(append(piece, comma...), item); err != nil {
			return err
		}
		if !out(piece) {
			return nil
		}
		piece, comma = piece[:0], ","
	}
	if piece, err = appendMembers(append(piece, ']'), after, body); err != nil {
		return err
	}
	out(append(piece, "}\n"...))
	return nil
}

// appendItems appends such a body as a whole.
func (o *output) appendItems(dst []byte, body reflect.Value) ([]byte, error) {
	err := o.encodeItems(body, func(piece []byte) bool {
		dst = append(dst, piece...)
		return true
	})
	return dst, err
}

// pieces returns the pieces as a sequence, with an error at its end.
func (o *output) pieces(encode func(out func(piece []byte) bool) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := encode(func(piece []byte) bool { return yield(piece, nil) }); err != nil {
			yield(nil, fmt.Errorf("encode %s: %w", o.typ, err))
		}
	}
}
