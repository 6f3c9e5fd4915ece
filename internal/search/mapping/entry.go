package mapping

import (
	"fmt"
	"unicode/utf8"

	"keepsake/internal/base/number"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/document"
)

// setMetadata makes metadata of the values that no field has.
func (m *Mapping) setMetadata(d *Document, leaves []leaf) error {
	metadata := map[string]any{}
	for i := range leaves {
		l := &leaves[i]
		if l.used || l.value == nil {
			continue
		}
		name := l.entry
		if name == "" {
			switch m.Rest {
			case Drop:
				continue
			case Metadata:
				name = l.name
			default:
				return problem.Validation(shortened(l.name), problem.Unknown, fmt.Sprintf("There is no field %q. With rest=metadata, it becomes metadata.", shortened(l.name)))
			}
		}
		value, err := m.entryOf(l.value)
		if err != nil {
			return inEntry(name, err)
		}
		d.Entries = append(d.Entries, document.Entry{Name: name, Value: value})
		if m.Rest == Metadata {
			if utf8.RuneCountInString(name) > document.MaxEntry || len(metadata) == document.MaxMetadata {
				d.note(fieldMetadata, problem.TooLong)
				continue
			}
			value = d.shorten(entryName(name), value)
		}
		if _, there := metadata[name]; there {
			return problem.Validation(entryName(name), problem.Duplicate, "The row has two values with this name.")
		}
		metadata[name] = value
	}
	if len(metadata) > 0 {
		d.Fields.Metadata = metadata
	}
	return nil
}

// entryOf returns a value as that of an entry: a string, a float64, a bool, or a list of these. The error does not name the entry.
func (m *Mapping) entryOf(value any) (any, *problem.Problem) {
	switch value := value.(type) {
	case Cell:
		return cellOf(string(value)), nil
	case string, bool:
		return value, nil
	case wire.Number:
		if exact, ok := number.Read(string(value)); ok {
			return exact, nil
		}
		return nil, errInexact
	case wire.List:
		if value.Nested && m.Rest == Metadata {
			return value.Text, nil
		}
		if value.Nested {
			return nil, errNested
		}
		list := []any{}
		for _, element := range value.Scalars {
			if element == nil && m.Rest == Metadata {
				continue
			}
			scalar, err := m.entryOf(element)
			if err != nil {
				return nil, err
			}
			list = append(list, scalar)
		}
		return list, nil
	default:
		return nil, errNull
	}
}

var (
	errInexact = problem.Validation("", problem.InvalidVal, "The number cannot be stored in double precision without changing. Send longer numbers as strings.")
	errNested  = problem.Validation("", problem.Type, "An array in metadata must contain strings, numbers and booleans only. With rest=metadata, it is kept as its JSON text.")
	errNull    = problem.Validation("", problem.Type, "An array in metadata must not contain null.")
)

// inEntry makes a problem name its entry.
func inEntry(name string, p *problem.Problem) error {
	return problem.Validation(entryName(name), p.Details.Issue, p.Message)
}

// cellOf returns the value of a cell. It is a number only if it is spelled as JSON spells that number, so that nothing of an
// article number or a telephone number is lost.
func cellOf(cell string) any {
	switch cell {
	case "true":
		return true
	case "false":
		return false
	}
	if bound, ok := number.ReadBound(cell); ok && bound.Exact && string(number.Append(nil, bound.Below)) == cell {
		return bound.Below
	}
	return cell
}

// shorten cuts what is too long of the value of an entry, and counts it.
func (d *Document) shorten(name string, value any) any {
	switch value := value.(type) {
	case string:
		if short := firstCharacters(value, document.MaxEntry); len(short) < len(value) {
			d.note(name, problem.TooLong)
			return short
		}
	case []any:
		short := make([]any, 0, min(len(value), document.MaxElements))
		for i, element := range value {
			if i >= document.MaxElements {
				d.note(name, problem.TooLong)
				continue
			}
			short = append(short, d.shorten(name, element))
		}
		return short
	}
	return value
}

// firstCharacters returns at most n characters of a text.
func firstCharacters(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// entryName is the name of an entry in an error.
func entryName(name string) string { return ownEntries + shortened(name) }

// shortened returns the beginning of a name of the client, as errors contain it.
func shortened(name string) string {
	if short := firstCharacters(name, 100); len(short) < len(name) {
		return short + "…"
	}
	return name
}
