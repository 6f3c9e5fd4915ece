package recall

import (
	"cmp"
	"slices"

	"keepsake/internal/base/fairshare"
)

// Newest returns the IDs of the memories that pass the filters of q: pinned ones first, then by time, newest first. pinned is
// how many pinned ones there are, also beyond the limit. task counts its steps, like those of Search.
func (x *Index) Newest(task *fairshare.Task, q Query) (ids []string, pinned int, err error) {
	task.Release()
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &search{x: x, task: task}
	if q.Limit < 1 || !s.admit(&q) {
		return nil, 0, s.err
	}
	var slots []int32 // the first ones so far, and candidates
	for slot, ok := range s.admitted {
		if !ok {
			continue
		}
		if x.docs[slot].pinned {
			pinned++
		}
		if slots = append(slots, int32(slot)); len(slots) == 2*q.Limit {
			slots = x.newest(slots)[:q.Limit]
			if !s.step(16 * q.Limit) {
				return nil, 0, s.err
			}
		}
	}
	slots = x.newest(slots)
	ids = make([]string, min(len(slots), q.Limit))
	for i := range ids {
		ids[i] = x.records[slots[i]].id
	}
	return ids, pinned, nil
}

// newest sorts slots in the order of Newest.
func (x *Index) newest(slots []int32) []int32 {
	slices.SortFunc(slots, func(a, b int32) int {
		if first := x.docs[a].pinned; first != x.docs[b].pinned {
			if first {
				return -1
			}
			return 1
		}
		d, e := &x.records[a], &x.records[b]
		return cmp.Or(cmp.Compare(e.at, d.at), cmp.Compare(e.id, d.id))
	})
	return slots
}
