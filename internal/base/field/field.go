// Package field holds what clients write against limits that several nouns share. What is wrong is a 400 that names the
// field, and never repeats what was written.
package field

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/problem"
)

// Rules are those of one noun.
type Rules struct {
	MaxTags     int
	MaxTag      int // characters
	MaxMetadata int // entries
	MaxEntry    int // characters of a name, and of a string
	MaxElements int // of a list in metadata; 0: an entry cannot be a list
}

// Tags checks a list of tags.
func (r Rules) Tags(field string, tags []string) error {
	if len(tags) > r.MaxTags {
		return problem.Validation(field, problem.TooLong, fmt.Sprintf("%s must have at most %d items.", field, r.MaxTags))
	}
	for i, tag := range tags {
		name := fmt.Sprintf("%s[%d]", field, i)
		if err := r.String(name, tag, r.MaxTag); err != nil {
			return err
		}
		if Blank(tag) {
			return problem.Validation(name, problem.Required, name+" must not be blank.")
		}
	}
	return nil
}

// Metadata checks names and values: strings, float64 and booleans, or lists ([]any) of these if MaxElements allows them.
func (r Rules) Metadata(metadata map[string]any) error {
	if len(metadata) > r.MaxMetadata {
		return problem.Validation("metadata", problem.TooLong, fmt.Sprintf("metadata must have at most %d entries.", r.MaxMetadata))
	}
	// A name is the client's text: a field holds it, and no message does.
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if Blank(name) {
			return problem.Validation("metadata", problem.Required, "Names in metadata must not be blank.")
		}
		if err := r.String("metadata", name, r.MaxEntry); err != nil {
			return err
		}
		if err := r.entry(metadata[name]); err != nil {
			return inEntry(name, err)
		}
	}
	return nil
}

func (r Rules) entry(value any) error {
	list, ok := value.([]any)
	if !ok || r.MaxElements == 0 {
		return r.scalar(value)
	}
	if len(list) > r.MaxElements {
		return problem.Validation("", problem.TooLong, fmt.Sprintf("An array in metadata must have at most %d elements.", r.MaxElements))
	}
	for _, element := range list {
		if err := r.scalar(element); err != nil {
			return err
		}
	}
	return nil
}

func (r Rules) scalar(value any) error {
	switch value := value.(type) {
	case string:
		return r.String("A string in metadata", value, r.MaxEntry)
	case float64, bool:
		return nil
	default:
		if r.MaxElements > 0 {
			return problem.Validation("", problem.Type, "Values in metadata must be strings, numbers, booleans or arrays of these.")
		}
		return problem.Validation("", problem.Type, "Values in metadata must be strings, numbers or booleans.")
	}
}

// inEntry makes an error about a value in metadata name its entry.
func inEntry(name string, err error) error {
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	const most = 128 // bytes of the name; a longer one is cut
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	of := *p
	of.Details.Field = "metadata." + name
	return &of
}

// String checks a text of at most so many characters.
func (r Rules) String(field, value string, most int) error {
	if len(value) > most && utf8.RuneCountInString(value) > most {
		return problem.Validation(field, problem.TooLong, fmt.Sprintf("%s must have at most %d characters.", field, most))
	}
	return r.Characters(field, value)
}

// Characters refuses what no engine or client handles alike.
func (r Rules) Characters(field, value string) error {
	if strings.IndexByte(value, 0) >= 0 || !utf8.ValidString(value) {
		return problem.Validation(field, problem.Format, field+" must be valid UTF-8 without the character U+0000.")
	}
	return nil
}

// Blank reports whether s is nothing but white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }
