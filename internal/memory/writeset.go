package memory

import (
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
)

// writeSet decides what a transaction writes, one memory after the other, from the stored memories that were added to it. It
// encrypts what it decides, and later memories match earlier ones. Its methods return a problem.Problem if they refuse a
// memory; the set is then as before.
type writeSet struct {
	subjects   map[Hash]*subjectState
	perSubject map[Hash]*subjectWrites
	memories   pendingMemories
	foreign    map[string]bool // IDs of memories of other subjects
	room       room
}

func newWriteSet(subjects map[Hash]*subjectState, left room) *writeSet {
	return &writeSet{
		subjects: subjects, perSubject: map[Hash]*subjectWrites{}, foreign: map[string]bool{}, room: left,
		memories: pendingMemories{byID: map[string]*pending{}, byMatch: map[MatchKey][]*pending{}},
	}
}

// refused reports whether an error of a writeSet refuses one memory. Any other error ends the write.
func refused(err error) bool {
	_, ok := problem.As(err)
	return ok
}

// put decides about a draft.
func (s *writeSet) put(d *draft) (Stored, error) {
	var existing *pending
	if d.matches() {
		existing = s.memories.first(d.match)
	}
	switch {
	case existing == nil:
		if err := s.create(d.memory, d.row, nil); err != nil {
			return Stored{}, err
		}
		s.log(d.subject, d.by, audit.MemoryCreated, d.memory.ID)
		return Stored{Memory: d.memory, Created: true}, nil
	case d.memory.Key == "":
		s.log(d.subject, d.by, audit.MemoryRead, existing.memory.ID)
		return Stored{Memory: existing.memory, Deduplicated: true}, nil
	case !visible(d.by.Principal, existing.memory):
		return Stored{}, problem.Missing()
	}
	next := *d.memory
	next.ID, next.CreatedAt, next.CreatedBy = existing.memory.ID, existing.memory.CreatedAt, existing.memory.CreatedBy
	next.ImportedBy, next.Revision = existing.memory.ImportedBy, existing.memory.Revision+1
	if err := s.revise(existing, &next); err != nil {
		return Stored{}, err
	}
	s.log(d.subject, d.by, audit.MemoryUpdated, next.ID)
	return Stored{Memory: &next}, nil
}

// create adds a new memory with its older revisions.
func (s *writeSet) create(m *Memory, r *Row, older []*Row) error {
	if s.room.memories <= 0 {
		return errFull
	}
	if !s.room.take(int64(len(r.Sealed)) + sealedBytes(older)) {
		return problem.StorageFull()
	}
	s.room.memories--
	s.memories.add(&pending{memory: m, row: r, older: older})
	return nil
}

// revise adds the next revision of a memory. older are revisions between it and the current one. It can count more bytes than
// the write adds: older revisions that exist already, and from the second revision of a memory in a set also those that it
// removes.
func (s *writeSet) revise(m *pending, next *Memory, older ...*Row) error {
	row, err := s.subjects[m.row.Subject].sealMemory(next, m.row)
	if err != nil {
		return err
	}
	if !s.room.take(sealedBytes(older) + int64(len(row.Sealed)) - m.trimmed) {
		return problem.StorageFull()
	}
	m.older = append(append(m.older, m.row), older...)
	m.trimmed = 0
	s.memories.replace(m, next, row)
	return nil
}

func (s *writeSet) log(subject Hash, by *caller, action audit.Action, id string) {
	s.writesOf(subject).log(by, action, id)
}

func (s *writeSet) writesOf(subject Hash) *subjectWrites {
	w := s.perSubject[subject]
	if w == nil {
		w = &subjectWrites{subjectState: s.subjects[subject]}
		s.perSubject[subject] = w
	}
	return w
}

// writes returns what was decided, sorted by subject.
func (s *writeSet) writes() []*subjectWrites {
	for _, m := range s.memories.order {
		if m.row == m.base {
			continue
		}
		w := s.writesOf(m.row.Subject)
		w.older = append(w.older, m.older...)
		w.textBytes += m.row.Size
		if m.base == nil {
			w.insert = append(w.insert, m.row)
		} else {
			w.replace = append(w.replace, m.row)
			w.textBytes -= m.base.Size
		}
	}
	list := make([]*subjectWrites, 0, len(s.perSubject))
	for _, hash := range sortedHashes(s.perSubject) {
		list = append(list, s.perSubject[hash])
	}
	return list
}

// sealedBytes returns what rows count as stored bytes.
func sealedBytes(rows []*Row) (bytes int64) {
	for _, r := range rows {
		bytes += int64(len(r.Sealed))
	}
	return bytes
}
