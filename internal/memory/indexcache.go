package memory

import (
	"context"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"keepsake/internal/memory/recall"
)

// indexCache contains recall indexes of subjects. If they take more than a number of bytes, it evicts the least recently
// used ones.
type indexCache struct {
	maxBytes int64

	mu      sync.Mutex
	entries *simplelru.LRU[indexName, *indexEntry]
	bytes   int64
	stats   RecallStats
}

type indexName struct {
	workspaceID string
	subject     Hash
}

// indexEntry is an index with the change of its subject that it contains. turn is a mutex for all fields but bytes;
// it is a channel so that waiting ends with a context.
type indexEntry struct {
	name       indexName
	turn       chan struct{}
	index      *recall.Index // nil: not built
	generation int64
	change     int64

	// The vectors of a model that an embeddings endpoint returned, up to a change; nil if none were needed yet.
	vectors  *recall.Embeddings
	model    string
	embedded int64

	bytes int64 // as counted in the cache
}

// size is the memory that the entry uses.
func (e *indexEntry) size() int64 {
	n := e.index.Bytes()
	if e.vectors != nil {
		n += e.vectors.Bytes()
	}
	return n
}

// removeVector removes the vector of a memory that was erased or has a new revision.
func (e *indexEntry) removeVector(id string) {
	if e.vectors != nil {
		e.vectors.Remove(id)
	}
}

func (e *indexEntry) lock(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *indexEntry) tryLock() bool {
	select {
	case e.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (e *indexEntry) unlock() { <-e.turn }

// RecallStats are the statistics of the cache of recall indexes.
type RecallStats struct {
	Entries   int64
	Capacity  int64 // bytes
	Bytes     int64
	Hits      int64
	Misses    int64
	Evictions int64
}

// emptyIndex is the size of an entry without an index.
const emptyIndex = 1 << 10

func newIndexCache(maxBytes int64) *indexCache {
	entries, _ := simplelru.NewLRU[indexName, *indexEntry](math.MaxInt, nil) // setBytes evicts
	return &indexCache{maxBytes: maxBytes, entries: entries}
}

// find returns the entry of a subject, or nil.
func (c *indexCache) find(name indexName) *indexEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, _ := c.entries.Get(name)
	return e
}

func (c *indexCache) findOrAdd(name indexName) *indexEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(name); ok {
		return e
	}
	e := &indexEntry{name: name, turn: make(chan struct{}, 1)}
	c.entries.Add(name, e)
	c.setBytes(e, emptyIndex)
	return e
}

// resize updates the size of an entry, unless it was evicted meanwhile.
func (c *indexCache) resize(e *indexEntry, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current, _ := c.entries.Peek(e.name); current == e {
		c.setBytes(e, bytes+emptyIndex)
	}
}

// setBytes sets the size of an entry and evicts entries while the cache is too large.
func (c *indexCache) setBytes(e *indexEntry, bytes int64) {
	c.bytes += bytes - e.bytes
	e.bytes = bytes
	for c.bytes > c.maxBytes && c.entries.Len() > 0 {
		_, oldest, _ := c.entries.RemoveOldest()
		c.bytes -= oldest.bytes
		c.stats.Evictions++
	}
}

func (c *indexCache) remove(workspaceID string, subject Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := indexName{workspaceID, subject}
	if e, ok := c.entries.Peek(name); ok {
		c.bytes -= e.bytes
		c.entries.Remove(name)
	}
}

func (c *indexCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Purge()
	c.bytes = 0
}

// byWorkspace returns all entries by workspace.
func (c *indexCache) byWorkspace() map[string][]*indexEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]*indexEntry{}
	for _, e := range c.entries.Values() {
		all[e.name.workspaceID] = append(all[e.name.workspaceID], e)
	}
	return all
}

func (c *indexCache) count(hit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hit {
		c.stats.Hits++
	} else {
		c.stats.Misses++
	}
}

func (c *indexCache) statistics() RecallStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries, stats.Capacity, stats.Bytes = int64(c.entries.Len()), c.maxBytes, c.bytes
	return stats
}
