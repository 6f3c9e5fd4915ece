package recall

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
)

// search is the state of one search. Later searches reuse its lists.
type search struct {
	x    *Index
	w    Weights
	p    *plan
	task *fairshare.Task
	err  error // of the task; it ends the search

	census          // of the admitted memories
	admitted []bool // by slot; can be those of the index
	selected []bool // by slot; of this search
	counted  census // of this search

	average    float64               // length of the admitted texts
	saturation [maxSaturated]float64 // by length of a text: saturated of a single occurrence, or 0 if unknown
	worths     *worths

	own      []float64 // by slot: the score of its words
	word     []float64 // by slot: the score of the current word, or of the best word related to it; 0 between words
	having   []int32   // the slots with such a score
	masks    []uint64  // by slot: the words of the query that it contains, by their numbers in shares
	shares   []float64 // the idf-weights of these words as shares of their sum
	theme    []float64 // by session: its score
	touched  []int32   // sessions that contain the current word
	times    []int32   // by session: turns that contain the current word
	spans    calendar
	rarity   float64 // of the times that the query names
	like     likeness
	likes    []float64 // of a session's turns
	meanings []float64 // of a session's turns

	repeats []bool // by slot: the turn repeats what no longer holds; empty if none does

	values []float64 // of a session's turns, in their order
	line   []int32   // their slots
	most   float64   // see bound
	share  float64
	best   heap
}

