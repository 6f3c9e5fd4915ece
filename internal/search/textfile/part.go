package textfile

import (
	"strings"
	"unicode/utf8"
)

// Parts divides a text into parts of at most limit bytes, at the ends of paragraphs, lines, sentences or words where there are some.
func Parts(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		n := partEnd(text, limit)
		parts = append(parts, strings.TrimSpace(text[:n]))
		text = strings.TrimSpace(text[n:])
	}
	if text != "" || len(parts) == 0 {
		parts = append(parts, text)
	}
	return parts
}

// partEnd returns where the first part of a text ends.
func partEnd(text string, limit int) int {
	from := limit / 2
	for _, end := range []string{"\n\n", "\n", ". ", " "} {
		if i := strings.LastIndex(text[from:limit], end); i >= 0 {
			return from + i + len(end)
		}
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}
