package memory

import (
	"reflect"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
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
			counts.Fail(line.number, err)
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
	existing, err := s.existing(line, erased)
	switch {
	case err != nil:
		return Stored{}, err
	case existing == nil:
		if err := s.create(line.memory, line.row, line.older); err != nil {
			return Stored{}, err
		}
		s.log(line.subject, line.by, audit.MemoryImported, line.memory.ID)
		return Stored{Memory: line.memory, Created: true}, nil
	case !line.hasID && line.memory.Key == "":
		s.log(line.subject, line.by, audit.MemoryImported, existing.memory.ID)
		return Stored{Memory: existing.memory, Deduplicated: true}, nil
	}
	return s.overwrite(existing, line)
}

// existing returns the memory that a line is about: the one with its ID or, in a line without an ID, the one that has its key or says
// the same.
func (s *writeSet) existing(line *importLine, erased map[string]bool) (existing *pending, err error) {
	if !line.hasID {
		if line.matches() {
			existing = s.memories.first(line.match)
		}
		if existing != nil && line.memory.Key != "" && !visible(line.by.Principal, existing.memory) {
			return nil, problem.Missing()
		}
		return existing, nil
	}
	id := line.memory.ID
	existing = s.memories.byID[id]
	var sameKey *pending
	if line.memory.Key != "" {
		sameKey = s.memories.first(line.match)
	}
	switch {
	case erased[id]:
		return nil, problem.Validation("id", problem.NotAllowed, "The memory with this id was erased.")
	case s.foreign[id] || existing != nil && (existing.memory.SubjectID != line.memory.SubjectID || !visible(line.by.Principal, existing.memory)):
		return nil, problem.Validation("id", problem.Conflicting, "This ID belongs to another memory.")
	case sameKey != nil && sameKey != existing:
		return nil, problem.Validation("key", problem.Conflicting, "Another memory of this subject already has this key.")
	}
	return existing, nil
}

// overwrite decides about a line whose memory exists. Older revisions that exist stay as they are.
func (s *writeSet) overwrite(existing *pending, line *importLine) (Stored, error) {
	next := *line.memory
	next.ID, next.ImportedBy = existing.memory.ID, existing.memory.ImportedBy
	if !line.past.createdAt {
		next.CreatedAt = existing.memory.CreatedAt
	}
	if !line.past.createdBy {
		next.CreatedBy = existing.memory.CreatedBy
	}
	if line.past.revision {
		same := next.Revision == existing.memory.Revision && reflect.DeepEqual(&next, existing.memory)
		if !same && next.Revision <= existing.memory.Revision {
			return Stored{}, problem.Validation("revision", problem.Conflicting, "The memory exists with another or a newer revision.")
		}
		if same {
			return Stored{Memory: existing.memory, Deduplicated: true}, nil
		}
	} else { // the line replaces what the memory contains
		next.Revision = existing.memory.Revision
		if sameContent(next, *existing.memory) {
			return Stored{Memory: existing.memory, Deduplicated: true}, nil
		}
		next.Revision++
		if !line.past.updatedAt {
			next.UpdatedAt = line.at
		}
		if !line.past.updatedBy {
			next.UpdatedBy = line.memory.ImportedBy
		}
	}
	next.ImportedBy = line.memory.ImportedBy
	for _, older := range line.history {
		older.ID = next.ID
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
