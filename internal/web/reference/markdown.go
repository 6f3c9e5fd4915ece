package reference

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// markdown renders the part of Markdown that the guides use: headings, paragraphs, lists, tables, fenced code, code spans,
// emphasis and links. HTML in a guide is shown as text. TestGuidesRenderAsMarkdown compares it with a complete renderer, which
// would add 630 KB to the program.
type markdown struct {
	out      strings.Builder
	link     func(dest string) string // returns the address of a link; empty: there is no such page
	headings []heading
	ids      map[string]int
}

// heading is a heading of a text.
type heading struct {
	Level    int
	ID, Text string
}

// renderMarkdown returns a text as HTML, with its headings.
func renderMarkdown(text string, link func(dest string) string) (string, []heading) {
	m := &markdown{link: link, ids: map[string]int{}}
	m.blocks(strings.Split(strings.TrimRight(text, "\n"), "\n"), false)
	return m.out.String(), m.headings
}

var (
	headingLine = regexp.MustCompile(`^(#{1,6}) +(.*?)(?: +#*)?$`)
	itemLine    = regexp.MustCompile(`^(?:[-*+]|(\d{1,9})[.)])( +)(.*)$`)
	tableRule   = regexp.MustCompile(`^\|(?: *:?-+:? *\|)+ *$`)
)

// blocks renders lines. In a tight list, paragraphs have no element of their own.
func (m *markdown) blocks(lines []string, tight bool) {
	for i := 0; i < len(lines); {
		line := lines[i]
		switch {
		case strings.TrimSpace(line) == "":
			i++
		case strings.HasPrefix(line, "```"):
			i = m.fence(lines, i)
		case headingLine.MatchString(line):
			m.heading(headingLine.FindStringSubmatch(line))
			i++
		case isTable(lines, i):
			i = m.table(lines, i)
		case itemLine.MatchString(line):
			i = m.list(lines, i)
		default:
			i = m.paragraph(lines, i, tight)
		}
	}
}

func isTable(lines []string, i int) bool {
	return strings.HasPrefix(lines[i], "|") && i+1 < len(lines) && tableRule.MatchString(lines[i+1])
}

// interrupts reports whether a line ends a paragraph before it.
func interrupts(lines []string, i int) bool {
	line := lines[i]
	if item := itemLine.FindStringSubmatch(line); item != nil {
		return item[1] == "" || item[1] == "1"
	}
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```") || headingLine.MatchString(line) || isTable(lines, i)
}

func (m *markdown) paragraph(lines []string, i int, tight bool) int {
	end := i + 1
	for end < len(lines) && !interrupts(lines, end) {
		end++
	}
	text := make([]string, 0, end-i)
	for _, line := range lines[i:end] {
		text = append(text, strings.TrimSpace(line))
	}
	if tight {
		m.inline(strings.Join(text, "\n"))
		return end
	}
	m.out.WriteString("<p>")
	m.inline(strings.Join(text, "\n"))
	m.out.WriteString("</p>\n")
	return end
}

func (m *markdown) fence(lines []string, i int) int {
	m.out.WriteString(`<pre tabindex="0"><code`)
	if language := strings.TrimSpace(lines[i][3:]); language != "" {
		m.out.WriteString(` class="language-` + html.EscapeString(language) + `"`)
	}
	m.out.WriteString(">")
	for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
		m.out.WriteString(escape(lines[i]) + "\n")
	}
	m.out.WriteString("</code></pre>\n")
	return min(i+1, len(lines))
}

func (m *markdown) heading(parts []string) {
	h := heading{Level: len(parts[1]), Text: plainText(parts[2])}
	h.ID = m.headingID(h.Text)
	m.headings = append(m.headings, h)
	tag := "h" + strconv.Itoa(h.Level)
	m.out.WriteString("<" + tag + ` id="` + h.ID + `">`)
	m.inline(parts[2])
	m.out.WriteString("</" + tag + ">\n")
}

// headingID returns the anchor of a heading: its letters and digits in lower case, with hyphens for spaces, as on GitHub.
func (m *markdown) headingID(text string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	slug = strings.Trim(slug, "-")
	if slug == "" {
		slug = "section"
	}
	n := m.ids[slug]
	m.ids[slug]++
	if n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}

// list renders a list. The lines of an item are indented by the width of its marker.
func (m *markdown) list(lines []string, i int) int {
	tag, open := "ul", "<ul>\n"
	if number := itemLine.FindStringSubmatch(lines[i])[1]; number != "" {
		tag, open = "ol", "<ol>\n"
		if number != "1" {
			open = `<ol start="` + number + "\">\n"
		}
	}
	var items [][]string
	loose, blank := false, false
	for ; i < len(lines); i++ {
		line := lines[i]
		item := itemLine.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
			blank = true
			if last := len(items) - 1; last >= 0 {
				items[last] = append(items[last], "")
			}
			continue
		case item != nil && (tag == "ol") == (item[1] != ""):
			loose = loose || blank
			items = append(items, []string{item[3]})
		case strings.HasPrefix(line, "  "):
			loose = loose || blank
			items[len(items)-1] = append(items[len(items)-1], strings.TrimPrefix(strings.TrimPrefix(line, "  "), " "))
		case blank || interrupts(lines, i):
			m.items(tag, open, items, loose)
			return i
		default: // a paragraph of the item that goes on without an indentation
			items[len(items)-1] = append(items[len(items)-1], line)
		}
		blank = false
	}
	m.items(tag, open, items, loose)
	return i
}

