package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
)

// The maximum length of a query, in characters, and the number of words by which a phrase is compared. In scripts without spaces,
// each character counts as a word.
const (
	maxQuery  = 1_024
	maxPhrase = 32
)

// query is a parsed query. A document matches if it contains every phrase of must, none of not and, if must is empty, at
// least one of words.
type query struct {
	words    []text.Token   // bare words, each once
	typed    []typed        // bare words of scripts with spaces, in their order
	must     [][]text.Token // quoted, each once
	not      [][]text.Token // excluded, each once; a word or a phrase
	lastBare bool           // the last of words is the last of the query
	prefix   bool           // the last of words is a prefix
	all      bool           // the query is *, which all documents match
}

// everything is the query that all documents match.
const everything = "*"

// spaced returns a query with blanks for U+0000, which no document contains.
func spaced(q string) string { return strings.ReplaceAll(q, "\x00", " ") }

// checkQuery refuses an invalid query.
func checkQuery(q string) error {
	switch {
	case !utf8.ValidString(q):
		return problem.Validation("q", problem.Format, "q must be valid UTF-8.")
	case strings.TrimSpace(q) == "":
		return problem.Validation("q", problem.Required, "q is required.")
	case utf8.RuneCountInString(q) > maxQuery:
		return problem.Validation("q", problem.TooLong, "q must have at most 1024 characters.")
	}
	return nil
}

// parse parses a query. Its syntax consists of pairs of quotation marks, and of a minus after white space and directly before
// a word or a quoted phrase. Anything else separates words or is part of one. An unpaired quotation mark is ignored. A query of an
// asterisk alone is everything.
func parse(a *text.Analyzer, q string) query {
	parsed := query{all: strings.TrimSpace(q) == everything}
	apart := true
	for q != "" {
		r, size := utf8.DecodeRuneInString(q)
		if unicode.IsSpace(r) {
			q = q[size:]
			continue
		}
		var piece string
		minus, quoted := false, false
		if rest := strings.TrimLeft(q, "-"); rest != q && rest != "" {
			next, _ := utf8.DecodeRuneInString(rest)
			if minus = !unicode.IsSpace(next); minus {
				q = rest
			}
		}
		piece, quoted, q = cutPiece(q)
		tokens := tokensOf(a, piece)
		switch {
		case len(tokens) == 0:
			continue
		case minus:
			parsed.not = addPhrase(parsed.not, firstWords(tokens))
		case quoted:
			parsed.must = addPhrase(parsed.must, firstWords(tokens))
		default:
			parsed.words = addWords(parsed.words, tokens)
			parsed.typed, apart = addTyped(parsed.typed, tokens, apart)
		}
		parsed.lastBare = !minus && !quoted
		apart = apart || !parsed.lastBare
	}
	return parsed
}

// addTyped appends the words of a piece without blanks. apart reports whether the word before them is not a bare word.
func addTyped(words []typed, tokens []text.Token, apart bool) (more []typed, apartFromNext bool) {
	glued := false
	for _, t := range tokens {
		if t.Term == "" || text.Unspaced(t.Word) {
			apart, glued = true, false
			continue
		}
		words = append(words, typed{Token: t, first: apart, glued: glued})
		apart, glued = false, true
	}
	return words, apart
}

// firstWords returns the words that a phrase is compared by. Its first word is always one of them.
func firstWords(tokens []text.Token) []text.Token {
	return withoutLastPair(tokens[:min(len(tokens), maxPhrase)])
}

// cutPiece returns a quoted phrase without its marks, or the text up to white space or a quoted phrase.
func cutPiece(q string) (piece string, quoted bool, rest string) {
	if q[0] == '"' {
		if end := strings.IndexByte(q[1:], '"'); end >= 0 {
			return q[1 : 1+end], true, q[2+end:]
		}
		q = q[1:]
	}
	end := strings.IndexFunc(q, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(q)
	}
	return q[:end], false, q[end:]
}

func tokensOf(a *text.Analyzer, s string) []text.Token {
	var tokens []text.Token
	a.Scan(s, func(t text.Token) bool {
		tokens = append(tokens, t)
		return true
	})
	return withoutLastPair(tokens)
}

// withoutLastPair leaves out the last character of a run, which has no pair: the pair before contains it.
func withoutLastPair(tokens []text.Token) []text.Token {
	if n := len(tokens); n > 1 && tokens[n-1].Term == "" {
		tokens = tokens[:n-1]
	}
	return tokens
}

// addPhrase appends a phrase unless there is one with the same terms.
func addPhrase(phrases [][]text.Token, tokens []text.Token) [][]text.Token {
	same := func(other []text.Token) bool { return slices.EqualFunc(other, tokens, sameWord) }
	if slices.ContainsFunc(phrases, same) {
		return phrases
	}
	return append(phrases, tokens)
}

// addWords appends tokens. A term that is already there moves to the end, because it can be the one that is being typed.
func addWords(words, tokens []text.Token) []text.Token {
	for _, t := range tokens {
		if t.Term == "" {
			continue
		}
		for i := range words {
			if sameWord(words[i], t) {
				words = append(words[:i], words[i+1:]...)
				break
			}
		}
		words = append(words, t)
	}
	return words
}

// sameWord reports whether two words of a query are one. Different marks distinguish them, because they do in Vietnamese documents.
func sameWord(a, b text.Token) bool {
	return a.Term == b.Term && (a.Marked == b.Marked || a.Marked == a.Word || b.Marked == b.Word)
}
