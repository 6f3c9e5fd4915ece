package text

import (
	"unicode"
	"unicode/utf8"
)

// A character, as readers see it, can consist of several code points: a letter with combining marks, a flag, a pictograph with
// a skin tone, or several pictographs with joiners between them. Highlights and snippets do not cut one.

const joiner = '\u200D'

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	return unicode.IsMark(r) || r == joiner || r == '\u200C' || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0020 && r <= 0xE007F
}

// regional reports whether r is half of a flag.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// insideCharacter reports whether s cannot be cut at i.
func insideCharacter(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[i:])
	if next < utf8.RuneSelf {
		return false
	}
	before, size := utf8.DecodeLastRuneInString(s[:i])
	switch {
	case unicode.IsSpace(before):
		return false
	case extends(next):
		return true
	case before == joiner:
		return kindOf(next) == alone
	case regional(next):
		halves := 0
		for regional(before) {
			halves++
			i -= size
			before, size = utf8.DecodeLastRuneInString(s[:i])
		}
		return halves%2 == 1
	}
	return false
}

// characterStart returns the start of the character that s[i:] begins in.
func characterStart(s string, i int) int {
	for insideCharacter(s, i) {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}

// characterEnd returns the end of the character that s[:i] ends in.
func characterEnd(s string, i int) int {
	for insideCharacter(s, i) {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}
