package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
)

// MaxBatch is how many items a batch may have.
const MaxBatch = 1000

// draft is an item of a batch on its way.
type draft struct {
	err         error   // why it cannot be written
	memory      *Memory // as it is created
	subject     Hash
	deduplicate bool
	row         *Row // memory, sealed; nil until it is needed
}

// batch is what is written together, in its order. A single memory is a batch of one.
type batch struct {
	drafts []*draft
	atomic bool
	seen   *seen
	first  *decision // on what was seen
}

// Prepared is a New that was checked and sealed, or a batch of them. What Prepare saw may have changed when it comes to be
// written; then it is decided again.
type Prepared struct{ batch *batch }

// Prepare does of Create what must not happen inside a unit of work.
func (s *Service) Prepare(ctx context.Context, p *auth.Principal, n New) (*Prepared, error) {
	b := &batch{drafts: []*draft{s.draft(p, &n, s.o.Now())}}
	if err := b.drafts[0].err; err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, p, b); err != nil {
		return nil, fmt.Errorf("prepare memory: %w", err)
	}
	return &Prepared{b}, nil
}

// Create writes what was prepared: a new memory, one in place of that with its key, or none where an equal one is there.
func (s *Service) Create(ctx context.Context, p *auth.Principal, prepared *Prepared) (*Stored, error) {
	d, err := s.put(ctx, p, prepared.batch)
	if err != nil {
		return nil, fmt.Errorf("write memory: %w", err)
	}
	if err := d.results[0].Err; err != nil {
		return nil, err
	}
	return &d.results[0].Stored, nil
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
	b := &batch{atomic: atomic, drafts: make([]*draft, len(items))}
	now := s.o.Now()
	for i := range items {
		if items[i].Err != nil {
			b.drafts[i] = &draft{err: items[i].Err}
		} else {
			// Ids lie in the order of their times down to a quarter of a microsecond.
			b.drafts[i] = s.draft(p, &items[i].New, now.Add(time.Duration(i)*250*time.Nanosecond))
		}
		if err := b.drafts[i].err; err != nil && atomic {
			return nil, ofItem(i, err)
		}
	}
	if err := s.prepare(ctx, p, b); err != nil {
		return nil, fmt.Errorf("prepare memories: %w", err)
	}
	return &Prepared{b}, nil
}

