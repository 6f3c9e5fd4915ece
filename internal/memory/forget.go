package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
	"keepsake/internal/text"
	"keepsake/internal/unit"
)

// planLife is for how long a plan can be carried out.
const planLife = time.Hour

// maxPlans is how many plans a credential may have open.
const maxPlans = 20

// maxQuery is how many characters a query may have.
const maxQuery = 1_024

// check says what is wrong with a Forget.
func (f *Forget) check(words *text.Analyzer) error {
	given := 0
	for _, is := range []bool{f.IDs != nil, f.Filter != nil, f.Query != ""} {
		if is {
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
		if !slices.Contains(Kinds(), kind) {
			return problem.Validation(fmt.Sprintf("filter.kinds[%d]", i), problem.NotAllowed, "There is no such kind.")
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

// termsOf are the different terms of a text.
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

// hasTerms reports whether every term occurs in a text.
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

// PlanForget says what a Forget would erase, and keeps that for an hour and for the caller's credential.
func (s *Service) PlanForget(ctx context.Context, p *auth.Principal, f Forget) (_ *Plan, err error) {
	if f.SubjectID, err = subjectOf(p, f.SubjectID); err != nil {
		return nil, err
	}
	if err := f.check(s.words); err != nil {
		return nil, err
	}
	subject := s.o.Lookup.Subject(p.WorkspaceID, f.SubjectID)
	row, err := s.o.Store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	ids, err := s.chosen(ctx, p, subject, &f)
	if err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	now := s.now()
	plan := &KeptPlan{
		Plan:    Plan{ID: id.At("pln", now, s.o.Random), MemoryIDs: ids, ExpiresAt: now.Add(planLife)},
		Subject: subject, Credential: p.Actor(),
	}
	if row != nil {
		plan.Generation = row.Generation
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		// Plans of a workspace follow each other, so that of a credential's there are never more.
		if _, err := s.o.Store.MemoryCount(ctx, p.WorkspaceID); err != nil {
			return err
		}
		if err := s.o.Store.KeepMemoryPlan(ctx, p.WorkspaceID, plan, maxPlans); err != nil {
			return err
		}
		if most := s.o.MaxBytes(p.WorkspaceID); most != nil {
			left, err := s.o.Store.StorageRoom(ctx, p.WorkspaceID, *most)
			if err == nil && left < 0 && len(ids) > 0 {
				err = problem.StorageFull()
			}
			if err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
		e := s.entry(p, audit.MemoryForgetPlanned, f.SubjectID, nil) // a plan shows nothing; what it erases is told then
		e.Count, e.Details = int64(len(ids)), map[string]string{audit.Memories: strconv.Itoa(len(ids))}
		return s.o.Audit.Record(ctx, e)
	})
	if err != nil {
		return nil, fmt.Errorf("plan to forget: %w", err)
	}
	return &plan.Plan, nil
}

// chosen are the ids of the memories that a Forget means, in the order asked for, else oldest first.
func (s *Service) chosen(ctx context.Context, p *auth.Principal, subject Hash, f *Forget) ([]string, error) {
	if f.IDs != nil {
		rows, err := s.among(ctx, p, subject, f.IDs)
		if err != nil {
			return nil, err
		}
		there := map[string]bool{}
		for _, r := range rows {
			there[r.ID] = true
		}
		ids := []string{}
		for _, id := range f.IDs {
			if there[id] {
				ids = append(ids, id)
				delete(there, id)
			}
		}
		return ids, nil
	}
	task := s.o.Shares.Start(ctx, p.WorkspaceID)
	defer task.Release()
	r := &RowFilter{Reach: s.reach(p), Subject: subject, Rising: true, Now: s.o.Now(), Limit: tagPage}
	fits := func(*Memory) bool { return true }
	if filter := f.Filter; filter != nil {
		agentID, err := agentOf(p, filter.AgentID)
		if err != nil {
			return nil, err
		}
		s.name(p.WorkspaceID, r, "", agentID, filter.SessionID)
		r.Kinds, r.From, r.To = filter.Kinds, filter.From, filter.To
		fits = func(m *Memory) bool { return hasTags(m, filter.Tags) }
	} else {
		terms := termsOf(s.words, f.Query)
		fits = func(m *Memory) bool { return hasTerms(s.words, m.Text, terms) }
	}
	ids := []string{}
	for m, err := range s.walk(ctx, task, p.WorkspaceID, r) {
		if err != nil {
			return nil, err
		}
		if fits(m) {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

// among reads those of ids that are of a subject and within the caller's reach.
func (s *Service) among(ctx context.Context, p *auth.Principal, subject Hash, ids []string) ([]*Row, error) {
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return !ValidID(id) })
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.o.Store.MemoriesByID(ctx, p.WorkspaceID, ids)
	if err != nil {
		return nil, err
	}
	reach, now := s.reach(p), s.o.Now()
	return slices.DeleteFunc(rows, func(r *Row) bool {
		return r.Subject != subject || reach.Agent != (Hash{}) && r.Agent != reach.Agent || r.expired(now)
	}), nil
}

func (r *Row) expired(now time.Time) bool { return r.ExpiresAt != nil && !now.Before(*r.ExpiresAt) }

// Forget erases what of a plan is still there, and says how many that were. A plan is used up when all of it is erased;
// where something comes in between, it can be carried on with.
func (s *Service) Forget(ctx context.Context, p *auth.Principal, subjectID, planID string) (int, error) {
	subjectID, err := subjectOf(p, subjectID)
	if err != nil {
		return 0, err
	}
	if _, ok := id.Parse("pln", planID); !ok {
		return 0, problem.Missing()
	}
	subject := s.o.Lookup.Subject(p.WorkspaceID, subjectID)
	row, err := s.o.Store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	var did step
	forgotten := 0
	for first := true; first || did.left; first = false {
		at := did.next // a transaction that conflicts with another one runs again, from here
		err := s.o.Units.Run(ctx, func(ctx context.Context) (err error) {
			did, err = s.carryOut(ctx, p, row, subject, subjectID, planID, at)
			return err
		})
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound && !first && !unit.Running(ctx) {
			return forgotten, nil // somebody else has carried out the same plan at the same time
		}
		if err != nil {
			return 0, fmt.Errorf("forget: %w", err)
		}
		forgotten += did.erased
	}
	return forgotten, nil
}

// step is how far a plan is carried out.
type step struct {
	erased int
	next   int // the place of the first id that was not looked at
	left   bool
}

// carryOut erases the next part of a plan. The subject is held before the plan, as an erasure of the subject does.
func (s *Service) carryOut(ctx context.Context, p *auth.Principal, row *Subject, subject Hash, subjectID, planID string, at int) (step, error) {
	if row != nil {
		held, err := s.hold(ctx, p.WorkspaceID, subject)
		if err != nil {
			return step{}, err
		}
		row = held
	}
	plan, err := s.o.Store.HoldMemoryPlan(ctx, p.WorkspaceID, planID)
	if err != nil {
		return step{}, err
	}
	if !plan.allows(p, subject, row, s.o.Now()) {
		return step{}, problem.Missing()
	}
	end := min(at+eraseAtOnce, len(plan.MemoryIDs))
	did := step{next: end, left: end < len(plan.MemoryIDs)}
	if !did.left {
		if err := s.o.Store.DropMemoryPlan(ctx, p.WorkspaceID, planID); err != nil {
			return did, err
		}
	}
	rows, err := s.among(ctx, p, subject, plan.MemoryIDs[at:end])
	if err != nil {
		return did, err
	}
	did.erased = len(rows)
	return did, s.erase(ctx, p, subjectID, row, rows, audit.MemoryForgotten)
}

// allows reports whether p may carry a plan out at a moment. row is the subject's; nil where there is none.
func (plan *KeptPlan) allows(p *auth.Principal, subject Hash, row *Subject, now time.Time) bool {
	generation := int64(0)
	if row != nil {
		generation = row.Generation
	}
	return plan.Credential == p.Actor() && plan.Subject == subject && now.Before(plan.ExpiresAt) &&
		(plan.Generation == generation || plan.Generation == 0 && len(plan.MemoryIDs) == 0)
}
