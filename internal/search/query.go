package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/problem"
	"keepsake/internal/text"
)

// maxQuery is how long a query may be, in characters.
const maxQuery = 1_024

// query is what a caller typed, taken apart. A document matches when it has every phrase of must, none of not and,
// where must is empty, at least one of words.
type query struct {
	words  []text.Token   // bare words, each once
	must   [][]text.Token // quoted
	not    [][]text.Token // excluded; a word or a phrase
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
// phrase and after white space. Anything else separates words or is part of one, so there is nothing that could be an
// error; a quotation mark without a second one is not there.
func parse(a *text.Analyzer, q string, prefix bool) query {
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
		case minus:
			parsed.not = append(parsed.not, tokens)
		case quoted:
			parsed.must = append(parsed.must, tokens)
		default:
			parsed.words = addWords(parsed.words, tokens)
		}
		lastBare = !minus && !quoted
	}
	parsed.prefix = prefix && lastBare
	return parsed
}

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
