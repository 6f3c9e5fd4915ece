package document

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
)

// DefaultCollection is the collection of a document without one.
const DefaultCollection = "default"

// Limits of a document.
const (
	MaxCollection = 128     // characters
	MaxTitle      = 1_024   // characters
	MaxText       = 262_144 // bytes
	MaxURL        = 2_048   // characters
	MaxTags       = 32
	MaxTag        = 64    // characters
	MaxMetadata   = 32    // entries
	MaxEntry      = 1_024 // characters of a name, and of a string
	MaxElements   = 64    // of a list in metadata
)

var rules = field.Rules{MaxTags: MaxTags, MaxTag: MaxTag, MaxMetadata: MaxMetadata, MaxEntry: MaxEntry, MaxElements: MaxElements}

// Fields contains what a client writes of a document.
type Fields struct {
	Collection string // empty: DefaultCollection
	Title      string
	Text       string
	URL        string
	Tags       []string
	Metadata   map[string]any // string, float64, bool, or a list ([]any) of these
	Language   string         // empty: none
}

// check validates the fields. An error names the field.
func (f *Fields) check() error {
	for _, short := range []struct {
		name, value string
		limit       int
	}{{"collection", f.Collection, MaxCollection}, {"title", f.Title, MaxTitle}, {"url", f.URL, MaxURL}} {
		if err := rules.String(short.name, short.value, short.limit); err != nil {
			return err
		}
	}
	if len(f.Text) > MaxText {
		return problem.Validation("text", problem.TooLong, fmt.Sprintf("text must have at most %d bytes.", MaxText))
	}
	if err := rules.Characters("text", f.Text); err != nil {
		return err
	}
	if f.Collection != "" && field.Blank(f.Collection) {
		return problem.Validation("collection", problem.Required, "collection must not be blank.")
	}
	if field.Blank(f.Title) && field.Blank(f.Text) {
		return problem.Validation("text", problem.Required, "title or text is required.")
	}
	if f.URL != "" && !webAddress(f.URL) {
		return problem.Validation("url", problem.Format, "url must be an absolute http or https URL.")
	}
	if err := CheckLanguage(f.Language); err != nil {
		return err
	}
	if err := rules.Tags("tags", f.Tags); err != nil {
		return err
	}
	return rules.Metadata(f.Metadata)
}

// CheckLanguage validates the code of a language, which can be empty.
func CheckLanguage(code string) error {
	if _, ok := text.LanguageOf(code); !ok && code != "" {
		return problem.Validation("language", problem.NotAllowed, "language is not one of the codes that GET /api/v1/languages lists, such as en.")
	}
	return nil
}

// webAddress reports whether address is an absolute http or https URL. Pages show it as a link, so javascript: must not be
// possible.
func webAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// document returns the document to store, without repeated tags. If it exists, the store keeps its time of creation.
func (f *Fields) document(id string, now time.Time) *Document {
	d := &Document{
		ID: id, Collection: f.Collection, Title: f.Title, Text: f.Text, URL: f.URL,
		Tags: []string{}, Metadata: f.Metadata, Language: f.Language, CreatedAt: now, UpdatedAt: now,
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

// ValidID reports whether id matches [A-Za-z0-9_|+=@-][A-Za-z0-9._:@|+=-]{0,127}.
func ValidID(id string) bool {
	if id == "" || len(id) > 128 || id[0] == '.' || id[0] == ':' {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !letterOrDigit(c) && strings.IndexByte("._:@|+=-", c) < 0 {
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
