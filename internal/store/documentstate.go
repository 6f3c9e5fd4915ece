package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"keepsake/internal/search/document"
)

// newMark returns a mark of a transaction, which is not 0.
func newMark() int64 { return 1 + rand.Int64N(math.MaxInt64) }

// DocumentState returns the state of the documents of a workspace.
func (s *Documents) DocumentState(ctx context.Context, workspaceID string) (now document.State, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT change, mark FROM document_head WHERE workspace_id = $1`, workspaceID).Scan(&now.Change, &now.Mark)
	if errors.Is(err, sql.ErrNoRows) {
		return document.State{}, nil
	}
	if err != nil {
		return document.State{}, fmt.Errorf("read the state of the documents: %w", err)
	}
	return now, nil
}

// DocumentStates returns the states of the documents of workspaces, without those that have never had any.
func (s *Documents) DocumentStates(ctx context.Context, workspaceIDs []string) (map[string]document.State, error) {
	states := make(map[string]document.State, len(workspaceIDs))
	for some := range slices.Chunk(workspaceIDs, ListSize) {
		if err := s.readStates(ctx, some, states); err != nil {
			return nil, fmt.Errorf("list states of documents: %w", err)
		}
	}
	return states, nil
}

func (s *Documents) readStates(ctx context.Context, workspaceIDs []string, into map[string]document.State) error {
	var c Conditions
	c.In(`workspace_id`, workspaceIDs)
	rows, err := s.main.In(ctx).Query(ctx, `SELECT workspace_id, change, mark FROM document_head`+c.Clause(), c.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var now document.State
		if err := rows.Scan(&id, &now.Change, &now.Mark); err != nil {
			return err
		}
		into[id] = now
	}
	return rows.Err()
}

// HadDocumentState reports whether a state that FollowDocuments returned is one of this database, also after a restore.
func (s *Documents) HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error) {
	var found bool
	err := s.main.In(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM document_mark WHERE `+ofWorkspace+` AND change = $2 AND mark = $3)`,
		workspaceID, had.Change, had.Mark).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for a state of the documents: %w", err)
	}
	return found, nil
}

// FollowDocuments reads changes for an index that is not in this database, and returns the state in which they were. It returns
// document.ErrLost if the index contains changes that this database has lost.
//
// The state is stored by a transaction that has read the changes, so a database without the changes has no such state either.
func (s *Documents) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) (changes []document.Change, now document.State, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		if f.Has != (document.State{}) {
			had, err := s.HadDocumentState(ctx, workspaceID, f.Has)
			if err != nil {
				return err
			}
			if !had {
				return document.ErrLost
			}
		}
		if changes, err = s.DocumentChanges(ctx, workspaceID, f.After, f.Limit); err != nil {
			return err
		}
		if now, err = s.DocumentState(ctx, workspaceID); err != nil { // after the changes, so it has them all
			return err
		}
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `DELETE FROM document_mark WHERE `+ofWorkspace+` AND change < $2`, workspaceID, f.Oldest); err != nil {
			return fmt.Errorf("remove old states of the documents: %w", err)
		}
		if _, err := q.Exec(ctx, `
			INSERT INTO document_mark (workspace, change, mark) SELECT number, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM document_head WHERE workspace_id = $1
			ON CONFLICT DO NOTHING`, workspaceID, now.Change, now.Mark); err != nil {
			return fmt.Errorf("store the state of the documents: %w", err)
		}
		return nil
	})
	return changes, now, err
}
