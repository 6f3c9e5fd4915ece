package memory

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"keepsake/internal/memory/recall"
	"keepsake/internal/seal"
)

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
	s.recalls.weigh(k, x.Bytes(), row.Generation)
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
	of    int64 // generation, as recalls knows
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
func (c *recalls) weigh(k *keptIndex, bytes, generation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.of = generation
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

// generations lists of which generations there are indexes, by workspace and subject.
func (c *recalls) generations() map[string]map[Hash]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]map[Hash]int64{}
	for name, e := range c.kept {
		if all[name.workspaceID] == nil {
			all[name.workspaceID] = map[Hash]int64{}
		}
		all[name.workspaceID][name.subject] = e.Value.(*keptIndex).of
	}
	return all
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
	for workspaceID, kept := range s.recalls.generations() {
		for some := range slices.Chunk(slices.Collect(maps.Keys(kept)), 500) {
			rows, err := s.o.Store.MemorySubjects(ctx, workspaceID, some)
			if err != nil {
				return fmt.Errorf("read subjects: %w", err)
			}
			living := map[Hash]int64{}
			for _, r := range rows {
				if len(r.SealedID) > 0 {
					living[r.Hash] = r.Generation
				}
			}
			for _, subject := range some {
				if of := kept[subject]; of != 0 && of != living[subject] {
					s.recalls.drop(workspaceID, subject)
				}
			}
		}
	}
	return nil
}
