package memory

import (
	"unicode"

	"keepsake/internal/base/text"
)

// Tokens estimates how many tokens a text has for a language model, and rather overestimates. It counts one token for every
// five letters of a run of English letters, every three digits, every two letters of other alphabets, each character of a
// script without spaces, each other sign and each run of line breaks, three for a character outside the Basic Multilingual
// Plane, and none for other white space. The estimate of a text without empty lines is the sum of those of its lines.
func Tokens(s string) int {
	var n, run int
	var last script
	end := func() {
		if per := lettersPerToken[last]; per > 0 {
			n += (run + per - 1) / per
		}
		run = 0
	}
	for i, r := range s {
		kind := scriptOf(s[i:], r)
		if kind != last {
			end()
			last = kind
		}
		run++
		switch kind {
		case sign, dense:
			n++
		case rare:
			n += 3
		}
	}
	end()
	return n
}

// script is a class of characters.
type script uint8

const (
	space script = iota
	english
	digit
	alphabet
	newline
	dense
	sign
	rare
)

// lettersPerToken is set for the scripts that are counted in runs.
var lettersPerToken = [rare + 1]int{english: 5, digit: 3, alphabet: 2, newline: 1 << 30 /* one token for any run */}

func scriptOf(rest string, r rune) script {
	switch {
	case r == '\n':
		return newline
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return english
	case r >= '0' && r <= '9':
		return digit
	case r < 0x80 && r > ' ' && r != 0x7f:
		return sign
	case unicode.IsSpace(r):
		return space
	case r > 0xFFFF:
		return rare
	case text.Unspaced(rest):
		return dense
	case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
		return alphabet
	}
	return sign
}
