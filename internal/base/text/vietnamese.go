package text

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Marks that only Vietnamese puts on vowels, alone or on top of another mark.
const (
	tilde = '\u0303'
	hook  = '\u0309'
	horn  = '\u031B'
	below = '\u0323'
)

// isVietnamese reports whether a word in lower case has a letter that only Vietnamese has: đ, ơ, ư, a vowel with the tone mark hook
// above or dot below, ẽ, ĩ, ũ or ỹ, or a vowel with two marks. Few other languages have any of them: among them those of West Africa
// with dots below, and Croatian with a rare đ.
func isVietnamese(word string) bool {
	vowel, marks := false, 0
	var letter rune
	for _, r := range norm.NFD.String(word) {
		switch {
		case r == 'đ':
			return true
		case r < 0x0300 || r > 0x036F:
			letter, vowel, marks = r, strings.ContainsRune("aeiouy", r), 0
			continue
		case !vowel:
			continue
		}
		marks++
		if marks > 1 || r == hook || r == horn || r == below || r == tilde && strings.ContainsRune("eiuy", letter) {
			return true
		}
	}
	return false
}
