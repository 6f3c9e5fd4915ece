package reference

import "strings"

// inline renders the markup within a paragraph, a heading or a cell.
func (m *markdown) inline(s string) {
	for len(s) > 0 {
		i := strings.IndexAny(s, "`\\[<*")
		if i < 0 {
			m.out.WriteString(escape(s))
			return
		}
		m.out.WriteString(escape(s[:i]))
		n := m.span(s[i:])
		if n == 0 { // no markup after all
			n = 1
			m.out.WriteString(escape(s[i : i+1]))
		}
		s = s[i+n:]
	}
}

// span renders the markup at the start of s and returns its length; 0 if there is none.
func (m *markdown) span(s string) int {
	switch s[0] {
	case '`':
		return m.code(s)
	case '\\':
		if len(s) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[1]) >= 0 {
			m.out.WriteString(escape(s[1:2]))
			return 2
		}
	case '[':
		return m.anchor(s)
	case '<':
		if end := strings.IndexByte(s, '>'); strings.HasPrefix(s, "<http") && end > 0 && !strings.ContainsAny(s[:end], " \n") {
			m.out.WriteString(`<a href="` + escape(s[1:end]) + `">` + escape(s[1:end]) + "</a>")
			return end + 1
		}
	case '*':
		if strings.HasPrefix(s, "**") {
			return m.emphasis(s, "**", "strong")
		}
		return m.emphasis(s, "*", "em")
	}
	return 0
}

// code renders a code span. One that names a guide is a link to it.
func (m *markdown) code(s string) int {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	end := ticks
	for {
		i := strings.Index(s[end:], s[:ticks])
		if i < 0 {
			m.out.WriteString(s[:ticks])
			return ticks
		}
		end += i
		run := len(s[end:]) - len(strings.TrimLeft(s[end:], "`"))
		if run == ticks {
			break
		}
		end += run
	}
	text := strings.ReplaceAll(s[ticks:end], "\n", " ")
	if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' {
		text = text[1 : len(text)-1]
	}
	code := "<code>" + escape(text) + "</code>"
	if name, ok := strings.CutPrefix(text, "docs/"); ok && strings.HasSuffix(name, ".md") {
		if href := m.link(name); href != "" {
			code = `<a href="` + escape(href) + `">` + code + "</a>"
		}
	}
	m.out.WriteString(code)
	return end + ticks
}

// anchor renders [text](address). If there is no such page, it names the file.
func (m *markdown) anchor(s string) int {
	end := closing(s[1:], "](")
	if end < 0 {
		return 0
	}
	text, rest := s[1:1+end], s[1+end+2:]
	close := strings.IndexByte(rest, ')')
	if close < 0 || strings.ContainsAny(rest[:close], " \n") || strings.Contains(text, "[") {
		return 0
	}
	if href := m.link(rest[:close]); href != "" {
		m.out.WriteString(`<a href="` + escape(href) + `">`)
		m.inline(text)
		m.out.WriteString("</a>")
	} else {
		m.out.WriteString("<code>docs/" + escape(rest[:close]) + "</code>")
	}
	return 1 + end + 2 + close + 1
}

func (m *markdown) emphasis(s, mark, tag string) int {
	n := len(mark)
	end := closing(s[n:], mark)
	if end < 1 || isSpace(s[n]) || isSpace(s[n+end-1]) {
		if n == 2 {
			m.out.WriteString(mark)
			return n
		}
		return 0
	}
	m.out.WriteString("<" + tag + ">")
	m.inline(s[n : n+end])
	m.out.WriteString("</" + tag + ">")
	return n + end + n
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' }

// closing returns the index of a mark outside of code spans, or -1.
func closing(s, mark string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], mark):
			return i
		case s[i] == '\\':
			i++
		case s[i] == '`':
			ticks := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			end := strings.Index(s[i+ticks:], s[i:i+ticks])
			if end < 0 {
				return -1
			}
			i += ticks + end + ticks - 1
		}
	}
	return -1
}
