package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wanted contains the words of a query with their weights.
type Wanted struct {
	Language Language           // of the text
	Terms    map[string]float64 // by their stems in the language
	Words    map[string]float64 // by Token.Word
	Prefix   string             // of Token.Word; empty for none
	Together map[string]float64 // words that can also be written as several, by Unsigned

	Marked       map[string]float64 // by Token.Marked
	MarkedPrefix string             // of Token.Marked; empty for none

	beginnings map[string]bool // of Together
	stems      map[string]string
}

// Span is a range of a text, in code points.
type Span struct{ Start, End int }

// find returns the name and weight of the wanted term that matches t, whose term is the stem in w.Language. asWord is true if it
// matches the token's word and not the token's pair.
func (w *Wanted) find(t Token) (name string, weight float64, asWord, ok bool) {
	if weight, ok := w.Terms[t.Term]; ok && t.Term != "" {
		return t.Term, weight, false, true
	}
	if weight, ok := w.Words[t.Word]; ok {
		return t.Word, weight, true, true
	}
	if weight, ok := w.Marked[t.Marked]; ok {
		return t.Marked, weight, true, true
	}
	if w.Prefix != "" && strings.HasPrefix(t.Word, w.Prefix) {
		return w.Prefix, 1, true, true
	}
	if w.MarkedPrefix != "" && strings.HasPrefix(t.Marked, w.MarkedPrefix) {
		return w.MarkedPrefix, 1, true, true
	}
	return "", 0, false, false
}

// begin contains the first bytes of spellings that can match, so that most words of a text need not be folded and stemmed.
// Neither changes the first letter of an English word of ASCII characters but for its case.
func (w *Wanted) begin() *[256]bool {
	var begin [256]bool
	for c := range begin {
		begin[c] = c >= utf8.RuneSelf || w.Language != English
	}
	add := func(name string) {
		if name != "" {
			begin[name[0]], begin[asciiUpper(name[0])] = true, true
		}
	}
	for term := range w.Terms {
		add(term)
	}
	for word := range w.Words {
		add(word)
	}
	add(w.Prefix)
	for word := range w.Together {
		add(word)
	}
	return &begin
}

// prepare makes the beginnings of Together, and its words by their stems in the language.
func (a *Analyzer) prepare(w *Wanted) {
	if w.stems != nil || len(w.Together) == 0 {
		return
	}
	w.beginnings, w.stems = map[string]bool{}, map[string]string{}
	for word := range w.Together {
		for i := range word {
			w.beginnings[word[:i]] = true
		}
		w.stems[a.stemOf(w.Language, word)] = word
	}
}

// stemOf returns the stem of a folded word.
func (a *Analyzer) stemOf(l Language, word string) string {
	f := a.forms.of(word)
	return a.Stem(l, Token{Term: f.stem, Word: f.word})
}

// neighbours are the words before the next one in a text that can be the beginning of a word of Together.
type neighbours struct {
	open []opened
	pos  int // of the last word
}

// opened are words next to each other: their letters, and where they begin.
type opened struct {
	letters string
	start   int
}

// next adds the next word of a text. It reports whether it ends a word of Together, and where the words begin that are that word.
func (r *neighbours) next(a *Analyzer, w *Wanted, t Token) (word string, start int, ok bool) {
	if len(w.Together) == 0 {
		return "", 0, false
	}
	if r.pos+1 != t.Pos {
		r.open = r.open[:0]
	}
	r.pos = t.Pos
	letters := Unsigned(t.Word)
	if strings.Contains(t.Word, ".") {
		word, ok = w.stems[a.stemOf(w.Language, letters)]
		start = t.Start
	}
	still := r.open[:0]
	for _, o := range r.open {
		o.letters += letters
		if !ok {
			word, ok = w.stems[a.stemOf(w.Language, o.letters)]
			start = o.start
		}
		if w.beginnings[o.letters] {
			still = append(still, o)
		}
	}
	if r.open = still; w.beginnings[letters] {
		r.open = append(r.open, opened{letters, t.Start})
	}
	return word, start, ok
}

var signs = strings.NewReplacer("'", "", ".", "")

// Unsigned returns a folded word without the signs that it can have inside.
func Unsigned(word string) string { return signs.Replace(word) }

// continues reports whether the word at a position can end a word of Together.
func (r *neighbours) continues(pos int) bool { return len(r.open) > 0 && r.pos+1 == pos }

func asciiUpper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// hit is a wanted word in a text.
type hit struct {
	start, end int // bytes
	at         int // code points before start
	name       string
	weight     float64
}

// enoughHits is the max number of hits used to choose an excerpt.
const enoughHits = 4_096

func (a *Analyzer) hits(s string, w *Wanted) []hit {
	var hits []hit
	var apart neighbours
	a.prepare(w)
	begin := w.begin()
	Split(s, func(sp Spelling) bool {
		if !begin[sp.Word[0]] && !apart.continues(sp.Pos) {
			return true
		}
		t := a.Token(&sp)
		if t.Word == "" {
			return true
		}
		if name, start, ok := apart.next(a, w, t); ok {
			for len(hits) > 0 && hits[len(hits)-1].start >= start {
				hits = hits[:len(hits)-1]
			}
			hits = append(hits, hit{start: characterStart(s, start), end: characterEnd(s, t.End), name: name, weight: w.Together[name]})
			return len(hits) < enoughHits
		}
		t.Term = a.Stem(w.Language, t)
		if name, weight, asWord, ok := w.find(t); ok {
			if asWord && Unspaced(t.Word) {
				t.End = t.Start + clusterSize(s[t.Start:t.End])
			}
			hits = append(hits, hit{start: characterStart(s, t.Start), end: characterEnd(s, t.End), name: name, weight: weight})
		}
		return len(hits) < enoughHits
	})
	at, points := 0, 0
	for i := range hits {
		points += utf8.RuneCountInString(s[at:hits[i].start])
		at, hits[i].at = hits[i].start, points
	}
	return hits
}

