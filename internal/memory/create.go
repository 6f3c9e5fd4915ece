package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// MaxBatch is how many items a batch may have.
const MaxBatch = 1000

// draft is an item of a batch on its way.
type draft struct {
	err         error // why it cannot be written
	by          *caller
	memory      *Memory // as it is created
	subject     Hash
	deduplicate bool

	st    *standing // the subject, as it was seen
	row   *Row      // memory, sealed
	alike Alike     // what is looked for that it may replace or repeat
}

// known is a memory that stands in the store.
type known struct {
	memory  *Memory
	row     *Row
	trimmed int64 // entry.trimmed
}

// looks reports whether something is looked for: what has the same key, or is equal.
func (d *draft) looks() bool { return d.memory.Key != "" || d.deduplicate }

// batch is what is written together, in its order. A single memory is a batch of one.
type batch struct {
	workspaceID string
	drafts      []*draft
	atomic      bool
	seen        map[Hash]*standing
}

// Prepared is a memory that was checked and sealed, or a batch of them.
type Prepared struct{ batch *batch }

// Prepare does of Create what must not happen inside a unit of work.
func (s *Service) Prepare(ctx context.Context, p *auth.Principal, item Item) (*Prepared, error) {
	b := &batch{workspaceID: p.WorkspaceID, drafts: []*draft{s.draft(callerOf(ctx, p), &item, s.o.Now())}}
	if err := b.drafts[0].err; err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, b); err != nil {
		return nil, fmt.Errorf("prepare memory: %w", err)
	}
	return &Prepared{b}, nil
}

// Create writes what was prepared: a new memory, one in place of that with its key, or none where an equal one is there.
func (s *Service) Create(ctx context.Context, _ *auth.Principal, prepared *Prepared) (*Stored, error) {
	results, err := s.put(ctx, prepared.batch)
	if err != nil {
		return nil, fmt.Errorf("write memory: %w", err)
	}
	if err := results[0].Err; err != nil {
		return nil, err
	}
	return &results[0].Stored, nil
}

// PrepareBatch does of Batch what must not happen inside a unit of work. With atomic an item that cannot be written is the
// error, with its field below items[n].
func (s *Service) PrepareBatch(ctx context.Context, p *auth.Principal, items []Item, atomic bool) (*Prepared, error) {
	switch {
	case len(items) == 0:
		return nil, problem.Validation("items", problem.Required, "items is required.")
	case len(items) > MaxBatch:
		return nil, problem.Validation("items", problem.TooLong, fmt.Sprintf("items must have at most %d items.", MaxBatch))
	}
	b := &batch{workspaceID: p.WorkspaceID, atomic: atomic, drafts: make([]*draft, len(items))}
	by, now := callerOf(ctx, p), s.o.Now()
	for i := range items {
		if items[i].Err != nil {
			b.drafts[i] = &draft{err: items[i].Err}
		} else {
			// Ids lie in the order of their times down to a quarter of a microsecond.
			b.drafts[i] = s.draft(by, &items[i], now.Add(time.Duration(i)*250*time.Nanosecond))
		}
		if err := b.drafts[i].err; err != nil && atomic {
			return nil, ofItem(i, err)
		}
	}
	if err := s.prepare(ctx, b); err != nil {
		return nil, fmt.Errorf("prepare memories: %w", err)
	}
	return &Prepared{b}, nil
}

// Batch writes what was prepared, as if one after the other, and tells of each item in its order.
func (s *Service) Batch(ctx context.Context, _ *auth.Principal, prepared *Prepared) ([]Result, error) {
	results, err := s.put(ctx, prepared.batch)
	if err != nil {
		return nil, fmt.Errorf("write memories: %w", err)
	}
	return results, nil
}

// ofItem is the problem of a whole batch that one of its items is.
func ofItem(i int, err error) error {
	field := fmt.Sprintf("items[%d]", i)
	p, ok := problem.As(err)
	switch {
	case !ok:
		return err
	case p.Kind == problem.Invalid && p.Details.Field != "" && p.Details.Field != "body":
		return problem.Validation(field+"."+p.Details.Field, p.Details.Issue, p.Message)
	case p.Kind == problem.Invalid:
		return problem.Validation(field, p.Details.Issue, p.Message)
	default:
		return problem.Validation(field, problem.NotAllowed, p.Message)
	}
}

