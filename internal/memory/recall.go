package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/fairshare"
	"keepsake/internal/field"
	"keepsake/internal/memory/recall"
	"keepsake/internal/problem"
)

// How much a recall may ask for.
const (
	MaxQuery      = MaxText // bytes
	MaxRecall     = 200     // memories
	defaultRecall = 10
)

// RecallQuery asks for the memories of a subject that answer a text.
type RecallQuery struct {
	SubjectID string // empty: the one the caller's key is bound to
	Query     string
	Limit     int // 0: 10
	AgentID   string
	SessionID string
	Kinds     []Kind
	Tags      []string   // all must match
	From, To  *time.Time // of Memory.At: from the first on, before the second
	AsOf      *time.Time // what was there and valid then; nil: what is now
	MinScore  float64
	Explain   bool
}

// Recalled is what a recall found, best first.
type Recalled struct {
	Results []RecallResult
	Took    time.Duration // of the ranking alone
}

// RecallResult is one memory of it.
type RecallResult struct {
	Memory  *Memory
	Score   float64
	Matched []string    // the words of the query that it holds
	Why     *recall.Why // with RecallQuery.Explain
}

// Recall finds what answers a query. Of a subject that is not there nothing is found.
func (s *Service) Recall(ctx context.Context, p *auth.Principal, q RecallQuery) (*Recalled, error) {
	if err := checkQuery(q.Query); err != nil {
		return nil, err
	}
	if err := s.checkRecall(p, &q, defaultRecall); err != nil {
		return nil, err
	}
	now := s.o.Now()
	task := s.o.Shares.Start(ctx, p.WorkspaceID)
	defer task.Release()
	r, err := s.ranking(ctx, task, p, &q, now)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if r == nil {
		return &Recalled{}, nil
	}
	found := &Recalled{Took: r.took}
	var shown []string
	for _, h := range r.hits {
		if m := r.memories[h.ID]; m != nil {
			found.Results = append(found.Results, RecallResult{Memory: m, Score: h.Score, Matched: h.Matched, Why: h.Why})
			shown = append(shown, m.ID)
		}
	}
	return found, s.logRecall(ctx, p, audit.MemoryRecalled, q.SubjectID, shown)
}

// ranking is what an index has found, and what of it is there.
type ranking struct {
	hits     []recall.Hit
	took     time.Duration
	memories map[string]*Memory
}

func (r *ranking) ids() []string {
	ids := make([]string, len(r.hits))
	for i, h := range r.hits {
		ids[i] = h.ID
	}
	return ids
}

// rank asks an index. The task's slot is free after that: what follows waits for the store.
func rank(task *fairshare.Task, index *recall.Index, q *RecallQuery, now time.Time) (*ranking, error) {
	defer task.Release()
	began := time.Now()
	hits, err := index.Search(task, q.ranked(now))
	return &ranking{hits: hits, took: time.Since(began)}, err
}

// ranking asks an index of the subject, nil where there is no such subject. One that is kept is asked first, since mostly
// nothing has changed: then the store says so together with the memories, which saves a way to it.
func (s *Service) ranking(ctx context.Context, task *fairshare.Task, p *auth.Principal, q *RecallQuery, now time.Time) (*ranking, error) {
	subject := s.o.Lookup.Subject(p.WorkspaceID, q.SubjectID)
	if index, generation, change := s.recalls.known(indexName{p.WorkspaceID, subject}); index != nil {
		r, err := rank(task, index, q, now)
		if err != nil {
			return nil, err
		}
		rows, still, err := s.o.Store.MemoriesOf(ctx, p.WorkspaceID, subject, generation, change, r.ids())
		if err != nil {
			return nil, err
		}
		if still {
			s.recalls.count(true)
			r.memories, err = s.shown(ctx, p, q.SubjectID, rows, now)
			return r, err
		}
	}
	index, err := s.index(ctx, task, p.WorkspaceID, q.SubjectID)
	if err != nil || index == nil {
		return nil, err
	}
	r, err := rank(task, index, q, now)
	if err != nil {
		return nil, err
	}
	r.memories, err = s.recalled(ctx, p, q.SubjectID, r.ids(), now)
	return r, err
}

func checkQuery(query string) error {
	switch {
	case field.Blank(query):
		return problem.Validation("query", problem.Required, "query is required.")
	case len(query) > MaxQuery:
		return problem.Validation("query", problem.TooLong, fmt.Sprintf("query must have at most %d bytes.", MaxQuery))
	}
	return nil
}

// checkRecall holds q against the limits, and fills in what p is bound to and the limit.
func (s *Service) checkRecall(p *auth.Principal, q *RecallQuery, limit int) (err error) {
	if q.SubjectID, err = subjectOf(p, q.SubjectID); err != nil {
		return err
	}
	if q.AgentID, err = agentOf(p, q.AgentID); err != nil {
		return err
	}
	if err := checkName("sessionId", q.SessionID, false); err != nil {
		return err
	}
	for i, kind := range q.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return problem.Validation(fmt.Sprintf("kinds[%d]", i), problem.NotAllowed, "There is no such kind.")
		}
	}
	if err := rules.Tags("tags", q.Tags); err != nil {
		return err
	}
	switch {
	case q.Limit == 0:
		q.Limit = limit
	case q.Limit < 0:
		return problem.Validation("limit", problem.TooSmall, "limit must be at least 1.")
	case q.Limit > MaxRecall:
		return problem.Validation("limit", problem.TooLargeVal, fmt.Sprintf("limit must be at most %d.", MaxRecall))
	}
	return nil
}

// ranked is q as the ranking understands it.
func (q *RecallQuery) ranked(now time.Time) recall.Query {
	r := recall.Query{
		Text: q.Query, Limit: q.Limit, AgentID: q.AgentID, SessionID: q.SessionID, Tags: q.Tags, From: q.From, To: q.To,
		Now: now, MinScore: q.MinScore, Explain: q.Explain,
	}
	for _, kind := range q.Kinds {
		r.Kinds = append(r.Kinds, string(kind))
	}
	if q.AsOf != nil {
		r.AsOf = *q.AsOf
	}
	return r
}

// recalled opens memories that an index named. The store has the last word: what it does not give any more is not there.
func (s *Service) recalled(ctx context.Context, p *auth.Principal, subjectID string, ids []string, now time.Time) (map[string]*Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.o.Store.MemoriesByID(ctx, p.WorkspaceID, ids)
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	return s.shown(ctx, p, subjectID, rows, now)
}

// shown opens those of rows that p may see now.
func (s *Service) shown(ctx context.Context, p *auth.Principal, subjectID string, rows []*Row, now time.Time) (map[string]*Memory, error) {
	opened, err := s.open(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, err
	}
	memories := make(map[string]*Memory, len(opened))
	for _, m := range opened {
		if m.SubjectID == subjectID && mine(p, m) && !m.Expired(now) {
			memories[m.ID] = m
		}
	}
	return memories, nil
}

// logRecall tells the log what is about to be shown. Where a key is bound to an agent that has nothing there, the subject
// may not be there for it at all, and nothing was read.
func (s *Service) logRecall(ctx context.Context, p *auth.Principal, action audit.Action, subjectID string, shown []string) error {
	if len(shown) == 0 && p.AgentID != "" {
		return nil
	}
	return s.log(ctx, s.entries(p, action, subjectID, shown))
}
