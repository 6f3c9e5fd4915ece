// Package mapping makes documents of other people's rows: of JSON objects of any form, and of the rows of a CSV
// (docs/spec/documents.md).
//
// Read mapping.go (what a client says about rows), leaf.go (the values of a row), document.go (rows to documents) and entry.go
// (metadata).
package mapping

import (
	"fmt"
	"slices"

	"keepsake/internal/base/problem"
)

// Rest says what becomes of the values that are no field of a document.
type Rest string

// The choices.
const (
	Refuse   Rest = "refuse"   // the row is refused
	Drop     Rest = "drop"     // they are left out
	Metadata Rest = "metadata" // they become metadata
)

// Mapping says which values of a row become which fields. An empty name stands for the field's own name.
type Mapping struct {
	ID         string
	Title      string
	Text       []string // joined by blank lines
	Tags       string
	URL        string
	Collection string
	Rest       Rest
}

// Plain reports whether rows already have the form of documents.
func (m *Mapping) Plain() bool {
	return m.ID == "" && m.Title == "" && len(m.Text) == 0 && m.Tags == "" && m.URL == "" && m.Collection == "" && m.Rest == Refuse
}

// The fields of a document that a row can have.
const (
	fieldID         = "id"
	fieldTitle      = "title"
	fieldText       = "text"
	fieldTags       = "tags"
	fieldURL        = "url"
	fieldCollection = "collection"
	fieldLanguage   = "language"
	fieldMetadata   = "metadata"
)

// fields are those that name a source, in the order in which they are read.
var fields = []string{fieldID, fieldTitle, fieldText, fieldTags, fieldURL, fieldCollection, fieldLanguage}

// Sources returns the names of the values that become a field, and whether the client chose them.
func (m *Mapping) Sources(field string) (names []string, chosen bool) {
	name := ""
	switch field {
	case fieldID:
		name = m.ID
	case fieldTitle:
		name = m.Title
	case fieldText:
		if len(m.Text) > 0 {
			return m.Text, true
		}
	case fieldTags:
		name = m.Tags
	case fieldURL:
		name = m.URL
	case fieldCollection:
		name = m.Collection
	}
	if name == "" {
		return []string{field}, false
	}
	return []string{name}, true
}

// CheckColumns refuses a mapping that names a column which a table lacks. The error is a 400 that names the parameter.
func (m *Mapping) CheckColumns(columns []string) error {
	for _, field := range fields {
		names, chosen := m.Sources(field)
		if !chosen {
			continue
		}
		for _, name := range names {
			if !slices.Contains(columns, name) {
				return problem.Validation(field, problem.Unknown, fmt.Sprintf("The table has no column %q.", name)+problem.Meant(name, columns))
			}
		}
	}
	return nil
}
