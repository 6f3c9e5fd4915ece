package recall

import (
	"math"
	"slices"
)

// admit selects and counts the memories that pass the filters. It returns false if a filter names something that no memory
// has.
func (s *search) admit(q *Query) bool {
	x := s.x
	s.admitted = cleared(s.admitted, len(x.docs))
	s.turns = cleared(s.turns, len(x.orders))
	s.speaks = cleared(s.speaks, len(x.speakers.list)+1)
	s.count, s.length, s.sessions = 0, 0, 0
	clear(s.languages[:])
	s.earliest, s.latest = math.MaxInt64, math.MinInt64

	f, ok := x.filter(q)
	if !ok {
		return false
	}
	if !s.step(len(x.docs)) {
		return false
	}
	for slot := range x.lives {
		d := &x.docs[slot]
		if !f.when(&x.lives[slot]) || d.id == "" || f.narrow && !f.what(d) {
			continue
		}
		s.admitted[slot] = true
		s.count++
		s.length += int64(d.length)
		s.speaks[d.speaker]++
		s.languages[d.language]++
		s.earliest, s.latest = min(s.earliest, d.at), max(s.latest, d.at)
		if d.session != 0 {
			if s.turns[d.session]++; s.turns[d.session] == 1 {
				s.sessions++
			}
		}
	}
	return true
}

// filter contains the conditions of a query except its words, in the numbers of an Index.
type filter struct {
	now, asOf, created int64

	narrow         bool // there are conditions other than times
	agent, session int32
	kinds          []uint8
	tags           []int32
	from, to       int64
}

func (x *Index) filter(q *Query) (f filter, ok bool) {
	f = filter{now: micro(q.Now), asOf: micro(q.Now), created: never, from: always, to: never}
	if !q.AsOf.IsZero() {
		f.asOf = micro(q.AsOf)
		f.created = f.asOf
	}
	if q.From != nil {
		f.from, f.narrow = micro(*q.From), true
	}
	if q.To != nil {
		f.to, f.narrow = micro(*q.To), true
	}
	if q.AgentID != "" {
		if f.agent, ok = x.agents.known(q.AgentID); !ok {
			return f, false
		}
		f.narrow = true
	}
	if q.SessionID != "" {
		if f.session, ok = x.sessions.known(q.SessionID); !ok {
			return f, false
		}
		f.narrow = true
	}
	for _, kind := range q.Kinds {
		if n, ok := x.kinds.known(kind); ok {
			f.kinds = append(f.kinds, uint8(n))
		}
	}
	if len(q.Kinds) > 0 {
		if len(f.kinds) == 0 {
			return f, false
		}
		f.narrow = true
	}
	for _, tag := range q.Tags {
		n, ok := x.tags.known(tag)
		if !ok {
			return f, false
		}
		f.tags, f.narrow = append(f.tags, n), true
	}
	return f, true
}

// when reports whether a memory exists and is valid at the times of the query.
func (f *filter) when(l *life) bool {
	return l.expires > f.now && l.validTo > f.asOf && l.validFrom <= f.asOf && l.created <= f.created
}

// what reports whether a memory passes the other filters.
func (f *filter) what(d *doc) bool {
	if f.agent != 0 && d.agent != f.agent || f.session != 0 && d.session != f.session || d.at < f.from || d.at >= f.to {
		return false
	}
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, d.kind) {
		return false
	}
	for _, tag := range f.tags {
		if !slices.Contains(d.tags, tag) {
			return false
		}
	}
	return true
}
