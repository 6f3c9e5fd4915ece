package endpoint

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/wire"
)

// Outcome is the response to a part of a request: a body, or the body of an error (Request.Part).
type Outcome[T any] struct {
	Value T
	Error wire.Value // nil for none
}

// MarshalJSONTo encodes one of the two.
func (o *Outcome[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if o.Error != nil {
		return enc.WriteValue(o.Error)
	}
	return json.MarshalEncode(enc, &o.Value)
}

func (*Outcome[T]) outcome() reflect.Type { return reflect.TypeFor[T]() }

// outcome is any *Outcome[T].
type outcome interface{ outcome() reflect.Type }

var outcomeType = reflect.TypeFor[outcome]()

// outcomeOf returns T for Outcome[T].
func outcomeOf(t reflect.Type) reflect.Type {
	return reflect.New(t).Interface().(outcome).outcome()
}
