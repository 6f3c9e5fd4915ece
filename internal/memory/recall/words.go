package recall

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

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
		x.addWord(word{term: term}, gramsOf(term))
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
func (x *Index) addWord(w word, grams uint64) {
	if grams != 0 && irregular(w.term) {
		x.others = append(x.others, spelled{int32(len(x.words)), grams})
		grams = 0
	}
	x.words, x.grams = append(x.words, w), append(x.grams, grams)
	if x.vectors {
		x.meanings = append(x.meanings, meaningOf(w.term))
	}
}

// termIn returns the term of a word in a language. In English, it is the stem, that of the regular form for irregular words, or the
// digits of a number.
func termIn(a *text.Analyzer, l text.Language, t text.Token, known *knowledge) string {
	switch c := t.Word[0]; {
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

// The 4-grams of a word are its sequences of four characters, after a mark of its beginning. gramsOf returns a set of them in
// 64 bits. Words with fewer than minGrams and words with other characters than letters have none.
const (
	gram     = 4
	minGrams = 2
	maxGrams = 32
)

func gramsOf(term string) uint64 {
	var set uint64
	eachGram(term, func(hash uint32) { set |= 1 << (hash % 64) })
	return set
}

// eachGram calls f with a hash of each 4-gram of a term, in order.
func eachGram(term string, f func(uint32)) {
	if text.Unspaced(term) || strings.ContainsFunc(term, unicode.IsNumber) { // names with numbers are not treated as misspelt
		return
	}
	if r, _ := utf8.DecodeRuneInString(term); !unicode.IsLetter(r) {
		return
	}
	var window [gram]rune
	window[gram-1] = '^'
	n, found := 1, 0
	if utf8.RuneCountInString(term)+1 < gram+minGrams-1 {
		return
	}
	for _, r := range term {
		copy(window[:], window[1:])
		window[gram-1] = r
		if n++; n < gram {
			continue
		}
		if found++; found > maxGrams {
			return
		}
		h := uint32(2166136261)
		for _, r := range window {
			h = (h ^ uint32(r)) * 16777619
		}
		h ^= h >> 15
		f(h)
	}
}

// similarity returns how similar the spellings of two terms are, from 0 to 1: twice the number of shared 4-grams divided by
// the number of both. Stemmed words of plain letters are similar only if one contains the other: photo and photograph, but not
// form and farm, and not two invented names of the same pattern.
func similarity(a, b string) float64 {
	if plain(a) && plain(b) && !strings.Contains(a, b) && !strings.Contains(b, a) {
		return 0
	}
	var mine, its [maxGrams]uint32
	n, m := 0, 0
	eachGram(a, func(h uint32) { mine[n] = h; n++ })
	eachGram(b, func(h uint32) { its[m] = h; m++ })
	if n == 0 || m == 0 {
		return 0
	}
	shared := 0
	for _, g := range mine[:n] {
		for j, h := range its[:m] {
			if g == h {
				its[j] = 0
				shared++
				break
			}
		}
	}
	return 2 * float64(shared) / float64(n+m)
}

// canBeSimilar is a fast test before similarity. It is false only if similarity is below the minimum, except for 4-grams that share
// a bit.
func canBeSimilar(a, b uint64) bool {
	return a&b != 0 && 2*float64(bits.OnesCount64(a&b)) >= minSimilarity*float64(bits.OnesCount64(a)+bits.OnesCount64(b))
}

// irregular reports whether canContain cannot judge a term: it has other characters than plain letters, or more 4-grams than count.
func irregular(term string) bool { return !plain(term) || len(term) > maxGrams+gram-2 }

// canContain is a fast test before similarity of two words that are not irregular: such words are similar only if one contains the
// other. If b contains a, it has all 4-grams of a but the one at the beginning; and the other way round. It is false only if
// neither word contains the other.
func canContain(a, innerOfA, b uint64) bool {
	more := b &^ a
	return innerOfA&^b == 0 || more&(more-1) == 0 && b != 0
}

// innerGramsOf returns the 4-grams of a term but the one at its beginning.
func innerGramsOf(term string) (set uint64) {
	first := true
	eachGram(term, func(hash uint32) {
		if !first {
			set |= 1 << (hash % 64)
		}
		first = false
	})
	return set
}

func plain(term string) bool {
	for i := range len(term) {
		if term[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
