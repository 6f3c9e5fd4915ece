package memory

import (
	"context"
	"time"
)

// matcher loads the memories that drafts replace or duplicate into a write plan.
type matcher struct {
	store interface {
		matchStore
		TrimmedBytes(ctx context.Context, workspaceID, id string, keep int) (int64, error)
	}
	now clock
}

// matchStore finds memories by keys.
type matchStore interface {
	// MatchingMemories reads for each of wanted the memory with its key, or the first limit memories with its dedup key.
	MatchingMemories(ctx context.Context, workspaceID string, wanted []MatchKey, limit int, now time.Time) ([]*Row, error)
}

// MatchKey names a memory of a subject by its natural key or, if Key is zero, by its dedup key.
type MatchKey struct {
	Subject    Hash
	Generation int64
	Key        Hash
	DedupKey   Hash
}

// loadMatches adds the memories that match drafts to a plan.
func (m *matcher) loadMatches(ctx context.Context, workspaceID string, plan *writePlan, drafts []*draft) error {
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
		if state := plan.subjects[r.Subject]; state == nil || r.Generation != state.generation {
			continue
		}
		if err := m.add(ctx, workspaceID, plan, r); err != nil {
			return err
		}
	}
	return nil
}

// add adds a stored memory to a plan. If bytes are limited, it also reads what the next revision frees.
func (m *matcher) add(ctx context.Context, workspaceID string, plan *writePlan, r *Row) error {
	stored, err := open(workspaceID, r, plan.subjects[r.Subject].key)
	if err != nil {
		return err
	}
	var trimmed int64
	if plan.room.limitBytes && r.Revision >= maxRevisions {
		if trimmed, err = m.store.TrimmedBytes(ctx, workspaceID, r.ID, maxRevisions-2); err != nil {
			return err
		}
	}
	plan.addStored(stored, r, trimmed)
	return nil
}
