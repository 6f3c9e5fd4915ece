package account

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Administrators see the users of their own workspace, operators those of all workspaces. For all other users the methods
// return problem.Missing, as for IDs that do not exist.

// Hashed is the hash of a new password.
type Hashed struct {
	hash      string
	generated string // the text, if it was generated
}

// Hashing hashes passwords, which takes a core and 19 MiB for tens of milliseconds each.
type Hashing interface {
	// Hash returns the hash of a password in PHC form. It returns problem.Unavailable if too many are waiting.
	Hash(ctx context.Context, password string) (string, error)
}

// HashPassword hashes a password; it generates one if it is empty. It takes long, so call it outside of transactions.
func (s *Service) HashPassword(ctx context.Context, password string) (Hashed, error) {
	var h Hashed
	if password == "" {
		h.generated = generatePassword(s.Random)
		password = h.generated
	} else if err := checkPassword(password); err != nil {
		return h, err
	}
	if s.Hashing == nil {
		h.hash = hashPassword(password, s.Cost, s.Random)
		return h, nil
	}
	hash, err := s.Hashing.Hash(ctx, password)
	h.hash = hash
	return h, err
}

// NewUser is what the creator of a user chooses.
type NewUser struct {
	Email       string
	WorkspaceID string // empty: the caller's
	Role        Role   // empty: RoleMember
	Name        string // can be empty
	Password    Hashed
}

// CreatedUser is a new user with its password if that was generated. It cannot be read again.
type CreatedUser struct {
	*User
	Password string
}

// CreateUser creates a user. It returns problem.Conflict if another user of the instance has the email,
// problem.LimitReached if the workspace has as many users as its tier allows, and problem.Missing for a workspace that p
// cannot see.
func (s *Service) CreateUser(ctx context.Context, p *auth.Principal, n NewUser) (*CreatedUser, error) {
	email := FoldEmail(n.Email)
	if err := checkEmail(email); err != nil {
		return nil, err
	}
	if err := checkName(n.Name); err != nil {
		return nil, err
	}
	workspace, err := s.workspaceOf(p, n.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if n.Role == "" {
		n.Role = RoleMember
	}
	u := &User{
		ID: s.newID(id.User), WorkspaceID: workspace.ID(), Email: email, Name: n.Name, Role: n.Role,
		PasswordHash: n.Password.hash, CreatedAt: s.now(), Revision: 1,
	}
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.checkRoom(ctx, workspace); err != nil {
			return err
		}
		if err := s.Store.CreateUser(ctx, u); err != nil {
			return err
		}
		return s.record(ctx, p, audit.UserCreated, u.WorkspaceID, u.ID, map[string]string{"role": string(u.Role)})
	})
	if err != nil {
		return nil, fmt.Errorf("create user: %w", err)
	}
	return &CreatedUser{u, n.Password.generated}, nil
}

// workspaceOf finds the workspace that a caller names, or its own.
func (s *Service) workspaceOf(p *auth.Principal, workspaceID string) (*Entry, error) {
	if workspaceID == "" {
		workspaceID = p.WorkspaceID
	}
	entry, ok := s.Directory.Entry(workspaceID)
	if !ok || (workspaceID != p.WorkspaceID && !p.Operator) {
		return nil, problem.Missing()
	}
	return entry, nil
}

// checkRoom refuses a user if the workspace has as many as its tier allows.
func (s *Service) checkRoom(ctx context.Context, workspace *Entry) error {
	max := workspace.Tier().Users
	if max == nil {
		return nil
	}
	n, _, err := s.Store.CountUsers(ctx, workspace.ID())
	if err != nil {
		return err
	}
	if limit.Full(max, n) {
		return problem.LimitReached("users", fmt.Sprintf("This workspace already has the %d users that its tier allows.", *max))
	}
	return nil
}

// User reads one user.
func (s *Service) User(ctx context.Context, p *auth.Principal, userID string) (*User, error) {
	if _, ok := id.Parse(id.User, userID); !ok {
		return nil, problem.Missing()
	}
	u, err := s.Store.User(ctx, visibilityOf(p), userID)
	if err != nil {
		return nil, fmt.Errorf("read user %s: %w", userID, err)
	}
	return u, nil
}

// ListUsers reads users, newest first: those of one workspace, or all that p can see.
func (s *Service) ListUsers(ctx context.Context, p *auth.Principal, workspaceID string, f UserFilter) ([]User, error) {
	visible := visibilityOf(p)
	if workspaceID != "" {
		workspace, err := s.workspaceOf(p, workspaceID)
		if err != nil {
			return nil, err
		}
		visible = Visibility(workspace.ID())
	}
	list, err := s.Store.ListUsers(ctx, visible, f)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return list, nil
}

