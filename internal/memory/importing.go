package memory

import (
	"context"
	"reflect"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
)

// importer decides what to write of a chunk.
func (s *Service) importer(p *auth.Principal, chunk []*arrival) decide {
	return func(ctx context.Context, v *seen, room int64) (*decision, error) {
		g := newDeciding(v, room, s.now())
		erased, err := s.loadNamed(ctx, g, chunk)
		if err != nil {
			return nil, err
		}
		var counts Imported
		for _, a := range chunk {
			counts.Received++
			if err := a.err; err != nil {
				counts.fail(a.number, err)
				continue
			}
			outcome, err := g.arrive(p, a, erased)
			if err != nil {
				return nil, err
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
		return &decision{works: works, counts: counts}, err
	}
}

// loadNamed reads what stands in the store under the ids and keys of a chunk, and which of its ids were erased.
func (s *Service) loadNamed(ctx context.Context, g *deciding, chunk []*arrival) (erased map[string]bool, err error) {
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
		gone, err := s.o.Store.MemoryTombstones(ctx, g.v.workspaceID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range gone {
			erased[id] = true
		}
		rows, err := s.o.Store.MemoriesByID(ctx, g.v.workspaceID, ids)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.expired(g.now) {
				erased[r.ID] = true // as good as
			} else if err := g.meet(r); err != nil {
				return nil, err
			}
		}
	}
	return erased, s.load(ctx, g, drafts)
}

// meet makes a row of the store known. One of a subject that is not written here is known by its id alone.
func (g *deciding) meet(r *Row) error {
	st := g.v.of[r.Subject]
	if st == nil || st.generation != r.Generation {
		g.foreign[r.ID] = true
		return nil
	}
	if g.byID[r.ID] != nil {
		return nil
	}
	m, err := open(g.v.workspaceID, r, st.key)
	if err != nil {
		return err
	}
	g.know(st, &entry{memory: m, row: r, base: r})
	return nil
}

// outcome is what becomes of a line; nothing of it: it was there already.
type outcome struct {
	created, replaced bool
	refused           error
}

// arrive decides on one line.
func (g *deciding) arrive(p *auth.Principal, a *arrival, erased map[string]bool) (o outcome, err error) {
	if !a.named {
		var r Result
		err := g.put(p, &a.draft, &r, audit.MemoryImported)
		return outcome{created: r.Created, replaced: !r.Created && !r.Deduplicated && r.Err == nil, refused: r.Err}, err
	}
	st, there := g.v.of[a.subject], g.byID[a.memory.ID]
	switch {
	case erased[a.memory.ID]:
		o.refused = problem.Validation("id", problem.NotAllowed, "The memory with this id was erased.")
	case g.foreign[a.memory.ID] || there != nil && (there.memory.SubjectID != a.memory.SubjectID || !mine(p, there.memory)):
		o.refused = problem.Validation("id", problem.Conflicting, "The id is that of another memory.")
	case a.memory.Key != "" && g.byKey[st.withKey(a.memory.Key)] != there && g.byKey[st.withKey(a.memory.Key)] != nil:
		o.refused = problem.Validation("key", problem.Conflicting, "Another memory of this subject has this key.")
	case there == nil && g.room <= 0:
		o.refused = errFull
	case there == nil:
		o.created, err = true, g.settle(st, a)
	default:
		return g.overwrite(p, st, there, a)
	}
	return o, err
}

// settle adds a memory under its own id, with its history.
func (g *deciding) settle(st *standing, a *arrival) error {
	g.room--
	if err := a.seal(st); err != nil {
		return err
	}
	e := &entry{memory: a.memory, row: a.row}
	older, err := a.olderRows(st)
	if err != nil {
		return err
	}
	e.older = older
	g.know(st, e)
	g.workOf(st).log(audit.MemoryImported, a.memory.ID)
	return nil
}

func (a *arrival) olderRows(st *standing) ([]*Row, error) {
	rows := make([]*Row, len(a.history))
	for i, older := range a.history {
		row, err := st.row(older)
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	return rows, nil
}

// overwrite decides on a line whose memory is there.
func (g *deciding) overwrite(p *auth.Principal, st *standing, there *entry, a *arrival) (o outcome, err error) {
	next := *a.memory
	if !a.kept { // it is a change as of now
		next.CreatedAt, next.CreatedBy = there.memory.CreatedAt, there.memory.CreatedBy
		next.Revision = there.memory.Revision
		if alike := next; sameContent(&alike, there.memory) {
			return o, nil
		}
		next.Revision++
	} else if next.Revision <= there.memory.Revision {
		if next.Revision == there.memory.Revision && reflect.DeepEqual(&next, there.memory) {
			return o, nil
		}
		o.refused = problem.Validation("revision", problem.Conflicting, "The memory is there in another or a newer revision.")
		return o, nil
	}
	if err := g.revise(st, there, &next); err != nil {
		return o, err
	}
	older, err := a.olderRows(st)
	if err != nil {
		return o, err
	}
	there.older = append(there.older, older...) // those that are there already stay as they are
	g.workOf(st).log(audit.MemoryImported, next.ID)
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
