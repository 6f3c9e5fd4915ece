package search

import (
	"container/heap"
	"fmt"
	"strconv"

	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/fairshare"
)

// place is the position of a result: larger keys come first, then smaller IDs.
type place struct {
	Key float64 `json:"k"` // the score, or the time in microseconds, negative for the oldest first
	ID  string  `json:"i"`
}

// hit is a document that matches.
type hit struct {
	doc   uint64
	key   float64
	score float64
	id    string // read on demand
}

// collector keeps the first matching documents, and counts all.
type collector struct {
	task  *fairshare.Task
	v     *view
	sort  Sort
	times bleveindex.DocValueReader // for the orders by time
	after *place                    // last place of the page before; nil on the first page
	limit int
	total int64
	best  []*hit // a heap, the last place first
	err   error  // of reading an ID inside a comparison
	buf   bleveindex.IndexInternalID
}

func newCollector(task *fairshare.Task, v *view, sort Sort, after *place, limit int) (*collector, error) {
	c := &collector{task: task, v: v, sort: sort, after: after, limit: limit}
	if sort == ByRelevance {
		return c, nil
	}
	times, err := v.DocValueReader([]string{updatedField})
	if err != nil {
		return nil, fmt.Errorf("read times: %w", err)
	}
	c.times = times
	return c, nil
}

// collect reads everything that p finds.
func (c *collector) collect(p *plan) error {
	for target := uint64(0); ; {
		doc, err := p.seek(target)
		if err != nil || doc == noMore {
			return err
		}
		c.total++
		if err := c.task.Step(1); err != nil {
			return err
		}
		score, err := p.score(doc)
		if err != nil {
			return err
		}
		if err := c.offer(doc, score); err != nil {
			return err
		}
		target = doc + 1
	}
}

func (c *collector) offer(doc uint64, score float64) error {
	key, err := c.keyOf(doc, score)
	if err != nil {
		return err
	}
	h := hit{doc: doc, key: key, score: score}
	full := len(c.best) == c.limit
	if c.after != nil && c.seen(&h) || full && !c.before(&h, c.best[0]) {
		return c.err
	}
	kept := h
	if full {
		c.best[0] = &kept
		heap.Fix(c, 0)
	} else {
		heap.Push(c, &kept)
	}
	return c.err
}

func (c *collector) keyOf(doc uint64, score float64) (float64, error) {
	if c.sort == ByRelevance {
		return score, nil
	}
	c.buf = bleveindex.NewIndexInternalID(c.buf, doc)
	var micros int64
	var bad error
	err := c.times.VisitDocValues(c.buf, func(_ string, term []byte) {
		micros, bad = strconv.ParseInt(string(term), 10, 64)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return 0, fmt.Errorf("read the time of a document: %w", err)
	}
	if c.sort == OldestFirst {
		micros = -micros
	}
	return float64(micros), nil
}

// seen reports whether h was on an earlier page.
func (c *collector) seen(h *hit) bool {
	return h.key > c.after.Key || h.key == c.after.Key && c.idOf(h) <= c.after.ID
}

func (c *collector) before(x, y *hit) bool {
	return x.key > y.key || x.key == y.key && c.idOf(x) < c.idOf(y)
}

func (c *collector) idOf(h *hit) string {
	const steps = 16 // of reading an ID
	if h.id == "" && c.err == nil {
		if c.err = c.task.Step(steps); c.err != nil {
			return ""
		}
		c.buf = bleveindex.NewIndexInternalID(c.buf, h.doc)
		if h.id, c.err = c.v.ExternalID(c.buf); c.err != nil {
			c.err = fmt.Errorf("read the id of a document: %w", c.err)
		}
	}
	return h.id
}

// page returns the collected results in order.
func (c *collector) page() ([]*hit, error) {
	hits := make([]*hit, len(c.best))
	for i := len(hits) - 1; i >= 0; i-- {
		hits[i] = heap.Pop(c).(*hit)
		c.idOf(hits[i])
	}
	return hits, c.err
}

// Len and the methods below make a collector a heap.Interface.
func (c *collector) Len() int { return len(c.best) }

// Less implements heap.Interface with the last place on top.
func (c *collector) Less(i, j int) bool { return c.before(c.best[j], c.best[i]) }

// Swap implements heap.Interface.
func (c *collector) Swap(i, j int) { c.best[i], c.best[j] = c.best[j], c.best[i] }

// Push implements heap.Interface.
func (c *collector) Push(h any) { c.best = append(c.best, h.(*hit)) }

// Pop implements heap.Interface.
func (c *collector) Pop() any {
	last := c.best[len(c.best)-1]
	c.best = c.best[:len(c.best)-1]
	return last
}
