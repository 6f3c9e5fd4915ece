package memory

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/recall"
)

// Limits of a recall.
const (
	MaxQuery      = MaxText // bytes
	MaxRecall     = 200     // memories
	defaultRecall = 10
)

// RecallQuery asks for the memories of a subject that answer a text.
type RecallQuery struct {
	SubjectID string // empty: the subject that the caller's key is bound to
	Query     string
	Limit     int // 0: 10
	AgentID   string
	SessionID string
	Kinds     []Kind
	Tags      []string   // all must match
	From, To  *time.Time // Memory.At is at or after From, and before To
	AsOf      *time.Time // leaves out memories that were created later or not valid then; texts are those of today; nil: now
	MinScore  float64
	Fill      bool // add pinned memories, then the newest, until there are Limit
	Explain   bool
	TimeZone  *string // the IANA name of the zone of the days that Query names, and of those in a context; nil: UTC

	zone *time.Location // of TimeZone
}

// Recalled contains the memories that were recalled, best first.
type Recalled struct {
	Results []RecallResult
	Took    time.Duration // of the ranking alone
	// Degraded says that the embeddings endpoint did not return the vector of the query in time.
	Degraded bool
	// Pinned is how many pinned memories the filters admit, also beyond the limit; 0 without Fill.
	Pinned int
}

// RecallResult is a recalled memory.
type RecallResult struct {
	Memory  *Memory
	Found   bool // it answers the query; others were added
	Score   float64
	Matched []string    // words of the query that the memory contains
	Why     *recall.Why // if RecallQuery.Explain is set
}

// Recaller ranks memories of a subject. An index finds their IDs; the store decides which of them exist and are visible.
type Recaller struct {
	store   rowStore
	opener  *opener
	indexer *indexer
	lookup  Lookup
	log     accessLog
	shares  *fairshare.Scheduler
	now     clock

	embeddings *Embeddings // nil without an endpoint
}

// Recall returns the memories that answer a query. For an unknown subject there are none.
func (r *Recaller) Recall(ctx context.Context, p *auth.Principal, q RecallQuery) (*Recalled, error) {
	if err := checkQuery(q.Query); err != nil {
		return nil, err
	}
	if err := q.bind(p, defaultRecall); err != nil {
		return nil, err
	}
	task := r.shares.Start(ctx, p.WorkspaceID)
	defer task.End()
	asked := r.embeddings.question(p.WorkspaceID, q.Query)
	recalled, err := r.rank(ctx, task, p, &q, asked, r.now())
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if recalled == nil {
		return &Recalled{Degraded: asked.degraded()}, r.record(ctx, p, audit.MemoryRecalled, q.SubjectID, nil, asked)
	}
	recalled.Degraded = asked.degraded()
	recalled.Results = recalled.Results[:min(len(recalled.Results), q.Limit)]
	ids := make([]string, len(recalled.Results))
	for i, result := range recalled.Results {
		ids[i] = result.Memory.ID
	}
	return recalled, r.record(ctx, p, audit.MemoryRecalled, q.SubjectID, ids, asked)
}

// rank ranks the memories of a subject; nil if there is no such subject. It searches a cached index first and reads the
// memories together with the subject's last change. Only if the index is stale, it updates the index and searches again.
func (r *Recaller) rank(ctx context.Context, task *fairshare.Task, p *auth.Principal, q *RecallQuery, asked *question, now time.Time) (*Recalled, error) {
	model, subject := asked.wanted(), r.lookup.Subject(p.WorkspaceID, q.SubjectID)
	if index := r.indexer.cached(p.WorkspaceID, subject, model); index != nil {
		asked.send(ctx, task, index.Speakers())
		ranked, err := search(task, index, q, asked, now)
		if err != nil {
			return nil, err
		}
		rows, current, err := r.store.MemoriesOf(ctx, p.WorkspaceID, subject, index.generation, index.change, ranked.ids())
		if err != nil {
			return nil, err
		}
		if current {
			r.indexer.countHit()
			return r.recalled(ctx, p, q.SubjectID, ranked, rows, now)
		}
	}
	index, err := r.indexer.current(ctx, task, p.WorkspaceID, q.SubjectID, model)
	if err != nil {
		return nil, err
	}
	if index == nil { // a caller learns nothing from what is sent and how long it takes
		asked.send(ctx, task, nil)
		return nil, nil
	}
	asked.send(ctx, task, index.Speakers())
	if first := asked.model(); first != "" && first != model { // the model was not known before its first answer
		if index, err = r.indexer.current(ctx, task, p.WorkspaceID, q.SubjectID, first); err != nil || index == nil {
			return nil, err
		}
	}
	ranked, err := search(task, index, q, asked, now)
	if err != nil {
		return nil, err
	}
	rows, err := r.store.MemoriesByID(ctx, p.WorkspaceID, ranked.ids())
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	return r.recalled(ctx, p, q.SubjectID, ranked, rows, now)
}

