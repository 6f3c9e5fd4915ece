// Package account manages workspaces (the tenants) and the users who belong to them.
//
// Service creates and changes workspaces, users and tiers. LoginService signs users in and ends their sessions; Bearers
// authenticates requests by their access tokens. Directory holds all workspaces in memory for requests.
package account

import (
	"context"
	"time"

	"keepsake/internal/govern/limit"
)

// Workspace is a tenant: it owns keys, documents, memories and usage, and it has a tier.
type Workspace struct {
	ID        string // wsp_…
	Name      string
	Tier      string // name of a limit.Tier
	Operator  bool   // created by the first start; its admins administer the whole instance
	Suspended bool
	// Embeddings says that texts of its memories, and of questions about them, are sent to the embeddings endpoint, if one is set.
	Embeddings bool
	Search     SearchPlace
	CreatedAt  time.Time
	Revision   int64
}

// Tier is a tier with its revision, which is 1 until a change replaces the configured numbers.
type Tier struct {
	limit.Tier
	Revision int64
}

// User belongs to one workspace and signs in with email and password.
type User struct {
	ID           string // usr_…
	WorkspaceID  string
	Email        string // folded: trimmed, lower case, NFC
	Name         string // can be empty
	Role         Role
	PasswordHash string // Argon2id in PHC form
	Disabled     bool
	CreatedAt    time.Time
	LastLoginAt  *time.Time
	Revision     int64
}

// Visibility says whose users a principal can see and change: those of one workspace, given by its ID, or those of
// AllWorkspaces. With the zero Visibility no user is visible.
type Visibility string

// AllWorkspaces is the visibility of an operator.
const AllWorkspaces Visibility = "*"

// UserFilter selects users for a list. Lists are newest first: by descending ID.
type UserFilter struct {
	Role   Role   // empty: all
	Before string // list only users that come after this ID
	Limit  int
}

// Store stores workspaces, users and changed tiers. An update returns RevisionMismatch if the stored revision is not the one
// before the new one.
type Store interface {
	// CreateWorkspace adds w. A second operator workspace is a conflict.
	CreateWorkspace(ctx context.Context, w *Workspace) error
	// Workspaces lists all workspaces by ID.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// Workspace reads one; Missing if there is none.
	Workspace(ctx context.Context, id string) (*Workspace, error)
	// ListWorkspaces reads at most limit workspaces, newest first: by descending ID, less than before unless that is empty.
	ListWorkspaces(ctx context.Context, before string, limit int) ([]Workspace, error)
	// UpdateWorkspace writes name, tier, suspended and revision.
	UpdateWorkspace(ctx context.Context, w *Workspace) error

	// CreateUser adds u. An email that another user of the instance has is a conflict.
	CreateUser(ctx context.Context, u *User) error
	// User reads a visible user; Missing if there is none.
	User(ctx context.Context, visible Visibility, id string) (*User, error)
	// ListUsers reads at most f.Limit visible users.
	ListUsers(ctx context.Context, visible Visibility, f UserFilter) ([]User, error)
	// UpdateUser writes name, role, password, disabled and revision.
	UpdateUser(ctx context.Context, u *User) error
	// DeleteUser deletes a user, whose email can then be used again.
	DeleteUser(ctx context.Context, u *User) error
	// CountUsers counts a workspace's users, and the admins among them who are not disabled. Inside a transaction the
	// counts stay right until the commit.
	CountUsers(ctx context.Context, workspaceID string) (users, admins int64, err error)

	// ChangedTiers lists the tiers that were changed, by name.
	ChangedTiers(ctx context.Context) ([]Tier, error)
	// KeepTier writes a changed tier.
	KeepTier(ctx context.Context, t *Tier) error
}
