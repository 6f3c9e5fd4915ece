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

// DocumentState implements document.Store.
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
		var c Conditions
		c.In(`workspace_id`, some)
		if err := s.readStates(ctx, c, states); err != nil {
			return nil, fmt.Errorf("list states of documents: %w", err)
		}
	}
	return states, nil
}

func (s *Documents) readStates(ctx context.Context, c Conditions, into map[string]document.State) error {
	return s.main.EachRow(ctx, `SELECT workspace_id, change, mark FROM document_head`+c.Clause(), c.Args, func(row Row) error {
		var id string
		var now document.State
		if err := row.Scan(&id, &now.Change, &now.Mark); err != nil {
			return err
		}
		into[id] = now
		return nil
	})
}

// hadState is the SQL of whether the transaction that made change $2 of workspace $1 had the mark $3.
const hadState = `COALESCE((SELECT m.mark FROM document_mark m WHERE m.` + ofWorkspace + ` AND m.change >= $2 ORDER BY m.change LIMIT 1) = $3, false)`

// HadDocumentState implements document.Store.
func (s *Documents) HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error) {
	var found bool
	if err := s.main.In(ctx).QueryRow(ctx, `SELECT `+hadState, workspaceID, had.Change, had.Mark).Scan(&found); err != nil {
		return false, fmt.Errorf("look for a state of the documents: %w", err)
	}
	return found, nil
}

// stateColumns are documentColumns of a row h of document_head. They contain the state of the documents, and in the place of the language
// whether they had the one with the change $2 and the mark $3.
const stateColumns = `'', '', '', '', '', '[]', '{}', CAST(0 AS BIGINT), CAST(0 AS BIGINT), h.mark, h.change, CASE WHEN ` + hadState + ` THEN 'had' ELSE '' END`

// followDocuments is one statement, so that all parts show the same snapshot. Each part has a limit of its own, because an engine can read
// them completely before it sorts them. The state is the first row.
const followDocuments = `
	SELECT CAST(0 AS BIGINT) AS place, true, ` + stateColumns + ` FROM document_head h WHERE h.workspace_id = $1
	UNION ALL SELECT * FROM (
		SELECT d.change, true, ` + documentColumns + ` FROM document d WHERE d.` + ofWorkspace + ` AND d.change > $4 ORDER BY d.change LIMIT $5) live
	UNION ALL SELECT * FROM (
		SELECT b.change, false, ` + buriedColumns + ` FROM document_tombstone b WHERE b.` + ofWorkspace + ` AND b.change > $4 ORDER BY b.change LIMIT $5) deleted
	UNION ALL SELECT * FROM (
		SELECT c.change, false, ` + settingsColumns + ` FROM collection c WHERE c.` + ofWorkspace + ` AND c.change > $4 ORDER BY c.change LIMIT $5) settings
	ORDER BY 1 LIMIT $6`

// FollowDocuments implements document.Store.
func (s *Documents) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) (changes []document.Change, now document.State, err error) {
	rows, err := s.main.In(ctx).Query(ctx, followDocuments, workspaceID, f.Has.Change, f.Has.Mark, f.After, f.Limit, f.Limit+1)
	if err != nil {
		return nil, now, fmt.Errorf("list changes: %w", err)
	}
	defer rows.Close()
	had := false
	for rows.Next() {
		var place int64
		var live bool
		d, err := scanDocument(prefixed{rows, []any{&place, &live}})
		if err != nil {
			return nil, now, fmt.Errorf("read change: %w", err)
		}
		if place == 0 {
			now, had = document.State{Change: d.Change, Mark: d.Revision}, d.Language != ""
			continue
		}
		c := document.Change{Number: d.Change, ID: d.ID, Collection: d.Collection}
		if live {
			c.Collection, c.Document = "", &d
		}
		changes = append(changes, c)
	}
	if err := rows.Err(); err != nil {
		return nil, now, fmt.Errorf("list changes: %w", err)
	}
	if f.Has != (document.State{}) && !had {
		return nil, now, document.ErrLost
	}
	return changes, now, nil
}

// prefixed is a row with more columns in front.
type prefixed struct {
	row   Row
	first []any
}

func (p prefixed) Scan(dest ...any) error { return p.row.Scan(append(p.first, dest...)...) }

// ChangedWorkspaces implements document.Store.
func (s *Documents) ChangedWorkspaces(ctx context.Context) (map[string]document.State, error) {
	var c Conditions
	c.Where(`change > 0`)
	all := map[string]document.State{}
	if err := s.readStates(ctx, c, all); err != nil {
		return nil, fmt.Errorf("list states of documents: %w", err)
	}
	return all, nil
}
