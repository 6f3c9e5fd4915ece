package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// User belongs to a workspace and signs in with email and password.
type User struct {
	ID          string     `json:"id"`
	Email       string     `json:"email"`
	Name        *string    `json:"name"`
	Role        string     `json:"role"` // viewer, member, developer, admin
	WorkspaceID string     `json:"workspaceId"`
	Disabled    bool       `json:"disabled"`
	CreatedAt   time.Time  `json:"createdAt"`
	LastLoginAt *time.Time `json:"lastLoginAt"`
	Revision    int64      `json:"revision"`
}

// CreatedUser is a new user with its generated password, which cannot be read again. Password is nil if none was generated,
// or if the first response was lost and the call was repeated. Then set another password.
type CreatedUser struct {
	User
	Password *string `json:"password"`
}

// NewUser describes a user to create. Only the email is required.
type NewUser struct {
	Email       string `json:"email"`
	WorkspaceID string `json:"workspaceId,omitempty"` // empty: the caller's
	Role        string `json:"role,omitempty"`        // empty: member
	Name        string `json:"name,omitempty"`
	Password    string `json:"password,omitempty"` // empty: generated
}

// UserChange changes the fields that are set. A role applies at once. Disabling a user or setting a password ends all of the
// user's sessions.
type UserChange struct {
	Name     Change[string] `json:"name,omitzero"`
	Role     Change[string] `json:"role,omitzero"`
	Disabled Change[bool]   `json:"disabled,omitzero"`
	Password Change[string] `json:"password,omitzero"`
}

// UserQuery selects users, and a page of their list.
type UserQuery struct {
	Workspace string // empty: all that the caller can see
	Role      string // empty: all
	Limit     int    // 0: the server's default
	Cursor    string
}

const users = "/api/v1/admin/users"

func userPath(id string) string { return users + "/" + url.PathEscape(id) }

// CreateUser creates a user.
func (c *Client) CreateUser(ctx context.Context, u NewUser) (*CreatedUser, error) {
	return result[CreatedUser](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: users, keyed: true}, u, out)
	})
}

// User reads one user.
func (c *Client) User(ctx context.Context, id string) (*User, error) {
	return result[User](func(out any) error { return c.get(ctx, userPath(id), nil, out) })
}

// SetupLink is a link with which a user chooses a password, once. It is a path if the server does not know its public address.
// URL is nil if the first response was lost and the call was repeated. Then create another link.
type SetupLink struct {
	URL       *string   `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateSetupLink creates a link with which a new user, or one who forgot the password, chooses a password.
func (c *Client) CreateSetupLink(ctx context.Context, userID string) (*SetupLink, error) {
	return result[SetupLink](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: userPath(userID) + "/setup-link", keyed: true}, nil, out)
	})
}

// ListUsers reads one page of users, newest first.
func (c *Client) ListUsers(ctx context.Context, q UserQuery) (*Page[User], error) {
	values := url.Values{}
	set(values, "workspace", q.Workspace)
	set(values, "role", q.Role)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[User]](func(out any) error { return c.get(ctx, users, values, out) })
}

// EachUser reads all users that q selects, page by page.
func (c *Client) EachUser(ctx context.Context, q UserQuery) iter.Seq2[User, error] {
	return each(q.Cursor, func(cursor string) (*Page[User], error) {
		q.Cursor = cursor
		return c.ListUsers(ctx, q)
	})
}

// ChangeUser changes a user; with ifRevision only if it still has that revision.
func (c *Client) ChangeUser(ctx context.Context, id string, change UserChange, ifRevision *int64) (*User, error) {
	r := request{method: http.MethodPatch, path: userPath(id), ifMatch: ifRevision}
	return result[User](func(out any) error { return c.send(ctx, r, change, out) })
}

// DeleteUser deletes a user; with ifRevision, only if it still has that revision.
func (c *Client) DeleteUser(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: userPath(id), ifMatch: ifRevision}, nil)
}
