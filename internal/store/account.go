package store

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/store/cluster"
)

// Accounts stores workspaces, users and changed tiers.
type Accounts struct {
	main *DB
	news *News
}

// Initialised reports whether the first start was completed: whether there is a workspace.
func (s *Accounts) Initialised(ctx context.Context) (bool, error) {
	var is bool
	err := s.main.In(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM workspace)`).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("read whether there is a workspace: %w", err)
	}
	return is, nil
}

// CreateWorkspace implements account.Store.
func (s *Accounts) CreateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO workspace (id, name, tier, operator, suspended, embeddings, search_engine, search_serving, created_at, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			w.ID, w.Name, w.Tier, w.Operator, w.Suspended, w.Embeddings, w.Search.Engine, w.Search.Reads, Micros(w.CreatedAt), w.Revision)
		if err != nil {
			return fmt.Errorf("add workspace: %w", err)
		}
		if n == 0 {
			return problem.Conflicts("A workspace with this ID already exists.")
		}
		s.news.announce(ctx, cluster.Workspace, w.ID)
		return nil
	})
}

// Workspaces implements account.Store.
func (s *Accounts) Workspaces(ctx context.Context) ([]account.Workspace, error) {
	return s.workspaces(ctx, `ORDER BY id`)
}

// ListWorkspaces implements account.Store.
func (s *Accounts) ListWorkspaces(ctx context.Context, before string, limit int) ([]account.Workspace, error) {
	if before == "" {
		return s.workspaces(ctx, `ORDER BY id DESC LIMIT $1`, limit)
	}
	return s.workspaces(ctx, `WHERE id < $1 ORDER BY id DESC LIMIT $2`, before, limit)
}

// Workspace implements account.Store.
func (s *Accounts) Workspace(ctx context.Context, id string) (*account.Workspace, error) {
	list, err := s.workspaces(ctx, `WHERE id = $1`, id)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, problem.Missing()
	}
	return &list[0], nil
}

func (s *Accounts) workspaces(ctx context.Context, which string, args ...any) ([]account.Workspace, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT id, name, tier, operator, suspended, embeddings, search_engine, search_serving, created_at, revision FROM workspace `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	defer rows.Close()
	var list []account.Workspace
	for rows.Next() {
		var w account.Workspace
		var created int64
		if err := rows.Scan(&w.ID, &w.Name, &w.Tier, &w.Operator, &w.Suspended, &w.Embeddings, &w.Search.Engine, &w.Search.Reads, &created, &w.Revision); err != nil {
			return nil, fmt.Errorf("read workspace: %w", err)
		}
		w.CreatedAt = TimeOf(created)
		list = append(list, w)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

// UpdateWorkspace implements account.Store.
func (s *Accounts) UpdateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE workspace SET name = $1, tier = $2, suspended = $3, embeddings = $4, search_engine = $5, search_serving = $6, revision = $7
			WHERE id = $8 AND revision = $9`,
			w.Name, w.Tier, w.Suspended, w.Embeddings, w.Search.Engine, w.Search.Reads, w.Revision, w.ID, w.Revision-1)
		if err != nil {
			return fmt.Errorf("change workspace %s: %w", w.ID, err)
		}
		if n == 0 {
			return s.missingOrStale(ctx, `SELECT EXISTS (SELECT 1 FROM workspace WHERE id = $1)`, w.ID)
		}
		s.news.announce(ctx, cluster.Workspace, w.ID)
		return nil
	})
}

// missingOrStale returns why no row of a known revision could be changed.
func (s *Accounts) missingOrStale(ctx context.Context, exists, id string) error {
	var there bool
	if err := s.main.In(ctx).QueryRow(ctx, exists, id).Scan(&there); err != nil {
		return fmt.Errorf("read whether %s exists: %w", id, err)
	}
	if !there {
		return problem.Missing()
	}
	return errStale
}

// errStale is the error for a row whose revision changed since the transaction read it.
var errStale = &unit.StaleError{Problem: problem.RevisionMismatch()}
