package endpoint

import (
	"strconv"
	"strings"

	"keepsake/internal/problem"
)

// IfMatch is the header of a conditional write, a field `header:"If-Match"` of an operation's input: `"3"` or `*`.
type IfMatch struct {
	Sent bool // false: the write is unconditional
	Any  bool // `*`: whatever revision, but there must be one

	revision int64 // -1 for an entity tag that is none of ours, which matches nothing
}

// Revision the stored resource must have; nil where none is named.
func (m IfMatch) Revision() *int64 {
	if !m.Sent || m.Any {
		return nil
	}
	return &m.revision
}

var errIfMatch = problem.Validation("", problem.Format, `one entity tag is expected, such as "3", or *.`)

// UnmarshalText reads the header. A weak tag never matches (RFC 9110, 13.1.1).
func (m *IfMatch) UnmarshalText(text []byte) error {
	tag := strings.TrimSpace(string(text))
	if tag == "*" {
		*m = IfMatch{Sent: true, Any: true}
		return nil
	}
	opaque, weak := strings.CutPrefix(tag, "W/")
	if len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' || strings.Contains(opaque[1:len(opaque)-1], `"`) {
		return errIfMatch
	}
	*m = IfMatch{Sent: true, revision: -1}
	if revision, err := strconv.ParseInt(opaque[1:len(opaque)-1], 10, 64); err == nil && !weak && ETag(revision) == opaque {
		m.revision = revision
	}
	return nil
}

// ETag is the entity tag of a revision, for a field `header:"ETag"` of an answer.
func ETag(revision int64) string {
	return `"` + strconv.FormatInt(revision, 10) + `"`
}

// Unchanged reports whether an If-None-Match header names etag: a GET then answers 304 without a body.
func Unchanged(ifNoneMatch, etag string) bool {
	if ifNoneMatch == "" || etag == "" {
		return false
	}
	for tag := range strings.SplitSeq(ifNoneMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}
