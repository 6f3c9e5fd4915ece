package recall

import (
	"slices"
	"strings"
)

// A turn of a conversation that repeats what a memory with a key said before its current revision is out of date. It stays findable,
// but it has no worth, and each other part of its score counts repeatedShare, so that what holds now comes first.
const repeatedShare = 0.5

// Limits of what an index keeps of an earlier revision. A single significant word is in too many turns to say what they repeat.
const (
	leastSaid = 2
	mostSaid  = 32 // words
)

// replaced is what earlier revisions of a memory said.
type replaced struct {
	at    int64 // when the current revision was written
	texts []outdated
}

// outdated is an earlier text, by the terms of its significant words. They are strings, because no memory needs to contain them.
type outdated struct {
	said []string
	now  []string // terms of the current text that it lacks; a turn with all of them does not only repeat
}

func (r *replaced) bytes() (sum int64) {
	for _, o := range r.texts {
		for _, term := range slices.Concat(o.said, o.now) {
			sum += stringBytes(term) + 16
		}
	}
	return sum
}

// replacedBy returns what the earlier revisions of a memory said that its current one does not say; nil for nothing.
func (a *Adder) replacedBy(it *Item) *replaced {
	if len(it.Replaced) == 0 {
		return nil
	}
	r := &replaced{at: micro(it.UpdatedAt)}
	current := a.significant(it.Text)
	for _, text := range it.Replaced {
		said := a.significant(text)
		if len(said) < leastSaid || len(said) > mostSaid || !slices.ContainsFunc(said, func(term string) bool { return !slices.Contains(current, term) }) {
			continue
		}
		var now []string
		for _, term := range current {
			if len(now) < mostSaid && !slices.Contains(said, term) {
				now = append(now, term)
			}
		}
		r.texts = append(r.texts, outdated{said, now})
	}
	if len(r.texts) == 0 {
		return nil
	}
	return r
}

// significant returns the terms of the words of a text that are not stop words, each once, and of scripts without spaces the pairs.
func (a *Adder) significant(s string) (terms []string) {
	a.terms = a.terms[:0]
	m := a.analyzeText(s)
	for _, t := range a.tokens {
		sp := &a.list[t.spelling]
		term := sp.term.text
		if sp.unspaced {
			term = sp.pair.text
		} else if sp.known.stops.Has(m.language) {
			continue
		}
		if term != "" && !slices.Contains(terms, term) {
			if terms = append(terms, strings.Clone(term)); len(terms) > 2*mostSaid {
				break
			}
		}
	}
	return terms
}

// markRepeats marks the admitted turns that repeat what an admitted memory said before. What was current at AsOf is not replaced then.
func (s *search) markRepeats(q *Query) {
	s.repeats = s.repeats[:0]
	turn, ok := s.x.kinds.known("turn")
	if !ok || len(s.x.replaced) == 0 {
		return
	}
	s.repeats = cleared(s.repeats, len(s.x.docs))
	for slot, r := range s.x.replaced {
		if !s.admitted[slot] || !q.AsOf.IsZero() && micro(q.AsOf) < r.at {
			continue
		}
		for i := range r.texts {
			if !s.markTurns(slot, r.at, &r.texts[i], uint8(turn)) {
				return
			}
		}
	}
}

// markTurns marks the turns that repeat an earlier text of a memory. What a person said after the current revision was written is no
// repetition: they may have changed their mind again.
func (s *search) markTurns(slot int32, at int64, o *outdated, turn uint8) bool {
	said, ok := s.x.numbersOf(o.said)
	if !s.step(len(o.said)) || !ok {
		return s.err == nil
	}
	now, ok := s.x.numbersOf(o.now)
	if !ok {
		now = nil
	}
	rarest := slices.MinFunc(said, func(a, b int32) int { return len(s.x.words[a].postings) - len(s.x.words[b].postings) })
	list := s.x.words[rarest].postings
	if !s.step(len(list)) {
		return false
	}
	for _, p := range list {
		other := p.slot()
		d := &s.x.docs[other]
		if !s.admitted[other] || other == slot || d.kind != turn || d.marks&byAssistant == 0 && s.x.records[other].at >= at {
			continue
		}
		if s.hasAll(other, said) && (len(now) == 0 || !s.hasAll(other, now)) {
			s.repeats[other] = true
		}
	}
	return true
}

// numbersOf returns the numbers of terms; ok is false if no memory contains one of them.
func (x *Index) numbersOf(terms []string) (numbers []int32, ok bool) {
	for _, term := range terms {
		n, ok := x.terms[term]
		if !ok {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// hasAll reports whether a memory contains all words of a list.
func (s *search) hasAll(slot int32, words []int32) bool {
	return !slices.ContainsFunc(words, func(n int32) bool { return s.timesIn(n, slot) == 0 })
}

// repeating reports whether a memory is a turn that repeats what was replaced.
func (s *search) repeating(slot int32) bool { return len(s.repeats) > 0 && s.repeats[slot] }

// demoted returns the score of a memory whose parts have a sum.
func (s *search) demoted(slot int32, sum, worth float64) float64 {
	if s.repeating(slot) {
		return (sum - worth) * repeatedShare
	}
	return sum
}
