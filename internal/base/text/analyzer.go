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
	Term   string // what is searched: the stem, or a pair of characters; empty for the last character of a run of pairs
	Word   string // the folded word; a single character in scripts without spaces
	Marked string // the word with its accents and other marks: only case and width are folded
	Start  int    // bytes in the text
	End    int
	Pos    int // from 1; adjacent words have consecutive numbers
}

// Analyzer finds the words of texts. It caches the stems of recent words and is safe for concurrent use.
type Analyzer struct {
	forms *formCache
	stems stems // of other languages than English
}

// NewAnalyzer creates an Analyzer.
func NewAnalyzer() *Analyzer { return &Analyzer{forms: newFormCache()} }

// Clear clears the cached words, because they must not outlive their texts.
func (a *Analyzer) Clear() {
	a.forms.clear()
	for l := range a.stems {
		if cache := a.stems[l].Load(); cache != nil {
			cache.clear()
		}
	}
}

// maxWord is the max number of bytes of a word that count. Longer words, which no person writes, are equal if these
// bytes are.
const maxWord = 128

// Scan calls yield for every token of s in order, until yield returns false.
func (a *Analyzer) Scan(s string, yield func(Token) bool) {
	Split(s, func(sp Spelling) bool {
		t := a.Token(&sp)
		return t.Word == "" || yield(t)
	})
}

// Token returns the token of a spelling. Its Word is empty if nothing is left of it when it is folded.
func (a *Analyzer) Token(sp *Spelling) Token {
	word := a.forms.of(sp.Word)
	term := word
	if sp.Pair != "" {
		term = a.forms.of(sp.Pair)
	}
	t := Token{Term: term.stem, Word: word.word, Marked: word.marked, Start: sp.Start, End: sp.End, Pos: sp.Pos}
	if sp.Last {
		t.Term = ""
	}
	return t
}

// Spelling is one word of a text as it is spelled.
type Spelling struct {
	Word  string // not folded; a single character in scripts without spaces
	Pair  string // in scripts without spaces, the character and the next one; empty for none
	Last  bool   // the last character of a run of pairs, which has no term
	Start int    // bytes in the text
	End   int
	Pos   int // from 1
}

// Split calls yield for every spelling of s in order, until yield returns false. A word can be empty when it is folded.
func Split(s string, yield func(Spelling) bool) {
	pos := 0
	for i := 0; i < len(s); {
		kind, size := kindAt(s, i)
		switch kind {
		case inWord:
			end := wordEnd(s, i+size)
			pos++
			if !yield(Spelling{Word: s[i:min(end, cut(s, i+maxWord))], Start: i, End: end, Pos: pos}) {
				return
			}
			i = end
		case dense:
			end, n, ok := splitPairs(s, i, pos, yield)
			if !ok {
				return
			}
			i, pos = end, pos+n
		case alone:
			end := i + size
			if half, _ := utf8.DecodeRuneInString(s[i:]); regional(half) { // a flag has two
				if other, n := utf8.DecodeRuneInString(s[end:]); regional(other) {
					end += n
				}
			}
			pos++
			if !yield(Spelling{Word: s[i:end], Start: i, End: end, Pos: pos}) {
				return
			}
			i = end
		default:
			i += size
		}
	}
}

// splitPairs yields the spellings of a run of a script without spaces: one per character, with the pair that it begins.
func splitPairs(s string, start, pos int, yield func(Spelling) bool) (end, n int, ok bool) {
	first := start
	end = denseEnd(s, start)
	for first < end {
		second := first + clusterSize(s[first:end])
		sp := Spelling{Word: s[first:second], Start: first, End: second, Pos: pos + n + 1}
		switch {
		case second < end:
			sp.End = second + clusterSize(s[second:end])
			sp.Pair = s[first:sp.End]
		case first > start:
			sp.Last = true
		}
		n++
		if !yield(sp) {
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
