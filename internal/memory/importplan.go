package memory

import (
	"reflect"

	"keepsake/internal/audit"
	"keepsake/internal/problem"
)

// outcome says what a write plan decided about a line; the zero value says that its memory exists already.
type outcome struct {
	created, replaced bool
	refused           error
}

// importLines decides about lines in their order. erased are IDs of memories that were erased.
func (p *writePlan) importLines(lines []*importLine, erased map[string]bool) (counts Imported, err error) {
	for _, line := range lines {
		counts.Received++
		if line.err != nil {
			counts.fail(line.number, line.err)
			continue
		}
		o, err := p.importLine(line, erased)
		if err != nil {
			return counts, err
		}
		switch {
		case o.refused != nil:
			counts.fail(line.number, o.refused)
		case o.created:
			counts.Created++
		case o.replaced:
			counts.Replaced++
		default:
			counts.Unchanged++
		}
	}
	return counts, nil
}

func (p *writePlan) importLine(line *importLine, erased map[string]bool) (o outcome, err error) {
	if !line.hasID {
		var r Result
		err := p.put(&line.draft, &r, audit.MemoryImported)
		return outcome{created: r.Created, replaced: !r.Created && !r.Deduplicated && r.Err == nil, refused: r.Err}, err
	}
	id := line.memory.ID
	existing := p.memories.byID[id]
	var sameKey *planned
	if line.memory.Key != "" {
		sameKey = p.memories.first(line.match)
	}
	switch {
	case erased[id]:
		o.refused = problem.Validation("id", problem.NotAllowed, "The memory with this id was erased.")
	case p.foreign[id] || existing != nil && (existing.memory.SubjectID != line.memory.SubjectID || !visible(line.by.Principal, existing.memory)):
		o.refused = problem.Validation("id", problem.Conflicting, "This ID belongs to another memory.")
	case sameKey != nil && sameKey != existing:
		o.refused = problem.Validation("key", problem.Conflicting, "Another memory of this subject already has this key.")
	case existing == nil:
		if o.refused = p.create(line.memory, line.row, line.older); o.refused == nil {
			p.writesOf(line.subject).log(line.by, audit.MemoryImported, id)
			o.created = true
		}
	default:
		return p.overwrite(existing, line)
	}
	return o, nil
}

// overwrite decides about a line whose memory exists. Older revisions that exist stay as they are.
func (p *writePlan) overwrite(existing *planned, line *importLine) (o outcome, err error) {
	next := *line.memory
	if !line.complete { // the line is a change
		next.CreatedAt, next.CreatedBy = existing.memory.CreatedAt, existing.memory.CreatedBy
		next.Revision = existing.memory.Revision
		if sameContent(next, *existing.memory) {
			return o, nil
		}
		next.Revision++
	} else if next.Revision <= existing.memory.Revision {
		if next.Revision == existing.memory.Revision && reflect.DeepEqual(&next, existing.memory) {
			return o, nil
		}
		o.refused = problem.Validation("revision", problem.Conflicting, "The memory exists with another or a newer revision.")
		return o, nil
	}
	if err := line.sealHistory(p.subjects[line.subject], existing.row); err != nil {
		return o, err
	}
	if o.refused, err = p.revise(line.subject, existing, &next, line.older...); o.refused != nil || err != nil {
		return o, err
	}
	p.writesOf(line.subject).log(line.by, audit.MemoryImported, next.ID)
	return outcome{replaced: true}, nil
}

// sameContent compares all that a client writes.
func sameContent(a, b Memory) bool {
	for _, m := range []*Memory{&a, &b} {
		m.UpdatedAt, m.UpdatedBy = m.CreatedAt, ""
	}
	return reflect.DeepEqual(&a, &b)
}
