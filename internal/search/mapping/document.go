package mapping

import (
	"fmt"
	"strings"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/document"
)

// Document is the document of a row.
type Document struct {
	ID     string // empty: the row has none
	Fields document.Fields
	// Entries are the entries of metadata in the order of the row, before any was cut or left out.
	Entries []document.Entry
	// Issues count what the document lacks of the row.
	Issues []field.IssueCount
}

// Document makes a document of a row. Its error is a 400 *problem.Problem. table is whether the row is one of a CSV, all of which
// have the columns of the header.
func (m *Mapping) Document(row *wire.Row, table bool) (Document, error) {
	d := Document{}
	leaves := leavesOf(row)
	for _, name := range fields {
		if err := m.setField(&d, name, leaves, table); err != nil {
			return d, err
		}
	}
	return d, m.setMetadata(&d, leaves)
}

// setField sets a field of d, and marks the leaves that it has.
func (m *Mapping) setField(d *Document, name string, leaves []leaf, table bool) error {
	sources, chosen := m.Sources(name)
	lacks := false
	var texts []string
	for _, source := range sources {
		i, nested := named(leaves, source)
		switch {
		case nested && i < 0:
			return problem.Validation(name, problem.Type, name+" must not be an object. Name a value in it, with dots.")
		case i < 0:
			lacks = chosen && !table
			continue
		}
		if name == fieldLanguage && m.Rest != Refuse && !isLanguage(leaves[i].value) {
			continue // the name of a language, or that of an original
		}
		leaves[i].used = true
		if leaves[i].value == nil {
			continue
		}
		if name == fieldTags {
			tags, err := tagsOf(leaves[i].value)
			if err != nil {
				return err
			}
			d.Fields.Tags = tags
			continue
		}
		text, err := textOf(name, leaves[i].value)
		if err != nil {
			return err
		}
		if !field.Blank(text) {
			texts = append(texts, text)
		}
	}
	if lacks {
		d.note(name, problem.Unknown)
	}
	text := strings.Join(texts, "\n\n")
	switch name {
	case fieldID:
		d.ID = text
	case fieldTitle:
		d.Fields.Title = text
	case fieldText:
		d.Fields.Text = text
	case fieldURL:
		d.Fields.URL = text
	case fieldCollection:
		d.Fields.Collection = text
	case fieldLanguage:
		d.Fields.Language = text
	}
	return nil
}

// isLanguage reports whether a value is the code of a language.
func isLanguage(value any) bool {
	code, err := textOf(fieldLanguage, value)
	return err == nil && document.CheckLanguage(code) == nil
}

// note counts an issue of a row that is kept.
func (d *Document) note(name string, issue problem.Issue) {
	for i := range d.Issues {
		if d.Issues[i].Field == name && d.Issues[i].Issue == string(issue) {
			d.Issues[i].Count++
			return
		}
	}
	d.Issues = append(d.Issues, field.IssueCount{Field: name, Issue: string(issue), Count: 1})
}

// textOf returns a value as the text of a field.
func textOf(name string, value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case Cell:
		return string(value), nil
	case wire.Number:
		if name != fieldID {
			return string(value), nil
		}
		if id, ok := wire.IntegerText(string(value)); ok {
			return id, nil
		}
		return "", problem.Validation(name, problem.Type, "id must be a string or an integer.")
	case bool:
		if name != fieldID {
			return fmt.Sprint(value), nil
		}
	case wire.List:
		if name == fieldText && !value.Nested {
			return strings.Join(textsOf(value), "\n"), nil
		}
	}
	return "", problem.Validation(name, problem.Type, name+" must be a string.")
}

// tagsOf returns a list of tags, which can be a text that parts them by |.
func tagsOf(value any) ([]string, error) {
	var tags []string
	switch value := value.(type) {
	case string:
		tags = strings.Split(value, "|")
	case Cell:
		tags = strings.Split(string(value), "|")
	case wire.Number:
		tags = []string{string(value)}
	case wire.List:
		if !value.Nested {
			tags = textsOf(value)
			break
		}
		return nil, errTags
	default:
		return nil, errTags
	}
	kept := []string{}
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			kept = append(kept, tag)
		}
	}
	return kept, nil
}

var errTags = problem.Validation(fieldTags, problem.Type, "tags must be an array of strings, or a string in which they are parted by |.")

// textsOf returns the elements of a list as texts, without null.
func textsOf(list wire.List) []string {
	var texts []string
	for _, element := range list.Scalars {
		switch element := element.(type) {
		case nil:
		case string:
			texts = append(texts, element)
		default:
			texts = append(texts, fmt.Sprint(element))
		}
	}
	return texts
}
