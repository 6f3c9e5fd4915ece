package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold maps spellings that readers consider equal to the same text: upper and lower case, full and half width,
// ligatures, accents of alphabets, curly apostrophes.
func Fold(word string) string {
	if lower, ok := foldASCII(word); ok {
		return lower
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(word) {
		if dropped(r) {
			continue
		}
		if s, ok := spelled[r]; ok {
			b.WriteString(s)
			continue
		}
		// To upper case and back, for letters with several lower-case forms, such as the final sigma.
		b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
	}
	return norm.NFC.String(b.String())
}

// Marked folds a word except its marks: Phở becomes phở.
func Marked(word string) string {
	if lower, ok := foldASCII(word); ok {
		return pointed(lower)
	}
	return pointed(norm.NFC.String(strings.ReplaceAll(strings.ToLower(norm.NFKC.String(word)), "’", "'")))
}

// foldASCII folds an ASCII word. Most need no change.
func foldASCII(word string) (string, bool) {
	if !isASCII(word) {
		return "", false
	}
	return strings.ToLower(word), true
}

func isASCII(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// dropped reports whether search ignores a mark: accents, Hebrew points, Arabic vowels and the tatweel, variation selectors, and
// invisible characters. In other scripts, marks are vowels and count.
func dropped(r rune) bool {
	return r >= 0x0300 && r <= 0x036F || r >= 0x0591 && r <= 0x05C7 || r >= 0x064B && r <= 0x065F ||
		r == 0x0670 || r == 0x0640 || r == 0x00AD || r == 0x200C || r == 0x200D ||
		r >= 0x1AB0 && r <= 0x1AFF || r >= 0x1DC0 && r <= 0x1DFF || r >= 0x20D0 && r <= 0x20FF || r >= 0xFE00 && r <= 0xFE0F || r >= 0xFE20 && r <= 0xFE2F || r >= 0xE0100 && r <= 0xE01EF
}

// spelled contains letters that have no decomposition.
var spelled = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'đ': "d", 'Đ': "d",
	'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ł': "l", 'Ł': "l", 'ħ': "h", 'Ħ': "h", 'ı': "i", '’': "'",
}
