package recall

import (
	"cmp"
	"slices"
)

// ranked is a memory with its score.
type ranked struct {
	slot  int32
	score float64
	near  float64 // the part that the turns before added

	meaning  float64 // the part of meaning
	together float64 // the part of words together
}

// heap contains the best memories so far, the worst of them first.
type heap struct {
	x     *Index
	limit int
	least float64
	list  []ranked
}

func (h *heap) reset(x *Index, limit int, least float64) {
	h.x, h.limit, h.least, h.list = x, limit, least, h.list[:0]
}

// compare orders better memories first.
func (h *heap) compare(a, b ranked) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if first := h.x.docs[a.slot].pinned; first != h.x.docs[b.slot].pinned {
		if first {
			return -1
		}
		return 1
	}
	d, e := &h.x.records[a.slot], &h.x.records[b.slot]
	return cmp.Or(cmp.Compare(e.importance, d.importance), cmp.Compare(d.id, e.id))
}

// bar is slightly less than the lowest score that can still be among the best.
func (h *heap) bar() float64 {
	if len(h.list) < h.limit {
		return max(h.least-1e-5, 1e-7)
	}
	return max(h.list[0].score-1e-5, 1e-7)
}

func (h *heap) offer(r ranked) {
	if r.score < h.least {
		return
	}
	if twin := h.twin(r.slot); twin >= 0 {
		if h.compare(r, h.list[twin]) >= 0 {
			return
		}
		h.list = slices.Delete(h.list, twin, twin+1)
		slices.SortFunc(h.list, func(a, b ranked) int { return h.compare(b, a) }) // in order, it is a heap
	}
	if len(h.list) < h.limit {
		h.list = append(h.list, r)
		for i := len(h.list) - 1; i > 0; {
			parent := (i - 1) / 2
			if h.compare(h.list[i], h.list[parent]) <= 0 {
				return
			}
			h.list[i], h.list[parent] = h.list[parent], h.list[i]
			i = parent
		}
		return
	}
	if r.score < h.list[0].score || h.compare(r, h.list[0]) >= 0 {
		return
	}
	h.list[0] = r
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.list); child++ {
			if h.compare(h.list[child], h.list[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		h.list[i], h.list[worst] = h.list[worst], h.list[i]
		i = worst
	}
}

// twin returns which of the memories is a turn of an assistant with the words of another one; -1 for none. Only the better one is found:
// an assistant repeats itself, and ten turns that say the same would leave no room for what they repeat.
func (h *heap) twin(slot int32) int {
	said := h.x.docs[slot].said
	if said == 0 {
		return -1
	}
	return slices.IndexFunc(h.list, func(r ranked) bool { return h.x.docs[r.slot].said == said })
}

// sorted returns the memories, best first. The result is valid until the next reset.
func (h *heap) sorted() []ranked {
	slices.SortFunc(h.list, h.compare)
	return h.list
}
