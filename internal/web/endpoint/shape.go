package endpoint

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"keepsake/internal/base/wire"
)

// kind is the JSON form of a Go type.
type kind uint8

const (
	stringKind kind = iota
	boolKind
	integerKind
	numberKind
	timeKind   // wire.Time
	textKind   // another encoding.TextUnmarshaler
	scalarKind // a value of wire.Metadata: string, number or boolean
	valueKind  // a value of wire.MetadataLists: that, or a list of it
	anyKind    // wire.Value, any, Loose, Outcome
	listKind
	mapKind
	objectKind
	sequenceKind // a Sequence
)

// shape is the compiled form of a Go type as JSON or as a parameter.
type shape struct {
	kind    kind
	typ     reflect.Type
	rules   rules
	loose   reflect.Type // the item type of a Loose value
	outcome reflect.Type // the type of an Outcome's value
	item    *member      // of a list, a map or a sequence
	members []member     // of an object
	byName  map[string]int
}

// member is a value within another: a member of an object, an item of a list, or a parameter.
type member struct {
	name        string
	index       []int // of the Go field; nil for an item
	field       reflect.StructField
	shape       *shape
	pointer     bool // the Go type is *T
	optional    bool // the Go type is wire.Optional[T]
	required    bool // absent, null and blank are errors
	nullable    bool // null is accepted, or can be written in a response
	unsupported bool
	once        bool
	prefilled   bool // has a default, so it can be omitted
}

// of returns m's field of the struct v.
func (m *member) of(v reflect.Value) reflect.Value {
	if len(m.index) == 1 {
		return v.Field(m.index[0])
	}
	return v.FieldByIndex(m.index)
}

// side is the direction in which a type travels. It decides what a pointer means.
type side uint8

const (
	asked    side = iota // a request: a pointer can be omitted or null
	answered             // a response: a pointer is present and can be null, unless omitempty or omitzero
)

// shapes compiles types. It remembers objects, so that a type can contain itself.
type shapes struct {
	side    side
	objects map[reflect.Type]*shape
	// the number of types found that are allowed only once
	loose, sequences int
}

func newShapes(s side) *shapes { return &shapes{side: s, objects: map[reflect.Type]*shape{}} }

var (
	timeType       = reflect.TypeFor[wire.Time]()
	valueType      = reflect.TypeFor[wire.Value]()
	metadataType   = reflect.TypeFor[wire.Metadata]()
	metadataChange = reflect.TypeFor[wire.MetadataChange]()
	listsType      = reflect.TypeFor[wire.MetadataLists]()
	listsChange    = reflect.TypeFor[wire.MetadataListsChange]()
	textType       = reflect.TypeFor[encoding.TextUnmarshaler]()
	textWriterType = reflect.TypeFor[encoding.TextMarshaler]()
	scalarType     = reflect.TypeFor[any]()
)

// of compiles t, which is neither a pointer nor an Optional.
func (c *shapes) of(t reflect.Type) *shape {
	s := &shape{typ: t}
	switch {
	case t == timeType:
		s.kind = timeKind
		return s
	case t == valueType:
		s.kind = anyKind
		return s
	case t == metadataType, t == metadataChange:
		s.kind = mapKind
		s.item = &member{shape: &shape{kind: scalarKind, typ: scalarType}, nullable: c.side == asked}
		return s
	case t == listsType, t == listsChange:
		s.kind = mapKind
		s.item = &member{shape: &shape{kind: valueKind, typ: scalarType}, nullable: c.side == asked}
		return s
	case reflect.PointerTo(t).Implements(looseType):
		s.kind, s.loose = anyKind, looseOf(t).of()
		c.loose++
		return s
	case reflect.PointerTo(t).Implements(outcomeType):
		s.kind, s.outcome = anyKind, outcomeOf(t)
		return s
	case reflect.PointerTo(t).Implements(textType), t.Implements(textWriterType):
		s.kind = textKind
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = stringKind
	case reflect.Bool:
		s.kind = boolKind
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.kind = integerKind
	case reflect.Float32, reflect.Float64:
		s.kind = numberKind
	case reflect.Interface:
		s.kind = anyKind
	case reflect.Slice:
		s.kind = listKind
		s.item = c.item(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("endpoint: %s: an object's names are strings", t))
		}
		s.kind = mapKind
		s.item = c.item(t.Elem())
	case reflect.Struct:
		return c.object(t)
	case reflect.Func:
		item, ok := isSequence(t)
		if !ok || c.side == asked {
			panic(fmt.Sprintf("endpoint: %s is no Sequence of an answer", t))
		}
		s.kind = sequenceKind
		s.item = c.item(item)
		c.sequences++
	default:
		panic(fmt.Sprintf("endpoint: %s has no form on the wire", t))
	}
	return s
}

