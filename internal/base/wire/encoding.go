package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// ByteOrderMark is what some programs write in front of UTF-8. It is passed over before a JSON text and before lines.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// LooksLike returns what a text that is not UTF-8 looks like, such as UTF-16, or "" if it is UTF-8.
func LooksLike(text []byte) string { return encodingOf(text) }

// encodingOf returns what a text that is not UTF-8 looks like, or "" if it is UTF-8.
func encodingOf(text []byte) string {
	if looks := looksAtBegin(text[:min(len(text), encodingSample)]); looks != "" || utf8.Valid(text) {
		return looks
	}
	return otherBytes
}

const (
	otherBytes     = "Latin-1 or Windows-1252"
	encodingSample = 1 << 10
)

// looksAtBegin recognises UTF-16 and UTF-32 by their first bytes: a byte order mark, or zeros, which JSON never contains. In UTF-16 they
// are half of the bytes of Western letters, in UTF-32 three quarters.
func looksAtBegin(begin []byte) string {
	zeros := bytes.Count(begin, []byte{0})
	starts := func(mark string) bool { return bytes.HasPrefix(begin, []byte(mark)) }
	switch {
	case starts("\xff\xfe\x00\x00"), starts("\x00\x00\xfe\xff"), zeros > len(begin)*3/5:
		return "UTF-32"
	case starts("\xff\xfe"), starts("\xfe\xff"), zeros > 0 && zeros >= len(begin)/3:
		return "UTF-16"
	default:
		return ""
	}
}

// unpairedSurrogate returns the offset of the first escape in a string that is half of a pair, or -1.
func unpairedSurrogate(text []byte) int {
	if !bytes.Contains(text, []byte(`\u`)) {
		return -1
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '\\' && quoted:
			unit, ok := escapedUnit(text[i:])
			switch {
			case !ok:
				i++ // the escaped character
			case unit < 0xd800 || unit > 0xdfff:
				i += 5
			default:
				next, ok := escapedUnit(text[min(i+6, len(text)):])
				if unit > 0xdbff || !ok || next < 0xdc00 || next > 0xdfff {
					return i
				}
				i += 11
			}
		}
	}
	return -1
}

// escapedUnit parses an escape such as \ud83d at the beginning of text.
func escapedUnit(text []byte) (unit uint32, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | uint32(digit)
	}
	return unit, true
}
