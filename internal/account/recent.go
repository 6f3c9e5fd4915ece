package account

// recent is a map that remembers a bounded number of keys: where it is full, the one that was silent longest makes room.
// A cache that weighs frequency would rather forget newcomers, and whoever is new could then not be counted at all.
type recent[K comparable, V any] struct {
	capacity int
	byKey    map[K]*recentEntry[K, V]
	root     recentEntry[K, V] // root.older was touched last, root.newer has been silent longest
}

type recentEntry[K comparable, V any] struct {
	key          K
	value        V
	newer, older *recentEntry[K, V]
}

func newRecent[K comparable, V any](capacity int) *recent[K, V] {
	r := &recent[K, V]{capacity: capacity, byKey: map[K]*recentEntry[K, V]{}}
	r.root.newer, r.root.older = &r.root, &r.root
	return r
}

// get gives the value of a key, nil where it is not remembered.
func (r *recent[K, V]) get(key K) *V {
	if e := r.byKey[key]; e != nil {
		return &e.value
	}
	return nil
}

// touch gives the value of a key, a zero one where it is new, and makes it the last that is forgotten.
func (r *recent[K, V]) touch(key K) *V {
	e := r.byKey[key]
	switch {
	case e != nil:
		e.leave()
	case len(r.byKey) >= r.capacity:
		stalest := r.root.newer
		stalest.leave()
		delete(r.byKey, stalest.key)
		fallthrough
	default:
		e = &recentEntry[K, V]{key: key}
		r.byKey[key] = e
	}
	e.newer, e.older = &r.root, r.root.older
	r.root.older.newer, r.root.older = e, e
	return &e.value
}

func (e *recentEntry[K, V]) leave() {
	e.newer.older, e.older.newer = e.older, e.newer
}
