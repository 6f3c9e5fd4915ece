package text

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Passage is a part of a text that consists of whole sentences, or of a part of a sentence that is too long.
type Passage struct {
	Text string
	Span // in the text
}

// worthless is the share of the best passage's weight below which a passage is not worth showing.
const worthless = 0.1

// Passages returns the parts of s with the highest total weights of wanted words, best first: at most n, which do not overlap, of
// at most size code points each. A sentence that is longer is cut between words. Without a hit, the only passage is the
// beginning of s. A text of white space has none.
func (a *Analyzer) Passages(s string, w *Wanted, n, size int) []Passage {
	var found []Passage
	whole := stretchOf(s, 0, len(s), a.hits(s, w), size)
	if whole.weight == 0 {
		if all := beginning(s, size); len(all) > 0 {
			found = append(found, passageOf(s, all[0].start, all[fitting(all, size)].end))
		}
		return found
	}
	free := []stretch{whole}
	for len(found) < n {
		i := heaviest(free)
		best := free[i]
		if best.weight == 0 || best.weight < worthless*whole.weight {
			break
		}
		from, to := best.passage(s, size)
		found = append(found, passageOf(s, from, to))
		free = slices.Replace(free, i, i+1, best.part(s, best.from, from, size), best.part(s, to, best.to, size))
	}
	return found
}

func passageOf(s string, from, to int) Passage {
	start := utf8.RuneCountInString(s[:from])
	return Passage{Text: s[from:to], Span: Span{start, start + utf8.RuneCountInString(s[from:to])}}
}

// stretch is a part of a text, in bytes, in which no passage was found yet.
type stretch struct {
	from, to int
	hits     []hit

	// The run of hits within the size of a passage that has the highest weight.
	first, last int
	weight      float64
}

func stretchOf(s string, from, to int, hits []hit, size int) stretch {
	f := stretch{from: from, to: to, hits: hits}
	f.first, f.last, f.weight = bestHits(s, hits, size)
	return f
}

// heaviest returns the index of the first stretch with the highest weight.
func heaviest(free []stretch) int {
	best := 0
	for i := range free {
		if free[i].weight > free[best].weight {
			best = i
		}
	}
	return best
}

// part returns a part of the stretch with the hits that are completely in it.
func (f *stretch) part(s string, from, to, size int) stretch {
	return stretchOf(s, from, to, within(f.hits, from, to), size)
}

// within returns the hits that are completely between from and to.
func within(hits []hit, from, to int) []hit {
	first := sortedSearch(hits, func(h *hit) bool { return h.start >= from })
	end := sortedSearch(hits, func(h *hit) bool { return h.end > to })
	return hits[first:max(first, end)]
}

// sortedSearch returns the first hit for which past is true, as it is for all after it.
func sortedSearch(hits []hit, past func(*hit) bool) int {
	return sort.Search(len(hits), func(i int) bool { return past(&hits[i]) })
}

// passage returns the range of the best passage of the stretch, which has a hit.
func (f *stretch) passage(s string, size int) (from, to int) {
	start, end := f.hits[f.first].start, f.hits[f.last].end
	all := f.pieces(s, max(f.from, backward(s, start, size)), min(f.to, forward(s, end, size)), start, end, size)
	best := bestRun(all, f.hits, size)
	return all[best.first].start, all[best.last].end
}

// piece is a sentence, or a part of a long one.
type piece struct {
	start, end int // bytes
	at, points int // code points before it, from some place on, and in it
}

// length returns the number of code points from the first to the last piece.
func length(pieces []piece) int {
	last := pieces[len(pieces)-1]
	return last.at + last.points - pieces[0].at
}

