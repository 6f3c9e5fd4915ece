package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/problem"
	"keepsake/internal/text"
)

// How long a query may be, in characters, and a phrase of it, in words; in scripts without spaces each character counts as
// a word.
const (
	maxQuery  = 1_024
	maxPhrase = 32
)

// query is what a caller typed, taken apart. A document matches when it has every phrase of must, none of not and,
// where must is empty, at least one of words.
type query struct {
	words  []text.Token   // bare words, each once
	must   [][]text.Token // quoted, each once
	not    [][]text.Token // excluded, each once; a word or a phrase
	prefix bool           // the last of words is typed so far
}

// checkQuery refuses what is no query at all.
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

// parse reads a query. Two things are syntax: a pair of quotation marks, and a minus right before a word or a quoted
// phrase and after white space. Anything else separates words or is part of one; a quotation mark without a second one is
// ignored. The only error is a phrase of too many words, quoted or excluded.
func parse(a *text.Analyzer, q string, prefix bool) (query, error) {
	var parsed query
	lastBare := false
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
		case (minus || quoted) && len(tokens) > maxPhrase:
			return query{}, errLongPhrase
		case minus:
			parsed.not = addPhrase(parsed.not, tokens)
		case quoted:
			parsed.must = addPhrase(parsed.must, tokens)
		default:
			parsed.words = addWords(parsed.words, tokens)
		}
		lastBare = !minus && !quoted
	}
	parsed.prefix = prefix && lastBare
	return parsed, nil
}

var errLongPhrase = problem.Validation("q", problem.TooLong, "A phrase in q must have at most 32 words.")

// cutPiece takes a quoted phrase, without its marks, or what reaches up to white space or a quoted phrase.
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
	// The last character of a run of pairs has no pair of its own; the pair before it says all.
	if n := len(tokens); n > 1 && tokens[n-1].Term == "" {
		tokens = tokens[:n-1]
	}
	return tokens
}

// addPhrase appends a phrase if there is none of the same terms.
func addPhrase(phrases [][]text.Token, tokens []text.Token) [][]text.Token {
	same := func(other []text.Token) bool {
		return slices.EqualFunc(other, tokens, func(a, b text.Token) bool { return a.Term == b.Term })
	}
	if slices.ContainsFunc(phrases, same) {
		return phrases
	}
	return append(phrases, tokens)
}

// addWords appends those tokens whose term is not there yet; one that is moves to the end, because it may be the one
// that is being typed.
func addWords(words, tokens []text.Token) []text.Token {
	for _, t := range tokens {
		if t.Term == "" {
			continue
		}
		for i := range words {
			if words[i].Term == t.Term {
				words = append(words[:i], words[i+1:]...)
				break
			}
		}
		words = append(words, t)
	}
	return words
}
