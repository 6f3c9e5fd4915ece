package endpoint

// IfMatch is the header of a conditional write, a field `header:"If-Match"` of an operation's input: `"3"` or `*`.
type IfMatch struct {
	Sent bool // false: the write is unconditional
	Any  bool // `*`: whatever revision, but there must be one
	// revision named; -1 for an entity tag that is none of ours, which matches nothing
	revision int64
}

// Revision the stored resource must have; nil where none is named.
func (m IfMatch) Revision() *int64 {
	if !m.Sent || m.Any {
		return nil
	}
	return &m.revision
}

// ETag is the entity tag of a revision, for a field `header:"ETag"` of an answer.
func ETag(revision int64) string { panic("not yet") }

// Unchanged reports whether an If-None-Match header names etag: a GET then answers 304 without a body.
func Unchanged(ifNoneMatch, etag string) bool { panic("not yet") }
