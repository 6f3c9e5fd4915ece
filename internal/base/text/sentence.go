package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// sentences calls yield with the beginning and the end in bytes of each sentence of s, without white space around it, until yield
// returns false. Sentences are those of Unicode (UAX 29) with three differences: an abbreviation and a line break within a
// sentence do not end one, and in Thai and Lao, which have no mark for the end of a sentence, a blank does.
func sentences(s string, yield func(start, end int) bool) {
	start, state := 0, -1
	for rest := s; rest != ""; {
		_, rest, state = uniseg.FirstSentenceInString(rest, state)
		end := len(s) - len(rest)
		if rest != "" && (strings.TrimSpace(s[start:end]) == "" || goesOn(s[start:end], rest)) {
			continue
		}
		for start < end {
			next := blankEnd(s, start, end)
			from, to := trimmed(s, start, next)
			if from < to && !yield(from, to) {
				return
			}
			start = next
		}
	}
}

// trimmed returns the range of s[start:end] without white space around it.
func trimmed(s string, start, end int) (from, to int) {
	inner := strings.TrimLeftFunc(s[start:end], unicode.IsSpace)
	from = end - len(inner)
	return from, from + len(strings.TrimRightFunc(inner, unicode.IsSpace))
}

// blankEnd returns the end of the first blank of s[start:end] that is between two letters of Thai or Lao, or end.
func blankEnd(s string, start, end int) int {
	before := rune(0)
	for i := start; i < end; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == ' ' && blankEnds(before) {
			next := i + size
			for next < end && s[next] == ' ' {
				next++
			}
			if after, _ := utf8.DecodeRuneInString(s[next:end]); blankEnds(after) {
				return next
			}
		}
		before = r
		i += size
	}
	return end
}

// blankEnds reports whether r is of a script in which a blank ends a sentence.
func blankEnds(r rune) bool { return r >= 0x0E00 && unicode.In(r, unicode.Thai, unicode.Lao) }

// goesOn reports whether a sentence, which can end with white space, continues with rest.
func goesOn(sentence, rest string) bool {
	text := strings.TrimRightFunc(sentence, unicode.IsSpace)
	next, _ := utf8.DecodeRuneInString(rest)
	last, _ := utf8.DecodeLastRuneInString(text)
	switch breaks := strings.Count(sentence[len(text):], "\n"); {
	case breaks > 1 || breaks == 1 && unicode.IsSpace(next):
		return false // a paragraph ends
	case text == sentence && last < utf8.RuneSelf && kindOf(next) != dense: // within a word, such as an address
		return true
	case last == '.':
		return abbreviated(text)
	case breaks == 0 && unicode.In(last, unicode.Pe, unicode.Pf, unicode.Pi) || last == '"':
		return unicode.IsLower(next) // “Is it open?” she asked.
	case breaks == 1 && !unicode.Is(unicode.Sentence_Terminal, last):
		line := text[strings.LastIndexByte(text, '\n')+1:]
		return unicode.IsLower(next) || unicode.IsLetter(next) && last != ':' && utf8.RuneCountInString(line) >= wrappedLine
	}
	return false
}

// wrappedLine is the length in code points from which a line is probably not a heading or an item of a list.
const wrappedLine = 50

// abbreviated reports whether the point that s ends with belongs to an abbreviation, an initial or a short ordinal number.
func abbreviated(s string) bool {
	word := s
	if space := strings.LastIndexFunc(s, unicode.IsSpace); space >= 0 {
		word = strings.TrimLeftFunc(s[space:], unicode.IsSpace)
	}
	word = strings.TrimLeftFunc(strings.TrimRight(word, "."), unicode.IsPunct)
	if digits := strings.TrimLeft(word, "0123456789"); digits == "" {
		return len(word) > 0 && len(word) <= 2
	}
	if abbreviations[strings.ToLower(word)] {
		return true
	}
	for part := range strings.SplitSeq(word, ".") { // J. S. Bach, e.g., U.S., z.B.
		if r, size := utf8.DecodeRuneInString(part); size != len(part) || !unicode.IsLetter(r) || kindOf(r) == dense {
			return false
		}
	}
	return true
}

// abbreviations are words before whose point a sentence seldom ends.
var abbreviations = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`
		dr mr mrs ms prof st mt ft gen col capt lt sgt rev hon gov sen rep pres supt messrs mme mlle sr sra srta dott sig dipl hr fr frl
		vs cf al viz approx ca circa ed eds vol vols pp fig figs eq eqs sec ch chap op cit resp incl excl
		jan feb mar apr jun jul aug sep sept oct okt nov dec dez
		bzw bspw ggf evtl inkl exkl vgl nr bd tel str geb gest sog usf zzgl abzgl
		ул гл рис стр обл проф`) {
		all[word] = true
	}
	return all
}()
