package backup_test

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/backup"
)

// credentials is what Replay changes, in memory.
type credentials struct {
	keys       map[string]apikey.APIKey
	users      map[string]account.User
	workspaces map[string]account.Workspace
}

func (c *credentials) all() backup.Credentials { return backup.Credentials{APIKeys: c, Accounts: c} }

func (c *credentials) APIKey(_ context.Context, workspaceID, id string) (*apikey.APIKey, error) {
	k, ok := c.keys[id]
	if !ok || k.WorkspaceID != workspaceID {
		return nil, problem.Missing()
	}
	return &k, nil
}

func (c *credentials) UpdateAPIKey(_ context.Context, k *apikey.APIKey) error {
	if c.keys[k.ID].Revision != k.Revision-1 {
		return problem.RevisionMismatch()
	}
	c.keys[k.ID] = *k
	return nil
}

func (c *credentials) User(_ context.Context, _ account.Visibility, id string) (*account.User, error) {
	u, ok := c.users[id]
	if !ok {
		return nil, problem.Missing()
	}
	return &u, nil
}

func (c *credentials) UpdateUser(_ context.Context, u *account.User) error {
	if c.users[u.ID].Revision != u.Revision-1 {
		return problem.RevisionMismatch()
	}
	c.users[u.ID] = *u
	return nil
}

func (c *credentials) DeleteUser(_ context.Context, u *account.User) error {
	delete(c.users, u.ID)
	return nil
}

func (c *credentials) Workspace(_ context.Context, id string) (*account.Workspace, error) {
	w, ok := c.workspaces[id]
	if !ok {
		return nil, problem.Missing()
	}
	return &w, nil
}

func (c *credentials) UpdateWorkspace(_ context.Context, w *account.Workspace) error {
	if c.workspaces[w.ID].Revision != w.Revision-1 {
		return problem.RevisionMismatch()
	}
	c.workspaces[w.ID] = *w
	return nil
}