// draft checks an item and completes its memory.
func (s *Service) draft(by *caller, item *Item, at time.Time) *draft {
	d := &draft{by: by}
	m := item.Memory
	m.ID, m.Revision = id.At(id.Memory, at, s.o.Random), 1
	m.CreatedAt, m.UpdatedAt, m.CreatedBy, m.UpdatedBy = at, at, by.Actor(), by.Actor()
	if m.Kind == "" {
		m.Kind = Fact
	}
	if d.err = s.complete(by.Principal, &m, m.SubjectID, m.AgentID); d.err != nil {
		return d
	}
	if d.err = checkExpiry(m.ExpiresAt, at); d.err != nil {
		return d
	}
	m.tidy()
	d.memory, d.subject = &m, s.o.Lookup.Subject(by.WorkspaceID, m.SubjectID)
	d.deduplicate = item.Duplicates.compares(&m)
	return d
}

// complete says of a memory whom it is about and by whose leave, and checks it.
func (s *Service) complete(p *auth.Principal, m *Memory, subjectID, agentID string) (err error) {
	if m.SubjectID, err = subjectOf(p, subjectID); err != nil {
		return err
	}
	if m.AgentID, err = agentOf(p, agentID); err != nil {
		return err
	}
	return m.check()
}

// prepare looks at the subjects of a batch and seals what it will most likely add.
func (s *Service) prepare(ctx context.Context, b *batch) (err error) {
	ids := map[Hash]string{}
	for _, d := range b.drafts {
		if d.err == nil {
			ids[d.subject] = d.memory.SubjectID
		}
	}
	for range tries {
		if b.seen, err = s.see(ctx, b.workspaceID, ids); err == nil {
			break
		} else if !errors.Is(err, ErrAgain) {
			return err
		}
	}
	if err != nil {
		return errErasing.Because(err)
	}
	for _, d := range b.drafts {
		if d.err == nil {
			if err := d.seal(b.seen[d.subject]); err != nil {
				return err
			}
		}
	}
	return nil
}

// seal puts a draft under the key of its subject.
func (d *draft) seal(st *standing) (err error) {
	if d.row, err = st.row(d.memory, nil); err != nil {
		return err
	}
	d.st, d.alike = st, Alike{Subject: d.subject, Generation: st.generation}
	if d.memory.Key != "" {
		d.alike.Key = d.row.Key
	} else {
		d.alike.Same = d.row.Same
	}
	return nil
}

