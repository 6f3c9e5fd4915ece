package endpoint

import (
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/problem"
	"keepsake/internal/revision"
)

// IfMatch is the header of a conditional write, a field `header:"If-Match"` of an operation's input: `"3"`, a list of
// entity tags, or `*` (RFC 9110, 13.1.1).
type IfMatch struct {
	Sent bool // false: the write is unconditional
	Any  bool // `*`: whatever revision, but there must be one

	revisions revision.Expected // of the tags that are ours
}

// Revisions are those of which the stored resource must have one; nil where none is named.
func (m IfMatch) Revisions() revision.Expected { return m.revisions }

// UnmarshalText reads the header. A weak tag never matches.
func (m *IfMatch) UnmarshalText(text []byte) error {
	tags, err := entityTags(string(text))
	if err != nil {
		return err
	}
	*m = IfMatch{Sent: true, Any: tags.any}
	if !tags.any {
		m.revisions = tags.revisions(false)
	}
	return nil
}

// IfNoneMatch is the header of a PUT that must not replace what it names, a field `header:"If-None-Match"` of an
// operation's input: `*` for any revision, or a list of entity tags (RFC 9110, 13.1.2). The headers of a GET are not read
// by its operation: see Unchanged.
type IfNoneMatch struct {
	Any       bool              // there must be no such resource
	Revisions revision.Expected // the stored resource must have none of these
}

// UnmarshalText reads the header. A weak tag matches as a strong one.
func (m *IfNoneMatch) UnmarshalText(text []byte) error {
	tags, err := entityTags(string(text))
	if err != nil {
		return err
	}
	*m = IfNoneMatch{Any: tags.any, Revisions: tags.revisions(true)}
	return nil
}

// ETag is the entity tag of a revision, for a field `header:"ETag"` of an answer.
func ETag(revision int64) string {
	return `"` + strconv.FormatInt(revision, 10) + `"`
}

// Unchanged reports whether an If-None-Match header names etag: a GET then answers 304 without a body. A header that is
// malformed names nothing.
func Unchanged(ifNoneMatch, etag string) bool {
	if ifNoneMatch == "" || etag == "" {
		return false
	}
	tags, err := entityTags(ifNoneMatch)
	return err == nil && (tags.any || slices.ContainsFunc(tags.list, func(t entityTag) bool { return t.opaque == etag }))
}

// tagList is what If-Match and If-None-Match hold.
type tagList struct {
	any  bool // `*`
	list []entityTag
}

type entityTag struct {
	opaque string // with its quotes
	weak   bool
}

// revisions are those of the tags that we may have given, never nil.
func (l tagList) revisions(weak bool) revision.Expected {
	list := revision.Expected{}
	for _, t := range l.list {
		n, err := strconv.ParseInt(strings.Trim(t.opaque, `"`), 10, 64)
		if err == nil && ETag(n) == t.opaque && (weak || !t.weak) {
			list = append(list, n)
		}
	}
	return list
}

var errEntityTags = problem.Validation("", problem.Format, `entity tags are expected, such as "3" or "3", "4", or *.`)

// entityTags reads `*` or a list of entity tags, whose text may hold commas. A list may have empty elements (RFC 9110,
// 5.6.1), but not nothing else.
func entityTags(text string) (tagList, error) {
	if strings.Trim(text, " \t") == "*" {
		return tagList{any: true}, nil
	}
	var tags tagList
	for rest := text; ; {
		if rest = strings.TrimLeft(rest, " \t,"); rest == "" {
			break
		}
		opaque, weak := strings.CutPrefix(rest, "W/")
		end := closingQuote(opaque)
		if end < 0 {
			return tagList{}, errEntityTags
		}
		tags.list = append(tags.list, entityTag{opaque[:end+1], weak})
		if rest = strings.TrimLeft(opaque[end+1:], " \t"); rest != "" && rest[0] != ',' {
			return tagList{}, errEntityTags
		}
	}
	if tags.list == nil {
		return tagList{}, errEntityTags
	}
	return tags, nil
}

// closingQuote finds the end of the quoted text that s begins with; -1 where it begins with none.
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