func visibilityOf(p *auth.Principal) Visibility {
	if p.Operator {
		return AllWorkspaces
	}
	return Visibility(p.WorkspaceID)
}

// UserChange is a change of a user by an administrator. A nil field stays as it is.
type UserChange struct {
	Name     *string
	Role     *Role
	Disabled *bool
	Password *Hashed
}

// ChangeUser changes a user. From the commit on, a user who was disabled or whose password was set is signed out
// everywhere. It returns problem.Mismatch if ifRevision does not allow the stored revision, and problem.Conflict for a
// change that leaves the workspace without an admin.
func (s *Service) ChangeUser(ctx context.Context, p *auth.Principal, userID string, ifRevision revision.Expected, c UserChange) (*User, error) {
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return nil, err
		}
	}
	var u *User
	err := s.Units.Run(ctx, func(ctx context.Context) (err error) {
		if u, err = s.User(ctx, p, userID); err != nil {
			return err
		}
		before := *u
		details := c.apply(u)
		if err := s.checkLastAdmin(ctx, &before, u.administers()); err != nil {
			return err
		}
		if !ifRevision.Allows(before.Revision) {
			return problem.RevisionMismatch()
		}
		if len(details) == 0 {
			return nil
		}
		u.Revision++
		if err := s.Store.UpdateUser(ctx, u); err != nil {
			return err
		}
		if err := s.tellSessions(ctx, &before, u); err != nil {
			return err
		}
		return s.record(ctx, p, audit.UserChanged, u.WorkspaceID, u.ID, details)
	})
	if err != nil {
		return nil, fmt.Errorf("change user: %w", err)
	}
	return u, nil
}

// apply changes u and returns what has changed, for the audit log.
func (c *UserChange) apply(u *User) map[string]string {
	details := map[string]string{}
	if c.Name != nil && *c.Name != u.Name {
		u.Name, details["name"] = *c.Name, audit.Changed
	}
	if c.Role != nil && *c.Role != u.Role {
		u.Role, details["role"] = *c.Role, string(*c.Role)
	}
	if c.Disabled != nil && *c.Disabled != u.Disabled {
		u.Disabled, details["disabled"] = *c.Disabled, strconv.FormatBool(*c.Disabled)
	}
	if c.Password != nil {
		u.PasswordHash, details["password"] = c.Password.hash, audit.Changed
	}
	return details
}

// tellSessions applies a change of a user to its tokens.
func (s *Service) tellSessions(ctx context.Context, before, u *User) error {
	if u.Disabled || u.PasswordHash != before.PasswordHash {
		return s.Sessions.EndUser(ctx, u.ID)
	}
	s.Sessions.UserChanged(ctx, u.ID)
	return nil
}

// DeleteUser deletes a user and ends its sessions. API keys that the user created continue to work. ifRevision and the last
// admin are checked as by ChangeUser.
func (s *Service) DeleteUser(ctx context.Context, p *auth.Principal, userID string, ifRevision revision.Expected) error {
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		u, err := s.User(ctx, p, userID)
		if err != nil {
			return err
		}
		if err := s.checkLastAdmin(ctx, u, false); err != nil {
			return err
		}
		if !ifRevision.Allows(u.Revision) {
			return problem.RevisionMismatch()
		}
		if err := s.Sessions.EndUser(ctx, u.ID); err != nil {
			return err
		}
		if err := s.Store.DeleteUser(ctx, u); err != nil {
			return err
		}
		return s.record(ctx, p, audit.UserDeleted, u.WorkspaceID, u.ID, nil)
	})
	if err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	return nil
}

// administers reports whether the user can administer its workspace.
func (u *User) administers() bool { return u.Role == RoleAdmin && !u.Disabled }

// checkLastAdmin refuses a change that leaves a workspace without an admin. still says that the user is one afterwards.
func (s *Service) checkLastAdmin(ctx context.Context, before *User, still bool) error {
	if !before.administers() || still {
		return nil
	}
	_, admins, err := s.Store.CountUsers(ctx, before.WorkspaceID)
	if err != nil {
		return err
	}
	if admins <= 1 {
		return problem.Conflicts("This is the last admin of its workspace.")
	}
	return nil
}

// maxName is the maximum length of the name of a workspace or a user, in characters.
const maxName = 120

func checkName(name string) error {
	if len(name) > maxName && utf8.RuneCountInString(name) > maxName {
		return problem.Validation("name", problem.TooLong, fmt.Sprintf("A name must have at most %d characters.", maxName))
	}
	if strings.IndexByte(name, 0) >= 0 || !utf8.ValidString(name) {
		return problem.Validation("name", problem.Format, "A name must be valid UTF-8 without the character U+0000.")
	}
	return nil
}