// pieces returns the pieces of s[from:to], which is a part of the stretch. A sentence that is only partly in there is left out,
// unless it has a hit between start and end.
func (f *stretch) pieces(s string, from, to, start, end, size int) []piece {
	if from > f.from { // begin between words
		from = characterEnd(s, from)
		if i := strings.IndexFunc(s[from:start], unicode.IsSpace); i >= 0 {
			from += i
		}
	}
	all := piecesOf(s, from, characterStart(s, max(to, end)), size)
	if from > f.from && len(all) > 1 && all[0].end <= start {
		all = all[1:]
	}
	if last := len(all) - 1; to < f.to && last > 0 && all[last].start >= end {
		all = all[:last]
	}
	return all
}

// beginning returns the first pieces of s, at least as many as fit into size code points.
func beginning(s string, size int) []piece {
	from, _ := trimmed(s, 0, len(s))
	return piecesOf(s, from, forward(s, from, 2*size+1), size)
}

// piecesOf returns the pieces of s[from:to].
func piecesOf(s string, from, to, size int) []piece {
	var all []piece
	at, points := from, 0
	sentences(s[from:to], func(start, end int) bool {
		start, end = from+start, from+end
		long := end-start > size && forward(s, start, size) < end
		for start < end {
			next := end
			if long {
				next = wordsEnd(s[:end], start, size)
			}
			points += utf8.RuneCountInString(s[at:start])
			at = start
			_, last := trimmed(s, start, next)
			all = append(all, piece{start: start, end: last, at: points, points: utf8.RuneCountInString(s[start:last])})
			start, _ = trimmed(s, next, end)
		}
		return true
	})
	return all
}

// partsOf is how many parts a passage of a long sentence has at least, so that it can begin near the words of the query.
const partsOf = 8

// wordsEnd returns the end of the first words of s[start:] that make a part of a passage of size code points. It prefers the end
// of a line, and is between two characters if there is no white space.
func wordsEnd(s string, start, size int) int {
	end := forward(s, start, max(1, size/partsOf))
	if end == len(s) {
		return end
	}
	if line := strings.LastIndexByte(s[start:end], '\n'); line > (end-start)/2 {
		return start + line
	}
	if space := strings.LastIndexFunc(s[start:end], unicode.IsSpace); space > 0 {
		return start + space
	}
	if space := strings.IndexFunc(s[end:forward(s, start, size)], unicode.IsSpace); space >= 0 {
		return end + space
	}
	if inside := characterStart(s, end); inside > start {
		return inside
	}
	if after := characterEnd(s, end); after <= forward(s, start, size) { // else one character is too long
		return after
	}
	return end
}

// run is a range of pieces, including the last.
type run struct{ first, last int }

// bestRun returns the run of pieces of at most size code points whose hits have the highest weight, with as many pieces around
// them as there is room for. A third of the room is for those before it.
func bestRun(pieces []piece, hits []hit, size int) run {
	byPiece := make([][]hit, len(pieces))
	for i, p := range pieces {
		byPiece[i] = within(hits, p.start, p.end)
	}
	sum, best, highest := weights{seen: map[string]int{}}, run{}, 0.0
	for first, last := 0, 0; last < len(pieces); last++ {
		sum.add(byPiece[last])
		for ; length(pieces[first:last+1]) > size; first++ {
			sum.remove(byPiece[first])
		}
		if sum.total > highest+1e-9 {
			highest, best = sum.total, run{first, last}
		}
	}
	for best.first < best.last && len(byPiece[best.first]) == 0 {
		best.first++
	}
	return best.widened(pieces, size)
}

func (r run) widened(pieces []piece, size int) run {
	room := size - length(pieces[r.first:r.last+1])
	for r.first > 0 && length(pieces[r.first-1:r.last+1]) <= size-room*2/3 {
		r.first--
	}
	for r.last+1 < len(pieces) && length(pieces[r.first:r.last+2]) <= size {
		r.last++
	}
	for r.first > 0 && length(pieces[r.first-1:r.last+1]) <= size {
		r.first--
	}
	return r
}

// fitting returns the last of the first pieces that fit into size code points.
func fitting(pieces []piece, size int) int {
	last := 0
	for last+1 < len(pieces) && length(pieces[:last+2]) <= size {
		last++
	}
	return last
}
