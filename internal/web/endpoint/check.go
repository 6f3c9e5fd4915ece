package endpoint

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// decode decodes data into v, a pointer to a value of shape s, and checks it.
//
// The decoder leaves a field zero for null and for an absent member. Usually that is enough. Only if the text contains null,
// or if zero and absent would be treated differently, the text is read a second time for its outline.
func (s *shape) decode(data []byte, v reflect.Value) error {
	if err := wire.Decode(data, v.Interface()); err != nil {
		return err
	}
	return s.judge(data, v)
}

// decodeItems is decode for a body with a list of Loose items.
func (s *shape) decodeItems(data []byte, v reflect.Value, items wire.Items) error {
	rest, err := wire.DecodeItems(data, v.Interface(), items)
	if err != nil {
		return err
	}
	return s.judge(rest, v)
}

// judge checks a decoded value. text is only used for its outline, so it need not contain the items of a Loose list.
func (s *shape) judge(text []byte, v reflect.Value) error {
	sent := unknown
	if bytes.Contains(text, []byte("null")) {
		sent = outlineOf(text, s)
	}
	f := s.check(v.Elem(), sent)
	if f == errUnsure {
		f = s.check(v.Elem(), outlineOf(text, s))
	}
	if f != nil {
		return f.problem()
	}
	return nil
}

// errUnsure stops a check that needs the outline.
var errUnsure = new(fault)

// check checks a value that is present.
func (s *shape) check(v reflect.Value, sent *outline) *fault {
	switch s.kind {
	case stringKind:
		return s.rules.checkString(v.String())
	case integerKind:
		return s.rules.checkInteger(v.Int())
	case numberKind:
		return s.rules.checkNumber(v.Float())
	case listKind:
		return s.checkList(v, sent)
	case mapKind:
		return s.checkMap(v, sent)
	case objectKind:
		if sent == null {
			return &fault{issue: problem.Required, says: "is required."} // the body itself
		}
		for i := range s.members {
			m := &s.members[i]
			if f := m.check(m.of(v), sent.member(i)); f != nil {
				return f.in(m.name)
			}
		}
	}
	return nil
}

func (s *shape) checkList(v reflect.Value, sent *outline) *fault {
	if f := s.rules.checkItems(v.Len()); f != nil {
		return f
	}
	if s.item.shape.kind == anyKind {
		return nil
	}
	for i := range v.Len() {
		if f := s.item.check(v.Index(i), sent.item(i)); f != nil {
			return f.in("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func (s *shape) checkMap(v reflect.Value, sent *outline) *fault {
	if f := s.rules.checkProperties(v.Len()); f != nil {
		return f
	}
	if item := s.item.shape.kind; item == scalarKind || item == valueKind || item == anyKind {
		return nil // the decoder has checked them
	}
	for _, key := range v.MapKeys() {
		entry := sent.entry(key.String())
		if entry == null {
			v.SetMapIndex(key, reflect.Value{}) // absent
			continue
		}
		if f := s.item.check(v.MapIndex(key), entry); f != nil {
			return f.in(key.String())
		}
	}
	return nil
}

// check checks a member or an item, which can be missing.
func (m *member) check(v reflect.Value, sent *outline) *fault {
	switch {
	case sent == absent:
		return m.missing()
	case sent == null:
		return m.isNull(v)
	case m.unsupported && (sent != unknown || !m.isEmpty(v)):
		return &fault{issue: problem.Unsupported, says: "is not supported yet."}
	case sent == unknown && m.index != nil && m.isEmpty(v):
		return m.missing()
	}
	switch {
	case m.pointer:
		v = v.Elem()
	case m.optional:
		v = v.FieldByName("Value")
	case sent == unknown && m.index != nil && v.IsZero():
		return m.checkZero(v)
	}
	return m.checkPresent(v, sent)
}

func (m *member) checkPresent(v reflect.Value, sent *outline) *fault {
	if m.required && m.shape.kind == stringKind && blank(v.String()) {
		return m.missing()
	}
	return m.shape.check(v, sent)
}

// checkZero checks a field that is zero, either because zero was sent or because it was omitted.
func (m *member) checkZero(v reflect.Value) *fault {
	if m.required && m.shape.kind == stringKind {
		return m.missing() // blank and absent are treated alike
	}
	if m.required || m.shape.check(v, unknown) != nil {
		return errUnsure
	}
	return nil
}

// isEmpty reports that the member was certainly omitted, given that the text has no null.
func (m *member) isEmpty(v reflect.Value) bool {
	switch {
	case m.optional:
		return !v.FieldByName("Set").Bool()
	case m.pointer:
		return v.IsNil()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}

func (m *member) missing() *fault {
	if !m.required {
		return nil
	}
	return &fault{issue: problem.Required, says: "is required."}
}

// isNull handles null. For an optional member it means that the member is absent (docs/spec/conventions.md), so its field
// becomes what it is then. Only a wire.Optional tells the two apart.
func (m *member) isNull(v reflect.Value) *fault {
	switch {
	case m.required && !m.nullable:
		return m.missing()
	case m.optional && !m.nullable:
		return &fault{issue: problem.Required, says: "must not be null, because it cannot be removed."}
	case !m.nullable: // an item of a list
		return &fault{issue: problem.Type, says: "must not be null."}
	case m.prefilled:
		return m.prefill(v)
	}
	return nil
}

// prefill stores the default in the field of m.
func (m *member) prefill(v reflect.Value) *fault {
	return m.shape.parse(v, m.field.Tag.Get("default"))
}

// in adds a place to the path of a fault. It does nothing while the check is unsure.
func (f *fault) in(name string) *fault {
	switch {
	case f == errUnsure:
	case f.field == "":
		f.field = name
	case f.field[0] == '[':
		f.field = name + f.field
	default:
		f.field = name + "." + f.field
	}
	return f
}

// blank reports whether a text is empty or only white space.
func blank(s string) bool {
	return strings.TrimLeftFunc(s, unicode.IsSpace) == ""
}
