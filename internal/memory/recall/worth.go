package recall

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
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

// worths are the parts of a worth, by trait.
type worths struct {
	tells, chats [maxSigns + 1]float64
	names        [maxNames + 1]float64
	content      [maxContent + 1]float64
	number, asks float64
	most         float64 // no worth is more
}

// worthsBy returns the parts of a worth for some weights.
func worthsBy(w *Weights) (p worths) {
	for n := range p.tells {
		p.tells[n], p.chats[n] = w.Tells*logarithms[n], w.Chats*logarithms[n]
	}
	for n := range p.names {
		p.names[n] = w.Names * float64(n)
	}
	for n := range p.content {
		p.content[n] = w.Content * logarithms[n]
	}
	p.number, p.asks = w.Number, w.Asks
	for _, part := range []float64{p.tells[maxSigns], -p.chats[maxSigns], p.names[maxNames], p.content[maxContent], p.number, -p.asks} {
		p.most += max(part, 0)
	}
	return p
}

var chosenWorths = worthsBy(&chosen)

// isAssistant reports whether a speaker is a program that answers.
func isAssistant(speaker string) bool { return assistants[text.Fold(strings.TrimSpace(speaker))] }

// of returns how much the text of a memory tells. It is at least 0, so that it excludes nothing that matches. A turn of an assistant
// tells nothing: it repeats what the person said, and mostly what it recalled.
func (p *worths) of(d *doc) float64 {
	if d.marks&byAssistant != 0 {
		return 0
	}
	t := &d.traits
	sum := p.tells[t.tells] - p.chats[t.chats] + p.names[t.names] + p.content[t.content]
	if d.marks&hasNumber != 0 {
		sum += p.number
	}
	if d.marks&asks != 0 {
		sum -= p.asks
	}
	return max(sum, 0)
}

// add counts a word of a text. first is whether it begins a sentence.
func (t *traits) add(l text.Language, word *knowledge, raw string, first bool) {
	if word.tells.Has(l) {
		t.tells = min(t.tells+1, maxSigns)
	}
	if word.chats.Has(l) {
		t.chats = min(t.chats+1, maxSigns)
	}
	if word.stops.Has(l) {
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
func endsSentence(between string) bool {
	return between != " " && strings.ContainsAny(between, ".!?:;…\n\"“”")
}
