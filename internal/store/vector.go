package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"keepsake/internal/memory"
)

// memoryVectors stores the vectors of memories.
type memoryVectors struct{ main *DB }

// MemoryVectors implements memory.Store.
func (s *memoryVectors) MemoryVectors(ctx context.Context, workspaceID string, subject memory.Hash, generation, after int64, model string) (list []*memory.VectorRow, err error) {
	const query = `SELECT v.memory_id, v.revision, v.change, v.sealed, (SELECT k.key FROM erasable_key k WHERE k.slot = c.key_slot)
		FROM memory_vector v JOIN memory c ON c.workspace_id = v.workspace_id AND c.id = v.memory_id AND c.revision = v.revision
		WHERE v.workspace_id || '' = $1 AND v.subject = $2 AND v.change > $3 AND c.generation = $4 AND v.model = $5
			AND EXISTS (SELECT 1 FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject = $2 AND s.generation = $4)`
	err = s.main.EachRow(ctx, query, []any{workspaceID, subject[:], after, generation, model}, func(row Row) error {
		v := &memory.VectorRow{Subject: subject, Model: model}
		list = append(list, v)
		return row.Scan(&v.MemoryID, &v.Revision, &v.Change, &v.Sealed, &v.OwnKey)
	})
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	return list, nil
}

var putMemoryVectors = &Bulk{
	Into:    `memory_vector (workspace_id, memory_id, subject, revision, change, model, sealed)`,
	Columns: 7,
	Rest: `ON CONFLICT (workspace_id, memory_id) DO UPDATE SET revision = excluded.revision, change = excluded.change,
		model = excluded.model, sealed = excluded.sealed`,
}

// PutMemoryVectors implements memory.Store.
func (s *memoryVectors) PutMemoryVectors(ctx context.Context, workspaceID string, rows []*memory.VectorRow) error {
	_, err := s.main.Insert(ctx, putMemoryVectors, len(rows), func(i int, values []any) []any {
		r := rows[i]
		sealed := r.Sealed
		if sealed == nil {
			sealed = []byte{}
		}
		return append(values, workspaceID, r.MemoryID, r.Subject[:], r.Revision, r.Change, r.Model, sealed)
	})
	if err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// SetEmbedded implements memory.Store.
func (s *memoryVectors) SetEmbedded(ctx context.Context, workspaceID string, subject memory.Hash, change int64, model string) error {
	_, err := s.main.In(ctx).Exec(ctx, `UPDATE memory_subject SET embedded = $1, embedded_by = $2 WHERE workspace_id = $3 AND subject = $4`,
		change, model, workspaceID, subject[:])
	if err != nil {
		return fmt.Errorf("record which memories have vectors: %w", err)
	}
	return nil
}

// Embedded implements memory.Store.
func (s *memoryVectors) Embedded(ctx context.Context, workspaceID string, subject memory.Hash, model string) (change int64, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT coalesce(embedded, -1) FROM memory_subject WHERE workspace_id = $1 AND subject = $2 AND embedded_by = $3`,
		workspaceID, subject[:], model).Scan(&change)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read which memories have vectors: %w", err)
	}
	return change, nil
}

// toEmbed is the condition that a subject s of the workspace $1 has changed since its memories had vectors of the model $2.
const toEmbed = `(s.embedded IS NULL OR s.embedded < s.change OR s.embedded_by <> $2)`

// SubjectsToEmbed implements memory.Store.
func (s *memoryVectors) SubjectsToEmbed(ctx context.Context, workspaceID, model string, after memory.Hash, limit int) (list []memory.Hash, err error) {
	query := `SELECT s.subject FROM memory_subject s
		WHERE s.workspace_id = $1 AND s.sealed_id IS NOT NULL AND s.memories > 0 AND ` + toEmbed + ` AND s.subject > $3 ORDER BY s.subject LIMIT $4`
	err = s.main.EachRow(ctx, query, []any{workspaceID, model, after[:], limit}, func(row Row) error {
		var subject []byte
		err := row.Scan(&subject)
		list = append(list, hashOf(subject))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list subjects without vectors: %w", err)
	}
	return list, nil
}

// EmbeddingProgress implements memory.Store.
func (s *memoryVectors) EmbeddingProgress(ctx context.Context, workspaceID, model string) (p memory.EmbeddingProgress, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT count(*), CAST(coalesce(sum(s.memories), 0) AS BIGINT),
			CAST(coalesce(sum(CASE WHEN `+toEmbed+` THEN 1 ELSE 0 END), 0) AS BIGINT),
			CAST(coalesce(sum(CASE WHEN `+toEmbed+` THEN s.memories ELSE 0 END), 0) AS BIGINT)
		FROM memory_subject s WHERE s.workspace_id = $1 AND s.sealed_id IS NOT NULL AND s.memories > 0`, workspaceID, model).
		Scan(&p.Subjects, &p.Memories, &p.WaitingSubjects, &p.WaitingMemories)
	if err != nil {
		return p, fmt.Errorf("count memories without vectors: %w", err)
	}
	return p, nil
}

// keptDays is how many days embedding_day and embedding_share contain.
const keptDays = 31

// CountEmbedded implements memory.Store.
func (s *memoryVectors) CountEmbedded(ctx context.Context, day int64, workspaceID string, grant func(texts, own int64) (granted, ownGranted int64)) (granted int64, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		db := s.main.In(ctx)
		// The write locks the row of the day, so that no one else counts until this one is done.
		if _, err := db.Exec(ctx, `INSERT INTO embedding_day (day, texts) VALUES ($1, 0) ON CONFLICT (day) DO UPDATE SET texts = embedding_day.texts`, day); err != nil {
			return err
		}
		var texts, own, ownGranted int64
		err := db.QueryRow(ctx, `
			SELECT texts, CAST(coalesce((SELECT texts FROM embedding_share WHERE day = $1 AND workspace_id = $2), 0) AS BIGINT)
			FROM embedding_day WHERE day = $1`, day, workspaceID).Scan(&texts, &own)
		if err != nil {
			return err
		}
		granted, ownGranted = grant(texts, own)
		if granted == 0 {
			return nil
		}
		if _, err := db.Exec(ctx, `UPDATE embedding_day SET texts = texts + $2 WHERE day = $1`, day, granted); err != nil {
			return err
		}
		if ownGranted > 0 {
			_, err := db.Exec(ctx, `INSERT INTO embedding_share (day, workspace_id, texts) VALUES ($1, $2, $3)
				ON CONFLICT (day, workspace_id) DO UPDATE SET texts = embedding_share.texts + excluded.texts`, day, workspaceID, ownGranted)
			if err != nil {
				return err
			}
		}
		for _, table := range []string{"embedding_day", "embedding_share"} {
			if _, err := db.Exec(ctx, `DELETE FROM `+table+` WHERE day < $1`, day-keptDays); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count texts that are sent: %w", err)
	}
	return granted, nil
}

// EmbeddedOn implements memory.Store.
func (s *memoryVectors) EmbeddedOn(ctx context.Context, day int64) (texts int64, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT CAST(coalesce(sum(texts), 0) AS BIGINT) FROM embedding_day WHERE day = $1`, day).Scan(&texts)
	if err != nil {
		return 0, fmt.Errorf("read how many texts were sent: %w", err)
	}
	return texts, nil
}
