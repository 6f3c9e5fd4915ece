package document

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"keepsake/internal/problem"
)

// DefaultCollection is the collection of a document that names none.
const DefaultCollection = "default"

// How much a document may hold.
const (
	MaxCollection = 128     // characters
	MaxTitle      = 1_024   // characters
	MaxText       = 262_144 // bytes
	MaxURL        = 2_048   // characters
	MaxTags       = 32
	MaxTag        = 64    // characters
	MaxMetadata   = 32    // entries
	MaxEntry      = 1_024 // characters of a name, and of a string
)

// Fields is what a client writes of a document.
type Fields struct {
	Collection string // empty: DefaultCollection
	Title      string
	Text       string
	URL        string
	Tags       []string
	Metadata   map[string]any // string, float64 or bool
}

// check holds the fields against the limits. What is wrong is a 400 that names the field.
func (f *Fields) check() error {
	for _, field := range []struct {
		name, value string
		limit       int
	}{{"collection", f.Collection, MaxCollection}, {"title", f.Title, MaxTitle}, {"url", f.URL, MaxURL}} {
		if err := checkString(field.name, field.value, field.limit); err != nil {
			return err
		}
	}
	if len(f.Text) > MaxText {
		return problem.Validation("text", problem.TooLong, fmt.Sprintf("text must have at most %d bytes.", MaxText))
	}
	if err := checkCharacters("text", f.Text); err != nil {
		return err
	}
	if f.Collection != "" && blank(f.Collection) {
		return problem.Validation("collection", problem.Required, "collection must not be blank.")
	}
	if blank(f.Title) && blank(f.Text) {
		return problem.Validation("text", problem.Required, "title or text is required.")
	}
	if f.URL != "" {
		if u, err := url.Parse(f.URL); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
			return problem.Validation("url", problem.Format, "url must be an absolute address.")
		}
	}
	if err := f.checkTags(); err != nil {
		return err
	}
	return f.checkMetadata()
}

func (f *Fields) checkTags() error {
	if len(f.Tags) > MaxTags {
		return problem.Validation("tags", problem.TooLong, fmt.Sprintf("tags must have at most %d items.", MaxTags))
	}
	for i, tag := range f.Tags {
		name := fmt.Sprintf("tags[%d]", i)
		if err := checkString(name, tag, MaxTag); err != nil {
			return err
		}
		if blank(tag) {
			return problem.Validation(name, problem.Required, name+" must not be blank.")
		}
	}
	return nil
}

func (f *Fields) checkMetadata() error {
	if len(f.Metadata) > MaxMetadata {
		return problem.Validation("metadata", problem.TooLong, fmt.Sprintf("metadata must have at most %d entries.", MaxMetadata))
	}
	// A name is the client's text, so a message must not repeat it; only the entry's place would, and maps have none.
	for _, name := range slices.Sorted(maps.Keys(f.Metadata)) {
		if blank(name) {
			return problem.Validation("metadata", problem.Required, "Names in metadata must not be blank.")
		}
		if err := checkString("metadata", name, MaxEntry); err != nil {
			return err
		}
		switch v := f.Metadata[name].(type) {
		case string:
			if err := checkString("metadata", v, MaxEntry); err != nil {
				return err
			}
		case float64, bool:
		default:
			return problem.Validation("metadata", problem.Type, "Values in metadata must be strings, numbers or booleans.")
		}
	}
	return nil
}

func checkString(field, value string, limit int) error {
	if len(value) > limit && utf8.RuneCountInString(value) > limit {
		return problem.Validation(field, problem.TooLong, fmt.Sprintf("%s must have at most %d characters.", field, limit))
	}
	return checkCharacters(field, value)
}

// checkCharacters refuses what not every engine can keep.
func checkCharacters(field, value string) error {
	if strings.IndexByte(value, 0) >= 0 || !utf8.ValidString(value) {
		return problem.Validation(field, problem.Format, field+" must be valid UTF-8 without the character U+0000.")
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// document makes a first revision; a store that finds one keeps its time of creation. Tags given twice count once.
func (f *Fields) document(id string, now time.Time) *Document {
	d := &Document{
		ID: id, Collection: f.Collection, Title: f.Title, Text: f.Text, URL: f.URL,
		Tags: []string{}, Metadata: f.Metadata, CreatedAt: now, UpdatedAt: now,
	}
	if d.Collection == "" {
		d.Collection = DefaultCollection
	}
	for _, tag := range f.Tags {
		if !slices.Contains(d.Tags, tag) {
			d.Tags = append(d.Tags, tag)
		}
	}
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	return d
}

// ValidID reports whether id matches [A-Za-z0-9][A-Za-z0-9._:-]{0,127}.
func ValidID(id string) bool {
	if id == "" || len(id) > 128 || !letterOrDigit(id[0]) {
		return false
	}
	for i := 1; i < len(id); i++ {
		if c := id[i]; !letterOrDigit(c) && c != '.' && c != '_' && c != ':' && c != '-' {
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
