// Package account keeps workspaces (the tenants) and the users who belong to them.
package account

import (
	"context"
	"time"

	"keepsake/internal/limit"
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

// Tier is a tier with the number of times it was changed: its revision is 1 while its numbers are the configured ones.
type Tier struct {
	limit.Tier
	Revision int64
	// StorageConfigured says that no change has set Storage: the configured one counts.
	StorageConfigured bool
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

// Reach is whose users somebody may see and change: those of one workspace, named by its id, or of Everywhere. The zero
// Reach reaches nobody.
type Reach string

// Everywhere is the reach of the instance's operator.
const Everywhere Reach = "*"

// UserFilter narrows a list of users, which is newest first: by falling id.
type UserFilter struct {
	Role   Role   // empty: all
	Before string // continue after this id
	Limit  int
}

// Store keeps workspaces, users and the tiers whose numbers were changed. Updates are of the revision before the one
// they write; a stored one that differs is RevisionMismatch.
type Store interface {
	// CreateWorkspace adds w; a second operator workspace is a conflict.
	CreateWorkspace(ctx context.Context, w *Workspace) error
	// Workspaces lists all workspaces by id.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// Workspace reads one; Missing when there is none.
	Workspace(ctx context.Context, id string) (*Workspace, error)
	// ListWorkspaces reads at most limit workspaces, newest first: by falling id, below before where it is not empty.
	ListWorkspaces(ctx context.Context, before string, limit int) ([]Workspace, error)
	// UpdateWorkspace writes name, tier, suspended and revision.
	UpdateWorkspace(ctx context.Context, w *Workspace) error

	// CreateUser adds u; an email that exists, anywhere on the instance, is a conflict.
	CreateUser(ctx context.Context, u *User) error
	// User reads one within reach; Missing when there is none.
	User(ctx context.Context, within Reach, id string) (*User, error)
	// ListUsers reads at most f.Limit users within reach.
	ListUsers(ctx context.Context, within Reach, f UserFilter) ([]User, error)
	// UpdateUser writes name, role, password, disabled and revision.
	UpdateUser(ctx context.Context, u *User) error
	// DeleteUser forgets a user, whose email is free again.
	DeleteUser(ctx context.Context, u *User) error
	// CountUsers counts a workspace's users, and of them the admins who are not disabled. Called inside a unit of work,
	// the counts stand until that commits.
	CountUsers(ctx context.Context, workspaceID string) (users, admins int64, err error)

	// ChangedTiers lists the tiers that were changed, by name.
	ChangedTiers(ctx context.Context) ([]Tier, error)
	// KeepTier writes a changed tier.
	KeepTier(ctx context.Context, t *Tier) error
}