// Mark returns the positions of wanted words in s. Adjacent spans are joined.
func (a *Analyzer) Mark(s string, w *Wanted) []Span {
	var spans []Span
	for _, h := range a.hits(s, w) {
		spans = join(spans, Span{h.at, h.at + utf8.RuneCountInString(s[h.start:h.end])})
	}
	return spans
}

func join(spans []Span, next Span) []Span {
	if n := len(spans); n > 0 && next.Start <= spans[n-1].End {
		spans[n-1].End = max(spans[n-1].End, next.End)
		return spans
	}
	return append(spans, next)
}

// Excerpt returns the passage of s with the highest total weight: at most size code points, plus dots for omitted text,
// with white space collapsed. Without a hit, it is the beginning of s.
func (a *Analyzer) Excerpt(s string, w *Wanted, size int) (string, []Span) {
	hits := a.hits(s, w)
	first, last, _ := bestHits(s, hits, size)
	var from, to int
	if len(hits) == 0 {
		from, to = 0, forward(s, 0, size)
	} else {
		from, to = around(s, hits[first].start, hits[last].end, size)
		hits = hits[first:]
	}
	if end := characterStart(s, to); end > from { // else one character is too long
		to = end
	}
	return clip(s, from, to, hits)
}

// weights is the weight of some hits. A repeated word adds little.
type weights struct {
	seen  map[string]int
	total float64
}

const repeated = 0.1 // of the weight of a word

func (w *weights) add(hits []hit) {
	for i := range hits {
		h := &hits[i]
		if w.seen[h.name]++; w.seen[h.name] == 1 {
			w.total += h.weight
		} else {
			w.total += repeated * h.weight
		}
	}
}

func (w *weights) remove(hits []hit) {
	for i := range hits {
		h := &hits[i]
		if w.seen[h.name]--; w.seen[h.name] == 0 {
			w.total -= h.weight
		} else {
			w.total -= repeated * h.weight
		}
	}
}

// bestHits chooses the run of hits within size code points with the highest weight.
func bestHits(s string, hits []hit, size int) (first, last int, best float64) {
	sum := weights{seen: map[string]int{}}
	for i, j := 0, 0; j < len(hits); j++ {
		h := hits[j]
		sum.add(hits[j : j+1])
		for end := h.at + utf8.RuneCountInString(s[h.start:h.end]); i < j && end-hits[i].at > size; i++ {
			sum.remove(hits[i : i+1])
		}
		if sum.total > best+1e-9 {
			best, first, last = sum.total, i, j
		}
	}
	return first, last, best
}

// around extends s[start:end] to size code points, a third of them before it, and ends between words.
func around(s string, start, end, size int) (from, to int) {
	room := size - utf8.RuneCountInString(s[start:end])
	if room <= 0 {
		return start, forward(s, start, size)
	}
	from = backward(s, start, room/3)
	to = forward(s, end, room-utf8.RuneCountInString(s[from:start]))
	if to == len(s) { // the unused rest goes before it
		from = backward(s, start, room-utf8.RuneCountInString(s[end:to]))
	}
	if from = characterEnd(s, from); from > 0 {
		if i := strings.IndexFunc(s[from:start], unicode.IsSpace); i >= 0 {
			from += i
		}
	}
	if to < len(s) {
		if i := strings.LastIndexFunc(s[end:to], unicode.IsSpace); i >= 0 {
			to = end + i
		}
	}
	return from, to
}

func forward(s string, i, points int) int {
	for ; points > 0 && i < len(s); points-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

func backward(s string, i, points int) int {
	for ; points > 0 && i > 0; points-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}

// clip formats s[from:to] as one line and returns the positions of the hits that are completely in it.
func clip(s string, from, to int, hits []hit) (string, []Span) {
	var (
		b      strings.Builder
		spans  []Span
		points int
		open   = -1 // where the current hit began in the result
		end    int  // byte at which it ends
		gap    bool // a space is needed before the next character
	)
	b.Grow(to - from + 8)
	write := func(r rune) {
		b.WriteRune(r)
		points++
	}
	if strings.TrimSpace(s[:from]) != "" {
		write('…')
	}
	lead := points
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(s[i:to])
		if open >= 0 && i >= end {
			spans, open = join(spans, Span{open, points}), -1
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = points > lead
			i += size
			continue
		}
		if gap {
			write(' ')
			gap = false
		}
		for len(hits) > 0 && hits[0].start <= i {
			if hits[0].end > i && hits[0].end <= to && (open < 0 || hits[0].end > end) {
				if open < 0 {
					open = points
				}
				end = hits[0].end
			}
			hits = hits[1:]
		}
		write(r)
		i += size
	}
	if open >= 0 {
		spans = join(spans, Span{open, points})
	}
	if strings.TrimSpace(s[to:]) != "" {
		write('…')
	}
	return b.String(), spans
}

// Beginning returns the first code points of s, at most size. It ends between words if there are any, and not within a character.
func Beginning(s string, size int) string {
	end := forward(s, 0, size)
	if end == len(s) {
		return s
	}
	if space := strings.LastIndexFunc(s[:end], unicode.IsSpace); space >= end*4/5 {
		return s[:space]
	}
	if start := characterStart(s, end); start > 0 { // else one character is too long
		end = start
	}
	return s[:end]
}
