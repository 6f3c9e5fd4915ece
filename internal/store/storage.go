package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// StorageRoom is how many bytes a workspace may still store if it may store most. The number is kept from other units until
// this one ends; triggers change it with the rows.
//
// Of the rows that units of one workspace meet at, this one comes after document_head and memory_count, so that none waits
// in a circle.
func (s *Store) StorageRoom(ctx context.Context, workspaceID string, most int64) (int64, error) {
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
	return most - used, nil
}
