package account

import (
	"context"
	"time"
)

// Sessions is told when what a user's sessions may do has changed. Both methods join the unit of work of that change and
// take effect, also for tokens that were checked before, when it commits.
type Sessions interface {
	// EndUser ends every session of a user: it was disabled or deleted, or its password was set by somebody else.
	EndUser(ctx context.Context, userID string) error
	// UserChanged makes the tokens of a user follow its role of now. Its sessions go on.
	UserChanged(ctx context.Context, userID string)
}

// Session is what a login began: a family of refresh tokens, of which one at a time can be used, and the access tokens
// that name it.
type Session struct {
	ID          string // ses_…
	UserID      string
	WorkspaceID string
	CreatedAt   time.Time
	ExpiresAt   time.Time // with its latest refresh token
	EndedAt     *time.Time
}

// left is lifetime, or what is left of the session where that is less.
func (s *Session) left(now time.Time, lifetime time.Duration) time.Duration {
	return min(lifetime, s.CreatedAt.Add(SessionLifetime).Sub(now))
}

// RefreshToken is one token of a session. Of its text only a keyed hash is kept.
type RefreshToken struct {
	Hash      [32]byte
	SessionID string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// Standing is what a session may do by its user's role of now.
type Standing struct {
	UserID      string
	WorkspaceID string
	Role        Role
}

// SessionStore keeps sessions.
type SessionStore interface {
	// UserByEmail reads the user with a folded email; Missing when there is none.
	UserByEmail(ctx context.Context, email string) (*User, error)
	// NoteLogin writes when a user last signed in, if it may still do so with the password it was read with; else Missing.
	NoteLogin(ctx context.Context, u *User, at time.Time) error

	// StartSession adds a session with its first refresh token.
	StartSession(ctx context.Context, s *Session, first *RefreshToken) error
	// Standing tells about a session that goes on, of a user who is not disabled; else Missing.
	Standing(ctx context.Context, sessionID string) (*Standing, error)
	// RefreshToken finds a token by its hash, with its session; Missing when there is none. Inside a unit of work both
	// stay as they are until it commits.
	RefreshToken(ctx context.Context, hash [32]byte) (*RefreshToken, *Session, error)
	// UseRefreshToken marks a token as used and adds its child, whose end becomes the session's.
	UseRefreshToken(ctx context.Context, hash [32]byte, at time.Time, child *RefreshToken) error
	// EndSession ends one session; one that has ended stays as it is.
	EndSession(ctx context.Context, sessionID string, at time.Time) error
	// EndSessions ends all of a user's but one, which may be empty.
	EndSessions(ctx context.Context, userID, except string, at time.Time) error
	// PruneSessions forgets refresh tokens that have expired, and sessions that ended or expired before a moment.
	PruneSessions(ctx context.Context, now, before time.Time) error
}
