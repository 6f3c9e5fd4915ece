package memory

import (
	"context"
	"reflect"

	"keepsake/internal/audit"
	"keepsake/internal/problem"
)

// sealAll seals a line with its history.
func (a *arrival) sealAll(st *standing) error {
	if err := a.seal(st); err != nil {
		return err
	}
	return a.sealPast(st, a.row)
}

// sealPast seals the older revisions of the memory of which base is one.
func (a *arrival) sealPast(st *standing, base *Row) error {
	a.older = make([]*Row, len(a.history))
	for i, older := range a.history {
		row, err := st.row(older, base)
		if err != nil {
			return err
		}
		a.older[i] = row
	}
	return nil
}

// decideImport decides what to write of a chunk. What stands in the store is looked up here, in the unit: of ids that are
// another subject's or were erased, the change of a subject says nothing.
func (s *Service) decideImport(ctx context.Context, workspaceID string, chunk []*arrival, held map[Hash]*standing, left room) (_ []*work, counts Imported, err error) {
	g := newDeciding(held, left)
	erased, err := s.meetNamed(ctx, workspaceID, g, chunk)
	if err != nil {
		return nil, counts, err
	}
	for _, a := range chunk {
		counts.Received++
		if err := a.err; err != nil {
			counts.fail(a.number, err)
			continue
		}
		outcome, err := g.arrive(a, erased)
		if err != nil {
			return nil, counts, err
		}
		switch {
		case outcome.refused != nil:
			counts.fail(a.number, outcome.refused)
		case outcome.created:
			counts.Created++
		case outcome.replaced:
			counts.Replaced++
		default:
			counts.Unchanged++
		}
	}
	works, err := g.finish()
	return works, counts, err
}

// meetNamed makes known what stands in the store under the ids and keys of a chunk, and says which of its ids were erased.
func (s *Service) meetNamed(ctx context.Context, workspaceID string, g *deciding, chunk []*arrival) (erased map[string]bool, err error) {
	var ids []string
	var drafts []*draft
	for _, a := range chunk {
		if a.err != nil {
			continue
		}
		if a.named {
			ids = append(ids, a.memory.ID)
		}
		if !a.named || a.memory.Key != "" {
			drafts = append(drafts, &a.draft)
		}
	}
	erased = map[string]bool{}
	if len(ids) > 0 {
		gone, err := s.o.Store.MemoryTombstones(ctx, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range gone {
			erased[id] = true
		}
		rows, err := s.o.Store.MemoriesByID(ctx, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		now := s.o.Now()
		for _, r := range rows {
			st := g.held[r.Subject]
			switch {
			case r.expired(now):
				erased[r.ID] = true // as good as
			case st == nil:
				g.foreign[r.ID] = true
			default:
				m, err := open(workspaceID, r, st.key)
				if err != nil {
					return nil, err
				}
				if err := s.know(ctx, workspaceID, g, known{memory: m, row: r}); err != nil {
					return nil, err
				}
			}
		}
	}
	return erased, s.meet(ctx, workspaceID, g, drafts)
}

// outcome is what becomes of a line; nothing of it: it was there already.
type outcome struct {
	created, replaced bool
	refused           error
}

// arrive decides on one line.
func (g *deciding) arrive(a *arrival, erased map[string]bool) (o outcome, err error) {
	if !a.named {
		var r Result
		err := g.put(&a.draft, &r, audit.MemoryImported)
		return outcome{created: r.Created, replaced: !r.Created && !r.Deduplicated && r.Err == nil, refused: r.Err}, err
	}
	id := a.memory.ID
	there := g.byID[id]
	var sameKey *entry
	if a.memory.Key != "" {
		sameKey = g.first(a.alike)
	}
	switch {
	case erased[id]:
		o.refused = problem.Validation("id", problem.NotAllowed, "The memory with this id was erased.")
	case g.foreign[id] || there != nil && (there.memory.SubjectID != a.memory.SubjectID || !mine(a.by.Principal, there.memory)):
		o.refused = problem.Validation("id", problem.Conflicting, "This ID belongs to another memory.")
	case sameKey != nil && sameKey != there:
		o.refused = problem.Validation("key", problem.Conflicting, "Another memory of this subject already has this key.")
	case there == nil && g.room.memories <= 0:
		o.refused = errFull
	case there == nil && !g.room.take(int64(len(a.row.Sealed))+sizeOf(a.older)):
		o.refused = problem.StorageFull()
	case there == nil:
		g.room.memories--
		g.add(&entry{memory: a.memory, row: a.row, older: a.older})
		g.workOf(a.subject).log(a.by, audit.MemoryImported, id)
		o.created = true
	default:
		return g.overwrite(there, a)
	}
	return o, nil
}

// overwrite decides on a line whose memory is there.
func (g *deciding) overwrite(there *entry, a *arrival) (o outcome, err error) {
	next := *a.memory
	if !a.kept { // it is a change as of now
		next.CreatedAt, next.CreatedBy = there.memory.CreatedAt, there.memory.CreatedBy
		next.Revision = there.memory.Revision
		if sameContent(&next, there.memory) {
			return o, nil
		}
		next.Revision++
	} else if next.Revision <= there.memory.Revision {
		if next.Revision == there.memory.Revision && reflect.DeepEqual(&next, there.memory) {
			return o, nil
		}
		o.refused = problem.Validation("revision", problem.Conflicting, "The memory exists with another or a newer revision.")
		return o, nil
	}
	if err := a.sealPast(g.held[a.subject], there.row); err != nil {
		return o, err
	}
	// Older revisions that are there already stay as they are.
	if o.refused, err = g.revise(a.subject, there, &next, a.older...); o.refused != nil || err != nil {
		return o, err
	}
	g.workOf(a.subject).log(a.by, audit.MemoryImported, next.ID)
	return outcome{replaced: true}, nil
}

// sameContent compares all that a client writes.
func sameContent(a, b *Memory) bool {
	x, y := *a, *b
	for _, m := range []*Memory{&x, &y} {
		m.UpdatedAt, m.UpdatedBy = m.CreatedAt, ""
	}
	return reflect.DeepEqual(&x, &y)
}
