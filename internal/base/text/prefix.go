package text

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Prefix returns a prefix of s that fits, without white space at its end. It ends where a sentence ends, if one ends in the second
// half of what fits, else at the end of the last word that fits, and inside a word only if no word fits. It never ends inside a
// character as readers see it. fits must hold for every prefix of a text for which it holds. The result is empty if not even the
// first character fits.
func Prefix(s string, fits func(prefix string) bool) string {
	room := longest(s, fits)
	if room == len(s) {
		return strings.TrimRightFunc(s, unicode.IsSpace)
	}
	var sentence, word, part, character int // where the last one ends that fits
	state, rest := -1, s
	for at := 0; at < room; {
		var cluster string
		var bounds int
		cluster, rest, bounds, state = uniseg.StepString(rest, state)
		if at += len(cluster); at > room {
			break
		}
		if first, _ := utf8.DecodeRuneInString(cluster); unicode.IsSpace(first) {
			if bounds&uniseg.MaskSentence != 0 {
				sentence = at
			}
			continue
		}
		character = at
		next, _ := utf8.DecodeRuneInString(rest)
		switch breaks := bounds&uniseg.MaskLine != uniseg.LineDontBreak; {
		case unicode.IsSpace(next), breaks && (Unspaced(cluster) || Unspaced(rest)):
			word = at
		case breaks:
			part = at
		}
		if bounds&uniseg.MaskSentence != 0 {
			sentence = at
		}
	}
	end := character
	for _, at := range []int{part, word} {
		if at > 0 {
			end = at
		}
	}
	if 2*sentence >= end {
		end = max(sentence, 0)
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace)
}

// longest returns the length of the longest prefix of s that fits and ends between two code points.
func longest(s string, fits func(prefix string) bool) int {
	start := func(i int) int {
		for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
			i--
		}
		return i
	}
	n := sort.Search(len(s)+1, func(i int) bool { return !fits(s[:start(i)]) })
	return start(max(n-1, 0))
}
