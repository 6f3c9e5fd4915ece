package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// This file finds other spellings of numbers and of codes with digits: 20240503 for 2024-05-03, 20000 for 20.000, v2.3.1 for 2.3.1, and an
// IBAN with and without blanks.

const (
	maxCode    = 8  // words of a code
	codeStarts = 3  // of the words of a code that a document can have without those before
	maxPairs   = 16 // words of a query for which it counts whether there is a sign between them
)

// hasDigit reports whether a word is a number or a code.
func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

func isNumber(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
}

// isPointed reports whether a word consists of digits and points between them.
func isPointed(word string) bool {
	return strings.Contains(word, ".") && isNumber(strings.ReplaceAll(word, ".", ""))
}

// isThousands reports whether all groups of digits but the first have three, as in 20 000.
func isThousands(groups []string) bool {
	return len(groups) > 1 && len(groups[0]) < 4 && !strings.HasPrefix(groups[0], "0") &&
		!slices.ContainsFunc(groups, func(g string) bool { return !isNumber(g) }) &&
		!slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 })
}

// thousands returns the groups of a number of at least four digits.
func thousands(number string) (groups []string) {
	for n := len(number); n > 3; n = len(number) {
		first := (n-1)%3 + 1
		groups, number = append(groups, number[:first]), number[first:]
	}
	return append(groups, number)
}

// codesOf returns other spellings of a number or a code.
func codesOf(a *text.Analyzer, word string) (list []index.Phrase) {
	const mostDigits = 12 // of a number with groups
	if !hasDigit(word) {
		return nil
	}
	one := func(word string) { list = append(list, phraseOf([]text.Token{tokenOf(a, word)})) }
	digits := strings.ReplaceAll(word, ".", "")
	switch number := isNumber(word); {
	case isPointed(word):
		groups := strings.Split(word, ".")
		if isThousands(groups) || len(groups) > 2 {
			list = append(list, nextToEachOther(a, groups))
		}
		if isThousands(groups) || len(groups) > 2 && len(digits) >= leastTogether {
			one(digits)
		}
		one("v" + word)
	case strings.HasPrefix(word, "v") && isPointed(word[1:]):
		one(word[1:])
	case number && len(word) > 3 && len(word) <= mostDigits && word[0] != '0':
		groups := thousands(word)
		one(strings.Join(groups, "."))
		list = append(list, nextToEachOther(a, groups))
	}
	if !strings.ContainsFunc(digits, notOfWord) && utf8.RuneCountInString(digits) >= leastTogether {
		list = append(list, compoundOf(digits))
	}
	return list
}

// nextToEachOther returns words as a phrase.
func nextToEachOther(a *text.Analyzer, words []string) index.Phrase {
	tokens := make([]text.Token, len(words))
	for i, word := range words {
		tokens[i] = tokenOf(a, word)
		tokens[i].Pos = i + 1
	}
	return phraseOf(tokens)
}

// compoundOf returns several words as one, which documents have with signs or blanks between them.
func compoundOf(word string) index.Phrase {
	return index.Phrase{{Word: index.Word{Stem: word, Word: word, Form: index.Compound}}}
}

// addCodes adds numbers and codes that were typed as several words.
func (s *spelled) addCodes(a *text.Analyzer, words []typed, numbers map[string]int) {
	for begin := 0; begin < len(words); {
		end := begin + 1
		for end < len(words) && !words[end].first && (words[end].glued || hasDigit(words[end-1].Word) && hasDigit(words[end].Word)) {
			end++
		}
		for start := begin; start < begin+codeStarts && end-start > 1; start++ {
			for _, p := range codesTogether(a, words[start:end]) {
				for _, t := range words[start:end] {
					s.add(numbers[t.Term], p)
				}
			}
		}
		begin = end
	}
}

// codesTogether returns words as one number or code.
func codesTogether(a *text.Analyzer, words []typed) (list []index.Phrase) {
	if len(words) > maxCode || !slices.ContainsFunc(words, func(t typed) bool { return hasDigit(t.Word) }) {
		return nil
	}
	groups := make([]string, len(words))
	glued, numbers := true, true
	for i, t := range words {
		groups[i] = strings.ReplaceAll(t.Word, "'", "")
		glued = glued && (i == 0 || t.glued)
		numbers = numbers && isNumber(t.Word)
	}
	one := func(word string) { list = append(list, phraseOf([]text.Token{tokenOf(a, word)})) }
	joined := strings.Join(groups, "")
	long := utf8.RuneCountInString(joined) >= leastTogether
	if numbers && (isThousands(groups) && !glued || glued && len(groups) > 2) {
		one(strings.Join(groups, "."))
	}
	if long || numbers && isThousands(groups) && !glued {
		one(joined)
	}
	if long {
		list = append(list, compoundOf(joined))
	}
	return list
}

// compoundsOf returns the compounds that a document with the words has if there is a sign between each of them.
func compoundsOf(words []typed) (list []string) {
	const signedWords = 4 // the index has no pairs of longer runs
	joined := ""
	for i := range words {
		joined += strings.ReplaceAll(words[i].Word, "'", "")
		if i > 0 && len(words) <= signedWords && !(hasDigit(words[i-1].Word) && hasDigit(words[i].Word)) {
			list = append(list, pairOf(&words[i-1], &words[i]))
		}
	}
	if n := utf8.RuneCountInString(joined); len(list) == 0 && len(words) <= maxCode && n >= leastTogether && hasDigit(joined) {
		list = append(list, joined)
	}
	return list
}

// blankPairs returns the compounds of neighbours that were typed with a blank.
func blankPairs(words []typed) (list []string) {
	for i := 1; i < min(len(words), maxPairs); i++ {
		if t := &words[i]; !t.first && !t.glued && !(hasDigit(words[i-1].Word) && hasDigit(t.Word)) {
			list = append(list, pairOf(&words[i-1], t))
		}
	}
	return list
}

func pairOf(first, second *typed) string { return strings.ReplaceAll(first.Word+second.Word, "'", "") }
