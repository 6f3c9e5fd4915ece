package store

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/store/cluster"
)

// CreateUser implements account.Store.
func (s *Accounts) CreateUser(ctx context.Context, u *account.User) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO account_user (id, workspace_id, email, name, role, password_hash, disabled, created_at, last_login_at, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			u.ID, u.WorkspaceID, u.Email, u.Name, string(u.Role), u.PasswordHash, u.Disabled, Micros(u.CreatedAt),
			maybeMicros(u.LastLoginAt), u.Revision)
		if err != nil {
			return fmt.Errorf("add user: %w", err)
		}
		if n == 0 {
			return problem.Conflicts("A user with this email address already exists.")
		}
		return nil
	})
}

// User implements account.Store.
func (s *Accounts) User(ctx context.Context, within account.Visibility, id string) (*account.User, error) {
	var c Conditions
	c.Where(`id = ?`, id)
	c.within(within)
	list, err := users(ctx, s.main, &c, "")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, problem.Missing()
	}
	return &list[0], nil
}

// ListUsers implements account.Store.
func (s *Accounts) ListUsers(ctx context.Context, within account.Visibility, f account.UserFilter) ([]account.User, error) {
	var c Conditions
	c.within(within)
	if f.Role != "" {
		c.Where(`role = ?`, string(f.Role))
	}
	if f.Before != "" {
		c.Where(`id < ?`, f.Before)
	}
	return users(ctx, s.main, &c, ` ORDER BY id DESC LIMIT `+c.Arg(f.Limit))
}

// within restricts a statement to visible users.
func (c *Conditions) within(v account.Visibility) {
	if v != account.AllWorkspaces {
		c.Where(`workspace_id = ?`, string(v))
	}
}

func users(ctx context.Context, main *DB, c *Conditions, order string) ([]account.User, error) {
	rows, err := main.In(ctx).Query(ctx, `
		SELECT id, workspace_id, email, name, role, password_hash, disabled, created_at, last_login_at, revision
		FROM account_user`+c.Clause()+order, c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	defer rows.Close()
	var list []account.User
	for rows.Next() {
		var u account.User
		var created int64
		var login *int64
		if err := rows.Scan(&u.ID, &u.WorkspaceID, &u.Email, &u.Name, (*string)(&u.Role), &u.PasswordHash, &u.Disabled,
			&created, &login, &u.Revision); err != nil {
			return nil, fmt.Errorf("read user: %w", err)
		}
		u.CreatedAt, u.LastLoginAt = TimeOf(created), maybeTime(login)
		list = append(list, u)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return list, nil
}

// UpdateUser implements account.Store.
func (s *Accounts) UpdateUser(ctx context.Context, u *account.User) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE account_user SET name = $1, role = $2, password_hash = $3, disabled = $4, revision = $5
			WHERE id = $6 AND revision = $7`,
			u.Name, string(u.Role), u.PasswordHash, u.Disabled, u.Revision, u.ID, u.Revision-1)
		if err != nil {
			return fmt.Errorf("change user %s: %w", u.ID, err)
		}
		if n == 0 {
			return s.missingOrStale(ctx, `SELECT EXISTS (SELECT 1 FROM account_user WHERE id = $1)`, u.ID)
		}
		s.news.announce(ctx, cluster.User, u.ID)
		return nil
	})
}

// DeleteUser implements account.Store.
func (s *Accounts) DeleteUser(ctx context.Context, u *account.User) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `DELETE FROM account_user WHERE id = $1 AND revision = $2`, u.ID, u.Revision)
		if err != nil {
			return fmt.Errorf("delete user %s: %w", u.ID, err)
		}
		if n == 0 {
			return s.missingOrStale(ctx, `SELECT EXISTS (SELECT 1 FROM account_user WHERE id = $1)`, u.ID)
		}
		s.news.announce(ctx, cluster.User, u.ID)
		return nil
	})
}

// CountUsers implements account.Store.
func (s *Accounts) CountUsers(ctx context.Context, workspaceID string) (users, admins int64, err error) {
	// Concurrent writers wait for the row of the workspace.
	if err := s.main.Hold(ctx, `SELECT id FROM workspace WHERE id = $1`, workspaceID); err != nil {
		return 0, 0, fmt.Errorf("hold workspace: %w", err)
	}
	err = s.main.In(ctx).QueryRow(ctx, `
		SELECT count(*), count(CASE WHEN role = 'admin' AND NOT disabled THEN 1 END) FROM account_user WHERE workspace_id = $1`,
		workspaceID).Scan(&users, &admins)
	if err != nil {
		return 0, 0, fmt.Errorf("count users: %w", err)
	}
	return users, admins, nil
}