// ranking is what an index found, best first, and what was added to it.
type ranking struct {
	hits  []recall.Hit
	found int // of hits; the others were added
	took  time.Duration

	pinned int // memories that the filters admit, if pinned and newest ones were added
}

func (r *ranking) ids() []string {
	ids := make([]string, len(r.hits))
	for i, h := range r.hits {
		ids[i] = h.ID
	}
	return ids
}

// search searches an index and releases the task's slot, because the store is read next. Without a text, or with Fill, it adds at
// most Limit pinned and newest memories.
func search(task *fairshare.Task, index *indexed, q *RecallQuery, asked *question, now time.Time) (*ranking, error) {
	defer task.Release()
	var r ranking
	var err error
	if q.Query != "" {
		ranked := q.ranked(now)
		asked.apply(&ranked, index.vectors)
		began := time.Now()
		if r.hits, err = index.Search(task, ranked); err != nil {
			return nil, err
		}
		r.took, r.found = time.Since(began), len(r.hits)
	}
	if q.Query != "" && !q.Fill {
		return &r, nil
	}
	newest, pinned, err := index.Newest(task, q.ranked(now))
	if err != nil {
		return nil, err
	}
	r.pinned = pinned
	known := make(map[string]bool, len(r.hits))
	for _, h := range r.hits {
		known[h.ID] = true
	}
	for _, id := range newest {
		if !known[id] {
			r.hits = append(r.hits, recall.Hit{ID: id})
		}
	}
	return &r, nil
}

// recalled decrypts the rows of what was found. It leaves out memories that do not exist now or that p cannot see.
func (r *Recaller) recalled(ctx context.Context, p *auth.Principal, subjectID string, ranked *ranking, rows []*Row, now time.Time) (*Recalled, error) {
	list, err := r.opener.memories(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, err
	}
	memories := make(map[string]*Memory, len(list))
	for _, m := range list {
		if m.SubjectID == subjectID && visible(p, m) && !m.Expired(now) {
			memories[m.ID] = m
		}
	}
	recalled := &Recalled{Took: ranked.took, Pinned: ranked.pinned}
	for i, h := range ranked.hits {
		if m := memories[h.ID]; m != nil {
			found := i < ranked.found
			recalled.Results = append(recalled.Results, RecallResult{Memory: m, Found: found, Score: h.Score, Matched: h.Matched, Why: h.Why})
		}
	}
	return recalled, nil
}

// record writes an entry about recalled memories. There is one even if there are no results or no such subject: it says what was
// asked, and a caller that may not know whether the subject exists learns nothing from it.
func (r *Recaller) record(ctx context.Context, p *auth.Principal, action audit.Action, subjectID string, ids []string, asked *question) error {
	entries := r.log.entries(p, action, subjectID, ids)
	if asked.sent() {
		entries = append(entries, r.log.entry(p, audit.MemoryEmbedded, subjectID, nil))
	}
	return r.log.read(ctx, entries...)
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

// bind validates a query and sets what the caller is bound to and the default limit.
func (q *RecallQuery) bind(p *auth.Principal, limit int) (err error) {
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
		if err := checkKind(fmt.Sprintf("kinds[%d]", i), kind); err != nil {
			return err
		}
	}
	if err := rules.Tags("tags", q.Tags); err != nil {
		return err
	}
	if q.zone, err = zoneOf(q.TimeZone); err != nil {
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

// ranked converts a query for the index.
func (q *RecallQuery) ranked(now time.Time) recall.Query {
	r := recall.Query{
		Text: q.Query, Limit: q.Limit, AgentID: q.AgentID, SessionID: q.SessionID, Tags: q.Tags, From: q.From, To: q.To,
		Now: now, Zone: q.zone, MinScore: q.MinScore, Explain: q.Explain,
	}
	for _, kind := range q.Kinds {
		r.Kinds = append(r.Kinds, string(kind))
	}
	if q.AsOf != nil {
		r.AsOf = *q.AsOf
	}
	return r
}
