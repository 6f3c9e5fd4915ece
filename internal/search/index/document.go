package index

import "keepsake/internal/base/text"

// Document is what an index needs of a document.
type Document struct {
	Title     string
	Text      string
	Keys      []string       // terms of its collection, tags and metadata
	UpdatedAt int64          // microseconds
	Language  *text.Language // nil: that of its words
	Fields    []Field        // searched entries of metadata
}

// Field is an entry of metadata whose words can be searched.
type Field struct {
	Name  string
	Texts []string
}

// Change is the latest change of a document.
type Change struct {
	Number   int64
	ID       string    // at most 255 bytes
	Document *Document // nil: deleted
}
