package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// resembled returns the known name that an unknown one was probably meant to be; empty if there is none. Two names resemble each
// other if they differ in at most one letter or in case, or if one is the beginning of the other.
func resembled(name string, known []string) string {
	for _, k := range known {
		if differInOne(strings.ToLower(name), strings.ToLower(k)) {
			return k
		}
	}
	for _, k := range known {
		if begins(name, k) || begins(k, name) && !startsLongerWord(k, name) {
			return k
		}
	}
	return ""
}

// differInOne reports whether a and b are equal after one letter of one of them is inserted, deleted or replaced, or already.
func differInOne(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if i == len(x) {
		return true
	}
	if len(x) == len(y) {
		return string(x[i+1:]) == string(y[i+1:])
	}
	return string(x[i:]) == string(y[i+1:])
}

// begins reports whether whole begins with part, in any case.
func begins(part, whole string) bool {
	return part != "" && len(whole) >= len(part) && strings.EqualFold(part, whole[:len(part)])
}

// startsLongerWord reports whether a known name is only the first letters of a longer word in an unknown one. This matters for
// names of two letters: toDate is probably meant to be the argument to, but toolCallId, which some clients add to every call, is
// not.
func startsLongerWord(known, unknown string) bool {
	next, _ := utf8.DecodeRuneInString(unknown[len(known):])
	return len(known) <= 2 && unicode.IsLower(next)
}
