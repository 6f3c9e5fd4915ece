package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"keepsake/internal/fairshare"
	"keepsake/internal/lru"
	"keepsake/internal/memory/recall"
	"keepsake/internal/seal"
)

// index gives the index of a subject, up to date; nil where there is no such subject.
func (s *Service) index(ctx context.Context, task *fairshare.Task, workspaceID, subjectID string) (*recall.Index, error) {
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
	s.recalls.count(k.index != nil && k.generation == row.Generation)
	return s.follow(ctx, task, k, row)
}

// follow brings an index up to what a subject's row says, which may be the first time. The caller has the turn. If it ends
// early, the index keeps what it has taken in, and the next one goes on from there: else the index of a subject that takes
// longer than a request may would never be built.
func (s *Service) follow(ctx context.Context, task *fairshare.Task, k *keptIndex, row *Subject) (*recall.Index, error) {
	workspaceID := k.name.workspaceID
	if k.generation > row.Generation { // the person was erased and written again since the row was read
		return nil, nil
	}
	kept := k.index != nil && k.generation == row.Generation
	if kept && k.change >= row.Change {
		return k.index, nil
	}
	x, after := k.index, k.change
	if !kept {
		x, after = recall.New(s.words), 0
	}
	rows, erased, err := s.o.Store.MemoryChanges(ctx, workspaceID, row.Hash, row.Generation, after)
	if err != nil {
		return nil, err
	}
	defer task.Release()
	taken, err := s.take(ctx, task, x, workspaceID, row, rows)
	if err != nil {
		if taken > 0 {
			// Those of the last change may not all be in.
			k.index, k.generation, k.change = x, row.Generation, rows[taken-1].Change-1
			s.recalls.weigh(k, x.Bytes())
		}
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

// take opens rows of one subject and puts them into an index, in their order, on several cores where there are many. taken
// is how many are in.
func (s *Service) take(ctx context.Context, task *fairshare.Task, x *recall.Index, workspaceID string, subject *Subject, rows []*Row) (taken int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	key, err := s.o.Keys.Find(ctx, workspaceID, subject.Hash, subject.Generation)
	if errors.Is(err, seal.ErrDestroyed) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find a data key: %w", err)
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
	ctx, stop := context.WithCancel(ctx)
	var next atomic.Int64
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(chunks); i = int(next.Add(1)) - 1 {
			var out opened
			out.items, out.err = openItems(ctx, workspaceID, chunks[i], key)
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
		for _, it := range out.items {
			if err := task.Step(len(it.Text)); err != nil {
				return taken, err
			}
			task.Release() // a search of the same index may be waiting for a slot
			x.Put(it)
			taken++
		}
		if out.err != nil {
			return taken, out.err
		}
	}
	return taken, nil
}

// openItems opens rows, or those before an error.
func openItems(ctx context.Context, workspaceID string, rows []*Row, key *seal.DataKey) ([]recall.Item, error) {
	items := make([]recall.Item, 0, len(rows))
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return items, err
		}
		m, err := open(workspaceID, r, key)
		if err != nil {
			return items, err
		}
		items = append(items, recall.Item{
			ID: m.ID, Text: m.Text, Speaker: m.Speaker, Kind: string(m.Kind), AgentID: m.AgentID, SessionID: m.SessionID, Tags: m.Tags,
			Importance: m.Importance, Pinned: m.Pinned, OccurredAt: m.OccurredAt, CreatedAt: m.CreatedAt,
			ValidFrom: m.ValidFrom, ValidTo: m.ValidTo, ExpiresAt: m.ExpiresAt, Revision: m.Revision,
		})
	}
	return items, nil
}

// recalls keeps indexes of subjects in memory, those that were asked last, within a bound of bytes.
type recalls struct {
	bound int64

	mu    sync.Mutex
	kept  *lru.Cache[indexName, *keptIndex]
	bytes int64
	stats RecallStats
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
	return &recalls{bound: bound, kept: lru.New[indexName, *keptIndex](0)}
}

// open gives the place of an index.
func (c *recalls) open(name indexName) *keptIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kept.Get(name); k != nil {
		return *k
	}
	k := &keptIndex{name: name, turn: make(chan struct{}, 1)}
	c.kept.Add(name, k)
	c.resize(k, emptyIndex)
	return k
}

