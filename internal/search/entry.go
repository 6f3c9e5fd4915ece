package search

import (
	"slices"
	"strconv"

	"keepsake/internal/base/number"
	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// changesOf returns what the index needs of changes of documents.
func changesOf(changes []document.Change, s *settings) []index.Change {
	list := make([]index.Change, len(changes))
	for i := range changes {
		c := &changes[i]
		list[i] = index.Change{Number: c.Number, ID: c.ID}
		if c.Document != nil {
			list[i].Document = entryOf(c.Document, s.of(c.Document.Collection))
		}
	}
	return list
}

// choose leaves out what is not searched, and adds searched entries of metadata.
func (t *tuning) choose(e *index.Document, d *document.Document) {
	if t.title == 0 {
		e.Title = ""
	}
	if t.text == 0 {
		e.Text = ""
	}
	for _, f := range t.metadata {
		if value, ok := d.Metadata[f.name]; ok {
			e.Fields = append(e.Fields, index.Field{Name: f.name, Texts: textsOf(value)})
		}
	}
}

// textsOf returns a value of metadata as texts.
func textsOf(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case float64:
		return []string{string(number.Append(nil, value))}
	case bool:
		return []string{strconv.FormatBool(value)}
	case []any:
		var all []string
		for _, v := range value {
			all = append(all, textsOf(v)...)
		}
		return all
	default:
		return nil
	}
}

func entryOf(d *document.Document, t *tuning) *index.Document {
	keys := make([]string, 0, 1+len(d.Tags)+len(d.Metadata))
	keys = append(keys, index.Collection(d.Collection))
	for _, tag := range d.Tags {
		keys = append(keys, index.Tag(tag))
	}
	for name, value := range d.Metadata {
		list, ok := value.([]any)
		if !ok {
			keys = append(keys, keyOf(name, value))
			continue
		}
		elements := elementKeys(name, list)
		slices.Sort(elements)
		keys = append(keys, slices.Compact(elements)...) // a facet counts a document once for each value
	}
	e := &index.Document{Title: d.Title, Text: d.Text, Keys: keys, UpdatedAt: d.UpdatedAt.UnixMicro()}
	if l, ok := text.LanguageOf(d.Language); ok {
		e.Language = &l
	} else if t != nil {
		e.Language = t.language
	}
	if t != nil && t.fields {
		t.choose(e, d)
	}
	return e
}

// keyOf returns the term of a string, a number or a boolean in metadata.
func keyOf(name string, value any) string {
	switch value := value.(type) {
	case float64:
		return index.Number(name, value)
	case bool:
		return index.Bool(name, value)
	default:
		text, _ := value.(string)
		return index.Text(name, text)
	}
}

// elementKeys returns the terms of a list in metadata.
func elementKeys(name string, list []any) []string {
	var keys []string
	for _, element := range list {
		keys = append(keys, keyOf(name, element))
		text, ok := element.(string)
		if !ok {
			continue
		}
		equal := document.Compare(name, document.Equal, text)
		if slices.ContainsFunc(list, func(other any) bool {
			_, isText := other.(string)
			return !isText && equal.Matches(map[string]any{name: other})
		}) {
			keys = append(keys, index.TwiceTerm(name, text))
		}
	}
	return keys
}
