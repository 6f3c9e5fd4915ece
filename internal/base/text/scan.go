package text

import (
	"unicode"
	"unicode/utf8"
)

// kind is the role of a character in the search for words.
type kind uint8

const (
	between kind = iota // separates words
	inWord              // part of a word
	dense               // of a script that writes without spaces
	alone               // a word by itself: pictographs
)

// denseScripts write without spaces between words.
var denseScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// kindAt classifies the character of s at byte i.
func kindAt(s string, i int) (kind, int) {
	if c := s[i]; c < utf8.RuneSelf {
		if asciiWord(c) {
			return inWord, 1
		}
		return between, 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return kindOf(r), size
}

func kindOf(r rune) kind {
	switch {
	case r == utf8.RuneError:
		return between
	case r < 0x0E00: // no script before Thai is dense
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return inWord
		}
	case unicode.In(r, denseScripts...):
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == '々' || r == 'ー' {
			return dense
		}
		if unicode.IsNumber(r) {
			return inWord
		}
	case r == 'ー' || r == 'ｰ': // the prolonged sound mark belongs to several scripts
		return dense
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return inWord
	case unicode.Is(unicode.So, r):
		return alone
	}
	return between
}

func asciiWord(c byte) bool { return asciiWords[c] }

// asciiWords says which bytes are letters and digits of ASCII.
var asciiWords = func() (list [256]bool) {
	for c := range list {
		list[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return list
}()

// wordEnd returns the end of the word that s[:i] ends in. Marks continue a word. So do an apostrophe between letters
// and a point or comma between digits.
func wordEnd(s string, i int) int {
	for i < len(s) {
		if asciiWord(s[i]) {
			i++
			continue
		}
		if s[i] == ' ' { // most words end here
			return i
		}
		k, size := kindAt(s, i)
		if k != inWord {
			if k == dense {
				return i
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if !unicode.IsMark(r) && !joins(s, i, n, r) {
				return i
			}
			size = n
		}
		i += size
	}
	return i
}

// joins reports whether r, n bytes of s at i, connects its neighbours to one word.
func joins(s string, i, n int, r rune) bool {
	if i == 0 || i+n >= len(s) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	switch r {
	case '\'', '’':
		return unicode.IsLetter(before) && unicode.IsLetter(after) && kindOf(after) == inWord
	case '.', ',':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case '\u00AD', '\u200C', '\u200D': // soft hyphen and joiners are invisible
		return kindOf(after) == inWord
	}
	return false
}

// denseEnd returns the end of a run of dense characters that begins at i.
func denseEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if kindOf(r) != dense && !unicode.IsMark(r) {
			return i
		}
		i += size
	}
	return i
}

// Unspaced reports whether a word is of a script that writes without spaces.
func Unspaced(word string) bool {
	if word == "" {
		return false
	}
	k, _ := kindAt(word, 0)
	return k == dense
}
