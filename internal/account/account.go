// Package account keeps workspaces (the tenants) and the users who belong to them.
package account

import (
	"context"
	"time"
)

// Workspace is a tenant: it owns keys, documents, memories and usage, and it has a tier.
type Workspace struct {
	ID        string // wsp_…
	Name      string
	Tier      string // name of a limit.Tier
	Operator  bool   // made at first start; its admins administer the whole instance
	Suspended bool
	CreatedAt time.Time
	Revision  int64
}

// User belongs to one workspace and signs in with email and password.
type User struct {
	ID           string // usr_…
	WorkspaceID  string
	Email        string // folded: trimmed, lower case, NFC
	Name         string // may be empty
	Role         Role
	PasswordHash string // Argon2id in PHC form
	Disabled     bool
	CreatedAt    time.Time
	LastLoginAt  *time.Time
	Revision     int64
}

// Store keeps workspaces and users.
type Store interface {
	// CreateWorkspace adds w; a second operator workspace is a conflict.
	CreateWorkspace(ctx context.Context, w *Workspace) error
	// Workspaces lists all workspaces by id.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// CreateUser adds u; an email that exists, anywhere on the instance, is a conflict.
	CreateUser(ctx context.Context, u *User) error
}
