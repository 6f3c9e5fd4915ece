package account

import (
	"testing"
	"time"
)

// A token that is stored with a later end is held to that of its session.
func TestNoRefreshTokenOutlivesItsSession(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	token, session := &RefreshToken{ExpiresAt: begun.Add(SessionLifetime + RefreshLifetime)}, &Session{CreatedAt: begun}
	var s LoginService
	if p := s.judge(token, session, begun.Add(SessionLifetime-time.Millisecond)); p != nil {
		t.Errorf("before the session ends: %v", p)
	}
	if p := s.judge(token, session, begun.Add(SessionLifetime)); p != errRefreshExpired {
		t.Errorf("when the session ends: %v, want token_expired", p)
	}
}
