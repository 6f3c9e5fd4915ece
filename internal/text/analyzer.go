// Package text splits text into the words to search for: in any script, folded and stemmed.
//
// In alphabetic scripts, words are runs of letters and digits. They are folded (case, width, accents), and English
// words are reduced to their stem. In scripts without spaces, the terms are pairs of neighbouring characters.
package text

import (
	"unicode"
	"unicode/utf8"
)

// Token is one word of a text.
type Token struct {
	Term  string // what is searched: the stem, or a pair of characters; empty for the last character of a run of pairs
	Word  string // the folded word; a single character in scripts without spaces
	Start int    // bytes in the text
	End   int
	Pos   int // from 1; adjacent words have consecutive numbers
}

// Analyzer finds the words of texts. It caches the stems of recent words and is safe for concurrent use.
type Analyzer struct {
	forms *formCache
}

// NewAnalyzer creates an Analyzer.
func NewAnalyzer() *Analyzer { return &Analyzer{forms: newFormCache()} }

// Clear clears the cached words, because they must not outlive their texts.
func (a *Analyzer) Clear() { a.forms.clear() }

// maxWord is the max number of bytes of a word that count. Longer words, which no person writes, are equal if these
// bytes are.
const maxWord = 128

// Scan calls yield for every token of s in order, until yield returns false.
func (a *Analyzer) Scan(s string, yield func(Token) bool) {
	pos := 0
	for i := 0; i < len(s); {
		kind, size := kindAt(s, i)
		switch kind {
		case inWord:
			end := wordEnd(s, i+size)
			raw := s[i:min(end, cut(s, i+maxWord))]
			f := a.forms.of(raw)
			pos++
			if f.word != "" && !yield(Token{Term: f.stem, Word: f.word, Start: i, End: end, Pos: pos}) {
				return
			}
			i = end
		case dense:
			end, n, ok := a.scanPairs(s, i, pos, yield)
			if !ok {
				return
			}
			i, pos = end, pos+n
		case alone:
			pos++
			f := s[i : i+size]
			if !yield(Token{Term: f, Word: f, Start: i, End: i + size, Pos: pos}) {
				return
			}
			i += size
		default:
			i += size
		}
	}
}

// scanPairs yields the tokens of a run of a script without spaces: one per character, whose term is the pair that it
// begins.
func (a *Analyzer) scanPairs(s string, start, pos int, yield func(Token) bool) (end, n int, ok bool) {
	first := start
	end = denseEnd(s, start)
	for first < end {
		second := first + clusterSize(s[first:end])
		last := second
		if second < end {
			last = second + clusterSize(s[second:end])
		}
		n++
		t := Token{Start: first, End: last, Pos: pos + n, Word: a.forms.of(s[first:second]).word}
		switch {
		case second < end:
			t.Term = a.forms.of(s[first:last]).word
		case first == start:
			t.Term = t.Word
		}
		if !yield(t) {
			return end, n, false
		}
		first = second
	}
	return end, n, true
}

// clusterSize returns the length of the first character of s including its combining marks.
func clusterSize(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	for size < len(s) {
		r, n := utf8.DecodeRuneInString(s[size:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		size += n
	}
	return size
}

// cut returns the start of the last character of s that begins at or before at.
func cut(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
