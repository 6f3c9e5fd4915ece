package mapping

import (
	"net/url"
	"strings"
	"unicode"

	"keepsake/internal/base/field"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/document"
)

// The names that people use for fields, without what is no letter or digit, the best first.
var (
	idNames    = []string{"id", "uuid", "guid", "sku", "asin", "isbn13", "isbn", "imdbid", "identifier", "key", "slug"}
	titleNames = []string{
		"title", "name", "headline", "subject", "label", "heading", "productname", "producttitle", "displayname", "fullname", "namecommon",
		"movie", "film", "movietitle", "book", "question",
	}
	textNames = []string{
		"text", "body", "content", "contents", "description", "overview", "plot", "plotsummary", "summary", "abstract", "synopsis", "extract",
		"excerpt", "message", "notes", "releasenotes", "answer", "details", "about", "biography", "bio", "comment", "review",
	}
	tagNames = []string{"tags", "keywords", "labels", "genres", "categories", "topics", "genre"}
	urlNames = []string{"url", "link", "href", "permalink", "htmlurl", "website", "homepage", "uri"}
)

// maxTexts is how many values a guess joins to a text.
const maxTexts = 4

// column is what a sample has under a name.
type column struct {
	name   string
	folded string
	values []any
}

// Guess returns the mapping that rows seem to need, from a sample of them. What fixed already names stays. plain is whether the rows have
// the form of documents and need none.
func Guess(sample []wire.Row, fixed Mapping) (m Mapping, plain bool) {
	m = fixed
	columns := columnsOf(sample)
	if fixed.Rest == "" && isDocuments(columns, fixed) {
		m.Rest = Refuse
		return m, true
	}
	if m.Rest == "" {
		m.Rest = Metadata
	}
	g := guess{columns: columns, rows: len(sample), taken: map[string]bool{}}
	for _, name := range fields {
		if names, chosen := fixed.Sources(name); chosen {
			for _, n := range names {
				g.taken[n] = true
			}
		}
	}
	if m.ID == "" {
		m.ID = g.first(idNames, g.identifies)
	}
	if m.Title == "" {
		m.Title = g.first(titleNames, isTitle)
	}
	if len(m.Text) == 0 {
		m.Text = g.texts()
	}
	if m.Title == "" {
		m.Title = g.shortText()
	}
	if m.URL == "" {
		m.URL = g.first(urlNames, isURL)
	}
	if m.Tags == "" {
		m.Tags = g.first(tagNames, isTags)
	}
	return m, false
}

// columnsOf returns the values of a sample by name, in the order in which the names occur.
func columnsOf(sample []wire.Row) []*column {
	var list []*column
	byName := map[string]*column{}
	for i := range sample {
		for _, l := range leavesOf(&sample[i]) {
			c := byName[l.name]
			if c == nil {
				if len(list) == 2_000 {
					continue // more than a document can have anyway
				}
				c = &column{name: l.name, folded: folded(l.name)}
				byName[l.name] = c
				list = append(list, c)
			}
			if l.value != nil && l.value != "" {
				c.values = append(c.values, l.value)
			}
		}
	}
	return list
}

// folded returns the letters and digits of a name in lower case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// isDocuments reports whether rows have the form of documents.
func isDocuments(columns []*column, fixed Mapping) bool {
	fixed.Rest = Refuse
	if !fixed.Plain() {
		return false
	}
	filled := false
	for _, c := range columns {
		if strings.HasPrefix(c.name, ownEntries) {
			continue
		}
		known := false
		for _, name := range fields {
			known = known || c.name == name
		}
		if !known {
			return false
		}
		filled = filled || c.name == fieldTitle || c.name == fieldText
		if c.name == fieldTitle || c.name == fieldText {
			for _, value := range c.values {
				switch value.(type) {
				case string, Cell:
				default:
					return false
				}
			}
		}
	}
	return filled
}

type guess struct {
	columns []*column
	rows    int
	taken   map[string]bool
}

// first returns the column with the best of names that fits, and takes it; "" if there is none.
func (g *guess) first(names []string, fits func(c *column) bool) string {
	for _, name := range names {
		for _, c := range g.columns {
			if c.folded == name && !g.taken[c.name] && len(c.values) > 0 && fits(c) {
				g.taken[c.name] = true
				return c.name
			}
		}
	}
	return ""
}

// identifies reports whether each row of the sample has an ID of its own in a column.
func (g *guess) identifies(c *column) bool {
	seen := map[string]bool{}
	for _, value := range c.values {
		id, err := textOf(fieldID, value)
		if err != nil || !document.ValidID(id) || seen[id] {
			return false
		}
		seen[id] = true
	}
	return len(c.values) == g.rows
}

func isTitle(c *column) bool {
	for _, value := range c.values {
		title, err := textOf(fieldTitle, value)
		if err != nil || len(title) > document.MaxTitle {
			return false
		}
	}
	return true
}

// texts returns the columns with the names of texts. If there is none, it returns the longest texts of the sample.
func (g *guess) texts() []string {
	var texts []string
	for len(texts) < maxTexts {
		name := g.first(textNames, isText)
		if name == "" || strings.Contains(name, ",") {
			break
		}
		texts = append(texts, name)
	}
	if len(texts) > 0 {
		return texts
	}
	longest, size := "", 60 // a shorter text is no text
	for _, c := range g.columns {
		if n := c.length(); !g.taken[c.name] && !strings.Contains(c.name, ",") && !isURL(c) && n > size {
			longest, size = c.name, n
		}
	}
	if longest == "" {
		return nil
	}
	g.taken[longest] = true
	return []string{longest}
}

// length is the mean length of the texts of a column.
func (c *column) length() int {
	total := 0
	for _, value := range c.values {
		switch value := value.(type) {
		case string:
			total += len(value)
		case Cell:
			total += len(value)
		default:
			return 0
		}
	}
	return total / max(1, len(c.values))
}

func isText(c *column) bool {
	for _, value := range c.values {
		if _, err := textOf(fieldText, value); err != nil {
			return false
		}
	}
	return true
}

// shortText returns the first column of short texts.
func (g *guess) shortText() string {
	for _, c := range g.columns {
		n := c.length()
		_, number := cellOf(textOfFirst(c)).(float64)
		if !g.taken[c.name] && n > 0 && n <= 200 && !number && isTitle(c) && !isURL(c) {
			g.taken[c.name] = true
			return c.name
		}
	}
	return ""
}

func textOfFirst(c *column) string {
	if len(c.values) == 0 {
		return ""
	}
	text, _ := textOf(fieldTitle, c.values[0])
	return text
}

func isURL(c *column) bool {
	for _, value := range c.values {
		text, err := textOf(fieldURL, value)
		if err != nil || len(text) > document.MaxURL {
			return false
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return false
		}
	}
	return len(c.values) > 0
}

// isTags reports whether all values are lists of tags: arrays, or texts that part them by |.
func isTags(c *column) bool {
	parted := false
	for _, value := range c.values {
		tags, err := tagsOf(value)
		if err != nil || len(tags) > document.MaxTags {
			return false
		}
		for _, tag := range tags {
			if len(tag) > document.MaxTag || field.Blank(tag) {
				return false
			}
		}
		_, list := value.(wire.List)
		parted = parted || list || len(tags) > 1 || c.folded == fieldTags
	}
	return parted
}
