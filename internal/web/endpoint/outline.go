package endpoint

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/wire"
)

// outline says which members a JSON text has and where it has null, which a decoded value does not show.
type outline struct {
	members []*outline          // of an object, by the index of the shape's members; nil if absent
	items   []*outline          // of a list
	entries map[string]*outline // of a map
}

var (
	unknown = &outline{} // not examined
	null    = &outline{} // null
	present = &outline{} // any other value

	absent *outline // no value
)

// outlineOf reads the outline of data, which was decoded without error as a value of shape s.
func outlineOf(data []byte, s *shape) *outline {
	data = bytes.TrimPrefix(data, wire.ByteOrderMark)
	return s.outline(jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)))
}

func (s *shape) outline(dec *jsontext.Decoder) *outline {
	next := dec.PeekKind()
	switch {
	case next == 'n':
		_ = dec.SkipValue()
		return null
	case next == '{' && s.kind == objectKind:
		return s.objectOutline(dec)
	case next == '{' && s.kind == mapKind:
		o := &outline{entries: map[string]*outline{}}
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '"' {
			name, _ := dec.ReadToken()
			o.entries[name.String()] = s.item.shape.outline(dec)
		}
		_, _ = dec.ReadToken()
		return o
	case next == '[' && s.kind == listKind:
		o := &outline{}
		_, _ = dec.ReadToken()
		for next := dec.PeekKind(); next != ']' && next != 0; next = dec.PeekKind() {
			o.items = append(o.items, s.item.shape.outline(dec))
		}
		_, _ = dec.ReadToken()
		return o
	default:
		_ = dec.SkipValue()
		return present
	}
}

func (s *shape) objectOutline(dec *jsontext.Decoder) *outline {
	o := &outline{members: make([]*outline, len(s.members))}
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		i, ok := s.byName[name.String()]
		if !ok {
			_ = dec.SkipValue() // the decoder refuses such members
			continue
		}
		o.members[i] = s.members[i].shape.outline(dec)
	}
	_, _ = dec.ReadToken()
	return o
}

func (o *outline) member(i int) *outline {
	if o == unknown {
		return unknown
	}
	return o.members[i]
}

func (o *outline) item(i int) *outline {
	if o == unknown || o == present {
		return unknown
	}
	return o.items[i]
}

func (o *outline) entry(name string) *outline {
	if o == unknown || o == present {
		return unknown
	}
	return o.entries[name]
}
