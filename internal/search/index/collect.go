package index

import (
	"container/heap"
	"math"
	"slices"
)

// collector keeps the first hits and counts all.
type collector struct {
	snapshot *Snapshot
	sort     Sort
	after    *Place
	limit    int
	total    int64
	part     *part
	number   int   // of the part
	best     []hit // a heap, the last place first
}

type hit struct {
	key   int64
	score int32
	part  int
	doc   uint32
}

func newCollector(s *Snapshot, q *Query) *collector {
	return &collector{snapshot: s, sort: q.Sort, after: q.After, limit: q.Limit}
}

// begin begins a part.
func (c *collector) begin(number int, p *part) { c.number, c.part = number, p }

// least returns a score below which no document needs to be offered.
func (c *collector) least() int64 {
	if c.sort != ByScore || len(c.best) < c.limit || c.limit == 0 {
		return math.MinInt64
	}
	return c.best[0].key
}

// offer keeps a matching document if it is among the first after the page before.
func (c *collector) offer(doc uint32, score int32) {
	h := hit{key: int64(score), score: score, part: c.number, doc: doc}
	switch c.sort {
	case NewestFirst:
		h.key = c.part.time(doc)
	case OldestFirst:
		h.key = -c.part.time(doc)
	}
	switch {
	case c.limit == 0 || c.after != nil && c.seen(h):
	case len(c.best) < c.limit:
		heap.Push(c, h)
	case c.before(h, c.best[0]):
		c.best[0] = h
		heap.Fix(c, 0)
	}
}

// seen reports whether h was on an earlier page.
func (c *collector) seen(h hit) bool {
	return h.key > c.after.Key || h.key == c.after.Key && string(c.id(h)) <= c.after.ID
}

func (c *collector) before(x, y hit) bool {
	return x.key > y.key || x.key == y.key && string(c.id(x)) < string(c.id(y))
}

func (c *collector) id(h hit) []byte { return c.snapshot.parts[h.part].id(h.doc) }

// page returns the hits in order.
func (c *collector) page() []Hit {
	slices.SortFunc(c.best, func(x, y hit) int {
		if c.before(x, y) {
			return -1
		}
		return 1
	})
	hits := make([]Hit, len(c.best))
	for i, h := range c.best {
		hits[i] = Hit{
			Place: Place{Key: h.key, ID: string(c.id(h))}, Score: float64(h.score) / scoreUnit,
			Language: c.snapshot.parts[h.part].language(h.doc),
		}
	}
	return hits
}

// Len and the methods below make a collector a heap.Interface.
func (c *collector) Len() int { return len(c.best) }

// Less implements heap.Interface with the last place on top.
func (c *collector) Less(i, j int) bool { return c.before(c.best[j], c.best[i]) }

// Swap implements heap.Interface.
func (c *collector) Swap(i, j int) { c.best[i], c.best[j] = c.best[j], c.best[i] }

// Push implements heap.Interface.
func (c *collector) Push(h any) { c.best = append(c.best, h.(hit)) }

// Pop implements heap.Interface.
func (c *collector) Pop() any {
	last := c.best[len(c.best)-1]
	c.best = c.best[:len(c.best)-1]
	return last
}