func (c *shapes) item(t reflect.Type) *member {
	m := &member{}
	c.fill(m, t)
	return m
}

// fill sets what follows from m's Go type.
func (c *shapes) fill(m *member, t reflect.Type) {
	if inner, ok := wire.OptionalOf(t); ok {
		m.optional, m.nullable, t = true, true, inner
	} else if t.Kind() == reflect.Pointer {
		m.pointer, m.nullable, t = true, true, t.Elem()
	}
	m.shape = c.of(t)
	if m.shape.kind == anyKind {
		m.nullable = true
	}
}

func (c *shapes) object(t reflect.Type) *shape {
	if s, ok := c.objects[t]; ok {
		return s
	}
	s := &shape{kind: objectKind, typ: t, byName: map[string]int{}}
	c.objects[t] = s
	for _, f := range visibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("endpoint: %s.%s has no json name", t, f.Name))
		}
		m := c.member(name, f)
		switch c.side {
		case asked:
			if k := m.shape.kind; m.unsupported && !m.pointer && !m.optional && k != listKind && k != mapKind && k != anyKind {
				panic(fmt.Sprintf("endpoint: %s.%s: an unsupported member's type must tell that it was left out", t, f.Name))
			}
			m.required = !m.pointer && !m.optional && !m.prefilled && !m.unsupported
		case answered:
			if m.optional {
				panic(fmt.Sprintf("endpoint: %s.%s: an answer has no optional members, but pointers", t, f.Name))
			}
			if options != "" && options != "omitzero" && options != "omitempty" {
				panic(fmt.Sprintf("endpoint: %s.%s: no such json option: %s", t, f.Name, options))
			}
			m.required = options == ""
			m.nullable = m.nullable && m.required
		}
		m.required = boolTag(f, "required", m.required)
		if c.side == asked && !m.required {
			m.nullable = true // null means absent; in a merge patch it removes the member
		}
		m.nullable = boolTag(f, "nullable", m.nullable)
		if c.side == asked && !m.optional && !m.required && !m.nullable {
			panic(fmt.Sprintf("endpoint: %s.%s: null is absent unless the field is a wire.Optional", t, f.Name))
		}
		s.byName[name] = len(s.members)
		s.members = append(s.members, m)
	}
	return s
}

// member compiles field f with its constraint tags. Its JSON name is name.
func (c *shapes) member(name string, f reflect.StructField) member {
	m := member{name: name, index: f.Index, field: f}
	c.fill(&m, f.Type)
	m.shape = constrained(m.shape, f)
	m.unsupported = boolTag(f, "unsupported", false)
	m.once = boolTag(f, "once", false)
	_, m.prefilled = f.Tag.Lookup("default")
	if m.once && !(m.pointer && c.side == answered) {
		panic(fmt.Sprintf("endpoint: %s is shown once: it must be a pointer in an answer", f.Name))
	}
	return m
}

// visibleFields lists the exported fields of t, including those of embedded structs.
func visibleFields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == "" && f.Type != timeType
		if f.IsExported() && !embedded {
			fields = append(fields, f)
		}
	}
	return fields
}

func boolTag(f reflect.StructField, name string, otherwise bool) bool {
	switch text := f.Tag.Get(name); text {
	case "":
		return otherwise
	case "true":
		return true
	case "false":
		return false
	default:
		panic(fmt.Sprintf("endpoint: field %s: %s is %q, neither true nor false", f.Name, name, text))
	}
}
