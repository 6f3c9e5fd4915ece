package store

import (
	"context"
	"fmt"

	"keepsake/internal/account"
	"keepsake/internal/problem"
)

// Initialised says whether a first start has been completed here: whether there is a workspace.
func (s *Store) Initialised(ctx context.Context) (bool, error) {
	var is bool
	err := s.main.In(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM workspace)`).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("read whether there is a workspace: %w", err)
	}
	return is, nil
}

// CreateWorkspace implements account.Store.
func (s *Store) CreateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO workspace (id, name, tier, operator, suspended, created_at, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
			w.ID, w.Name, w.Tier, w.Operator, w.Suspended, micros(w.CreatedAt), w.Revision)
		if err != nil {
			return fmt.Errorf("add workspace: %w", err)
		}
		if n == 0 {
			return problem.Conflicts("There is such a workspace already.")
		}
		return nil
	})
}

// Workspaces implements account.Store.
func (s *Store) Workspaces(ctx context.Context) ([]account.Workspace, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT id, name, tier, operator, suspended, created_at, revision FROM workspace ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	defer rows.Close()
	var list []account.Workspace
	for rows.Next() {
		var w account.Workspace
		var created int64
		if err := rows.Scan(&w.ID, &w.Name, &w.Tier, &w.Operator, &w.Suspended, &created, &w.Revision); err != nil {
			return nil, fmt.Errorf("read workspace: %w", err)
		}
		w.CreatedAt = timeOf(created)
		list = append(list, w)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

// CreateUser implements account.Store.
func (s *Store) CreateUser(ctx context.Context, u *account.User) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO account_user (id, workspace_id, email, name, role, password_hash, disabled, created_at, last_login_at, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			u.ID, u.WorkspaceID, u.Email, u.Name, string(u.Role), u.PasswordHash, u.Disabled, micros(u.CreatedAt),
			maybeMicros(u.LastLoginAt), u.Revision)
		if err != nil {
			return fmt.Errorf("add user: %w", err)
		}
		if n == 0 {
			return problem.Conflicts("There is a user with this email already.")
		}
		return nil
	})
}
