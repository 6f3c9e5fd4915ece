package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"keepsake/internal/base/text"
)

// Speakers returns the names of all speakers.
func (x *Index) Speakers() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return append([]string(nil), x.speakers.list...)
}

// Outgoing returns what of a query leaves the program: the sentences that ask, or the whole query if none has a question mark, without
// the names of speakers. The first person stands in the place of a name, because people say "I" of themselves.
func Outgoing(query string, speakers []string) string {
	asking := askingSentences(query)
	parts := map[string]bool{}
	for _, name := range speakers {
		if whole := strings.TrimSpace(name); text.Unspaced(whole) {
			asking = strings.ReplaceAll(asking, whole, "")
		}
		for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
			if word := text.Fold(part); utf8.RuneCountInString(word) > 1 && !text.Stopword(word) {
				parts[word] = true
			}
		}
	}
	var out strings.Builder
	named := false // the last word was a name: "Ada Lovelace" is one person
	for state, rest := -1, asking; rest != ""; {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		bare, possessive := word, false
		for _, ending := range []string{"'s", "’s"} {
			if cut, ok := strings.CutSuffix(word, ending); ok {
				bare, possessive = cut, true
			}
		}
		switch first, _ := utf8.DecodeRuneInString(word); {
		case parts[text.Fold(bare)]:
			if !named {
				out.WriteString(map[bool]string{true: "my", false: "I"}[possessive])
			}
			named = true
		case unicode.IsLetter(first) || unicode.IsNumber(first):
			named = false
			fallthrough
		default:
			out.WriteString(word)
		}
	}
	return strings.TrimSpace(out.String())
}

// askingSentences returns the sentences of a query that end with a question mark, or the query if there are none.
func askingSentences(query string) string {
	var asking strings.Builder
	for state, rest := -1, query; rest != ""; {
		var sentence string
		sentence, rest, state = uniseg.FirstSentenceInString(rest, state)
		end := strings.TrimRightFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’»)]`, r) })
		if last, _ := utf8.DecodeLastRuneInString(end); strings.ContainsRune("?？؟⁇⁈፧\u037e", last) && end != "" {
			asking.WriteString(sentence)
		}
	}
	if asking.Len() == 0 {
		return query
	}
	return asking.String()
}