// lookUp reads what drafts may replace or repeat. Each memory that is replaced may have been the first of equal ones, and
// then the next one is.
func (s *Service) lookUp(ctx context.Context, workspaceID string, under map[Hash]*standing, drafts []*draft) (found []known, err error) {
	var wanted []Alike
	limit := 1
	for _, d := range drafts {
		if d.err != nil || !d.looks() {
			continue
		}
		wanted = append(wanted, d.alike)
		if d.memory.Key != "" {
			limit++
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	rows, err := s.o.Store.MemoriesAlike(ctx, workspaceID, wanted, limit, s.o.Now())
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		st := under[r.Subject]
		if st == nil || r.Generation != st.generation {
			continue
		}
		m, err := open(workspaceID, r, st.key)
		if err != nil {
			return nil, err
		}
		found = append(found, known{memory: m, row: r})
	}
	return found, nil
}

func (s *standing) withKey(key string) Alike {
	return Alike{Subject: s.subject, Generation: s.generation, Key: s.naturalKey(key)}
}

// put writes a batch. A single memory may share a unit with others, unless it is in one already.
func (s *Service) put(ctx context.Context, b *batch) (results []Result, err error) {
	for try := 1; ; try++ {
		if len(b.drafts) == 1 && b.drafts[0].err == nil && !b.atomic && !unit.Running(ctx) {
			results, err = s.putSingle(ctx, b)
		} else {
			results, err = s.putBatch(ctx, b)
		}
		switch {
		case err == nil:
			s.answered(ctx, b.workspaceID, b.seen)
			return results, nil
		case !errors.Is(err, ErrAgain):
			return nil, err
		case try == tries:
			return nil, errErasing.Because(err)
		}
		if err := s.prepare(ctx, b); err != nil {
			return nil, err
		}
	}
}

// putBatch writes a batch in a unit of its own, or in the one that ctx carries.
func (s *Service) putBatch(ctx context.Context, b *batch) (results []Result, err error) {
	err = s.commit(ctx, b.workspaceID, b.seen, func(ctx context.Context, left room) ([]*work, error) {
		g := newDeciding(b.seen, left)
		if err := s.meet(ctx, b.workspaceID, g, b.drafts); err != nil {
			return nil, err
		}
		results = make([]Result, len(b.drafts))
		for i, d := range b.drafts {
			if results[i].Err = d.err; d.err == nil {
				if err := g.put(d, &results[i], ""); err != nil {
					return nil, err
				}
			}
			if err := results[i].Err; err != nil && b.atomic {
				return nil, ofItem(i, err)
			}
		}
		return g.finish()
	})
	return results, err
}

// meet makes known what drafts may replace or repeat.
func (s *Service) meet(ctx context.Context, workspaceID string, g *deciding, drafts []*draft) error {
	found, err := s.lookUp(ctx, workspaceID, g.held, drafts)
	if err != nil {
		return err
	}
	for _, k := range found {
		if err := s.know(ctx, workspaceID, g, k); err != nil {
			return err
		}
	}
	return nil
}

// know makes a memory of the store known with what its next revision gives back, which only a limit makes matter.
func (s *Service) know(ctx context.Context, workspaceID string, g *deciding, k known) (err error) {
	if g.room.limited && k.row.Revision >= maxRevisions {
		if k.trimmed, err = s.o.Store.TrimmedBytes(ctx, workspaceID, k.row.ID, maxRevisions-2); err != nil {
			return err
		}
	}
	g.know(k)
	return nil
}

// answered tells under which keys an answer is to be kept that shows memories of these subjects.
func (s *Service) answered(ctx context.Context, workspaceID string, seen map[Hash]*standing) {
	if s.o.Answered == nil {
		return
	}
	for _, hash := range rising(seen) {
		s.o.Answered(ctx, workspaceID, hash, seen[hash].generation)
	}
}

var errFull = problem.LimitReached("memories", "The workspace has reached the number of memories that its tier allows.")

// put decides on one draft. In the log it stands as what was done, or as what it is done by where that is given.
func (g *deciding) put(d *draft, r *Result, by audit.Action) error {
	log := func(action audit.Action, id string) {
		if by != "" {
			action = by
		}
		g.workOf(d.subject).log(d.by, action, id)
	}
	var there *entry
	if d.looks() {
		there = g.first(d.alike)
	}
	switch {
	case there == nil && g.room.memories <= 0:
		r.Err = errFull
		return nil
	case there == nil && !g.room.take(int64(len(d.row.Sealed))):
		r.Err = problem.StorageFull()
		return nil
	case there == nil:
		g.room.memories--
		g.add(&entry{memory: d.memory, row: d.row})
		r.Stored = Stored{Memory: d.memory, Created: true}
		log(audit.MemoryCreated, d.memory.ID)
		return nil
	case d.memory.Key == "":
		r.Stored = Stored{Memory: there.memory, Deduplicated: true}
		log(audit.MemoryRead, there.memory.ID)
		return nil
	case !mine(d.by.Principal, there.memory):
		r.Err = problem.Missing()
		return nil
	}
	next := *d.memory
	next.ID, next.CreatedAt, next.CreatedBy = there.memory.ID, there.memory.CreatedAt, there.memory.CreatedBy
	next.Revision = there.memory.Revision + 1
	if refused, err := g.revise(d.subject, there, &next); refused != nil || err != nil {
		r.Err = refused
		return err
	}
	r.Stored = Stored{Memory: &next}
	log(audit.MemoryUpdated, next.ID)
	return nil
}
