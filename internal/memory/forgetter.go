package memory

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

const (
	planLife = time.Hour
	maxPlans = 20    // of a credential
	maxQuery = 1_024 // characters
)

// Forget selects memories of a subject. Exactly one of IDs, Filter and Query must be set.
type Forget struct {
	SubjectID string
	IDs       []string
	Filter    *ForgetFilter
	Query     string // the text must contain all of its words
}

// ForgetFilter selects memories that match all of its conditions.
type ForgetFilter struct {
	Kinds     []Kind
	Tags      []string
	SessionID string
	AgentID   string
	From, To  *time.Time
}

// Plan lists the memories that a Forget erases.
type Plan struct {
	ID        string // pln_…
	MemoryIDs []string
	ExpiresAt time.Time
}

// StoredPlan is a stored Plan. One credential can use it once.
type StoredPlan struct {
	Plan
	Subject    Hash
	Generation int64
	Credential string
}

// allows reports whether p can use a plan now. row is that of the subject, or nil.
func (plan *StoredPlan) allows(p *auth.Principal, subject Hash, row *SubjectRow, now time.Time) bool {
	generation := int64(0)
	if row != nil {
		generation = row.Generation
	}
	return plan.Credential == p.Actor() && plan.Subject == subject && now.Before(plan.ExpiresAt) &&
		(plan.Generation == generation || plan.Generation == 0 && len(plan.MemoryIDs) == 0)
}

// Forgetter erases selected memories: first it stores a plan, then it erases what the plan lists.
type Forgetter struct {
	store interface {
		subjectStore
		rowStore
		countStore
		planStore
	}
	units  unit.Runner
	opener *opener
	rows   *rowEraser
	limits *tierLimits
	lookup Lookup
	log    accessLog
	words  *text.Analyzer
	caches *Caches
	shares *fairshare.Scheduler
	now    clock
	random io.Reader
}

// planStore stores plans.
type planStore interface {
	// SaveMemoryPlan adds a plan. It removes the oldest plans of the credential if there are more than most.
	SaveMemoryPlan(ctx context.Context, workspaceID string, p *StoredPlan, most int) error
	// LockMemoryPlan locks and reads a plan; problem.Missing if there is none.
	LockMemoryPlan(ctx context.Context, workspaceID, id string) (*StoredPlan, error)
	// DeleteMemoryPlan removes a plan.
	DeleteMemoryPlan(ctx context.Context, workspaceID, id string) error
	// DeleteMemoryPlans removes the plans of a subject up to a generation.
	DeleteMemoryPlans(ctx context.Context, workspaceID string, subject Hash, generation int64) error
	// PruneMemoryPlans removes plans that expired before now.
	PruneMemoryPlans(ctx context.Context, now time.Time) error
}

// Plan stores a plan to erase the selected memories. The plan is valid for an hour, for the caller's credential.
func (f *Forgetter) Plan(ctx context.Context, p *auth.Principal, forget Forget) (_ *Plan, err error) {
	if forget.SubjectID, err = subjectOf(p, forget.SubjectID); err != nil {
		return nil, err
	}
	if err := forget.check(f.words); err != nil {
		return nil, err
	}
	subject := f.lookup.Subject(p.WorkspaceID, forget.SubjectID)
	row, err := f.store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	var ids []string
	f.caches.analyze(func() { ids, err = f.selectIDs(ctx, p, subject, &forget) })
	if err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	now := f.now.stored()
	planID := id.At("pln", f.now(), f.random) // not of a whole millisecond, because plans are ordered by ID
	plan := &StoredPlan{
		Plan:    Plan{ID: planID, MemoryIDs: ids, ExpiresAt: now.Add(planLife)},
		Subject: subject, Credential: p.Actor(),
	}
	if row != nil {
		plan.Generation = row.Generation
	}
	if err := f.savePlan(ctx, p, forget.SubjectID, plan); err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	return &plan.Plan, nil
}

