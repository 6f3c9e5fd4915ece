package recall

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
)

// Adder adds many memories to an Index. It analyzes each spelling of a word once and remembers it, so it must not be kept longer
// than the texts. It is not safe for concurrent use.
type Adder struct {
	index *Index

	numbers     map[string]int32 // of spellings, into list
	list        []spelling
	compactions int // of the index when the numbers of terms were looked up

	tokens []token   // of the text that is being analyzed
	terms  []termRef // of the memory
}

// spelling is what is known of a word as it is spelled.
type spelling struct {
	token    text.Token // without a place
	known    *knowledge
	votes    text.Vote
	vector   vectors.Word
	unspaced bool  // of a script that writes without spaces
	pair     term  // of an unspaced word, with the next one; in Vietnamese, the word without marks; empty for none
	term     term  // in language
	marks    marks // in language
	language text.Language
	resolved bool // term and marks are set
}

// term is a term and its number in the index, or -1 before it is looked up.
type term struct {
	text   string
	number int32
}

// termRef is a term of a spelling.
type termRef struct {
	spelling int32
	pair     bool
}

// token is a word of a text.
type token struct {
	spelling   int32
	start, end int32
}

// analyzed is what the ranking knows of a text.
type analyzed struct {
	length    int32 // words
	marks     marks
	language  text.Language
	traits    traits
	direction vectors.Packed
	said      uint64 // hash of the words, never 0
}

// seed is that of the hashes of texts, which stay in memory.
var seed = maphash.MakeSeed()

// Adder returns an Adder.
func (x *Index) Adder() *Adder {
	return &Adder{index: x, numbers: map[string]int32{}}
}

// maxSpellings is how many spellings an Adder remembers. Others need much less.
const maxSpellings = 1 << 16

// Put adds a memory, or replaces the one with the same ID.
func (a *Adder) Put(it Item) {
	if len(a.list) > maxSpellings {
		a.forget()
	}
	old := a.replacedBy(&it)
	m := a.analyze(&it)
	a.index.mu.Lock()
	defer a.index.mu.Unlock()
	a.index.add(a, &it, &m, old)
}

// forget removes all that is known of texts.
func (a *Adder) forget() {
	const much = 1024 // long texts are rare
	if len(a.list) > much || cap(a.tokens) > much || cap(a.terms) > much {
		*a = *a.index.Adder()
		return
	}
	clear(a.numbers)
	clear(a.list)
	a.list = a.list[:0]
}

// analyze analyzes a memory. Its terms are in a.terms.
func (a *Adder) analyze(it *Item) analyzed {
	a.terms = a.terms[:0]
	m := a.analyzeText(it.Text)
	for _, tag := range it.Tags {
		a.eachSpelling(tag, func(n int32, _ *text.Spelling) { a.addTerms(n, m.language) })
	}
	return m
}

// eachSpelling calls f for every word of a text that is not empty when it is folded.
func (a *Adder) eachSpelling(s string, f func(n int32, sp *text.Spelling)) {
	text.Split(s, func(sp text.Spelling) bool {
		key := sp.Word
		if sp.Pair != "" {
			key = sp.Pair
		}
		n, ok := a.numbers[key]
		if !ok {
			n = a.newSpelling(strings.Clone(key), &sp)
		}
		if a.list[n].token.Word != "" {
			f(n, &sp)
		}
		return true
	})
}

func (a *Adder) newSpelling(key string, sp *text.Spelling) int32 {
	t := a.index.analyzer.Token(sp)
	s := spelling{token: t}
	if t.Word != "" {
		s.known, s.unspaced = knownOf(t.Word), text.Unspaced(t.Word)
		s.votes = text.StopwordVotes(t.Word, t.Marked)
		switch {
		case !s.unspaced && a.index.table != nil:
			s.vector = a.index.table.Find(t.Word)
		case s.unspaced:
			// A script without spaces is indexed by pairs of characters and, for queries of one character, by characters.
			if t.Term != "" && t.Term != t.Word {
				s.pair = term{t.Term, -1}
			}
			s.term, s.resolved = term{single(t.Word), -1}, true
		}
	}
	n := int32(len(a.list))
	a.list, a.numbers[key] = append(a.list, s), n
	return n
}

// analyzeText analyzes a text. Its language is that of its own words, so that its terms do not depend on other memories.
func (a *Adder) analyzeText(s string) (m analyzed) {
	var votes text.Votes
	a.tokens = a.tokens[:0]
	a.eachSpelling(s, func(n int32, sp *text.Spelling) {
		votes.Add(a.list[n].votes)
		a.tokens = append(a.tokens, token{n, int32(sp.Start), int32(sp.End)})
	})
	m.language = votes.Language()
	m.length = int32(len(a.tokens))
	var sum vectors.Sum
	compared := a.index.compares(m.language)
	if compared {
		sum = a.index.table.Sum()
	}
	var words maphash.Hash
	words.SetSeed(seed)
	end := int32(0)
	for _, t := range a.tokens {
		first := end == 0 || t.start > end && endsSentence(s[end:t.start])
		end = t.end
		word := a.addTerms(t.spelling, m.language)
		_, _ = words.WriteString(word.token.Word)
		_ = words.WriteByte(' ')
		if word.unspaced {
			m.traits.content = min(m.traits.content+1, maxContent)
			continue
		}
		m.marks |= word.marks
		m.traits.add(m.language, word.known, s[t.start:], first)
		if compared {
			sum.Add(word.vector)
		}
	}
	m.said = max(words.Sum64(), 1)
	if a.index.table != nil {
		var v vectors.Vector // of a text in another language: none
		if compared {
			v = sum.Vector()
		}
		m.direction = v.Packed()
	}
	if end := strings.TrimRightFunc(s, unicode.IsSpace); end != "" {
		switch r, _ := utf8.DecodeLastRuneInString(end); r {
		case '?', '？', '؟':
			m.marks |= asks
		}
	}
	return m
}

// addTerms adds the terms of a word in a language.
func (a *Adder) addTerms(n int32, l text.Language) *spelling {
	s := &a.list[n]
	if !s.unspaced && (!s.resolved || s.language != l) {
		s.term, s.pair = term{termIn(a.index.analyzer, l, s.token, s.known), -1}, term{}
		if l == text.Vietnamese && s.term.text != s.token.Word {
			s.pair = term{toneless(s.token.Word), -1}
		}
		s.marks = marksOf(l, s.known, s.term.text)
		s.language, s.resolved = l, true
	}
	if s.pair.text != "" {
		a.terms = append(a.terms, termRef{n, true})
	}
	a.terms = append(a.terms, termRef{n, false})
	return s
}

// countTerms adds the terms of the memory to a slot of the index.
func (a *Adder) countTerms(slot int32) {
	if x := a.index; a.compactions != x.compactions { // which numbered the words again
		for i := range a.list {
			a.list[i].pair.number, a.list[i].term.number = -1, -1
		}
		a.compactions = x.compactions
	}
	for _, ref := range a.terms {
		t := &a.list[ref.spelling].term
		if ref.pair {
			t = &a.list[ref.spelling].pair
		}
		if t.number < 0 {
			t.number = a.index.wordOf(t.text)
		}
		a.index.count(slot, t.number)
	}
}
