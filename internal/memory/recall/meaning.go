package recall

import (
	"math"

	"keepsake/internal/base/vectors"
)

// likeness is how near the texts of memories are to the query, by their vectors.
type likeness struct {
	dots  []int32 // by slot; empty if vectors say nothing about the query
	mean  float64 // of the admitted memories
	scale float64 // 1 divided by their standard deviation, or 0
	floor float64 // the product from which a memory is found without a word of the query

	near      []float64 // by slot: of, by vectors of an endpoint; NaN for a memory without one; nil if no endpoint was asked
	nearFound []bool    // by slot: it is found by its vector alone
}

// meaningFloor is how many standard deviations above the average a memory counts.
const meaningFloor = 0.5

// A memory is found by its meaning alone from a cosine on that falls with the number of memories. Among few, one that is near by
// chance would be first, although nothing answers the query; among many, better ones are before it.
const (
	leastCosine = 0.15
	moreCosine  = 0.4 // with up to fewMemories
	fewMemories = 10
)

// leastNear returns the cosine from which one of n memories is found by its meaning alone.
func leastNear(n int) float64 { return leastCosine + moreCosine*min(1, fewMemories/float64(n)) }

// of returns by how much a memory is nearer than the others, in standard deviations: above meaningFloor by vectors of words, above or
// below the average by vectors of an endpoint.
func (l *likeness) of(slot int32) float64 {
	if len(l.dots) == 0 {
		return 0
	}
	if l.near != nil && !math.IsNaN(l.near[slot]) {
		return l.near[slot]
	}
	if like := (float64(l.dots[slot])-l.mean)*l.scale - meaningFloor; like > 0 {
		return like
	}
	return 0
}

// found reports whether a memory is near enough to be found without a word of the query.
func (l *likeness) found(slot int32) bool {
	return len(l.dots) > 0 && (float64(l.dots[slot]) >= l.floor || l.near != nil && l.nearFound[slot])
}

// compareMeanings compares the vectors of all admitted memories with that of the query.
func (s *search) compareMeanings() {
	s.like.dots = s.like.dots[:0]
	if s.w.Meaning == 0 || !s.x.compares(s.p.language) {
		return
	}
	sum := s.x.table.Sum()
	for i := range s.p.words {
		if w := &s.p.words[i]; !w.name && !stopword(s.p.language, w.shown) {
			sum.Add(s.x.table.Find(w.shown))
		}
	}
	query := sum.Vector()
	if query == (vectors.Vector{}) || !s.step(len(s.x.docs)/2) {
		return
	}
	factor := query.Factor()
	dots := sized(s.like.dots, len(s.x.docs))
	factor.Dots(s.x.directions, dots)
	// Sums of whole numbers are exact in any order.
	var total, squares int64
	for slot, dot := range dots {
		if s.admitted[slot] {
			total += int64(dot)
			squares += int64(dot) * int64(dot)
		}
	}
	n := float64(s.count)
	mean := float64(total) / n
	scale := 0.0
	if variance := float64(squares)/n - mean*mean; variance >= 1 {
		scale = 1 / math.Sqrt(variance)
	}
	s.like = likeness{
		dots: dots, mean: mean, scale: scale,
		floor: vectors.One * vectors.One * leastNear(s.count),
	}
}

// compareTurns returns what the likeness of each turn of a session and of the turns around it adds to its score.
func (s *search) compareTurns(line []int32) []float64 {
	s.likes = sized(s.likes, len(line)+4) // two zeros before the turns and two after them
	likes := s.likes[2 : len(line)+2]
	s.likes[0], s.likes[1], s.likes[len(line)+2], s.likes[len(line)+3] = 0, 0, 0, 0
	for i, slot := range line {
		likes[i] = s.like.of(slot)
	}
	s.meanings = sized(s.meanings, len(line))
	own, beside, around := s.w.Meaning, s.w.Beside, s.w.Around
	if s.like.near != nil { // such vectors know what a turn says; those around it are mostly noise
		beside, around = own*embeddingBeside, 0
	}
	for i := range s.meanings {
		l := s.likes[i : i+5 : i+5]
		s.meanings[i] = own*l[2] + beside*(l[1]+l[3]) + around*(l[0]+l[4])
	}
	return s.meanings
}
