package memory

import (
	"reflect"

	"keepsake/internal/audit"
	"keepsake/internal/problem"
)

// importLines decides about lines in their order. erased are IDs of memories that were erased.
func (s *writeSet) importLines(lines []*importLine, erased map[string]bool) (counts Imported, err error) {
	for _, line := range lines {
		counts.Received++
		stored, err := Stored{}, line.err
		if err == nil {
			if stored, err = s.importLine(line, erased); err != nil && !refused(err) {
				return counts, err
			}
		}
		switch {
		case err != nil:
			counts.fail(line.number, err)
		case stored.Created:
			counts.Created++
		case stored.Deduplicated:
			counts.Unchanged++
		default:
			counts.Replaced++
		}
	}
	return counts, nil
}

func (s *writeSet) importLine(line *importLine, erased map[string]bool) (Stored, error) {
	if !line.hasID {
		return s.put(&line.draft, audit.MemoryImported)
	}
	id := line.memory.ID
	existing := s.memories.byID[id]
	var sameKey *pending
	if line.memory.Key != "" {
		sameKey = s.memories.first(line.match)
	}
	switch {
	case erased[id]:
		return Stored{}, problem.Validation("id", problem.NotAllowed, "The memory with this id was erased.")
	case s.foreign[id] || existing != nil && (existing.memory.SubjectID != line.memory.SubjectID || !visible(line.by.Principal, existing.memory)):
		return Stored{}, problem.Validation("id", problem.Conflicting, "This ID belongs to another memory.")
	case sameKey != nil && sameKey != existing:
		return Stored{}, problem.Validation("key", problem.Conflicting, "Another memory of this subject already has this key.")
	case existing != nil:
		return s.overwrite(existing, line)
	}
	if err := s.create(line.memory, line.row, line.older); err != nil {
		return Stored{}, err
	}
	s.log(line.subject, line.by, audit.MemoryImported, id)
	return Stored{Memory: line.memory, Created: true}, nil
}

// overwrite decides about a line whose memory exists. Older revisions that exist stay as they are.
func (s *writeSet) overwrite(existing *pending, line *importLine) (Stored, error) {
	unchanged := Stored{Memory: existing.memory, Deduplicated: true}
	next := *line.memory
	if !line.withPast { // the line replaces what the memory contains
		next.CreatedAt, next.CreatedBy = existing.memory.CreatedAt, existing.memory.CreatedBy
		next.Revision = existing.memory.Revision
		if sameContent(next, *existing.memory) {
			return unchanged, nil
		}
		next.Revision++
	} else if next.Revision <= existing.memory.Revision {
		if next.Revision == existing.memory.Revision && reflect.DeepEqual(&next, existing.memory) {
			return unchanged, nil
		}
		return Stored{}, problem.Validation("revision", problem.Conflicting, "The memory exists with another or a newer revision.")
	}
	if err := line.sealHistory(s.subjects[line.subject], existing.row); err != nil {
		return Stored{}, err
	}
	if err := s.revise(existing, &next, line.older...); err != nil {
		return Stored{}, err
	}
	s.log(line.subject, line.by, audit.MemoryImported, next.ID)
	return Stored{Memory: &next}, nil
}

// sameContent compares all that a client writes.
func sameContent(a, b Memory) bool {
	for _, m := range []*Memory{&a, &b} {
		m.UpdatedAt, m.UpdatedBy = m.CreatedAt, ""
	}
	return reflect.DeepEqual(&a, &b)
}
