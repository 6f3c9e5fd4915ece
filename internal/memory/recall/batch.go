package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/memory/recall/vectors"
	"keepsake/internal/text"
)

// Batch contains memories whose texts are analyzed, so that an Index can add them fast. Batches can be made at the same time.
type Batch struct {
	analyzer *text.Analyzer
	vectors  bool

	list   []analyzed
	terms  []string // of the memories
	tokens []token  // of the text that is being analyzed
}

// analyzed is a memory with what the ranking knows of its text.
type analyzed struct {
	item Item // without its text

	terms     []string // in the text and the tags, as often as they occur
	length    int32    // words of the text
	marks     marks
	language  text.Language
	traits    traits
	direction vectors.Packed
}

// token is a word of a text.
type token struct {
	text.Token

	known *knowledge
}

// NewBatch returns an empty batch for an index with or without vectors.
func NewBatch(a *text.Analyzer, withVectors bool) *Batch {
	return &Batch{analyzer: a, vectors: withVectors}
}

// Len returns the number of memories.
func (b *Batch) Len() int { return len(b.list) }

// Reset removes all memories.
func (b *Batch) Reset() { b.list, b.terms = b.list[:0], b.terms[:0] }

// forget removes the references to texts.
func (b *Batch) forget() {
	clear(b.list)
	clear(b.terms)
	b.Reset()
	if cap(b.terms) > 1024 { // long texts are rare
		b.terms = nil
	}
}

// Analyze adds a memory.
func (b *Batch) Analyze(it Item) {
	m := analyzed{item: it}
	m.item.Text = ""
	first := len(b.terms)
	b.analyzeText(&m, it.Text)
	for _, tag := range it.Tags {
		b.analyzer.Scan(tag, func(t text.Token) bool {
			b.addToken(t, m.language, knownOf(t.Word))
			return true
		})
	}
	m.terms = b.terms[first:len(b.terms):len(b.terms)]
	b.list = append(b.list, m)
}

// analyzeText analyzes a text. Its language is that of its own words, so that its terms do not depend on other memories.
func (b *Batch) analyzeText(m *analyzed, s string) {
	var votes text.Votes
	b.tokens = b.tokens[:0]
	b.analyzer.Scan(s, func(t text.Token) bool {
		known := knownOf(t.Word)
		votes.AddSet(known.votes)
		b.tokens = append(b.tokens, token{t, known})
		return true
	})
	m.language = votes.Language()
	var sum vectors.Sum
	end := 0
	for i := range b.tokens {
		t := &b.tokens[i]
		m.length++
		first := end == 0 || t.Start > end && endsSentence(s[end:t.Start])
		end = t.End
		term := b.addToken(t.Token, m.language, t.known)
		if text.Unspaced(t.Word) {
			m.traits.content = min(m.traits.content+1, maxContent)
			continue
		}
		m.marks |= marksOf(m.language, t.known, term)
		m.traits.add(m.language, t.known, s[t.Start:], first)
		if b.vectors && m.language == text.English {
			sum.Add(t.Word)
		}
	}
	if clear(b.tokens); cap(b.tokens) > 1024 { // they reference the text, and long texts are rare
		b.tokens = nil
	}
	if b.vectors {
		v := sum.Vector()
		m.direction = v.Packed()
	}
	if end := strings.TrimRightFunc(s, unicode.IsSpace); end != "" {
		switch r, _ := utf8.DecodeLastRuneInString(end); r {
		case '?', '？', '؟':
			m.marks |= asks
		}
	}
}

// addToken adds the terms of a word and returns the last one.
func (b *Batch) addToken(t text.Token, l text.Language, known *knowledge) (term string) {
	if text.Unspaced(t.Word) {
		// A script without spaces is indexed by pairs of characters and, for queries of one character, by characters.
		if t.Term != "" && t.Term != t.Word {
			b.terms = append(b.terms, t.Term)
		}
		term = single(t.Word)
	} else {
		term = termIn(b.analyzer, l, t, known)
	}
	b.terms = append(b.terms, term)
	return term
}
