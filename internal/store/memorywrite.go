package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/memory"
)

const memoryTable = `memory (workspace_id, id, subject, generation, agent, session, kind, at, created_at, updated_at,
	expires_at, key_hash, same_hash, size, revision, change, sealed, key_slot)`

var (
	insertMemories  = &Bulk{Into: memoryTable, Columns: 18, Rest: `ON CONFLICT DO NOTHING`}
	replaceMemories = &Bulk{Into: memoryTable, Columns: 18, Rest: `ON CONFLICT (workspace_id, id) DO UPDATE SET
		agent = excluded.agent, session = excluded.session, kind = excluded.kind, at = excluded.at,
		created_at = excluded.created_at, updated_at = excluded.updated_at, expires_at = excluded.expires_at, key_hash = excluded.key_hash, same_hash = excluded.same_hash, size = excluded.size,
		revision = excluded.revision, change = excluded.change, sealed = excluded.sealed,
		key_slot = excluded.key_slot`}
	insertMemoryRevisions = &Bulk{
		Into:    `memory_revision (workspace_id, memory_id, revision, subject, generation, sealed)`,
		Columns: 6, Rest: `ON CONFLICT DO NOTHING`,
	}
	insertMemoryTombstones = &Bulk{
		Into:    `memory_tombstone (workspace_id, memory_id, subject, change, at)`,
		Columns: 5, Rest: `ON CONFLICT DO NOTHING`,
	}
)

// InsertMemories implements memory.Store.
func (s *memoryRows) InsertMemories(ctx context.Context, workspaceID string, rows []*memory.Row) error {
	n, err := s.putMemories(ctx, insertMemories, workspaceID, rows)
	if err == nil && n < int64(len(rows)) {
		return memory.ErrStale
	}
	return err
}

// ReplaceMemories implements memory.Store.
func (s *memoryRows) ReplaceMemories(ctx context.Context, workspaceID string, rows []*memory.Row) error {
	_, err := s.putMemories(ctx, replaceMemories, workspaceID, rows)
	return err
}

func (s *memoryRows) putMemories(ctx context.Context, b *Bulk, workspaceID string, rows []*memory.Row) (written int64, err error) {
	slots, err := s.slotsOf(ctx, rows)
	if err != nil {
		return 0, err
	}
	written, err = s.main.Insert(ctx, b, len(rows), func(i int, values []any) []any {
		r := rows[i]
		return append(values, workspaceID, r.ID, r.Subject[:], r.Generation, hashValue(r.Agent), hashValue(r.Session), string(r.Kind),
			Micros(r.At), Micros(r.CreatedAt), Micros(r.UpdatedAt), maybeMicros(r.ExpiresAt), hashValue(r.KeyHash), r.DedupHash[:], r.Size,
			r.Revision, r.Change, r.Sealed, slots[i])
	})
	if err != nil {
		return written, fmt.Errorf("write memories: %w", err)
	}
	return written, nil
}

