package mapping

import (
	"net/url"
	"slices"
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
	last   string // the same of the part after the last dot
	values []any
}

// Guess returns the mapping that rows seem to need, from a sample of them. What fixed already names stays. plain is whether the rows have
// the form of documents and need none.
func Guess(sample []wire.Row, fixed Mapping) (m Mapping, plain bool) {
	m = fixed
	columns := columnsOf(sample)
	if fixed.Rest == "" && areDocuments(sample, fixed) {
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
				c = &column{name: l.name, folded: folded(l.name), last: folded(l.name[strings.LastIndexByte(l.name, '.')+1:])}
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

// areDocuments reports whether most rows have the form of documents. A row with a misspelled name is then refused, not mapped.
func areDocuments(sample []wire.Row, fixed Mapping) bool {
	fixed.Rest = Refuse
	if !fixed.Plain() || len(sample) == 0 {
		return false
	}
	n, someText := 0, false
	for i := range sample {
		known, text := isDocument(&sample[i])
		if known {
			n++
		}
		someText = someText || text
	}
	return 2*n >= len(sample) && someText
}

// isDocument reports whether all values of a row are fields of a document, and whether it has a title or a text.
func isDocument(row *wire.Row) (known, text bool) {
	for _, l := range leavesOf(row) {
		filled := l.name == fieldTitle || l.name == fieldText
		switch l.value.(type) {
		case string, Cell:
			text = text || filled
		case nil:
		default:
			if filled { // a number as a title
				return false, false
			}
		}
		if l.entry == "" && !slices.Contains(fields, l.name) {
			return false, text
		}
	}
	return true, text
}

type guess struct {
	columns []*column
	rows    int
	taken   map[string]bool
}

// first returns the column with the best of names that fits, and takes it; "" if there is none.
func (g *guess) first(names []string, fits func(c *column) bool) string {
	for _, nested := range []bool{false, true} {
		for _, name := range names {
			for _, c := range g.columns {
				is := c.folded == name || nested && c.last == name
				if is && !g.taken[c.name] && g.common(c) && fits(c) {
					g.taken[c.name] = true
					return c.name
				}
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
	return len(c.values) == g.rows && !strings.Contains(c.name, ".") // that of an object in a row is often another's
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
		if n := c.length(); !g.taken[c.name] && !strings.Contains(c.name, ",") && !isURL(c) && g.common(c) && n > size {
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

// shortText returns the first column of short texts, if possible of names that are not the same in most rows.
func (g *guess) shortText() string {
	for _, fits := range []func(c *column) bool{
		func(c *column) bool { return c.isWords() && c.differs() },
		(*column).isWords,
		func(c *column) bool {
			_, number := cellOf(textOfFirst(c)).(float64)
			return !number && c.differs()
		},
	} {
		for _, c := range g.columns {
			if n := c.length(); !g.taken[c.name] && n > 0 && n <= 200 && g.common(c) && fits(c) && isTitle(c) && !isURL(c) {
				g.taken[c.name] = true
				return c.name
			}
		}
	}
	return ""
}

// common reports whether many rows have a value in a column.
func (g *guess) common(c *column) bool { return 4*len(c.values) >= g.rows }

// isWords reports whether the first value of a column has letters, and is no date or number.
func (c *column) isWords() bool {
	text, letters := textOfFirst(c), 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters > 2 && 2*letters > len([]rune(text))
}

// differs reports whether the values of a column are not mostly the same.
func (c *column) differs() bool {
	seen := map[any]bool{}
	for _, value := range c.values {
		if _, list := value.(wire.List); !list {
			seen[value] = true
		}
	}
	return len(seen) > len(c.values)/3
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
