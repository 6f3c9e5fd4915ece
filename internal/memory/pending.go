package memory

import "slices"

// pending is a memory as it will be stored.
type pending struct {
	memory  *Memory
	row     *Row   // memory, encrypted
	base    *Row   // the stored revision; nil for a new memory
	older   []*Row // revisions that are older ones now
	trimmed int64  // bytes that the next revision frees, because it removes the oldest ones
}

// matches returns the keys by which a memory is found.
func (m *pending) matches() []MatchKey {
	same := MatchKey{Subject: m.row.Subject, Generation: m.row.Generation, DedupHash: m.row.DedupHash}
	if m.row.KeyHash == (Hash{}) {
		return []MatchKey{same}
	}
	return []MatchKey{same, {Subject: m.row.Subject, Generation: m.row.Generation, KeyHash: m.row.KeyHash}}
}

// pendingMemories finds the memories of a write set.
type pendingMemories struct {
	byID    map[string]*pending
	byMatch map[MatchKey][]*pending
	order   []*pending
}

func (l *pendingMemories) add(m *pending) {
	l.byID[m.memory.ID] = m
	l.order = append(l.order, m)
	l.index(m)
}

// replace sets the current revision of a memory.
func (l *pendingMemories) replace(m *pending, next *Memory, row *Row) {
	for _, match := range m.matches() {
		l.byMatch[match] = slices.DeleteFunc(l.byMatch[match], func(o *pending) bool { return o == m })
	}
	m.memory, m.row = next, row
	l.index(m)
}

// first returns the oldest memory that matches, or nil.
func (l *pendingMemories) first(match MatchKey) (first *pending) {
	for _, m := range l.byMatch[match] {
		if first == nil || earlier(m.memory, first.memory) {
			first = m
		}
	}
	return first
}

func (l *pendingMemories) index(m *pending) {
	for _, match := range m.matches() {
		l.byMatch[match] = append(l.byMatch[match], m)
	}
}

func earlier(a, b *Memory) bool {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}
