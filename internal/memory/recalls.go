package memory

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/memory/recall"
	"keepsake/internal/problem"
	"keepsake/internal/seal"
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
	case blank(query):
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
	if err := checkTags("tags", q.Tags); err != nil {
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

// index gives the index of a subject, up to date; nil where there is no such subject.
func (s *Service) index(ctx context.Context, workspaceID, subjectID string) (*recall.Index, error) {
	subject := s.o.Lookup.Subject(workspaceID, subjectID)
	row, err := s.o.Store.MemorySubject(ctx, workspaceID, subject)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	if row == nil || len(row.SealedID) == 0 {
		return nil, nil
	}
	k := s.recalls.open(indexName{workspaceID, subject})
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-k.turn }()
	if k.generation > row.Generation { // the person was erased and written again since the row was read
		return nil, nil
	}
	kept := k.index != nil && k.generation == row.Generation
	s.recalls.count(kept)
	if kept && k.change >= row.Change {
		return k.index, nil
	}
	x, after := k.index, k.change
	if !kept {
		x, after = recall.New(s.words), 0
	}
	rows, erased, err := s.o.Store.MemoryChanges(ctx, workspaceID, subject, row.Generation, after)
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx, x, workspaceID, row, rows); err != nil {
		return nil, err
	}
	for _, id := range erased {
		x.Remove(id)
	}
	k.index, k.generation, k.change = x, row.Generation, row.Change
	s.recalls.weigh(k, x.Bytes())
	return x, nil
}

// takeAtOnce is how many memories one goroutine opens before it hands them over.
const takeAtOnce = 256

// take opens rows of one subject and puts them into an index, on several cores where there are many.
func (s *Service) take(ctx context.Context, x *recall.Index, workspaceID string, subject *Subject, rows []*Row) error {
	if len(rows) == 0 {
		return nil
	}
	key, err := s.o.Keys.Find(ctx, workspaceID, subject.Hash, subject.Generation)
	if errors.Is(err, seal.ErrDestroyed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find a data key: %w", err)
	}
	chunks := slices.Collect(slices.Chunk(rows, takeAtOnce))
	type opened struct {
		items []recall.Item
		err   error
	}
	done := make([]chan opened, len(chunks))
	for i := range done {
		done[i] = make(chan opened, 1)
	}
	var next atomic.Int64
	var working sync.WaitGroup
	defer working.Wait()
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(chunks); i = int(next.Add(1)) - 1 {
			var out opened
			if out.err = ctx.Err(); out.err == nil {
				out.items, out.err = openItems(workspaceID, chunks[i], key)
			}
			done[i] <- out
		}
	}
	for range min(len(chunks)-1, runtime.GOMAXPROCS(0)) {
		working.Go(work)
	}
	if len(chunks) == 1 {
		work()
	}
	for i := range chunks {
		out := <-done[i]
		if out.err != nil {
			next.Store(int64(len(chunks)))
			return out.err
		}
		for _, it := range out.items {
			x.Put(it)
		}
	}
	return nil
}

func openItems(workspaceID string, rows []*Row, key *seal.DataKey) ([]recall.Item, error) {
	items := make([]recall.Item, len(rows))
	for i, r := range rows {
		m, err := open(workspaceID, r, key)
		if err != nil {
			return nil, err
		}
		items[i] = recall.Item{
			ID: m.ID, Text: m.Text, Speaker: m.Speaker, Kind: string(m.Kind), AgentID: m.AgentID, SessionID: m.SessionID, Tags: m.Tags,
			Importance: m.Importance, Pinned: m.Pinned, OccurredAt: m.OccurredAt, CreatedAt: m.CreatedAt,
			ValidFrom: m.ValidFrom, ValidTo: m.ValidTo, ExpiresAt: m.ExpiresAt, Revision: m.Revision,
		}
	}
	return items, nil
}

// recalls keeps indexes of subjects in memory, those that were asked last, within a bound of bytes.
type recalls struct {
	bound int64

	mu     sync.Mutex
	kept   map[indexName]*list.Element // of recent
	recent list.List                   // of *keptIndex, the one asked last in front
	bytes  int64
	stats  RecallStats
}

type indexName struct {
	workspaceID string
	subject     Hash
}

// keptIndex is an index with what it has taken in. Whoever puts into turn may use all but bytes, until it takes it out: one
// at a time builds an index or brings it up to date, and the others wait for that.
type keptIndex struct {
	name       indexName
	turn       chan struct{}
	index      *recall.Index // nil: not built
	generation int64
	change     int64

	bytes int64 // as counted in recalls
}

// RecallStats is how the cache of recall indexes is doing.
type RecallStats struct {
	Entries   int64
	Capacity  int64 // bytes
	Bytes     int64
	Hits      int64
	Misses    int64
	Evictions int64
}

func newRecalls(bound int64) *recalls {
	return &recalls{bound: bound, kept: map[indexName]*list.Element{}}
}

// open gives the place of an index.
func (c *recalls) open(name indexName) *keptIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.kept[name]; e != nil {
		c.recent.MoveToFront(e)
		return e.Value.(*keptIndex)
	}
	k := &keptIndex{name: name, turn: make(chan struct{}, 1)}
	c.kept[name] = c.recent.PushFront(k)
	c.resize(k, emptyIndex)
	return k
}

// emptyIndex is what a place costs before there is anything in it.
const emptyIndex = 1 << 10

func (c *recalls) count(hit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hit {
		c.stats.Hits++
	} else {
		c.stats.Misses++
	}
}

// weigh notes what an index takes.
func (c *recalls) weigh(k *keptIndex, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.kept[k.name]; e != nil && e.Value == k { // else it was let go while somebody worked on it
		c.resize(k, bytes+emptyIndex)
	}
}

// resize counts bytes and lets go of the indexes asked least lately while there is too much.
func (c *recalls) resize(k *keptIndex, bytes int64) {
	c.bytes += bytes - k.bytes
	k.bytes = bytes
	for c.bytes > c.bound && c.recent.Len() > 0 {
		c.remove(c.recent.Back())
		c.stats.Evictions++
	}
}

func (c *recalls) remove(e *list.Element) {
	k := c.recent.Remove(e).(*keptIndex)
	delete(c.kept, k.name)
	c.bytes -= k.bytes
}

// drop lets go of a subject's index.
func (c *recalls) drop(workspaceID string, subject Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.kept[indexName{workspaceID, subject}]; e != nil {
		c.remove(e)
	}
}

// names lists what is kept, by workspace.
func (c *recalls) names() map[string][]Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string][]Hash{}
	for name := range c.kept {
		names[name.workspaceID] = append(names[name.workspaceID], name.subject)
	}
	return names
}

// RecallStats tells how the cache of indexes is doing.
func (s *Service) RecallStats() RecallStats {
	c := s.recalls
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries, stats.Capacity, stats.Bytes = int64(c.recent.Len()), c.bound, c.bytes
	return stats
}

// dropErased lets go of the indexes of subjects that other processes have erased.
func (s *Service) dropErased(ctx context.Context) error {
	for workspaceID, subjects := range s.recalls.names() {
		for some := range slices.Chunk(subjects, 500) {
			rows, err := s.o.Store.MemorySubjects(ctx, workspaceID, some)
			if err != nil {
				return fmt.Errorf("read subjects: %w", err)
			}
			there := map[Hash]bool{}
			for _, r := range rows {
				there[r.Hash] = len(r.SealedID) > 0
			}
			for _, subject := range some {
				if !there[subject] {
					s.recalls.drop(workspaceID, subject)
				}
			}
		}
	}
	return nil
}
