package index

// Document is what an index needs of a document.
type Document struct {
	Title     string
	Text      string
	Keys      []string // terms of its collection, tags and metadata
	UpdatedAt int64    // microseconds
}

// Change is the latest change of a document.
type Change struct {
	Number   int64
	ID       string    // at most 255 bytes
	Document *Document // nil: deleted
}
