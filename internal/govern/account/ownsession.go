package account

import (
	"context"
	"fmt"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// maxOwnSessions is how many sessions a user sees.
const maxOwnSessions = 100

// OwnSessions lists the sessions of the calling user that have not ended, those used last first.
func (s *LoginService) OwnSessions(ctx context.Context, p *auth.Principal) ([]OwnSession, error) {
	now, err := s.common(ctx)
	if err != nil {
		return nil, err
	}
	return s.Sessions.OwnSessions(ctx, p.UserID, now, maxOwnSessions)
}

// EndOwnSession ends a session of the calling user, as Logout does. It returns problem.Missing if the user has no such session,
// or if it has already ended.
func (s *LoginService) EndOwnSession(ctx context.Context, p *auth.Principal, sessionID string) error {
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Sessions.EndOwnSession(ctx, p.UserID, sessionID, s.now()); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.Bearers.ForgetSession(sessionID) })
		return s.Audit.Record(ctx, audit.Entry{Action: audit.SessionEnded, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Target: sessionID})
	})
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// EndOtherSessions ends all sessions of the calling user except the caller's.
func (s *LoginService) EndOtherSessions(ctx context.Context, p *auth.Principal) error {
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.endUser(ctx, p.UserID, p.SessionID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.SessionEnded, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Target: p.UserID, Details: map[string]string{"kept": p.SessionID},
		})
	})
	if err != nil {
		return fmt.Errorf("end the other sessions: %w", err)
	}
	return nil
}
