package endpoint

import (
	"math"
	"reflect"

	"keepsake/internal/wire"
)

// Loose is an item of a list of a body, of many that are judged one by one: one that is wrong fails alone. The body is then
// read as it arrives, and no item's text is kept. A body has one such list, as a member of its own.
//
// It may be any JSON text; the document says what it should be. What leaves in doubt where an item ends is wrong with the
// body, as is a member that one item has twice.
type Loose[T any] struct {
	Value T     `json:"-"`
	Err   error `json:"-"` // the 400 that a body of type T would have got; Value means nothing then
}

// loose is any *Loose[T].
type loose interface {
	of() reflect.Type
	items(most int) wire.Items
}

var looseType = reflect.TypeFor[loose]()

// looseOf is the Loose[T] that t is.
func looseOf(t reflect.Type) loose { return reflect.New(t).Interface().(loose) }

func (*Loose[T]) of() reflect.Type { return reflect.TypeFor[T]() }

// items reads a list that should have so many items at most. Of one that has more, one more is kept, to tell that it has.
func (*Loose[T]) items(most int) wire.Items {
	decoder := NewDecoder[T]()
	return wire.EachOf(func(list []Loose[T], text []byte) []Loose[T] {
		if len(list) > most {
			return list
		}
		list = append(list, Loose[T]{})
		if l := &list[len(list)-1]; len(list) <= most {
			l.Err = decoder.Decode(text, &l.Value)
		}
		return list
	})
}

// looseItems reads the list of a body whose items are judged one by one; nil where it has none.
func (s *shape) looseItems() wire.Items {
	for i := range s.members {
		list := s.members[i].shape
		if list.kind != listKind || list.item.shape.loose == nil {
			continue
		}
		most := math.MaxInt - 1
		if list.rules.maxItems != nil {
			most = *list.rules.maxItems
		}
		return looseOf(list.item.shape.typ).items(most)
	}
	return nil
}
