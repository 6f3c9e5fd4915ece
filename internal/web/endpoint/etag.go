package endpoint

import (
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
)

// IfMatch is the header If-Match of a conditional write: `"3"`, a list of entity tags, or `*` (RFC 9110, 13.1.1).
type IfMatch struct {
	Sent bool // false: the write is unconditional
	Any  bool // `*`: any revision, but the resource must exist

	revisions revision.Expected // of the tags that have our form
}

// Revisions returns the revisions of which the stored resource must have one; nil if the write is unconditional.
func (m IfMatch) Revisions() revision.Expected { return m.revisions }

// UnmarshalText parses the header. W/"3" counts as "3": a proxy that compresses weakens the tags of responses, and a revision
// identifies a resource whatever its encoding.
func (m *IfMatch) UnmarshalText(text []byte) error {
	tags, err := entityTags(string(text))
	if err != nil {
		return err
	}
	*m = IfMatch{Sent: true, Any: tags.any}
	if !tags.any {
		m.revisions = tags.revisions()
	}
	return nil
}

// IfNoneMatch is the header If-None-Match of a PUT that must not replace a resource: `*`, or a list of entity tags (RFC
// 9110, 13.1.2). For a GET, see Unchanged.
type IfNoneMatch struct {
	Any       bool              // there must be no such resource
	Revisions revision.Expected // the stored resource must have none of these
}

// UnmarshalText parses the header. Weak and strong tags match alike.
func (m *IfNoneMatch) UnmarshalText(text []byte) error {
	tags, err := entityTags(string(text))
	if err != nil {
		return err
	}
	*m = IfNoneMatch{Any: tags.any, Revisions: tags.revisions()}
	return nil
}

// ETag returns the entity tag of a revision, for a field `header:"ETag"` of a response.
func ETag(revision int64) string {
	return `"` + strconv.FormatInt(revision, 10) + `"`
}

// Unchanged reports whether an If-None-Match header contains etag, so that a GET returns 304 without a body. A malformed
// header contains nothing.
func Unchanged(ifNoneMatch, etag string) bool {
	if ifNoneMatch == "" || etag == "" {
		return false
	}
	tags, err := entityTags(ifNoneMatch)
	return err == nil && (tags.any || slices.ContainsFunc(tags.list, func(t entityTag) bool { return t.opaque == etag }))
}

// tagList is the content of If-Match or If-None-Match.
type tagList struct {
	any  bool // `*`
	list []entityTag
}

type entityTag struct {
	opaque string // with quotes
}

// revisions returns the revisions of the tags that have our form. It is never nil.
func (l tagList) revisions() revision.Expected {
	list := revision.Expected{}
	for _, t := range l.list {
		n, err := strconv.ParseInt(strings.Trim(t.opaque, `"`), 10, 64)
		if err == nil && ETag(n) == t.opaque {
			list = append(list, n)
		}
	}
	return list
}

var errEntityTags = problem.Validation("", problem.Format, `entity tags are expected, such as "3" or "3", "4", or *.`)

// entityTags parses `*` or a list of entity tags, which can contain commas. A list can have empty elements (RFC 9110,
// 5.6.1), but must have others.
func entityTags(text string) (tagList, error) {
	if strings.Trim(text, " \t") == "*" {
		return tagList{any: true}, nil
	}
	var tags tagList
	for rest := text; ; {
		if rest = strings.TrimLeft(rest, " \t,"); rest == "" {
			break
		}
		opaque := strings.TrimPrefix(rest, "W/")
		end := closingQuote(opaque)
		if end < 0 {
			return tagList{}, errEntityTags
		}
		tags.list = append(tags.list, entityTag{opaque[:end+1]})
		if rest = strings.TrimLeft(opaque[end+1:], " \t"); rest != "" && rest[0] != ',' {
			return tagList{}, errEntityTags
		}
	}
	if tags.list == nil {
		return tagList{}, errEntityTags
	}
	return tags, nil
}

// closingQuote returns the index of the closing quote if s begins with a quoted text, else -1.
func closingQuote(s string) int {
	if s == "" || s[0] != '"' {
		return -1
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i
		case c <= ' ', c == 0x7f:
			return -1
		}
	}
	return -1
}
