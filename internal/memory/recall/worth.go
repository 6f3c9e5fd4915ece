package recall

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/text"
)

// traits describe a text, whatever is asked. They come from the text alone, so a memory has the same traits in every store.
type traits struct {
	tells   uint8 // words that tell what is the case
	chats   uint8 // words of small talk
	names   uint8
	content uint8 // words that are not stop words
}

// The most of each trait that counts.
const (
	maxSigns   = 30 // tells and chats
	maxNames   = 3
	maxContent = 20
)

// logarithms contains ln(1+n).
var logarithms = func() (list [maxSigns + 1]float64) {
	for n := range list {
		list[n] = math.Log1p(float64(n))
	}
	return list
}()

// worth returns how much the text of a memory tells. It is at least 0, so that it excludes nothing that matches.
func (s *search) worth(slot int32) float64 {
	t, w := &s.x.traits[slot], &s.w
	sum := w.Tells*logarithms[t.tells] - w.Chats*logarithms[t.chats] + w.Names*float64(t.names) + w.Content*logarithms[t.content]
	m := s.x.docs[slot].marks
	if m&hasNumber != 0 {
		sum += w.Number
	}
	if m&asks != 0 {
		sum -= w.Asks
	}
	return max(sum, 0)
}

// add counts a word of a text. first is whether it begins a sentence.
func (t *traits) add(l text.Language, word, raw string, first bool) {
	if lexicons[l].tells[word] {
		t.tells = min(t.tells+1, maxSigns)
	}
	if lexicons[l].chats[word] {
		t.chats = min(t.chats+1, maxSigns)
	}
	if stopword(l, word) {
		return
	}
	t.content = min(t.content+1, maxContent)
	if r, _ := utf8.DecodeRuneInString(raw); !first && lexicons[l].capitals && unicode.IsUpper(r) {
		t.names = min(t.names+1, maxNames)
	}
}

// stopword reports whether a folded word says nothing in a language.
func stopword(l text.Language, word string) bool {
	return l.Stopword(word) || l == text.English && idle[word]
}

// endsSentence reports whether the characters between two words end a sentence.
func endsSentence(between string) bool { return strings.ContainsAny(between, ".!?:;…\n\"“”") }
