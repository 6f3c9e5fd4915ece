package endpoint

import (
	"math"
	"reflect"

	"keepsake/internal/base/wire"
)

// Loose is an item of a list in a body whose items are checked one by one: an invalid item fails alone. A body can have one such
// list, as a direct member.
//
// An item can be any JSON text; the document says what it should be. If it is unclear where an item ends, or if it has a
// member twice, the whole body is invalid.
type Loose[T any] struct {
	Value T     `json:"-"`
	Err   error `json:"-"` // the problem of this item; Value is then meaningless
}

// loose is any *Loose[T].
type loose interface {
	of() reflect.Type
	items(most int) wire.Items
}

var looseType = reflect.TypeFor[loose]()

// looseOf returns T if t is Loose[T].
func looseOf(t reflect.Type) loose { return reflect.New(t).Interface().(loose) }

func (*Loose[T]) of() reflect.Type { return reflect.TypeFor[T]() }

// items reads a list with at most max items. If there are more, it keeps one more, to show that.
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

// looseItems returns the reader of a body's list of Loose items, or nil.
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
