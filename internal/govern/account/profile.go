package account

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Profile is a user's own record.
type Profile struct {
	*User
	Workspace *Entry
}

// Profile reads the caller's profile.
func (s *LoginService) Profile(ctx context.Context, p *auth.Principal) (*Profile, error) {
	u, err := s.Store.User(ctx, Visibility(p.WorkspaceID), p.UserID)
	if err != nil {
		return nil, fmt.Errorf("read user %s: %w", p.UserID, err)
	}
	return s.profileOf(u)
}

func (s *LoginService) profileOf(u *User) (*Profile, error) {
	workspace, ok := s.Directory.Entry(u.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("user %s is of workspace %s, which is not known", u.ID, u.WorkspaceID)
	}
	return &Profile{User: u, Workspace: workspace}, nil
}

// Rename changes the caller's name, or removes it if name is empty. It returns problem.Mismatch if ifRevision does not allow
// the stored revision.
func (s *LoginService) Rename(ctx context.Context, p *auth.Principal, ifRevision revision.Expected, name string) (*Profile, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var u *User
	err := s.Units.Run(ctx, func(ctx context.Context) (err error) {
		if u, err = s.Store.User(ctx, Visibility(p.WorkspaceID), p.UserID); err != nil {
			return err
		}
		if !ifRevision.Allows(u.Revision) {
			return problem.RevisionMismatch()
		}
		if u.Name == name {
			return nil
		}
		u.Name = name
		u.Revision++
		if err := s.Store.UpdateUser(ctx, u); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.UserChanged, WorkspaceID: u.WorkspaceID, Actor: p.Actor(), Target: u.ID,
			Details: map[string]string{"name": audit.Changed},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("change profile: %w", err)
	}
	return s.profileOf(u)
}
