package search

import (
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// changesOf returns what the index needs of changes of documents.
func changesOf(changes []document.Change) []index.Change {
	list := make([]index.Change, len(changes))
	for i := range changes {
		c := &changes[i]
		list[i] = index.Change{Number: c.Number, ID: c.ID}
		if c.Document != nil {
			list[i].Document = entryOf(c.Document)
		}
	}
	return list
}

func entryOf(d *document.Document) *index.Document {
	keys := make([]string, 0, 1+len(d.Tags)+len(d.Metadata))
	keys = append(keys, index.Collection(d.Collection))
	for _, tag := range d.Tags {
		keys = append(keys, index.Tag(tag))
	}
	for name, value := range d.Metadata {
		switch value := value.(type) {
		case string:
			keys = append(keys, index.Text(name, value))
		case float64:
			keys = append(keys, index.Number(name, value))
		case bool:
			keys = append(keys, index.Bool(name, value))
		}
	}
	return &index.Document{Title: d.Title, Text: d.Text, Keys: keys, UpdatedAt: d.UpdatedAt.UnixMicro()}
}
