package memory

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Duplicates says what to do with a memory if its subject has an equal one. A memory with a natural key is never compared.
type Duplicates int

// The ways to treat duplicates.
const (
	DefaultDuplicates Duplicates = iota // return the equal memory, but store another turn or event
	AllowDuplicates                     // store another one
	Deduplicate                         // return the equal memory, also for a turn or an event
)

// compares reports whether a new memory is compared with those of its subject.
func (d Duplicates) compares(m *Memory) bool {
	switch {
	case m.Key != "" || d == AllowDuplicates:
		return false
	case m.Kind == Turn || m.Kind == Event:
		return d == Deduplicate
	default:
		return true
	}
}

// dedupKey encodes what two equal memories share: text, kind, agent, session, speaker, occurredAt, tags in any order and
// metadata. Each part is preceded by its length, so different memories have different keys.
func dedupKey(m *Memory) string {
	b := make([]byte, 0, len(m.Text)+256)
	part := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	part(m.Text)
	part(string(m.Kind))
	part(m.AgentID)
	part(m.SessionID)
	part(m.Speaker)
	if m.OccurredAt != nil {
		part(string(binary.AppendVarint(nil, m.OccurredAt.UnixMilli())))
	} else {
		part("")
	}
	b = binary.AppendUvarint(b, uint64(len(m.Tags)))
	for _, tag := range slices.Sorted(slices.Values(m.Tags)) {
		part(tag)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Metadata)))
	for _, name := range slices.Sorted(maps.Keys(m.Metadata)) {
		part(name)
		switch v := m.Metadata[name].(type) {
		case string:
			part("s" + v)
		case bool:
			if v {
				part("true")
			} else {
				part("false")
			}
		case float64:
			part("n" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(v+0)))) // −0 is 0
		}
	}
	return string(b)
}
