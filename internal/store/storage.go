package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Storage counts the bytes that workspaces store.
type Storage struct{ main *DB }

// StorageRoom returns how many bytes a workspace can still store under a limit, and locks the number until the transaction ends.
// Triggers change it with the rows.
//
// To avoid deadlocks, transactions lock this row of a workspace after document_head and memory_count.
func (s *Storage) StorageRoom(ctx context.Context, workspaceID string, limit int64) (int64, error) {
	const query = `SELECT bytes FROM storage WHERE workspace_id = $1`
	var used int64
	err := s.main.HoldRow(ctx, query, workspaceID).Scan(&used)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := s.main.In(ctx).Exec(ctx, `INSERT INTO storage (workspace_id, bytes) VALUES ($1, 0) ON CONFLICT DO NOTHING`, workspaceID); err != nil {
			return 0, fmt.Errorf("count stored bytes: %w", err)
		}
		err = s.main.HoldRow(ctx, query, workspaceID).Scan(&used)
	}
	if err != nil {
		return 0, fmt.Errorf("count stored bytes: %w", err)
	}
	return limit - used, nil
}
