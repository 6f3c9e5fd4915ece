package recall

import (
	"strings"

	"keepsake/internal/base/text"
)

// single returns the term of a character of a script without spaces. It differs from pairs, because it counts less.
func single(character string) string { return "\x00" + character }

// wordOf returns the number of a term, which it adds to the vocabulary if it is new.
func (x *Index) wordOf(term string) int32 {
	i, ok := x.terms[term]
	if !ok {
		i = int32(len(x.words))
		term = strings.Clone(term)
		x.terms[term] = i
		x.addWord(word{term: term})
		x.texts += stringBytes(term)
	}
	return i
}

// count adds one occurrence of a word.
func (x *Index) count(slot, number int32) {
	w := &x.words[number]
	if n := len(w.postings); n > 0 && w.postings[n-1].slot() == slot {
		if w.postings[n-1].times() < maxTimes {
			w.postings[n-1]++
		}
		return
	}
	before := cap(w.postings)
	w.postings = append(w.postings, posting(slot)<<timesBits|1)
	x.lists += int64(4 * (cap(w.postings) - before))
}

// addWord adds a word to the vocabulary.
func (x *Index) addWord(w word) {
	x.words = append(x.words, w)
	if x.table != nil {
		x.meanings = append(x.meanings, meaningOf(x.table, w.term))
	}
}

// toned returns the term of a Vietnamese word with its marks, which distinguish words, and toneless the one without them, by which a
// query without marks finds it. Both differ from the terms of other languages.
func toned(marked string) string  { return "\x01" + marked }
func toneless(word string) string { return "\x02" + word }

// termIn returns the term of a word in a language. In English, it is the stem, that of the regular form for irregular words, or the
// digits of a number. In Vietnamese, it has the marks of the word, unless they are unknown: t.Marked is empty.
func termIn(a *text.Analyzer, l text.Language, t text.Token, known *knowledge) string {
	switch c := t.Word[0]; {
	case l == text.Vietnamese && text.Inflected(t.Word):
		if t.Marked == "" {
			return toneless(t.Word)
		}
		return toned(t.Marked)
	case l != text.English && c > '9':
		return a.Stem(l, t)
	case known.regular != "":
		return known.regular
	case c >= '0' && c <= '9':
		return cardinal(t.Word)
	}
	return t.Term
}

// cardinal returns 7 for 7th.
func cardinal(word string) string {
	digits := strings.TrimRight(word, "stndrh")
	switch word[len(digits):] {
	case "st", "nd", "rd", "th":
		return digits
	}
	return word
}

func marksOf(l text.Language, known *knowledge, term string) (m marks) {
	if c := term[0]; c >= '0' && c <= '9' {
		m |= hasNumber
		if len(term) == 4 && (strings.HasPrefix(term, "19") || strings.HasPrefix(term, "20")) {
			m |= hasTime
		}
	}
	if known.times.Has(l) {
		m |= hasTime
	}
	return m
}
