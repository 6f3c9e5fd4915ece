package recall

import (
	"cmp"
	"slices"
)

// Newest gives the ids of the memories that q admits, whatever its text: the pinned ones first, then by time, newest first.
func (x *Index) Newest(q Query) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &search{x: x}
	if q.Limit < 1 || !s.admit(&q) {
		return nil
	}
	slots := make([]int32, 0, s.count)
	for slot, ok := range s.admitted {
		if ok {
			slots = append(slots, int32(slot))
		}
	}
	slices.SortFunc(slots, func(a, b int32) int {
		d, e := &x.docs[a], &x.docs[b]
		if d.pinned != e.pinned {
			if d.pinned {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(e.at, d.at), cmp.Compare(e.id, d.id))
	})
	ids := make([]string, min(len(slots), q.Limit))
	for i := range ids {
		ids[i] = x.docs[slots[i]].id
	}
	return ids
}
