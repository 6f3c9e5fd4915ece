package endpoint

import (
	"reflect"

	"keepsake/internal/base/wire"
)

// Decoder decodes and checks lines of a stream like a JSON body of type T.
type Decoder[T any] struct {
	shape     *shape
	prototype T
}

// NewDecoder returns a Decoder. Like Add, it panics if T is not supported.
func NewDecoder[T any]() *Decoder[T] {
	shapes := newShapes(asked)
	d := &Decoder[T]{shape: shapes.of(reflect.TypeFor[T]())}
	if shapes.loose > 0 {
		panic("endpoint: a Loose is an item of a list of a body")
	}
	prefill(d.shape, reflect.ValueOf(&d.prototype).Elem())
	return d
}

// Decode decodes a line into v and overwrites what v contains. Its error is a *problem.Problem with status 400.
func (d *Decoder[T]) Decode(line []byte, v *T) error {
	*v = d.prototype
	if err := wire.DecodeLine(line, v); err != nil {
		return err
	}
	return d.shape.judge(line, reflect.ValueOf(v))
}
