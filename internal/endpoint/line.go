package endpoint

import (
	"reflect"
)

// Decoder decodes and checks lines of a stream as a JSON body of type T is.
type Decoder[T any] struct {
	shape     *shape
	prototype T
}

// NewDecoder compiles the checks of T, as Add does.
func NewDecoder[T any]() *Decoder[T] {
	shapes := newShapes(asked)
	d := &Decoder[T]{shape: shapes.of(reflect.TypeFor[T]())}
	if shapes.loose > 0 {
		panic("endpoint: a Loose is an item of a list of a body")
	}
	prefill(d.shape, reflect.ValueOf(&d.prototype).Elem())
	return d
}

// Decode reads one line into v, whatever v held; what is wrong is a 400 *problem.Problem.
func (d *Decoder[T]) Decode(line []byte, v *T) error {
	*v = d.prototype
	return d.shape.decode(line, reflect.ValueOf(v))
}
