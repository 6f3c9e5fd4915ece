package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"keepsake/internal/fairshare"
	"keepsake/internal/text"
)

// search is the state of one search. Later searches reuse its lists.
type search struct {
	x    *Index
	w    Weights
	p    *plan
	task *fairshare.Task
	err  error // of the task; it ends the search

	admitted []bool // by slot
	count    int    // of admitted
	length   int64  // of their texts
	earliest int64  // of their times
	latest   int64
	speaks   []int32 // by speaker: admitted memories
	turns    []int32 // by session: admitted memories
	sessions int     // with admitted memories

	languages [text.Languages]int32 // of admitted memories

	own     []float64 // by slot: the score of its words
	theme   []float64 // by session: its score
	touched []int32   // sessions that contain the current word
	times   []int32   // by session: turns that contain the current word
	spans   calendar
	rarity  float64 // of the times that the query names
	like    likeness
	likes   []float64 // of a session's turns

	values []float64 // of a session's turns, in their order
	line   []int32   // their slots
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
	s.x, s.w, s.task, s.err = x, chosen, task, nil
	if q.Weights != nil {
		s.w = *q.Weights
	}
	hits, err := s.run(&q), s.err
	s.x, s.p, s.task = nil, nil, nil
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
	s.p = s.plan(q)
	s.countWords()
	s.nameDates()
	s.compareMeanings()
	if s.err != nil {
		return nil
	}
	s.best.reset(s.x, q.Limit, q.MinScore)
	s.score()
	ranked := s.best.sorted()
	hits := make([]Hit, len(ranked))
	for i, r := range ranked {
		if !s.step(1 + 8*len(s.p.words)) {
			return nil
		}
		hits[i] = Hit{ID: s.x.docs[r.slot].id, Score: r.score, Matched: s.matched(r.slot)}
		if q.Explain {
			hits[i].Why = s.explain(r)
		}
	}
	return hits
}

// countWords computes the scores of words for memories and sessions.
func (s *search) countWords() {
	s.own = cleared(s.own, len(s.x.docs))
	s.theme = cleared(s.theme, len(s.x.orders))
	s.times = cleared(s.times, len(s.x.orders))
	for i := range s.p.words {
		w := &s.p.words[i]
		rarity := math.Inf(1)
		if len(w.numbers) > 0 {
			df := 0
			for _, n := range w.numbers {
				list := s.x.words[n].postings
				if !s.step(3 * len(list)) {
					return
				}
				df += s.frequency(list)
			}
			if df > 0 {
				rarity = s.idf(min(df, s.count))
				w.rarity = rarity
				s.touched = s.touched[:0]
				for _, n := range w.numbers {
					s.addWord(s.x.words[n].postings, w.weight*rarity)
					s.touch(s.x.words[n].postings)
				}
				s.addTheme(w.weight)
			}
		}
		for _, r := range w.related {
			list := s.x.words[r.word].postings
			if !s.step(2 * len(list)) {
				return
			}
			if df := s.frequency(list); df > 0 {
				s.addWord(list, w.weight*r.weight*min(rarity, s.idf(df)))
			}
		}
	}
}

// frequency returns how many memories of a list are admitted.
func (s *search) frequency(list []posting) int {
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

func (s *search) addWord(list []posting, weight float64) {
	for _, p := range list {
		if slot := p.slot(); s.admitted[slot] {
			s.own[slot] += weight * s.saturated(float64(p.times()), s.x.docs[slot].length)
		}
	}
}

// saturated returns the BM25 weight of a frequency in a text of a length, at most K1 + 1.
func (s *search) saturated(times float64, length int32) float64 {
	average := float64(s.length) / float64(s.count)
	return times * (s.w.K1 + 1) / (times + s.w.K1*(1-s.w.B+s.w.B*float64(length)/max(average, 1)))
}

// touch counts the turns of each session that contain a word.
func (s *search) touch(list []posting) {
	if s.w.Session == 0 || s.sessions == 0 {
		return
	}
	for _, p := range list {
		slot := p.slot()
		session := s.x.docs[slot].session
		if session == 0 || !s.admitted[slot] {
			continue
		}
		if s.times[session]++; s.times[session] == 1 {
			s.touched = append(s.touched, session)
		}
	}
}

// addTheme scores a word for the sessions that contain it. It treats a session as a text and its turns as occurrences.
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
}

// nameDates computes the times that the query names, and their weight.
func (s *search) nameDates() {
	s.spans, s.rarity = nil, 0
	if s.w.Date == 0 || s.p.dates.none() {
		return
	}
	s.spans = s.p.dates.between(s.earliest, s.latest)
	inside := 0
	for slot := range s.x.docs {
		if !s.step(1 + len(s.spans)/4) {
			return
		}
		if s.admitted[slot] && s.spans.has(s.x.docs[slot].at) {
			inside++
		}
	}
	s.rarity = s.w.Date * inverse(inside, s.count)
}

// score adds the other signals and selects the best memories.
func (s *search) score() {
	dated := len(s.spans) > 0
	for session := range s.x.orders {
		if !s.step(1 + len(s.x.orders[session].slots)) {
			return
		}
		if session > 0 && s.turns[session] > 0 {
			s.scoreSession(int32(session), dated)
		}
	}
	if !s.step(len(s.x.docs)) {
		return
	}
	for slot := range s.x.docs {
		if s.admitted[slot] && s.x.docs[slot].session == 0 {
			slot := int32(slot)
			s.keep(slot, s.parts(slot, 0, s.w.Meaning*s.like.of(slot)))
		}
	}
}

