package recall

import (
	"math"
	"slices"
)

// score adds the other signals and selects the best memories. The sessions that are most about the query come first, because most
// of the others are then excluded fast; the order does not change the result.
func (s *search) score() {
	s.bound()
	most := slices.Max(s.theme)
	for _, first := range []bool{true, false} {
		for session := 1; session < len(s.x.orders); session++ {
			if s.turns[session] == 0 || first != (2*s.theme[session] >= most) {
				continue
			}
			if !s.step(1 + len(s.x.orders[session].slots)) {
				return
			}
			s.scoreSession(int32(session))
		}
	}
	if !s.step(len(s.x.docs)) {
		return
	}
	for slot := range s.x.docs {
		if d := &s.x.docs[slot]; s.admitted[slot] && d.session == 0 {
			slot, meaning := int32(slot), s.w.Meaning*s.like.of(int32(slot))
			if s.sum(d, s.own[slot], meaning)+s.w.Together+s.rarity >= s.best.bar() {
				s.keep(slot, s.parts(slot, 0, meaning, s.together([]int32{slot})))
			}
		}
	}
}

// bound computes what the signals that look at the memory itself can add to a score at most.
func (s *search) bound() {
	s.most = s.worths.most + s.rarity + s.w.Together
	for _, speaker := range s.p.speakers {
		s.most = max(s.most, s.worths.most+s.rarity+s.w.Together+s.w.Speaker*speaker)
	}
	s.share = 1
	if s.p.answer != 0 {
		s.most, s.share = s.most+max(s.w.Time, 0), 1+max(s.w.Answer, 0)
	}
}

// scoreSession scores the turns of a session with their neighbours.
func (s *search) scoreSession(session int32) {
	line := s.x.orders[session].slots
	if int(s.turns[session]) < len(line) {
		s.line = s.line[:0]
		for _, slot := range line {
			if s.admitted[slot] {
				s.line = append(s.line, slot)
			}
		}
		line = s.line
	}
	s.values = sized(s.values, len(line))
	most := 0.0
	for i, slot := range line {
		s.values[i] = s.own[slot]
		most = max(most, s.own[slot])
	}
	if most == 0 && s.theme[session] == 0 && len(s.spans) == 0 && !s.p.onlyName && !slices.ContainsFunc(line, s.like.found) {
		return
	}
	var meanings []float64
	if len(s.like.dots) > 0 {
		meanings = s.compareTurns(line)
	}
	theme, bar := s.w.Session*s.theme[session], s.best.bar()
	for i, slot := range line {
		near, meaning := 0.0, 0.0
		if most > 0 {
			near = s.near(line, i)
		}
		if meanings != nil {
			meaning = meanings[i]
		}
		// Most turns are excluded without looking at the memory, and most others without looking at dates.
		if (s.values[i]+near)*s.share+theme+meaning+s.most < bar {
			continue
		}
		together := s.together(line[max(0, i-2):min(len(line), i+3)])
		if s.sum(&s.x.docs[slot], s.values[i]+near, theme+meaning+together)+s.rarity < bar {
			continue
		}
		s.keep(slot, s.parts(slot, near, meaning, together))
		bar = s.best.bar()
	}
}

// near returns what the two turns before the i-th turn of the session add to its score: people send several messages in a row, and
// answer questions without repeating their words. Turns after it add nothing: they answer it.
func (s *search) near(line []int32, i int) float64 {
	sum, same, reply := 0.0, s.w.Same, s.w.Reply
	speaker := s.x.docs[line[i]].speaker
	for j := i - 1; j >= max(0, i-2); j-- {
		switch d := &s.x.docs[line[j]]; {
		case d.speaker == speaker:
			sum += same * s.values[j]
			same = 0
		case d.marks&asks != 0:
			sum += reply * s.values[j]
			reply = 0
		}
	}
	return sum
}

// together returns what the words of the query in some memories add to the score of one of them.
func (s *search) together(slots []int32) float64 {
	if s.w.Together == 0 {
		return 0
	}
	mask := uint64(0)
	for _, slot := range slots {
		mask |= s.masks[slot]
	}
	return s.w.Together * s.shareOf(mask)
}

// parts are the parts of a score; words and related words are one part here.
type parts struct{ words, near, together, session, speaker, date, answer, meaning, worth float64 }

func (p *parts) sum() float64 {
	return p.words + p.near + p.together + p.session + p.speaker + p.date + p.answer + p.meaning + p.worth
}

// parts returns the parts of a score, except that of the date.
func (s *search) parts(slot int32, near, meaning, together float64) parts {
	d := &s.x.docs[slot]
	p := parts{words: s.own[slot], near: near, together: together, session: s.w.Session * s.theme[d.session], meaning: meaning, worth: s.worths.of(d)}
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

// sum returns about the sum of the parts without that of the date: said is that of words, near and rest of other parts.
func (s *search) sum(d *doc, said, rest float64) float64 {
	sum := said + rest + s.worths.of(d)
	if s.p.speakers != nil {
		sum += s.w.Speaker * s.p.speakers[d.speaker]
	}
	if s.p.answer&d.marks != 0 {
		sum += s.w.Answer * said
		if s.p.answer&d.marks&hasTime != 0 {
			sum += s.w.Time
		}
	}
	return sum
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
	if score := math.Round(s.demoted(slot, p.sum(), p.worth)*1e6) / 1e6; score > 0 {
		s.best.offer(ranked{slot: slot, score: score, near: p.near, meaning: p.meaning, together: p.together})
	}
}

// dated returns the part of the date of a score.
func (s *search) dated(slot int32) float64 { return s.rarity * s.spans.closeness(s.x.records[slot].at) }
