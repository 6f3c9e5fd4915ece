package memory

import (
	"context"
	"time"
)

// matcher adds stored memories to a write set.
type matcher struct {
	store matchStore
	now   clock
}

// matchStore finds memories by keys.
type matchStore interface {
	// MatchingMemories reads for each of wanted the memory with its key, or the first limit memories with its dedup key.
	MatchingMemories(ctx context.Context, workspaceID string, wanted []MatchKey, limit int, now time.Time) ([]*Row, error)
	// TrimmedBytes returns how many bytes TrimMemoryRevisions would free.
	TrimmedBytes(ctx context.Context, workspaceID, id string, keep int) (int64, error)
}

// MatchKey names a memory of a subject by its natural key or, if KeyHash is zero, by its dedup key.
type MatchKey struct {
	Subject    Hash
	Generation int64
	KeyHash    Hash
	DedupHash  Hash
}

// loadMatches adds the memories that drafts replace or duplicate.
func (m *matcher) loadMatches(ctx context.Context, workspaceID string, set *writeSet, drafts []*draft) error {
	var wanted []MatchKey
	limit := 1
	for _, d := range drafts {
		if d.err != nil || !d.matches() {
			continue
		}
		wanted = append(wanted, d.match)
		if d.memory.Key != "" { // it can replace the first of equal memories, and then the second one counts
			limit++
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	rows, err := m.store.MatchingMemories(ctx, workspaceID, wanted, limit, m.now())
	if err != nil {
		return err
	}
	for _, r := range rows {
		if state := set.subjects[r.Subject]; state == nil || r.Generation != state.generation {
			continue
		}
		if _, err := m.add(ctx, set, r); err != nil {
			return err
		}
	}
	return nil
}

// add decrypts a stored memory and adds it. If bytes are limited, it also reads what the next revision frees.
func (m *matcher) add(ctx context.Context, set *writeSet, r *Row) (*pending, error) {
	if added := set.memories.byID[r.ID]; added != nil {
		return added, nil
	}
	state := set.subjects[r.Subject]
	stored, err := open(state.workspaceID, r, state.key)
	if err != nil {
		return nil, err
	}
	added := &pending{memory: stored, row: r, base: r}
	if set.room.limitBytes && r.Revision >= maxRevisions {
		// In addition to the next revision and this one, which becomes an older one, maxRevisions-2 stay.
		if added.trimmed, err = m.store.TrimmedBytes(ctx, state.workspaceID, r.ID, maxRevisions-2); err != nil {
			return nil, err
		}
	}
	set.memories.add(added)
	return added, nil
}