// scoreSession scores the turns of a session with their neighbours.
func (s *search) scoreSession(session int32, dated bool) {
	s.values, s.line = s.values[:0], s.line[:0]
	found := dated || s.theme[session] > 0 || s.p.onlyName
	for _, slot := range s.x.orders[session].slots {
		if s.admitted[slot] {
			s.line, s.values = append(s.line, slot), append(s.values, s.own[slot])
			found = found || s.own[slot] > 0 || s.like.found(slot)
		}
	}
	if !found {
		return
	}
	s.compareTurnsOf(s.line)
	// Most turns are excluded without looking at dates.
	for i, slot := range s.line {
		p := s.parts(slot, s.near(i), s.meaning(i))
		if p.sum()+s.rarity >= s.best.bar() {
			s.keep(slot, p)
		}
	}
}

// near returns what the turns before the i-th turn of the session add to its score. Turns after it add nothing: they answer it.
func (s *search) near(i int) float64 {
	sum := 0.0
	if i > 0 && s.x.docs[s.line[i-1]].marks&asks != 0 {
		sum += s.w.Reply * s.values[i-1]
	}
	if i > 1 {
		sum += s.w.Before * s.values[i-2]
	}
	return sum
}

// parts are the parts of a score; words and related words are one part here.
type parts struct{ words, near, session, speaker, date, answer, meaning, worth float64 }

func (p *parts) sum() float64 {
	return p.words + p.near + p.session + p.speaker + p.date + p.answer + p.meaning + p.worth
}

// parts returns the parts of a score, except that of the date.
func (s *search) parts(slot int32, near, meaning float64) parts {
	d := &s.x.docs[slot]
	p := parts{words: s.own[slot], near: near, session: s.w.Session * s.theme[d.session], meaning: meaning, worth: s.worth(slot)}
	if s.p.speakers != nil {
		p.speaker = s.w.Speaker * s.p.speakers[d.speaker]
	}
	if s.p.answer&d.marks != 0 {
		p.answer = s.w.Answer * (p.words + p.near)
	}
	if s.p.answer&d.marks&hasTime != 0 {
		p.answer += s.w.Time
	}
	return p
}

// found reports whether anything says that the memory answers the query. Its worth and the kind of its answer do not, and its
// speaker only if the query consists of the name.
func (s *search) found(slot int32, p *parts) bool {
	return p.words > 0 || p.near > 0 || p.session > 0 || p.date > 0 || s.like.found(slot) || s.p.onlyName && p.speaker > 0
}

// keep adds the part of the date and offers the memory to the best ones.
func (s *search) keep(slot int32, p parts) {
	if len(s.spans) > 0 {
		if !s.step(len(s.spans) / 4) {
			return
		}
		p.date = s.dated(slot)
	}
	if !s.found(slot, &p) {
		return
	}
	// Rounding makes scores equal that differ only in the last bit.
	if score := math.Round(p.sum()*1e6) / 1e6; score > 0 {
		s.best.offer(ranked{slot: slot, score: score, near: p.near, meaning: p.meaning})
	}
}

// dated returns the part of the date of a score.
func (s *search) dated(slot int32) float64 { return s.rarity * s.spans.closeness(s.x.docs[slot].at) }

// matched returns the words of the query that a memory contains.
func (s *search) matched(slot int32) []string {
	list := []string{} // never nil, because a response contains the list
	for i := range s.p.words {
		w := &s.p.words[i]
		if s.contains(w, slot) && !slices.Contains(list, w.shown) {
			list = append(list, w.shown)
		}
	}
	// A single character is reported only if its pair is missing.
	all := slices.Clone(list)
	return slices.DeleteFunc(list, func(one string) bool {
		return text.Unspaced(one) && slices.ContainsFunc(all, func(pair string) bool {
			return len(pair) > len(one) && strings.Contains(pair, one)
		})
	})
}

// contains reports whether a memory contains a word of the query.
func (s *search) contains(w *wanted, slot int32) bool {
	return slices.ContainsFunc(w.numbers, func(n int32) bool { return s.timesIn(n, slot) > 0 })
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
	p := s.parts(r.slot, r.near, r.meaning)
	why := &Why{Neighbours: p.near, Session: p.session, Speaker: p.speaker, Date: s.dated(r.slot), Answer: p.answer, Meaning: p.meaning, Worth: p.worth}
	for i := range s.p.words {
		w := &s.p.words[i]
		for _, n := range w.numbers {
			if times := s.timesIn(n, r.slot); times > 0 {
				why.Words += w.weight * w.rarity * s.saturated(float64(times), s.x.docs[r.slot].length)
			}
		}
	}
	why.Related = max(p.words-why.Words, 0)
	if why.Related < 1e-9 {
		why.Related = 0
	}
	return why
}

// cleared returns n zeros, in the memory of list if it is large enough.
func cleared[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n, n+n/4)
	}
	list = list[:n]
	clear(list)
	return list
}
