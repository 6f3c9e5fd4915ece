package store

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/lifecycle"
)

// AddCallers implements lifecycle.CallerStore.
func (s *Store) AddCallers(ctx context.Context, callers []lifecycle.Caller, max int) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
		for i := range callers {
			if err := s.addCaller(ctx, callers[i], max); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) addCaller(ctx context.Context, c lifecycle.Caller, max int) error {
	q := s.usage.In(ctx)
	known, clients := 0, 0
	if err := q.QueryRow(ctx, `
		SELECT count(CASE WHEN client = $4 THEN 1 END), count(DISTINCT client) FROM version_caller
		WHERE version = $1 AND workspace_id = $2 AND caller_id = $3`,
		c.Version, c.WorkspaceID, c.CallerID, c.Client).Scan(&known, &clients); err != nil {
		return fmt.Errorf("count clients: %w", err)
	}
	if known == 0 && clients >= max {
		c.Client = lifecycle.ManyClients
	}
	if _, err := q.Exec(ctx, `
		INSERT INTO version_caller (version, workspace_id, caller_id, route, client, last_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (version, workspace_id, caller_id, route, client) DO UPDATE SET last_at = excluded.last_at
		WHERE excluded.last_at > version_caller.last_at`,
		c.Version, c.WorkspaceID, c.CallerID, c.Route, c.Client, micros(c.LastAt)); err != nil {
		return fmt.Errorf("add caller: %w", err)
	}
	return nil
}

// Callers implements lifecycle.CallerStore.
func (s *Store) Callers(ctx context.Context, q lifecycle.CallerQuery) ([]lifecycle.Caller, error) {
	var c conditions
	c.where("version = ?", q.Version)
	if q.WorkspaceID != "" {
		c.where("workspace_id = ?", q.WorkspaceID)
	}
	if !q.From.IsZero() {
		c.where("last_at >= ?", micros(q.From))
	}
	if a := q.After; a != nil {
		c.where("(workspace_id, caller_id, route, client) > (?, ?, ?, ?)", a.WorkspaceID, a.CallerID, a.Route, a.Client)
	}
	query := `SELECT workspace_id, caller_id, route, client, last_at FROM version_caller WHERE ` + c.String() +
		` ORDER BY workspace_id, caller_id, route, client LIMIT ` + c.arg(q.Limit)
	var list []lifecycle.Caller
	err := s.eachUsageRow(ctx, query, c.args, func(row Row) error {
		found := lifecycle.Caller{Version: q.Version}
		var at int64
		if err := row.Scan(&found.WorkspaceID, &found.CallerID, &found.Route, &found.Client, &at); err != nil {
			return err
		}
		found.LastAt = timeOf(at)
		list = append(list, found)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list callers: %w", err)
	}
	return list, nil
}

// PruneCallers implements lifecycle.CallerStore.
func (s *Store) PruneCallers(ctx context.Context, before time.Time) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
		if _, err := s.usage.In(ctx).Exec(ctx, `DELETE FROM version_caller WHERE last_at < $1`, micros(before)); err != nil {
			return fmt.Errorf("prune callers: %w", err)
		}
		return nil
	})
}
