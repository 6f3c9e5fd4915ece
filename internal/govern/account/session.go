package account

import (
	"context"
	"time"
)

// Sessions is notified of changes of users. Both methods join the transaction of the change. After its commit they apply to
// all tokens, including those that were already verified.
type Sessions interface {
	// EndUser ends every session of a user who was disabled or deleted, or whose password an administrator has set.
	EndUser(ctx context.Context, userID string) error
	// UserChanged applies a user's new role to its tokens. Its sessions continue.
	UserChanged(ctx context.Context, userID string)
}

// Session is what a login creates: a family of refresh tokens, of which one at a time can be used, and the access tokens
// with its ID.
type Session struct {
	ID          string // ses_…
	UserID      string
	WorkspaceID string
	CreatedAt   time.Time
	ExpiresAt   time.Time // with its latest refresh token
	EndedAt     *time.Time
}

// left is the smaller of lifetime and the time until the session ends.
func (s *Session) left(now time.Time, lifetime time.Duration) time.Duration {
	return min(lifetime, s.CreatedAt.Add(SessionLifetime).Sub(now))
}

// RefreshToken is one token of a session. Only a keyed hash of its text is stored.
type RefreshToken struct {
	Hash      [32]byte
	SessionID string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// Standing is the current state of a session: whose it is, and the user's role.
type Standing struct {
	UserID      string
	WorkspaceID string
	Role        Role
}

// OwnSession is a session as its user sees it.
type OwnSession struct {
	ID         string
	CreatedAt  time.Time
	LastUsedAt time.Time // when its newest tokens were issued
	Address    string    // from which the user signed in, as the audit log has it; empty: it does not have it
}

// SessionStore stores sessions.
type SessionStore interface {
	// UserByEmail reads the user with a folded email; Missing if there is none.
	UserByEmail(ctx context.Context, email string) (*User, error)
	// NoteLogin stores when a user last signed in. It is Missing if the user was disabled or deleted, or its password was
	// changed, since u was read.
	NoteLogin(ctx context.Context, u *User, at time.Time) error

	// StartSession adds a session with its first refresh token.
	StartSession(ctx context.Context, s *Session, first *RefreshToken) error
	// Standing reads a session; Missing if it has ended or its user is disabled.
	Standing(ctx context.Context, sessionID string) (*Standing, error)
	// RefreshToken finds a token by its hash, with its session; Missing if there is none. Inside a transaction neither
	// changes until the commit.
	RefreshToken(ctx context.Context, hash [32]byte) (*RefreshToken, *Session, error)
	// UseRefreshToken marks a token as used and adds its child. The session then expires with the child.
	UseRefreshToken(ctx context.Context, hash [32]byte, at time.Time, child *RefreshToken) error
	// EndSession ends a session. It changes nothing if the session has already ended.
	EndSession(ctx context.Context, sessionID string, at time.Time) error
	// EndSessions ends all sessions of a user except one, which can be empty.
	EndSessions(ctx context.Context, userID, except string, at time.Time) error
	// OwnSessions lists the sessions of a user that have not ended at now: those used last first, and at most limit.
	OwnSessions(ctx context.Context, userID string, now time.Time, limit int) ([]OwnSession, error)
	// EndOwnSession ends a session of a user; Missing if the user has no such session that has not ended.
	EndOwnSession(ctx context.Context, userID, sessionID string, at time.Time) error
	// PruneSessions deletes refresh tokens that have expired at now, and sessions that ended or expired before before.
	PruneSessions(ctx context.Context, now, before time.Time) error
}
