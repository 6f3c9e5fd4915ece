package endpoint

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Decoder decodes and checks lines of a stream as a JSON body of type T is.
type Decoder[T any] struct {
	shape     *shape
	prototype T
}

// NewDecoder compiles the checks of T, as Add does.
func NewDecoder[T any]() *Decoder[T] {
	d := &Decoder[T]{shape: newShapes(asked).of(reflect.TypeFor[T]())}
	prefill(d.shape, reflect.ValueOf(&d.prototype).Elem())
	return d
}

// Decode reads one line, or a Loose item, into v, whatever v held; what is wrong is a 400 *problem.Problem.
func (d *Decoder[T]) Decode(line []byte, v *T) error {
	*v = d.prototype
	return d.shape.decode(line, reflect.ValueOf(v))
}

// Loose is a value of a request that the operation decodes by itself, with a Decoder of T, so that one bad item of many
// fails alone. It holds any JSON text; the document says what it should be.
type Loose[T any] struct{ Text jsontext.Value }

// UnmarshalJSONFrom keeps the text.
func (l *Loose[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	l.Text = text.Clone()
	return err
}

func (*Loose[T]) loose() reflect.Type { return reflect.TypeFor[T]() }

var looseType = reflect.TypeFor[interface{ loose() reflect.Type }]()

// looseOf gives T for a Loose[T].
func looseOf(t reflect.Type) reflect.Type {
	return reflect.New(t).Interface().(interface{ loose() reflect.Type }).loose()
}
