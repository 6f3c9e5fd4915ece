package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
)

const (
	// RefreshLifetime is how long a refresh token is valid.
	RefreshLifetime = 30 * 24 * time.Hour

	// SessionLifetime is how long a session lasts after its login, however often it is refreshed.
	SessionLifetime = 90 * 24 * time.Hour

	// refreshGrace is how long a used token returns the same child again: for a client that lost the response, and for tabs
	// of a browser that refresh at the same time.
	refreshGrace = 10 * time.Second

	refreshPrefix = "kprt_"
	refreshSize   = 32
)

// The problems of Refresh.
var (
	errInvalidRefresh = problem.New(problem.Unauthenticated, problem.CodeInvalidToken, "This refresh token is not valid.")
	errRefreshExpired = problem.New(problem.Unauthenticated, problem.CodeTokenExpired, "This refresh token has expired.")
	errRefreshReused  = problem.New(problem.Unauthenticated, problem.CodeTokenReused,
		"This refresh token was used before. Its session has ended.")
)

// The first refresh token of a session is random. Each child is derived from its parent's text with a secret key. So a token
// that is used twice within the grace returns the same child, although no text is stored, and only this instance can derive it.

func (s *LoginService) firstToken() string {
	random := make([]byte, refreshSize)
	if _, err := io.ReadFull(s.Random, random); err != nil {
		panic(fmt.Sprintf("account: read randomness: %v", err))
	}
	return refreshPrefix + encode(random)
}

func (s *LoginService) childOf(text string) string {
	return refreshPrefix + encode(s.keyed("child", text))
}

// hash returns the hash of a token, which is stored.
func (s *LoginService) hash(text string) [32]byte { return [32]byte(s.keyed("hash", text)) }

func (s *LoginService) keyed(purpose, text string) []byte {
	h := hmac.New(sha256.New, s.Secret)
	io.WriteString(h, "refresh token "+purpose+"\x00"+text)
	return h.Sum(nil)
}

// Refreshing returns whose session a refresh token would continue; empty if it would be refused.
func (s *LoginService) Refreshing(ctx context.Context, text string) (userID, workspaceID string, err error) {
	if !textual(text) {
		return "", "", nil
	}
	now, err := s.common(ctx)
	if err != nil {
		return "", "", err
	}
	t, session, err := s.Sessions.RefreshToken(ctx, s.hash(text))
	switch {
	case isMissing(err):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("read refresh token: %w", err)
	}
	if s.judge(t, session, now) != nil {
		return "", "", nil
	}
	return session.UserID, session.WorkspaceID, nil
}

// Refresh uses a refresh token and returns its child. A second use ends the session, except within refreshGrace while the
// child is unused: then it returns the same child.
//
// It returns invalid_token, token_expired or token_reused.
func (s *LoginService) Refresh(ctx context.Context, text string) (*Grant, error) {
	if !textual(text) {
		return nil, errInvalidRefresh
	}
	now, err := s.common(ctx)
	if err != nil {
		return nil, err
	}
	child := s.childOf(text)
	var (
		session *Session
		u       *User
		refused *problem.Problem
	)
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		hash := s.hash(text)
		t, its, err := s.Sessions.RefreshToken(ctx, hash)
		if err != nil {
			return missingAs(errInvalidRefresh, err)
		}
		session = its
		if refused = s.judge(t, session, now); refused == nil && t.UsedAt != nil {
			refused, err = s.repeat(ctx, child)
		}
		switch {
		case err != nil:
			return err
		case refused == errRefreshReused:
			return s.endFamily(ctx, session, now) // commits although the caller is refused
		case refused != nil:
			return refused
		}
		if u, err = s.Store.User(ctx, Visibility(session.WorkspaceID), session.UserID); err != nil {
			return missingAs(errInvalidRefresh, err)
		}
		if t.UsedAt != nil {
			return nil
		}
		return s.Sessions.UseRefreshToken(ctx, hash, now, &RefreshToken{
			Hash: s.hash(child), SessionID: session.ID, CreatedAt: now, ExpiresAt: now.Add(session.left(now, RefreshLifetime)),
		})
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("refresh: %w", err)
	case refused != nil:
		return nil, refused
	}
	return s.grant(u, session, child, now)
}

// judge returns why a token is refused, or nil if it is unused or was used within refreshGrace.
func (s *LoginService) judge(t *RefreshToken, session *Session, now time.Time) *problem.Problem {
	switch {
	case t.UsedAt != nil && now.Sub(*t.UsedAt) > refreshGrace:
		return errRefreshReused
	case session.EndedAt != nil:
		return errInvalidRefresh
	case !now.Before(t.ExpiresAt), session.left(now, RefreshLifetime) <= 0:
		return errRefreshExpired
	default:
		return nil
	}
}

// repeat returns why a child cannot be returned again: it was used itself.
func (s *LoginService) repeat(ctx context.Context, child string) (*problem.Problem, error) {
	t, _, err := s.Sessions.RefreshToken(ctx, s.hash(child))
	if err != nil {
		return nil, fmt.Errorf("read the child token: %w", err)
	}
	if t.UsedAt != nil {
		return errRefreshReused, nil
	}
	return nil, nil
}

// endFamily ends the session of a token that was used twice.
func (s *LoginService) endFamily(ctx context.Context, session *Session, now time.Time) error {
	if session.EndedAt != nil {
		return nil
	}
	if err := s.Sessions.EndSession(ctx, session.ID, now); err != nil {
		return err
	}
	unit.AfterCommit(ctx, func() { s.Bearers.ForgetSession(session.ID) })
	return s.Audit.Record(ctx, audit.Entry{
		Action: audit.RefreshTokenReused, WorkspaceID: session.WorkspaceID, Actor: session.UserID, Target: session.ID,
		Outcome: audit.Refused,
	})
}

// missingAs returns p if err is problem.Missing, else err.
func missingAs(p *problem.Problem, err error) error {
	if isMissing(err) {
		return p
	}
	return err
}
