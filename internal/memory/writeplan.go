package memory

import (
	"keepsake/internal/audit"
	"keepsake/internal/problem"
)

// writePlan decides what to write, one memory after the other, from the stored memories that were added to it. It encrypts
// what it decides, and later memories match earlier ones.
type writePlan struct {
	subjects   map[Hash]*subjectState
	perSubject map[Hash]*subjectWrites
	memories   plannedMemories
	foreign    map[string]bool // IDs of memories of other subjects
	room       room
}

func newWritePlan(subjects map[Hash]*subjectState, left room) *writePlan {
	return &writePlan{
		subjects: subjects, perSubject: map[Hash]*subjectWrites{}, foreign: map[string]bool{}, room: left,
		memories: plannedMemories{byID: map[string]*planned{}, byMatch: map[MatchKey][]*planned{}},
	}
}

// addStored adds a memory as it is stored.
func (p *writePlan) addStored(m *Memory, r *Row, trimmed int64) {
	if p.memories.byID[r.ID] == nil {
		p.memories.add(&planned{memory: m, row: r, base: r, trimmed: trimmed})
	}
}

// put decides about a draft. The access log gets the action by or, if it is empty, what was done.
func (p *writePlan) put(d *draft, r *Result, by audit.Action) error {
	log := func(action audit.Action, id string) {
		if by != "" {
			action = by
		}
		p.writesOf(d.subject).log(d.by, action, id)
	}
	var existing *planned
	if d.matches() {
		existing = p.memories.first(d.match)
	}
	switch {
	case existing == nil:
		if r.Err = p.create(d.memory, d.row, nil); r.Err == nil {
			r.Stored = Stored{Memory: d.memory, Created: true}
			log(audit.MemoryCreated, d.memory.ID)
		}
		return nil
	case d.memory.Key == "":
		r.Stored = Stored{Memory: existing.memory, Deduplicated: true}
		log(audit.MemoryRead, existing.memory.ID)
		return nil
	case !visible(d.by.Principal, existing.memory):
		r.Err = problem.Missing()
		return nil
	}
	next := *d.memory
	next.ID, next.CreatedAt, next.CreatedBy = existing.memory.ID, existing.memory.CreatedAt, existing.memory.CreatedBy
	next.Revision = existing.memory.Revision + 1
	if refused, err := p.revise(d.subject, existing, &next); refused != nil || err != nil {
		r.Err = refused
		return err
	}
	r.Stored = Stored{Memory: &next}
	log(audit.MemoryUpdated, next.ID)
	return nil
}

// create plans a new memory, or returns the limit that refuses it.
func (p *writePlan) create(m *Memory, r *Row, older []*Row) error {
	if p.room.memories <= 0 {
		return errFull
	}
	if !p.room.take(int64(len(r.Sealed)) + sizeOf(older)) {
		return problem.StorageFull()
	}
	p.room.memories--
	p.memories.add(&planned{memory: m, row: r, older: older})
	return nil
}

// revise plans the next revision of a memory. older are revisions between it and the current one. refused says that the
// storage limit does not allow it. It can count more bytes than the write adds: older revisions that exist already, and from
// the second revision of a memory in a plan also those that it removes.
func (p *writePlan) revise(subject Hash, m *planned, next *Memory, older ...*Row) (refused, err error) {
	row, err := p.subjects[subject].sealMemory(next, m.row)
	if err != nil {
		return nil, err
	}
	if !p.room.take(sizeOf(older) + int64(len(row.Sealed)) - m.trimmed) {
		return problem.StorageFull(), nil
	}
	m.older = append(append(m.older, m.row), older...)
	m.trimmed = 0
	p.memories.replace(m, next, row)
	return nil, nil
}

func (p *writePlan) writesOf(subject Hash) *subjectWrites {
	w := p.perSubject[subject]
	if w == nil {
		w = &subjectWrites{subjectState: p.subjects[subject]}
		p.perSubject[subject] = w
	}
	return w
}

// writes returns what was decided, sorted by subject.
func (p *writePlan) writes() []*subjectWrites {
	for _, m := range p.memories.order {
		if m.row == m.base {
			continue
		}
		w := p.writesOf(m.row.Subject)
		w.older = append(w.older, m.older...)
		w.bytes += m.row.Size
		if m.base == nil {
			w.insert = append(w.insert, m.row)
		} else {
			w.replace = append(w.replace, m.row)
			w.bytes -= m.base.Size
		}
	}
	list := make([]*subjectWrites, 0, len(p.perSubject))
	for _, hash := range sortedHashes(p.perSubject) {
		list = append(list, p.perSubject[hash])
	}
	return list
}

// sizeOf returns what rows count as stored bytes.
func sizeOf(rows []*Row) (bytes int64) {
	for _, r := range rows {
		bytes += int64(len(r.Sealed))
	}
	return bytes
}
