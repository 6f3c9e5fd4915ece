// Package lru is a map that forgets the least recently used entry when it is full.
//
// A cache that weighs frequency would rather forget newcomers. Here that would be wrong: a newcomer that is forgotten at
// once has no budget, is counted nowhere, or waits for its index each time.
package lru

import "iter"

// Cache is such a map. It is not safe for concurrent use.
type Cache[K comparable, V any] struct {
	capacity int
	entries  map[K]*entry[K, V]
	root     entry[K, V] // of a ring: root.next was used last, root.prev is the next to be forgotten
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	next, prev *entry[K, V]
}

// New makes a Cache of at most capacity entries; 0 is no limit, for a caller that calls RemoveOldest by itself.
func New[K comparable, V any](capacity int) *Cache[K, V] {
	c := &Cache[K, V]{capacity: capacity}
	c.Clear()
	return c
}

// Len is the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// Full reports whether the next new entry takes the place of another one.
func (c *Cache[K, V]) Full() bool { return c.capacity > 0 && len(c.entries) >= c.capacity }

// Peek gives the value of a key, nil if there is none. It counts as no use.
func (c *Cache[K, V]) Peek(key K) *V {
	if e := c.entries[key]; e != nil {
		return &e.value
	}
	return nil
}

// Get gives the value of a key, nil if there is none. The pointer stays good when the entry is forgotten.
func (c *Cache[K, V]) Get(key K) *V {
	e := c.entries[key]
	if e == nil {
		return nil
	}
	e.unlink()
	c.link(e)
	return &e.value
}

// Add adds a value under a key that has none, and gives where it is kept.
func (c *Cache[K, V]) Add(key K, value V) *V {
	if c.Full() {
		c.RemoveOldest()
	}
	e := &entry[K, V]{key: key, value: value}
	c.entries[key] = e
	c.link(e)
	return &e.value
}

// GetOrAdd is Get, and adds a zero value if there is none.
func (c *Cache[K, V]) GetOrAdd(key K) *V {
	if v := c.Get(key); v != nil {
		return v
	}
	var zero V
	return c.Add(key, zero)
}

// Remove forgets a key.
func (c *Cache[K, V]) Remove(key K) {
	if e := c.entries[key]; e != nil {
		e.unlink()
		delete(c.entries, key)
	}
}

// RemoveOldest forgets the least recently used key and gives its value; nil if there is none.
func (c *Cache[K, V]) RemoveOldest() *V {
	e := c.root.prev
	if e == &c.root {
		return nil
	}
	c.Remove(e.key)
	return &e.value
}

// Clear forgets everything.
func (c *Cache[K, V]) Clear() {
	c.entries = map[K]*entry[K, V]{}
	c.root.next, c.root.prev = &c.root, &c.root
}

// All gives the entries in no order. The Cache must not be changed meanwhile.
func (c *Cache[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for key, e := range c.entries {
			if !yield(key, &e.value) {
				return
			}
		}
	}
}

// link makes e the most recently used one.
func (c *Cache[K, V]) link(e *entry[K, V]) {
	e.prev, e.next = &c.root, c.root.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry[K, V]) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}
