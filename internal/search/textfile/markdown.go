package textfile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"keepsake/internal/search/document"
)

// readMarkdown reads Markdown, which stays as it is. Its front matter becomes title, tags, URL and metadata. Without a title in it, the
// first heading is the title.
func readMarkdown(_ context.Context, path string) (File, error) {
	text, err := readText(path)
	if err != nil {
		return File{}, err
	}
	f := File{Text: text}
	if front, rest, ok := frontMatter(text); ok {
		f.Text = rest
		f.take(front)
	}
	if f.Title == "" {
		f.Title = heading(f.Text)
	}
	return f, nil
}

// frontMatter returns the YAML between lines of three hyphens at the beginning of a text, and the text after it.
func frontMatter(text string) (front, rest string, ok bool) {
	const longest = 64 << 10
	inner, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false
	}
	front, rest, ok = strings.Cut(inner, "\n---")
	line, rest, _ := strings.Cut(rest, "\n")
	if !ok || len(front) > longest || strings.TrimSpace(line) != "" {
		return "", text, false
	}
	return front, rest, true
}

// take sets the fields of front matter. What cannot be read stays out.
func (f *File) take(front string) {
	var values map[string]any
	if yaml.Unmarshal([]byte(front), &values) != nil {
		return
	}
	f.Metadata = map[string]any{}
	for name, value := range values {
		switch value = plainValue(value); {
		case value == nil || name == "" || len(name) > document.MaxEntry:
		case strings.EqualFold(name, "title"):
			f.Title = fmt.Sprint(value)
		case strings.EqualFold(name, "tags"), strings.EqualFold(name, "keywords"):
			f.Tags = append(f.Tags, tagsOf(value)...)
		case strings.EqualFold(name, "url") && strings.HasPrefix(fmt.Sprint(value), "http"):
			f.URL = fmt.Sprint(value)
		case len(f.Metadata) < document.MaxMetadata-8: // some are needed for what is known of the file
			f.Metadata[name] = value
		}
	}
	f.Tags = f.Tags[:min(len(f.Tags), document.MaxTags)]
}

// plainValue returns a value of YAML as one of metadata; nil if it is none.
func plainValue(value any) any {
	switch value := value.(type) {
	case string:
		return shortened(value)
	case bool, float64:
		return value
	case int:
		return float64(value)
	case time.Time:
		if value.Equal(value.Truncate(24 * time.Hour)) {
			return value.Format(time.DateOnly)
		}
		return value.Format(time.RFC3339)
	case []any:
		list := []any{}
		for _, element := range value[:min(len(value), document.MaxElements)] {
			element = plainValue(element)
			if _, nested := element.([]any); nested || element == nil {
				return nil
			}
			list = append(list, element)
		}
		return list
	default:
		return nil
	}
}

func shortened(text string) string {
	if len(text) > document.MaxEntry {
		return strings.ToValidUTF8(text[:document.MaxEntry], "")
	}
	return text
}

// tagsOf returns the tags of a list, or of a text with commas.
func tagsOf(value any) []string {
	list, ok := value.([]any)
	if !ok {
		for tag := range strings.SplitSeq(fmt.Sprint(value), ",") {
			list = append(list, tag)
		}
	}
	var tags []string
	for _, element := range list {
		if tag := strings.TrimSpace(fmt.Sprint(element)); tag != "" && len(tag) <= document.MaxTag {
			tags = append(tags, tag)
		}
	}
	return tags
}

// heading returns the first heading of Markdown, outside of fenced code.
func heading(text string) string {
	fenced, before := false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "#"):
			title := strings.TrimLeft(line, "#")
			if len(line)-len(title) <= 6 && strings.HasPrefix(title, " ") {
				return strings.TrimSpace(strings.TrimRight(title, "# "))
			}
		case before != "" && len(line) > 1 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""):
			return before
		}
		before = line
	}
	return ""
}
