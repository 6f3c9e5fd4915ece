package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory"
)

// memoryErasures stores plans to forget memories, and erasures until they are complete.
type memoryErasures struct {
	main *DB
	rows *memoryRows
}

// SaveMemoryPlan implements memory.Store.
func (s *memoryErasures) SaveMemoryPlan(ctx context.Context, workspaceID string, p *memory.StoredPlan, most int) error {
	ids, err := listText(p.MemoryIDs)
	if err != nil {
		return err
	}
	_, err = s.main.In(ctx).Exec(ctx, `
		DELETE FROM memory_plan WHERE workspace_id = $1 AND credential = $2 AND id <= (
			SELECT id FROM memory_plan WHERE workspace_id = $1 AND credential = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`,
		workspaceID, p.Credential, most-1)
	if err != nil {
		return fmt.Errorf("remove the oldest plans: %w", err)
	}
	_, err = s.main.In(ctx).Exec(ctx, `
		INSERT INTO memory_plan (workspace_id, id, subject, generation, memory_ids, credential, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		workspaceID, p.ID, p.Subject[:], p.Generation, ids, p.Credential, Micros(p.ExpiresAt))
	if err != nil {
		return fmt.Errorf("keep a plan: %w", err)
	}
	return nil
}

// LockMemoryPlan implements memory.Store.
func (s *memoryErasures) LockMemoryPlan(ctx context.Context, workspaceID, id string) (*memory.StoredPlan, error) {
	p := &memory.StoredPlan{Plan: memory.Plan{ID: id}}
	var subject []byte
	var ids string
	var expires int64
	err := s.main.HoldRow(ctx, `
		SELECT subject, generation, memory_ids, credential, expires_at FROM memory_plan WHERE workspace_id = $1 AND id = $2`, workspaceID, id).
		Scan(&subject, &p.Generation, &ids, &p.Credential, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	p.Subject, p.ExpiresAt = hashOf(subject), TimeOf(expires)
	p.MemoryIDs, err = listOf(ids)
	return p, err
}

// DeleteMemoryPlan implements memory.Store.
func (s *memoryErasures) DeleteMemoryPlan(ctx context.Context, workspaceID, id string) error {
	_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM memory_plan WHERE workspace_id = $1 AND id = $2`, workspaceID, id)
	if err != nil {
		return fmt.Errorf("remove a plan: %w", err)
	}
	return nil
}

// DeleteMemoryPlans implements memory.Store.
func (s *memoryErasures) DeleteMemoryPlans(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) error {
	_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM memory_plan WHERE subject = $1 AND workspace_id = $2 AND generation <= $3`,
		subject[:], workspaceID, generation)
	if err != nil {
		return fmt.Errorf("remove plans: %w", err)
	}
	return nil
}

// PruneMemoryPlans implements memory.Store.
func (s *memoryErasures) PruneMemoryPlans(ctx context.Context, now time.Time) error {
	if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM memory_plan WHERE expires_at < $1`, Micros(now)); err != nil {
		return fmt.Errorf("remove plans: %w", err)
	}
	return nil
}

// BeginErasure implements memory.Store.
func (s *memoryErasures) BeginErasure(ctx context.Context, e *memory.Erasure) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		INSERT INTO memory_erasure (id, workspace_id, subject, generation, change, memories, began_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		e.ID, e.WorkspaceID, e.Subject[:], e.Generation, e.Change, e.Memories, Micros(e.BeganAt))
	if err != nil {
		return fmt.Errorf("begin an erasure: %w", err)
	}
	return nil
}

// Erasures implements memory.Store.
func (s *memoryErasures) Erasures(ctx context.Context) ([]*memory.Erasure, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT id, workspace_id, subject, generation, change, memories, began_at FROM memory_erasure ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list erasures: %w", err)
	}
	defer rows.Close()
	var list []*memory.Erasure
	for rows.Next() {
		e, subject, began := &memory.Erasure{}, []byte(nil), int64(0)
		if err := rows.Scan(&e.ID, &e.WorkspaceID, &subject, &e.Generation, &e.Change, &e.Memories, &began); err != nil {
			return nil, fmt.Errorf("read an erasure: %w", err)
		}
		e.Subject, e.BeganAt = hashOf(subject), TimeOf(began)
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list erasures: %w", err)
	}
	return list, nil
}

// EraseDeadMemories implements memory.Store.
func (s *memoryErasures) EraseDeadMemories(ctx context.Context, e *memory.Erasure, limit int, at time.Time) (int, error) {
	ids, err := names(ctx, s.main, `
		SELECT m.id FROM memory m WHERE `+MemoryByWorkspace+` AND m.subject = $2 AND m.generation <= $3 ORDER BY m.at, m.id LIMIT $4`,
		e.WorkspaceID, e.Subject[:], e.Generation, limit)
	if err != nil {
		return 0, fmt.Errorf("list the memories of an erased subject: %w", err)
	}
	if err := s.rows.eraseMemories(ctx, e.WorkspaceID, nil, ids, e.Change, at); err != nil || len(ids) == limit {
		return len(ids), err
	}
	// Tombstones of memories that were erased earlier name the subject.
	n, err := s.main.In(ctx).Exec(ctx, `
		UPDATE memory_tombstone SET subject = NULL WHERE workspace_id = $1 AND memory_id IN (
			SELECT m.memory_id FROM memory_tombstone m WHERE `+MemoryByWorkspace+` AND m.subject = $2 AND m.change <= $3 ORDER BY m.change LIMIT $4)`,
		e.WorkspaceID, e.Subject[:], e.Change, limit-len(ids))
	if err != nil {
		return 0, fmt.Errorf("take an erased subject out of tombstones: %w", err)
	}
	return len(ids) + int(n), nil
}

// FinishErasure implements memory.Store.
func (s *memoryErasures) FinishErasure(ctx context.Context, e *memory.Erasure, at time.Time) error {
	_, err := s.main.In(ctx).Exec(ctx, `UPDATE memory_erasure SET change = 0, began_at = $2 WHERE id = $1`, e.ID, Micros(at))
	if err != nil {
		return fmt.Errorf("finish an erasure: %w", err)
	}
	return nil
}

// EndErasure implements memory.Store.
func (s *memoryErasures) EndErasure(ctx context.Context, e *memory.Erasure) error {
	_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM memory_erasure WHERE workspace_id = $1 AND subject = $2 AND generation <= $3`,
		e.WorkspaceID, e.Subject[:], e.Generation)
	if err != nil {
		return fmt.Errorf("end an erasure: %w", err)
	}
	return nil
}

// ExpiredMemories implements memory.Store.
func (s *memoryErasures) ExpiredMemories(ctx context.Context, now time.Time, limit int) ([]memory.Expired, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT e.workspace_id, e.subject, e.id FROM (
			SELECT m.workspace_id, m.subject, m.id FROM memory m WHERE m.expires_at <= $1 AND `+LivingMemory+` ORDER BY m.expires_at LIMIT $2) e
		ORDER BY 1, 2, 3`, Micros(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list expired memories: %w", err)
	}
	defer rows.Close()
	var list []memory.Expired
	for rows.Next() {
		var e memory.Expired
		var subject []byte
		if err := rows.Scan(&e.WorkspaceID, &subject, &e.ID); err != nil {
			return nil, fmt.Errorf("read an expired memory: %w", err)
		}
		e.Subject = hashOf(subject)
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list expired memories: %w", err)
	}
	return list, nil
}