// Batch writes what was prepared, as if one after the other, and tells of each item in its order.
func (s *Service) Batch(ctx context.Context, p *auth.Principal, prepared *Prepared) ([]Result, error) {
	d, err := s.put(ctx, p, prepared.batch)
	if err != nil {
		return nil, fmt.Errorf("write memories: %w", err)
	}
	return d.results, nil
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

// draft checks a New and makes of it what would be created.
func (s *Service) draft(p *auth.Principal, n *New, at time.Time) *draft {
	d := &draft{}
	m := &Memory{
		SessionID: n.SessionID, Kind: n.Kind, Text: n.Text, Speaker: n.Speaker, Tags: n.Tags, Metadata: n.Metadata,
		Importance: n.Importance, Pinned: n.Pinned, OccurredAt: n.OccurredAt, ValidFrom: n.ValidFrom, ValidTo: n.ValidTo,
		ExpiresAt: n.ExpiresAt, Key: n.Key, Source: n.Source, CreatedAt: at, UpdatedAt: at, CreatedBy: p.Actor(), UpdatedBy: p.Actor(),
		Revision: 1,
	}
	if m.Kind == "" {
		m.Kind = Fact
	}
	if d.err = s.complete(p, m, n.SubjectID, n.AgentID); d.err != nil {
		return d
	}
	if d.err = checkExpiry(m.ExpiresAt, at); d.err != nil {
		return d
	}
	m.tidy()
	m.ID = id.At(id.Memory, at, s.o.Random)
	d.memory, d.subject = m, s.o.Lookup.Subject(p.WorkspaceID, m.SubjectID)
	n.Kind = m.Kind
	d.deduplicate = n.deduplicated()
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

// prepare looks at the subjects of a batch and decides what to write of it.
func (s *Service) prepare(ctx context.Context, p *auth.Principal, b *batch) (err error) {
	ids := map[Hash]string{}
	for _, d := range b.drafts {
		if d.err == nil {
			ids[d.subject] = d.memory.SubjectID
		}
	}
	for range tries {
		if b.seen, err = s.see(ctx, p.WorkspaceID, ids); err == nil {
			b.first, err = s.decider(p, b)(ctx, b.seen, noLimit)
		}
		if !errors.Is(err, ErrAgain) {
			return err
		}
	}
	return errErasing.Because(err)
}

// put writes a batch.
func (s *Service) put(ctx context.Context, p *auth.Principal, b *batch) (*decision, error) {
	for try := 1; ; try++ {
		d, err := s.commit(ctx, p, b.seen, b.first, s.decider(p, b))
		switch {
		case err == nil:
			s.answered(ctx, b.seen)
			return d, nil
		case !errors.Is(err, ErrAgain):
			return nil, err
		case try == tries:
			return nil, errErasing.Because(err)
		}
		if err := s.prepare(ctx, p, b); err != nil {
			return nil, err
		}
	}
}

// answered tells under which keys an answer is to be kept that shows memories of these subjects.
func (s *Service) answered(ctx context.Context, v *seen) {
	if s.o.Answered == nil {
		return
	}
	for _, hash := range v.subjects {
		s.o.Answered(ctx, v.workspaceID, hash, v.of[hash].generation)
	}
}

// entry is a memory that a batch has to do with, as it stands after the items before.
type entry struct {
	memory *Memory
	row    *Row   // memory, sealed; nil until it is needed
	base   *Row   // as it lies in the store; nil: it is new
	older  []*Row // revisions that came to be older ones
}

// deciding is a decision that is being made.
type deciding struct {
	v     *seen
	works map[Hash]*work
	byID  map[string]*entry
	// foreign are ids of memories of other subjects, which an import may name.
	foreign map[string]bool
	byKey   map[Alike]*entry
	bySame  map[Alike][]*entry
	order   []*entry
	room    int64
	now     time.Time
}

func newDeciding(v *seen, room int64, now time.Time) *deciding {
	return &deciding{
		v: v, works: map[Hash]*work{}, byID: map[string]*entry{}, foreign: map[string]bool{}, byKey: map[Alike]*entry{},
		bySame: map[Alike][]*entry{}, room: room, now: now,
	}
}

func (s *Service) decider(p *auth.Principal, b *batch) decide {
	return func(ctx context.Context, v *seen, room int64) (*decision, error) {
		g := newDeciding(v, room, s.now())
		if err := s.load(ctx, g, b.drafts); err != nil {
			return nil, err
		}
		results := make([]Result, len(b.drafts))
		for i, d := range b.drafts {
			if err := d.err; err != nil {
				results[i].Err = err
				continue
			}
			if err := g.put(p, d, &results[i], ""); err != nil {
				return nil, err
			}
			if err := results[i].Err; err != nil && b.atomic {
				return nil, ofItem(i, err)
			}
		}
		works, err := g.finish()
		return &decision{works: works, results: results}, err
	}
}

// load reads what stands in the store that drafts may replace or repeat.
func (s *Service) load(ctx context.Context, g *deciding, drafts []*draft) error {
	var wanted []Alike
	keyed := 0
	for _, d := range drafts {
		if d.err != nil {
			continue
		}
		st := g.v.of[d.subject]
		switch {
		case d.memory.Key != "":
			keyed++
			wanted = append(wanted, st.withKey(d.memory.Key))
		case d.deduplicate:
			wanted = append(wanted, st.like(d.memory))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	// Each memory that is replaced may have been the first of equal ones, and then the next one is.
	rows, err := s.o.Store.MemoriesAlike(ctx, g.v.workspaceID, wanted, 1+keyed, g.now)
	if err != nil {
		return err
	}
	for _, r := range rows {
		st := g.v.of[r.Subject]
		if st == nil || r.Generation != st.generation {
			continue
		}
		if err := g.meet(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *standing) withKey(key string) Alike {
	return Alike{Subject: s.subject, Generation: s.generation, Key: s.naturalKey(key)}
}

func (s *standing) like(m *Memory) Alike {
	return Alike{Subject: s.subject, Generation: s.generation, Same: s.same(m)}
}

// know makes an entry one that later items find. Of several equal ones the first counts.
func (g *deciding) know(st *standing, e *entry) {
	g.byID[e.memory.ID] = e
	g.order = append(g.order, e)
	g.index(st, e)
}

func (g *deciding) index(st *standing, e *entry) {
	if e.memory.Key != "" {
		g.byKey[st.withKey(e.memory.Key)] = e
	}
	like := st.like(e.memory)
	g.bySame[like] = append(g.bySame[like], e)
}

// first is the first of the entries that are equal to something; nil where there is none.
func (g *deciding) first(like Alike) (first *entry) {
	for _, e := range g.bySame[like] {
		if first == nil || earlier(e.memory, first.memory) {
			first = e
		}
	}
	return first
}

// earlier orders equal memories by which came first.
func earlier(a, b *Memory) bool {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}

func (g *deciding) workOf(st *standing) *work {
	w := g.works[st.subject]
	if w == nil {
		w = &work{standing: st}
		g.works[st.subject] = w
	}
	return w
}

// seal seals what is created, once for a key.
func (d *draft) seal(st *standing) (err error) {
	if d.row == nil || d.row.Generation != st.generation {
		d.row, err = st.row(d.memory)
	}
	return err
}

// put decides on one draft. In the log it stands as what was done, or as what it is done by where that is given.
func (g *deciding) put(p *auth.Principal, d *draft, r *Result, by audit.Action) error {
	st := g.v.of[d.subject]
	log := func(action audit.Action, id string) {
		if by != "" {
			action = by
		}
		g.workOf(st).log(action, id)
	}
	var there *entry
	if d.memory.Key != "" {
		there = g.byKey[st.withKey(d.memory.Key)]
	} else if d.deduplicate {
		there = g.first(st.like(d.memory))
	}
	switch {
	case there == nil && g.room <= 0:
		r.Err = errFull
		return nil
	case there == nil:
		g.room--
		if err := d.seal(st); err != nil {
			return err
		}
		g.know(st, &entry{memory: d.memory, row: d.row})
		r.Stored = Stored{Memory: d.memory, Created: true}
		log(audit.MemoryCreated, d.memory.ID)
		return nil
	case d.memory.Key == "":
		r.Stored = Stored{Memory: there.memory, Deduplicated: true}
		log(audit.MemoryRead, there.memory.ID)
		return nil
	case !mine(p, there.memory):
		r.Err = problem.Missing()
		return nil
	}
	next := *d.memory
	next.ID, next.CreatedAt, next.CreatedBy = there.memory.ID, there.memory.CreatedAt, there.memory.CreatedBy
	next.Revision = there.memory.Revision + 1
	if err := g.revise(st, there, &next); err != nil {
		return err
	}
	r.Stored = Stored{Memory: &next}
	log(audit.MemoryUpdated, next.ID)
	return nil
}

var errFull = problem.LimitReached("memories", "The workspace has as many memories as its tier allows.")

// revise gives an entry its next revision.
func (g *deciding) revise(st *standing, e *entry, next *Memory) error {
	if e.row == nil {
		row, err := st.row(e.memory)
		if err != nil {
			return err
		}
		e.row = row
	}
	like := st.like(e.memory)
	g.bySame[like] = slices.DeleteFunc(g.bySame[like], func(o *entry) bool { return o == e })
	if key := st.withKey(e.memory.Key); g.byKey[key] == e {
		delete(g.byKey, key)
	}
	e.older = append(e.older, e.row)
	e.memory, e.row = next, nil
	g.index(st, e)
	return nil
}

// finish seals what was decided and gives it by subject.
func (g *deciding) finish() ([]*work, error) {
	for _, e := range g.order {
		if e.row == e.base && e.row != nil {
			continue // it stays as it is
		}
		hash := g.subjectOf(e)
		st := g.v.of[hash]
		w := g.workOf(st)
		if e.row == nil {
			row, err := st.row(e.memory)
			if err != nil {
				return nil, err
			}
			e.row = row
		}
		w.older = append(w.older, e.older...)
		w.bytes += e.row.Size
		if e.base == nil {
			w.insert = append(w.insert, e.row)
		} else {
			w.replace = append(w.replace, e.row)
			w.bytes -= e.base.Size
		}
	}
	works := make([]*work, 0, len(g.works))
	for _, hash := range g.v.subjects {
		if w := g.works[hash]; w != nil {
			works = append(works, w)
		}
	}
	return works, nil
}

func (g *deciding) subjectOf(e *entry) Hash {
	if e.base != nil {
		return e.base.Subject
	}
	if e.row != nil {
		return e.row.Subject
	}
	return e.older[0].Subject
}
