package recall

import (
	"slices"

	"keepsake/internal/base/text"
)

// census counts memories.
type census struct {
	count     int
	length    int64                 // of their texts
	languages [text.Languages]int32 // memories in each language
	speaks    []int32               // by speaker: memories
	turns     []int32               // by session: memories
	sessions  int                   // with memories
}

// grow makes room for new sessions and speakers.
func (c *census) grow(sessions, speakers int) {
	for len(c.turns) < sessions {
		c.turns = append(c.turns, 0)
	}
	for len(c.speaks) < speakers {
		c.speaks = append(c.speaks, 0)
	}
}

// add counts a memory: n is 1, or -1 to remove it.
func (c *census) add(d *doc, n int32) {
	c.count += int(n)
	c.length += int64(n * d.length)
	c.languages[d.language] += n
	c.speaks[d.speaker] += n
	if d.session == 0 {
		return
	}
	before := c.turns[d.session]
	c.turns[d.session] = before + n
	switch {
	case before == 0:
		c.sessions++
	case before+n == 0:
		c.sessions--
	}
}

// admit selects and counts the memories that pass the filters. It returns false if a filter names something that no memory
// has.
func (s *search) admit(q *Query) bool {
	x := s.x
	f, ok := x.filter(q)
	if !ok {
		return false
	}
	if !f.narrow && f.created == never && x.limited == 0 { // the index has selected and counted them
		s.admitted, s.census = x.alive, x.all
		return true
	}
	if !s.step(len(x.docs)) {
		return false
	}
	s.selected = cleared(s.selected, len(x.docs))
	c := census{speaks: cleared(s.counted.speaks, len(x.speakers.list)+1), turns: cleared(s.counted.turns, len(x.orders))}
	for slot := range x.docs {
		d := &x.docs[slot]
		if !x.alive[slot] || !f.when(&x.windows[d.window]) || f.narrow && !f.what(d, &x.records[slot]) || f.created != never && x.records[slot].created > f.created {
			continue
		}
		s.selected[slot] = true
		c.add(d, 1)
	}
	s.admitted, s.census, s.counted = s.selected, c, c
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

// when reports whether a memory is valid at the times of the query.
func (f *filter) when(w *window) bool {
	return w.expires > f.now && w.validTo > f.asOf && w.validFrom <= f.asOf
}

// what reports whether a memory passes the other filters.
func (f *filter) what(d *doc, r *record) bool {
	if f.agent != 0 && r.agent != f.agent || f.session != 0 && d.session != f.session || r.at < f.from || r.at >= f.to {
		return false
	}
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, d.kind) {
		return false
	}
	for _, tag := range f.tags {
		if !slices.Contains(r.tags, tag) {
			return false
		}
	}
	return true
}