// Search returns the best memories, best first. Memories with equal scores are sorted by pinned, importance and ID. task
// counts its steps and can be nil; an error is that of the task.
//
// The task has no slot while the search waits for the index. Otherwise a writer could wait for a search that waits for the
// slot.
func (x *Index) Search(task *fairshare.Task, q Query) ([]Hit, error) {
	task.Release()
	x.lockSettled()
	defer x.mu.RUnlock()
	s, _ := x.scratch.Get().(*search)
	if s == nil {
		s = &search{}
	}
	s.x, s.w, s.worths, s.task, s.err = x, chosen, &chosenWorths, task, nil
	if q.Weights != nil {
		worths := worthsBy(q.Weights)
		s.w, s.worths = *q.Weights, &worths
	}
	hits, err := s.run(&q), s.err
	s.x, s.p, s.task, s.admitted, s.census = nil, nil, nil, nil, census{}
	x.scratch.Put(s)
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// step counts n steps and reports whether the search continues.
func (s *search) step(n int) bool {
	if s.err == nil {
		s.err = s.task.Step(n)
	}
	return s.err == nil
}

// lockSettled locks the index for reading when all sessions are sorted.
func (x *Index) lockSettled() {
	for {
		x.mu.RLock()
		if len(x.unsorted) == 0 {
			return
		}
		x.mu.RUnlock()
		x.mu.Lock()
		x.settle()
		x.mu.Unlock()
	}
}

func (s *search) run(q *Query) []Hit {
	if q.Limit < 1 || !s.admit(q) || s.count == 0 {
		return nil
	}
	s.average = max(float64(s.length)/float64(s.count), 1)
	clear(s.saturation[:])
	s.p = s.plan(q)
	s.countWords()
	s.nameDates()
	s.compareMeanings()
	s.compareEmbeddings(q)
	s.markRepeats(q)
	if s.err != nil {
		return nil
	}
	s.best.reset(s.x, q.Limit, q.MinScore)
	s.score()
	ranked := s.best.sorted()
	matched := s.matched(ranked)
	hits := make([]Hit, len(ranked))
	for i, r := range ranked {
		if s.err != nil || q.Explain && !s.step(8*len(s.p.words)) {
			return nil
		}
		hits[i] = Hit{ID: s.x.records[r.slot].id, Score: r.score, Matched: matched[i]}
		if q.Explain {
			hits[i].Why = s.explain(r)
		}
	}
	return hits
}

// countWords computes the scores of words for memories and sessions. Of a word of the query and the words that are related to it, the
// best one counts in a memory.
func (s *search) countWords() {
	s.own, s.word = cleared(s.own, len(s.x.docs)), cleared(s.word, len(s.x.docs))
	s.theme = cleared(s.theme, len(s.x.orders))
	s.times, s.touched = cleared(s.times, len(s.x.orders)), s.touched[:0]
	s.masks, s.shares = cleared(s.masks, len(s.x.docs)), s.shares[:0]
	whole := 0.0 // the idf-weights of the query
	for i := range s.p.words {
		w := &s.p.words[i]
		df, ok := s.countWord(w)
		if !ok {
			return
		}
		weight := w.weight * s.idf(min(df, s.count))
		whole += weight
		if df > 0 {
			s.mark(weight)
		}
		if !s.countRelated(w) {
			return
		}
		s.addBest()
	}
	for i := range s.shares {
		s.shares[i] /= whole
	}
}

// countWord counts a word itself and sets its rarity. It returns how many memories contain it.
func (s *search) countWord(w *wanted) (df int, ok bool) {
	for _, n := range w.numbers {
		list := s.x.words[n].postings
		if !s.step(3 * len(list)) {
			return 0, false
		}
		df += s.frequency(list)
	}
	if df == 0 {
		return 0, true
	}
	w.rarity = s.idf(min(df, s.count))
	for _, n := range w.numbers {
		s.addWord(s.x.words[n].postings, w.weight*w.rarity)
	}
	s.addTheme(w.weight)
	return df, true
}

// countRelated counts the words that are related to a word. They count less if memories contain the word itself.
func (s *search) countRelated(w *wanted) bool {
	weight, rarity := w.weight, math.Inf(1)
	if w.rarity > 0 {
		weight, rarity = w.weight*s.w.Spare, w.rarity
	}
	for _, r := range w.related {
		list := s.x.words[r.word].postings
		if !s.step(2 * len(list)) {
			return false
		}
		if df := s.frequency(list); df > 0 {
			s.addWord(list, weight*r.weight*min(rarity, s.idf(df)))
			s.addTheme(weight * r.weight)
		}
	}
	return true
}

// addBest adds the score of the current word to the memories that have one.
func (s *search) addBest() {
	for _, slot := range s.having {
		s.own[slot] += s.word[slot]
		s.word[slot] = 0
	}
	s.having = s.having[:0]
}

// maxMarked is how many words of a query count together.
const maxMarked = 64

// mark marks the memories that contain the current word, which has an idf-weight.
func (s *search) mark(weight float64) {
	if s.w.Together == 0 || len(s.shares) == maxMarked {
		return
	}
	bit := uint64(1) << len(s.shares)
	s.shares = append(s.shares, weight)
	for _, slot := range s.having {
		s.masks[slot] |= bit
	}
}

// shareOf returns the share of the query that a set of its words is.
func (s *search) shareOf(mask uint64) (sum float64) {
	for ; mask != 0; mask &= mask - 1 {
		sum += s.shares[bits.TrailingZeros64(mask)]
	}
	return sum
}

// frequency returns how many memories of a list are admitted.
func (s *search) frequency(list []posting) int {
	if s.count == len(s.x.docs) {
		return len(list)
	}
	n := 0
	for _, p := range list {
		if s.admitted[p.slot()] {
			n++
		}
	}
	return n
}

// has reports whether an admitted memory contains the word.
func (s *search) has(w *word) bool {
	for _, p := range w.postings {
		if s.admitted[p.slot()] {
			return true
		}
	}
	return false
}

// idf returns the inverse document frequency.
func (s *search) idf(df int) float64 { return inverse(df, s.count) }

func inverse(have, of int) float64 {
	return math.Log(1 + (float64(of-have)+0.5)/(float64(have)+0.5))
}

// addWord offers a score for the current word to the memories of a list, which contain it or a related one, and counts the turns of each session that contain it.
func (s *search) addWord(list []posting, weight float64) {
	sessions := s.w.Session != 0 && s.sessions > 0
	for _, p := range list {
		slot := p.slot()
		if !s.admitted[slot] {
			continue
		}
		d := &s.x.docs[slot]
		score := weight * s.saturated(p.times(), d.length)
		if s.word[slot] == 0 {
			s.having = append(s.having, slot)
		}
		s.word[slot] = max(s.word[slot], score)
		if !sessions || d.session == 0 {
			continue
		}
		if s.times[d.session]++; s.times[d.session] == 1 {
			s.touched = append(s.touched, d.session)
		}
	}
}

// maxSaturated is the length of texts whose weights are kept during a search: nearly all, since memories are short.
const maxSaturated = 256

// saturated returns the BM25 weight of a frequency in a text of a length, at most K1 + 1. Most words occur once; their weight is
// computed once for each length, because divisions are slow.
func (s *search) saturated(times int, length int32) float64 {
	if times > 1 || length >= maxSaturated {
		return s.saturate(float64(times), length)
	}
	w := &s.saturation[length]
	if *w == 0 {
		*w = s.saturate(1, length)
	}
	return *w
}

func (s *search) saturate(times float64, length int32) float64 {
	return times * (s.w.K1 + 1) / (times + s.w.K1*(1-s.w.B+s.w.B*float64(length)/s.average))
}

// addTheme scores the words added since the last call for the sessions that contain them. It treats a session as a text and its turns
// as occurrences.
func (s *search) addTheme(weight float64) {
	if len(s.touched) == 0 {
		return
	}
	const k, b = 1.2, 0.5
	rarity := inverse(len(s.touched), s.sessions)
	average := float64(s.count) / float64(s.sessions)
	for _, session := range s.touched {
		n := float64(s.times[session])
		s.theme[session] += weight * rarity * n / (n + k*(1-b+b*float64(s.turns[session])/average))
		s.times[session] = 0
	}
	s.touched = s.touched[:0]
}

// nameDates computes the times that the query names, and their weight.
func (s *search) nameDates() {
	s.spans, s.rarity = nil, 0
	if s.w.Date == 0 || s.p.dates.none() {
		return
	}
	earliest, latest := int64(math.MaxInt64), int64(math.MinInt64)
	if !s.step(len(s.x.docs)) {
		return
	}
	for slot := range s.x.records {
		if s.admitted[slot] {
			at := s.x.records[slot].at
			earliest, latest = min(earliest, at), max(latest, at)
		}
	}
	s.spans = s.p.dates.between(earliest, latest)
	if len(s.spans) == 0 {
		return
	}
	first, end := s.spans[0].from, s.spans[len(s.spans)-1].reach
	inside := 0
	for slot := range s.x.records {
		if !s.step(1 + len(s.spans)/4) {
			return
		}
		if at := s.x.records[slot].at; s.admitted[slot] && at >= first && at < end && s.spans.has(at) {
			inside++
		}
	}
	s.rarity = s.w.Date * inverse(inside, s.count)
}

// matched returns, for each memory of a list, the words of the query that it contains. Long queries have many words that few
// memories contain, and common words that most do; for both, the shorter list is searched in the longer one.
func (s *search) matched(list []ranked) [][]string {
	type hit struct {
		slot int32
		i    int // in list
		last int // the last word of the query that it contains
	}
	bySlot, matched := make([]hit, len(list)), make([][]string, len(list))
	for i, r := range list {
		bySlot[i] = hit{r.slot, i, -1}
		matched[i] = []string{} // never nil, because a response contains the list
	}
	slices.SortFunc(bySlot, func(a, b hit) int { return cmp.Compare(a.slot, b.slot) })
	for i := range s.p.words {
		w := &s.p.words[i]
		add := func(h *hit) {
			if h.last < i && (!w.repeated || !slices.Contains(matched[h.i], w.shown)) {
				matched[h.i] = append(matched[h.i], w.shown)
			}
			h.last = i
		}
		for _, n := range w.numbers {
			postings := s.x.words[n].postings
			if !s.step(1 + 8*min(len(postings), len(bySlot))) {
				return nil
			}
			if len(postings) > len(bySlot) {
				for j := range bySlot {
					if s.timesIn(n, bySlot[j].slot) > 0 {
						add(&bySlot[j])
					}
				}
				continue
			}
			for _, p := range postings {
				if j, ok := slices.BinarySearchFunc(bySlot, p.slot(), func(h hit, slot int32) int { return cmp.Compare(h.slot, slot) }); ok {
					add(&bySlot[j])
				}
			}
		}
	}
	for i, words := range matched {
		matched[i] = withoutParts(words)
	}
	return matched
}

// withoutParts removes single characters of scripts without spaces, unless their pair is missing.
func withoutParts(list []string) []string {
	if !slices.ContainsFunc(list, text.Unspaced) {
		return list
	}
	all := slices.Clone(list)
	return slices.DeleteFunc(list, func(one string) bool {
		return text.Unspaced(one) && slices.ContainsFunc(all, func(pair string) bool {
			return len(pair) > len(one) && strings.Contains(pair, one)
		})
	})
}

// timesIn returns how often a memory contains a word.
func (s *search) timesIn(word, slot int32) int {
	list := s.x.words[word].postings
	i, ok := slices.BinarySearchFunc(list, slot, func(p posting, slot int32) int { return cmp.Compare(p.slot(), slot) })
	if !ok {
		return 0
	}
	return list[i].times()
}

// explain returns the parts of a score.
func (s *search) explain(r ranked) *Why {
	p := s.parts(r.slot, r.near, r.meaning, r.together)
	why := &Why{Neighbours: p.near, Together: p.together, Session: p.session, Speaker: p.speaker, Date: s.dated(r.slot), Answer: p.answer, Meaning: p.meaning, Worth: p.worth}
	for i := range s.p.words {
		w := &s.p.words[i]
		best := 0.0
		for _, n := range w.numbers {
			if times := s.timesIn(n, r.slot); times > 0 {
				best = max(best, w.weight*w.rarity*s.saturated(times, s.x.docs[r.slot].length))
			}
		}
		why.Words += best
	}
	why.Related = max(p.words-why.Words, 0)
	if why.Related < 1e-9 {
		why.Related = 0
	}
	if s.repeating(r.slot) {
		why.Worth = 0
		why.scale(repeatedShare)
	}
	return why
}

// sized returns n values that are not set, in the memory of list if it is large enough.
func sized[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n, n+n/4)
	}
	return list[:n]
}

// cleared returns n zeros, in the memory of list if it is large enough.
func cleared[T any](list []T, n int) []T {
	list = sized(list, n)
	clear(list)
	return list
}
