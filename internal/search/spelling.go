package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// This file finds other spellings of the words of a query: together, apart, or with an apostrophe. wi-fi and wi fi are wifi, 16 GB is
// 16gb, and AC/DC is acdc. It knows only the query; the index knows which spellings documents have.

const (
	maxTogether   = 3  // words that are written together
	longestWord   = 64 // letters of a word that is written apart
	maxSpelled    = 16 // words of a query, and words without a blank, for which there are other spellings
	leastTogether = 6  // digits of a number that is written together or apart, so that 5/12 is not 512
)

// typed is a bare word of a query, in the order in which it was typed.
type typed struct {
	text.Token
	first bool // what is before it is not a bare word
	glued bool // there is no blank before it
}

// spelled are the other spellings of a query.
type spelled struct {
	others [][]index.Phrase // by the numbers of the query's words
	glued  []index.Glued    // words that were typed without a blank
	blank  []string         // compounds of words that were typed with a blank

	synonyms [][]index.Phrase // of any collection, by the numbers of the query's words
}

// inPlaceOf returns everything that is found in place of a word.
func (s *spelled) inPlaceOf(i int) []index.Phrase {
	if i < len(s.synonyms) {
		return slices.Concat(s.others[i], s.synonyms[i])
	}
	return s.others[i]
}

// spellingsOf returns the other spellings of a query.
func spellingsOf(a *text.Analyzer, q query) spelled {
	s := spelled{others: make([][]index.Phrase, len(q.words))}
	numbers := make(map[string]int, len(q.words))
	for i, t := range q.words {
		numbers[t.Term] = i
		if i < maxSpelled {
			s.others[i] = slices.Concat(apartOf(a, t), codesOf(a, t.Word))
		}
	}
	for i := range q.typed[:min(len(q.typed), maxSpelled)] {
		for n := 2; n <= maxTogether; n++ {
			word, ok := together(q.typed[i:], n)
			if !ok {
				continue
			}
			for _, t := range q.typed[i : i+n] {
				s.add(numbers[t.Term], phraseOf([]text.Token{tokenOf(a, word)}))
			}
		}
	}
	s.addCodes(a, q.typed[:min(len(q.typed), maxSpelled)], numbers)
	s.blank = blankPairs(q.typed)
	for i := 0; i < len(q.typed); {
		n := i + 1
		for n < len(q.typed) && q.typed[n].glued {
			n++
		}
		if n > i+1 && len(s.glued) < maxSpelled {
			s.glued = append(s.glued, index.Glued{Phrase: gluedPhrase(q.typed[i:n]), Compounds: compoundsOf(q.typed[i:n])})
		}
		i = n
	}
	return s
}

func (s *spelled) add(i int, p index.Phrase) {
	same := func(other index.Phrase) bool { // p has one word
		return len(other) == 1 && other[0].Word.Word == p[0].Word.Word && other[0].Form == p[0].Form
	}
	if !slices.ContainsFunc(s.others[i], same) {
		s.others[i] = append(s.others[i], p)
	}
}

// together returns the first n words as one, if they can be written so.
func together(words []typed, n int) (word string, ok bool) {
	if len(words) < n {
		return "", false
	}
	glued, short, digits := true, false, true
	for i, t := range words[:n] {
		part := strings.ReplaceAll(t.Word, "'", "")
		if i > 0 && t.first || strings.ContainsFunc(part, notOfCode) {
			return "", false
		}
		glued = glued && (i == 0 || t.glued)
		short = short || utf8.RuneCountInString(t.Word) == 1
		digits = digits && isNumber(t.Word)
		word += part
	}
	letters := utf8.RuneCountInString(word)
	switch {
	case letters > longestWord, strings.Contains(word, ".") && isPointed(word), digits && letters < leastTogether:
		return "", false
	case glued:
		return word, true
	case n > 2 && !short && !strings.ContainsFunc(word, unicode.IsDigit):
		return "", false
	}
	return word, n > 2 || hasDigit(words[1].Word) || !byChance(words[0].Word, words[1].Word)
}

// byChance reports whether two words are one only by chance, because there is an English stop word: another is not an other. Only a
// short stop word at the end belongs to many words, such as login.
func byChance(first, second string) bool {
	return text.Stopword(first) || text.Stopword(second) && (utf8.RuneCountInString(first) < 3 || len(second) > 3)
}

// apartOf returns a word as several words, or with another apostrophe.
func apartOf(a *text.Analyzer, t text.Token) (list []index.Phrase) {
	runes := []rune(t.Word)
	n := len(runes)
	if n < 2 || n > longestWord || text.Unspaced(t.Word) {
		return nil
	}
	add := func(words ...string) {
		tokens := make([]text.Token, len(words))
		for i, word := range words {
			tokens[i] = tokenOf(a, word)
			tokens[i].Pos = i + 1
		}
		if len(tokens) > 1 || tokens[0].Term != t.Term {
			list = append(list, phraseOf(tokens))
		}
	}
	if before, after, ok := strings.Cut(t.Word, "'"); ok {
		add(before + strings.ReplaceAll(after, "'", ""))
		if utf8.RuneCountInString(after) > 2 && !strings.Contains(after, "'") {
			add(before, after)
		}
		return list
	}
	changes := digitChanges(runes)
	switch digits := isNumber(t.Word); {
	case strings.ContainsFunc(t.Word, notOfCode), isPointed(t.Word):
	case digits && n < leastTogether, len(changes) > maxTogether:
	case digits:
		for i := 3; i <= n-3; i++ {
			add(string(runes[:i]), string(runes[i:]))
		}
	case len(changes) > 0:
		for set := 1; set < 1<<len(changes); set++ {
			var words []string
			begin := 0
			for i, at := range changes {
				if set&(1<<i) != 0 {
					words = append(words, string(runes[begin:at]))
					begin = at
				}
			}
			add(append(words, string(runes[begin:]))...)
		}
	case n > 2:
		add(string(runes[0]) + "'" + string(runes[1:]))
		add(string(runes[:n-1]) + "'" + string(runes[n-1]))
		for i := 1; i < n; i++ {
			if first, second := string(runes[:i]), string(runes[i:]); !byChance(first, second) {
				add(first, second)
			}
		}
	}
	return list
}

// digitChanges returns where digits follow letters, or letters digits.
func digitChanges(word []rune) (list []int) {
	for i := 1; i < len(word); i++ {
		if ofNumber(word[i]) != ofNumber(word[i-1]) {
			list = append(list, i)
		}
	}
	return list
}

// ofNumber reports whether r is a digit or the point between digits.
func ofNumber(r rune) bool { return unicode.IsDigit(r) || r == '.' }

// notOfWord reports whether r is not a letter, part of one, or a digit.
func notOfWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// notOfCode reports whether r is neither part of a word nor the point between digits.
func notOfCode(r rune) bool { return notOfWord(r) && r != '.' }

// tokenOf returns the token of a folded word.
func tokenOf(a *text.Analyzer, word string) text.Token {
	t := a.Token(&text.Spelling{Word: word, Pos: 1})
	t.Word = word // an apostrophe is no letter, but belongs to it
	return t
}

// gluedPhrase returns words that were typed without a blank.
func gluedPhrase(words []typed) index.Phrase {
	var tokens []text.Token
	for i, t := range words[:min(len(words), maxPhrase)] {
		t.Pos = i + 1
		tokens = append(tokens, t.Token)
	}
	return phraseOf(tokens)
}
