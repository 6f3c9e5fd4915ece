package recall

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/memory/recall/vectors"
	"keepsake/internal/text"
)

// told is what the ranking knows of a text except its words.
type told struct {
	length   int32
	marks    marks
	language text.Language
	traits   traits
	sum      vectors.Sum
}

// addText adds the words of a text to a slot, which must be the last one. The language of a text is that of its own words, so that
// its terms do not depend on other memories.
func (x *Index) addText(slot int32, s string) (t told) {
	var votes text.Votes
	x.tokens = x.tokens[:0]
	x.analyzer.Scan(s, func(token text.Token) bool {
		x.tokens = append(x.tokens, token)
		votes.Add(token.Word)
		return true
	})
	t.language = votes.Language()
	end := 0
	for _, token := range x.tokens {
		t.length++
		first := end == 0 || token.Start > end && endsSentence(s[end:token.Start])
		end = token.End
		term := x.addToken(slot, token, t.language)
		if text.Unspaced(token.Word) {
			t.traits.content = min(t.traits.content+1, maxContent)
			continue
		}
		t.marks |= marksOf(t.language, token.Word, term)
		t.traits.add(t.language, token.Word, s[token.Start:], first)
		if x.vectors && t.language == text.English {
			t.sum.Add(token.Word)
		}
	}
	if clear(x.tokens); cap(x.tokens) > 1024 { // they reference the text, and long texts are rare
		x.tokens = nil
	}
	if end := strings.TrimRightFunc(s, unicode.IsSpace); end != "" {
		switch r, _ := utf8.DecodeLastRuneInString(end); r {
		case '?', '？', '؟':
			t.marks |= asks
		}
	}
	return t
}

// addTag adds the words of a tag to a slot, which must be the last one.
func (x *Index) addTag(slot int32, tag string, l text.Language) {
	x.analyzer.Scan(tag, func(token text.Token) bool {
		x.addToken(slot, token, l)
		return true
	})
}

// addToken adds a word to a slot and returns its term.
func (x *Index) addToken(slot int32, token text.Token, l text.Language) (term string) {
	if text.Unspaced(token.Word) {
		// A script without spaces is indexed by pairs of characters and, for queries of one character, by characters.
		if token.Term != "" && token.Term != token.Word {
			x.count(slot, token.Term)
		}
		term = single(token.Word)
	} else {
		term = termIn(x.analyzer, l, token)
	}
	x.count(slot, term)
	return term
}

// single returns the term of a character of a script without spaces. It differs from pairs, because it counts less.
func single(character string) string { return "\x00" + character }

// count adds one occurrence of a term.
func (x *Index) count(slot int32, term string) {
	i, ok := x.terms[term]
	if !ok {
		i = int32(len(x.words))
		term = strings.Clone(term)
		x.terms[term] = i
		x.words = append(x.words, word{term: term, grams: gramsOf(term)})
		x.texts += stringBytes(term)
	}
	w := &x.words[i]
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

// termIn returns the term of a word in a language.
func termIn(a *text.Analyzer, l text.Language, t text.Token) string {
	if l == text.English || t.Word[0] <= '9' {
		return termOf(t)
	}
	return a.Stem(l, t)
}

// termOf returns the term of a word: its stem, that of its regular form for irregular English words, or the digits of a
// number.
func termOf(t text.Token) string {
	if s, ok := regular[t.Word]; ok {
		return s
	}
	if c := t.Word[0]; c >= '0' && c <= '9' {
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

func marksOf(l text.Language, word, term string) (m marks) {
	if c := term[0]; c >= '0' && c <= '9' {
		m |= hasNumber
		if len(term) == 4 && (strings.HasPrefix(term, "19") || strings.HasPrefix(term, "20")) {
			m |= hasTime
		}
	}
	if lexicons[l].times[word] {
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

// canBeSimilar is a fast test before similarity. It is false only if similarity is below the minimum, except for 4-grams that
// share a bit.
func canBeSimilar(a, b uint64, least float64) bool {
	if a == 0 || b == 0 {
		return false
	}
	return 2*float64(bits.OnesCount64(a&b)) >= least*float64(bits.OnesCount64(a)+bits.OnesCount64(b))
}

func plain(term string) bool {
	for i := range len(term) {
		if term[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
