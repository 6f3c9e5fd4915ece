package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
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
	found := &Recalled{}
	index, err := s.index(ctx, p.WorkspaceID, q.SubjectID)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if index == nil {
		return found, nil
	}
	now := s.o.Now()
	began := time.Now()
	hits := index.Search(q.ranked(now))
	found.Took = time.Since(began)
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	memories, err := s.recalled(ctx, p, q.SubjectID, ids, now)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	var shown []string
	for _, h := range hits {
		if m := memories[h.ID]; m != nil {
			found.Results = append(found.Results, RecallResult{Memory: m, Score: h.Score, Matched: h.Matched, Why: h.Why})
			shown = append(shown, m.ID)
		}
	}
	return found, s.logRecall(ctx, p, audit.MemoryRecalled, q.SubjectID, shown)
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
	return s.log(ctx, []audit.Entry{s.entry(p, action, subjectID, shown)})
}