func (m *markdown) items(tag, open string, items [][]string, loose bool) {
	m.out.WriteString(open)
	for _, item := range items {
		m.out.WriteString("<li>")
		if loose {
			m.out.WriteString("\n")
		}
		m.blocks(item, !loose)
		m.out.WriteString("</li>\n")
	}
	m.out.WriteString("</" + tag + ">\n")
}

func (m *markdown) table(lines []string, i int) int {
	rule := cells(lines[i+1])
	row := func(tag, line string) {
		m.out.WriteString("<tr>\n")
		of := cells(line)
		for column, align := range rule {
			tag := tag
			if column >= len(of) || of[column] == "" { // an empty cell is no heading
				tag = "td"
			}
			m.out.WriteString("<" + tag)
			if strings.HasSuffix(align, ":") {
				m.out.WriteString(` class="number"`)
			}
			m.out.WriteString(">")
			if column < len(of) {
				m.inline(of[column])
			}
			m.out.WriteString("</" + tag + ">\n")
		}
		m.out.WriteString("</tr>\n")
	}
	m.out.WriteString("<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead>\n")
	row("th", lines[i])
	m.out.WriteString("</thead>\n")
	i += 2
	if i < len(lines) && strings.HasPrefix(lines[i], "|") {
		m.out.WriteString("<tbody>\n")
		for ; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
			row("td", lines[i])
		}
		m.out.WriteString("</tbody>\n")
	}
	m.out.WriteString("</table>\n</div>\n")
	return i
}

// cells splits a row of a table. A `|` in a cell is written `\|`.
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	const bar = "\x00"
	list := strings.Split(strings.ReplaceAll(line, `\|`, bar), "|")
	for i, cell := range list {
		list[i] = strings.TrimSpace(strings.ReplaceAll(cell, bar, "|"))
	}
	return list
}

// escape escapes a text for HTML.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// plainText returns a line without its markup.
func plainText(s string) string {
	m := &markdown{link: func(string) string { return "" }}
	m.inline(s)
	return html.UnescapeString(tag.ReplaceAllString(m.out.String(), ""))
}

var tag = regexp.MustCompile(`<[^>]*>`)

// first returns the first heading of a level.
func first(list []heading, level int) string {
	if i := slices.IndexFunc(list, func(h heading) bool { return h.Level == level }); i >= 0 {
		return list[i].Text
	}
	return ""
}