// slotsOf returns the slots of the rows' keys, as stored. It stores keys that have none.
func (s *memoryRows) slotsOf(ctx context.Context, rows []*memory.Row) ([]any, error) {
	slots := make([]any, len(rows))
	var places []int
	var keys [][]byte
	for i, r := range rows {
		switch {
		case r.OwnKeySlot != 0:
			slots[i] = r.OwnKeySlot
		case len(r.OwnKey) > 0:
			places, keys = append(places, i), append(keys, r.OwnKey)
		}
	}
	kept, err := s.own.keepOwnKeys(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, slot := range kept {
		slots[places[i]] = slot
	}
	return slots, nil
}

// AddMemoryRevisions implements memory.Store.
func (s *memoryRows) AddMemoryRevisions(ctx context.Context, workspaceID string, rows []*memory.Row) error {
	_, err := s.main.Insert(ctx, insertMemoryRevisions, len(rows), func(i int, values []any) []any {
		r := rows[i]
		return append(values, workspaceID, r.ID, r.Revision, r.Subject[:], r.Generation, r.Sealed)
	})
	if err != nil {
		return fmt.Errorf("add revisions: %w", err)
	}
	return nil
}

// trimmed are the revisions of a memory older than the newest $3.
const trimmed = `FROM memory_revision WHERE workspace_id = $1 AND memory_id = $2 AND revision <= (
	SELECT revision FROM memory_revision WHERE workspace_id = $1 AND memory_id = $2 ORDER BY revision DESC LIMIT 1 OFFSET $3)`

// TrimMemoryRevisions implements memory.Store.
func (s *memoryRows) TrimMemoryRevisions(ctx context.Context, workspaceID, id string, keep int) error {
	if _, err := s.main.In(ctx).Exec(ctx, `DELETE `+trimmed, workspaceID, id, keep); err != nil {
		return fmt.Errorf("trim revisions: %w", err)
	}
	return nil
}

// TrimmedBytes implements memory.Store.
func (s *memoryRows) TrimmedBytes(ctx context.Context, workspaceID, id string, keep int) (n int64, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT CAST(coalesce(sum(octet_length(sealed)), 0) AS BIGINT) `+trimmed, workspaceID, id, keep).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the bytes of old revisions: %w", err)
	}
	return n, nil
}

var (
	ownSlotsOfMemories = `SELECT key_slot FROM memory WHERE workspace_id = $1 AND id IN (` + Parameters(2, ListSize) + `)`

	removeMemories  = `DELETE FROM memory WHERE workspace_id = $1 AND id IN (` + Parameters(2, ListSize) + `)`
	removeRevisions = `DELETE FROM memory_revision WHERE workspace_id = $1 AND memory_id IN (` + Parameters(2, ListSize) + `)`
)

// EraseMemories implements memory.Store.
func (s *memoryRows) EraseMemories(ctx context.Context, workspaceID string, subject memory.Hash, ids []string, change int64, at time.Time) error {
	return s.eraseMemories(ctx, workspaceID, hashValue(subject), ids, change, at)
}

func (s *memoryRows) eraseMemories(ctx context.Context, workspaceID string, subject any, ids []string, change int64, at time.Time) error {
	if err := s.own.noteErased(ctx, at); err != nil {
		return err
	}
	for some := range slices.Chunk(ids, ListSize) {
		args := Padded([]any{workspaceID}, some)
		if err := s.own.eraseOwnKeys(ctx, ownSlotsOfMemories, args...); err != nil {
			return err
		}
		for _, query := range []string{removeRevisions, removeMemories} {
			if _, err := s.main.In(ctx).Exec(ctx, query, args...); err != nil {
				return fmt.Errorf("erase memories: %w", err)
			}
		}
	}
	_, err := s.main.Insert(ctx, insertMemoryTombstones, len(ids), func(i int, values []any) []any {
		return append(values, workspaceID, ids[i], subject, change, Micros(at))
	})
	if err != nil {
		return fmt.Errorf("add tombstones: %w", err)
	}
	return nil
}

// memoriesErased also names memories of an ended generation that were not removed yet, because they count as erased.
var memoriesErased = `SELECT memory_id FROM memory_tombstone WHERE workspace_id = $1 AND memory_id IN (` + Parameters(2, ListSize) + `)
	UNION SELECT m.id FROM memory m WHERE m.workspace_id = $1 AND m.id IN (` + Parameters(2, ListSize) + `) AND NOT ` + LivingMemory

// MemoryTombstones implements memory.Store.
func (s *memoryRows) MemoryTombstones(ctx context.Context, workspaceID string, ids []string) ([]string, error) {
	var list []string
	for some := range slices.Chunk(ids, ListSize) {
		found, err := names(ctx, s.main, memoriesErased, Padded([]any{workspaceID}, some)...)
		if err != nil {
			return nil, fmt.Errorf("read tombstones: %w", err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// MemoryCount implements memory.Store.
func (s *memoryRows) MemoryCount(ctx context.Context, workspaceID string) (n int64, err error) {
	const query = `SELECT memories FROM memory_count WHERE workspace_id = $1`
	err = s.main.HoldRow(ctx, query, workspaceID).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := s.main.In(ctx).Exec(ctx, `INSERT INTO memory_count (workspace_id, memories) VALUES ($1, 0) ON CONFLICT DO NOTHING`, workspaceID); err != nil {
			return 0, fmt.Errorf("count memories: %w", err)
		}
		err = s.main.HoldRow(ctx, query, workspaceID).Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("count memories: %w", err)
	}
	return n, nil
}

// AddMemoryCount implements memory.Store.
func (s *memoryRows) AddMemoryCount(ctx context.Context, workspaceID string, by int64) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		INSERT INTO memory_count (workspace_id, memories) VALUES ($1, $2)
		ON CONFLICT (workspace_id) DO UPDATE SET memories = memory_count.memories + excluded.memories`, workspaceID, by)
	if err != nil {
		return fmt.Errorf("count memories: %w", err)
	}
	return nil
}