func (f *Forgetter) savePlan(ctx context.Context, p *auth.Principal, subjectID string, plan *StoredPlan) error {
	return f.units.Run(ctx, func(ctx context.Context) error {
		// The lock keeps two requests from storing more plans of a credential than allowed.
		if _, err := f.store.MemoryCount(ctx, p.WorkspaceID); err != nil {
			return err
		}
		if err := f.store.SaveMemoryPlan(ctx, p.WorkspaceID, plan, maxPlans); err != nil {
			return err
		}
		if err := f.limits.checkPlan(ctx, p.WorkspaceID, plan); err != nil {
			return err
		}
		if len(plan.MemoryIDs) == 0 {
			return nil
		}
		e := f.log.entry(p, audit.MemoryForgetPlanned, subjectID, nil) // the entry about the erasure names the memories
		e.Count, e.Details = int64(len(plan.MemoryIDs)), map[string]string{audit.Memories: strconv.Itoa(len(plan.MemoryIDs))}
		return f.log.record(ctx, e)
	})
}

// selectIDs returns the IDs of the selected memories in the given order, or oldest first.
func (f *Forgetter) selectIDs(ctx context.Context, p *auth.Principal, subject Hash, forget *Forget) ([]string, error) {
	if forget.IDs != nil {
		rows, err := f.visibleRows(ctx, p, subject, forget.IDs)
		if err != nil {
			return nil, err
		}
		found := map[string]bool{}
		for _, r := range rows {
			found[r.ID] = true
		}
		ids := []string{}
		for _, id := range forget.IDs {
			if found[id] {
				ids = append(ids, id)
				delete(found, id)
			}
		}
		return ids, nil
	}
	rows := newRowFilter(f.lookup, p, forget.SubjectID, "", "")
	var matches func(*Memory) bool
	if filter := forget.Filter; filter != nil {
		agentID, err := agentOf(p, filter.AgentID)
		if err != nil {
			return nil, err
		}
		rows = newRowFilter(f.lookup, p, forget.SubjectID, agentID, filter.SessionID)
		rows.Kinds, rows.From, rows.To = filter.Kinds, filter.From, filter.To
		matches = func(m *Memory) bool { return hasTags(m, filter.Tags) }
	} else {
		terms := termsOf(f.words, forget.Query)
		matches = func(m *Memory) bool { return hasTerms(f.words, m.Text, terms) }
	}
	rows.OldestFirst, rows.Now, rows.Limit = true, f.now(), tagPage
	task := f.shares.Start(ctx, p.WorkspaceID)
	defer task.End()
	ids := []string{}
	for m, err := range f.opener.list(ctx, task, f.store, p.WorkspaceID, rows) {
		if err != nil {
			return nil, err
		}
		if matches(m) {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

// visibleRows reads those of ids that belong to a subject and that p can see.
func (f *Forgetter) visibleRows(ctx context.Context, p *auth.Principal, subject Hash, ids []string) ([]*Row, error) {
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return !ValidID(id) })
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := f.store.MemoriesByID(ctx, p.WorkspaceID, ids)
	if err != nil {
		return nil, err
	}
	visibility, now := visibilityOf(f.lookup, p), f.now()
	return slices.DeleteFunc(rows, func(r *Row) bool {
		return r.Subject != subject || visibility.Agent != (Hash{}) && r.Agent != visibility.Agent || r.expired(now)
	}), nil
}

// Forget erases the memories of a plan that still exist, and returns their number. A plan is removed when all of it is
// erased; until then, an interrupted Forget can be repeated.
func (f *Forgetter) Forget(ctx context.Context, p *auth.Principal, subjectID, planID string) (int, error) {
	subjectID, err := subjectOf(p, subjectID)
	if err != nil {
		return 0, err
	}
	if _, ok := id.Parse("pln", planID); !ok {
		return 0, problem.Missing()
	}
	subject := f.lookup.Subject(p.WorkspaceID, subjectID)
	row, err := f.store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	var done progress
	forgotten := 0
	bulk := event.NewBulk(f.rows.events.to, event.MemoryForgotten, p.WorkspaceID)
	defer bulk.End(ctx)
	for first := true; first || done.left; first = false {
		start := done.next // the transaction can run several times
		err := f.units.Run(ctx, func(ctx context.Context) (err error) {
			done, err = f.eraseSome(ctx, p, row, subject, subjectID, planID, start, bulk)
			return err
		})
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound && !first && !unit.Running(ctx) {
			return forgotten, nil // a concurrent request has finished the plan
		}
		if err != nil {
			return 0, fmt.Errorf("forget: %w", err)
		}
		forgotten += done.erased
	}
	return forgotten, nil
}

// progress says how much of a plan is done.
type progress struct {
	erased int
	next   int // index of the next ID
	left   bool
}

// eraseSome erases the next memories of a plan. It locks the subject before the plan, like an erasure of the subject.
func (f *Forgetter) eraseSome(ctx context.Context, p *auth.Principal, row *SubjectRow, subject Hash, subjectID, planID string, start int, bulk *event.Bulk) (progress, error) {
	if row != nil {
		locked, err := f.rows.lock(ctx, p.WorkspaceID, subject)
		if err != nil {
			return progress{}, err
		}
		row = locked
	}
	plan, err := f.store.LockMemoryPlan(ctx, p.WorkspaceID, planID)
	if err != nil {
		return progress{}, err
	}
	if !plan.allows(p, subject, row, f.now()) {
		return progress{}, problem.Missing()
	}
	end := min(start+eraseChunk, len(plan.MemoryIDs))
	done := progress{next: end, left: end < len(plan.MemoryIDs)}
	if !done.left {
		if err := f.store.DeleteMemoryPlan(ctx, p.WorkspaceID, planID); err != nil {
			return done, err
		}
	}
	rows, err := f.visibleRows(ctx, p, subject, plan.MemoryIDs[start:end])
	if err != nil {
		return done, err
	}
	done.erased = len(rows)
	return done, f.rows.erase(ctx, p, subjectID, row, rows, audit.MemoryForgotten, func(ctx context.Context, _ string, rows []*Row) error {
		return bulk.Add(ctx, itemsOf(rows), !done.left)
	})
}

// check validates a Forget.
func (f *Forget) check(words *text.Analyzer) error {
	given := 0
	for _, set := range []bool{f.IDs != nil, f.Filter != nil, f.Query != ""} {
		if set {
			given++
		}
	}
	switch {
	case given == 0:
		return problem.Validation("ids", problem.Required, "One of ids, filter and query is required.")
	case given > 1 && f.Query != "":
		return problem.Validation("query", problem.NotAllowed, "Only one of ids, filter and query can be given.")
	case given > 1:
		return problem.Validation("filter", problem.NotAllowed, "Only one of ids, filter and query can be given.")
	case f.IDs != nil && len(f.IDs) == 0:
		return problem.Validation("ids", problem.Required, "ids must not be empty.")
	case len(f.IDs) > MaxBatch:
		return problem.Validation("ids", problem.TooLong, fmt.Sprintf("ids must have at most %d items.", MaxBatch))
	case f.Query != "":
		if err := rules.String("query", f.Query, maxQuery); err != nil {
			return err
		}
		if len(termsOf(words, f.Query)) == 0 {
			return problem.Validation("query", problem.Required, "query must have a word.")
		}
	case f.Filter != nil:
		return f.Filter.check()
	}
	return nil
}

func (f *ForgetFilter) check() error {
	for i, kind := range f.Kinds {
		if err := checkKind(fmt.Sprintf("filter.kinds[%d]", i), kind); err != nil {
			return err
		}
	}
	if err := rules.Tags("filter.tags", f.Tags); err != nil {
		return err
	}
	if err := checkName("filter.sessionId", f.SessionID, false); err != nil {
		return err
	}
	return checkName("filter.agentId", f.AgentID, false)
}

// termsOf returns the terms of a text.
func termsOf(words *text.Analyzer, s string) map[string]bool {
	terms := map[string]bool{}
	words.Scan(s, func(t text.Token) bool {
		if t.Term != "" {
			terms[t.Term] = true
		}
		return true
	})
	return terms
}

// hasTerms reports whether a text contains all terms.
func hasTerms(words *text.Analyzer, s string, terms map[string]bool) bool {
	missing := len(terms)
	found := make(map[string]bool, len(terms))
	words.Scan(s, func(t text.Token) bool {
		if terms[t.Term] && !found[t.Term] {
			found[t.Term] = true
			missing--
		}
		return missing > 0
	})
	return missing == 0
}