// known gives an index that is kept with the generation and the change that it is of; nil where there is none, or somebody is
// at work on it.
func (c *recalls) known(name indexName) (x *recall.Index, generation, change int64) {
	k := c.find(name)
	if k == nil {
		return nil, 0, 0
	}
	select {
	case k.turn <- struct{}{}:
	default:
		return nil, 0, 0
	}
	defer func() { <-k.turn }()
	return k.index, k.generation, k.change
}

// find gives the place of an index; nil if there is none.
func (c *recalls) find(name indexName) *keptIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kept.Get(name); k != nil {
		return *k
	}
	return nil
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
	if known := c.kept.Peek(k.name); known != nil && *known == k { // else it was evicted while another caller worked on it
		c.resize(k, bytes+emptyIndex)
	}
}

// resize counts bytes and lets go of the indexes asked least lately while there is too much.
func (c *recalls) resize(k *keptIndex, bytes int64) {
	c.bytes += bytes - k.bytes
	k.bytes = bytes
	for c.bytes > c.bound && c.kept.Len() > 0 {
		c.bytes -= (*c.kept.RemoveOldest()).bytes
		c.stats.Evictions++
	}
}

// drop lets go of a subject's index.
func (c *recalls) drop(workspaceID string, subject Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := indexName{workspaceID, subject}
	if k := c.kept.Peek(name); k != nil {
		c.bytes -= (*k).bytes
		c.kept.Remove(name)
	}
}

// dropAll lets go of everything.
func (c *recalls) dropAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Clear()
	c.bytes = 0
}

// all lists what is kept, by workspace.
func (c *recalls) all() map[string][]*keptIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]*keptIndex{}
	for name, k := range c.kept.All() {
		all[name.workspaceID] = append(all[name.workspaceID], *k)
	}
	return all
}

// RecallStats tells how the cache of indexes is doing.
func (s *Service) RecallStats() RecallStats {
	c := s.recalls
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries, stats.Capacity, stats.Bytes = int64(c.kept.Len()), c.bound, c.bytes
	return stats
}

// tidyRecalls takes out of the indexes what was forgotten since somebody asked them last, here or by another process, with the
// words that nothing else holds.
func (s *Service) tidyRecalls(ctx context.Context) error {
	for workspaceID, kept := range s.recalls.all() {
		for some := range slices.Chunk(kept, 500) {
			subjects := make([]Hash, len(some))
			for i, k := range some {
				subjects[i] = k.name.subject
			}
			rows, err := s.o.Store.MemorySubjects(ctx, workspaceID, subjects)
			if err != nil {
				return fmt.Errorf("read subjects: %w", err)
			}
			living := map[Hash]*Subject{}
			for _, r := range rows {
				if len(r.SealedID) > 0 {
					living[r.Hash] = r
				}
			}
			for _, k := range some {
				if err := s.tidy(ctx, k, living[k.name.subject]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tidy is tidyRecalls for one index. One that somebody is at work on is up to date without.
func (s *Service) tidy(ctx context.Context, k *keptIndex, row *Subject) error {
	select {
	case k.turn <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-k.turn }()
	switch {
	case k.index == nil:
		return nil
	case row == nil || row.Generation > k.generation:
		s.forgetIndex(k.name.workspaceID, k.name.subject)
		return nil
	}
	x, err := s.follow(ctx, nil, k, row)
	if err != nil || x == nil {
		return err
	}
	x.Compact()
	s.recalls.weigh(k, x.Bytes())
	return nil
}

// ForgetSubject lets go of what is in memory of a subject that another process has erased.
func (s *Service) ForgetSubject(workspaceID string, subject Hash) {
	s.forgetIndex(workspaceID, subject)
	s.written.forget(map[Hash]*standing{subject: nil})
}

// ForgetSubjects does so for all, where nobody knows which of them others have erased.
func (s *Service) ForgetSubjects() {
	s.recalls.dropAll()
	s.words.Forget()
	s.written.forgetAll()
}

// forgetIndex lets go of all words of a subject.
func (s *Service) forgetIndex(workspaceID string, subject Hash) {
	s.recalls.drop(workspaceID, subject)
	s.words.Forget()
}
