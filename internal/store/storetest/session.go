package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/store"
)

func testSession(t *testing.T, setup setup) {
	begin := func(t *testing.T, s *store.Store, id, userID string, first byte) (*account.Session, *account.RefreshToken) {
		t.Helper()
		session := &account.Session{ID: id, UserID: userID, WorkspaceID: "wsp_a", CreatedAt: epoch, ExpiresAt: after(time.Hour)}
		token := &account.RefreshToken{Hash: [32]byte{first}, SessionID: id, CreatedAt: epoch, ExpiresAt: after(time.Hour)}
		noError(t, s.Sessions.StartSession(t.Context(), session, token))
		return session, token
	}
	withUser := func(t *testing.T) *store.Store {
		t.Helper()
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		noError(t, s.Accounts.CreateUser(t.Context(), user("usr_a", "wsp_a", "a@example.com")))
		return s
	}
	wantGone := func(t *testing.T, s *store.Store, ids ...string) {
		t.Helper()
		for _, id := range ids {
			_, err := s.Sessions.Standing(t.Context(), id)
			wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		}
	}

	t.Run("ALoginIsNotedForTheUserThatWasRead", func(t *testing.T) {
		s := withUser(t)
		u, err := s.Sessions.UserByEmail(t.Context(), "a@example.com")
		noError(t, err)
		noError(t, s.Sessions.NoteLogin(t.Context(), u, after(time.Minute)))
		again, err := s.Sessions.UserByEmail(t.Context(), "a@example.com")
		noError(t, err)
		if again.LastLoginAt == nil || !again.LastLoginAt.Equal(after(time.Minute)) || again.Revision != u.Revision {
			t.Errorf("got %+v", again)
		}
		_, err = s.Sessions.UserByEmail(t.Context(), "A@example.com")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		other := *u
		other.PasswordHash = "another"
		wantProblem(t, s.Sessions.NoteLogin(t.Context(), &other, epoch), problem.NotFound, problem.CodeNotFound)
		u.Disabled = true
		u.Revision++
		noError(t, s.Accounts.UpdateUser(t.Context(), u))
		wantProblem(t, s.Sessions.NoteLogin(t.Context(), u, epoch), problem.NotFound, problem.CodeNotFound)
	})

	t.Run("ASessionStandsUntilItEnds", func(t *testing.T) {
		s := withUser(t)
		begin(t, s, "ses_a", "usr_a", 1)
		begin(t, s, "ses_b", "usr_a", 2)
		begin(t, s, "ses_c", "usr_a", 3)
		begin(t, s, "ses_d", "usr_nobody", 4)
		got, err := s.Sessions.Standing(t.Context(), "ses_a")
		noError(t, err)
		u, err := s.Accounts.User(t.Context(), "wsp_a", "usr_a")
		noError(t, err)
		if want := (account.Standing{UserID: "usr_a", WorkspaceID: "wsp_a", Role: u.Role}); *got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		wantGone(t, s, "ses_d", "ses_none")
		noError(t, s.Sessions.EndSession(t.Context(), "ses_a", after(time.Minute)))
		noError(t, s.Sessions.EndSession(t.Context(), "ses_a", after(time.Hour)))
		wantGone(t, s, "ses_a")
		noError(t, s.Sessions.EndSessions(t.Context(), "usr_a", "ses_c", after(2*time.Minute)))
		wantGone(t, s, "ses_b")
		_, session, err := s.Sessions.RefreshToken(t.Context(), [32]byte{1})
		noError(t, err)
		if !session.EndedAt.Equal(after(time.Minute)) {
			t.Errorf("the session ended at %s, want when it did first", session.EndedAt)
		}
		_, err = s.Sessions.Standing(t.Context(), "ses_c")
		noError(t, err)
		u.Disabled = true
		u.Revision++
		noError(t, s.Accounts.UpdateUser(t.Context(), u))
		wantGone(t, s, "ses_c")
	})

	t.Run("ARefreshTokenHasAChild", func(t *testing.T) {
		s := withUser(t)
		session, first := begin(t, s, "ses_a", "usr_a", 1)
		child := &account.RefreshToken{Hash: [32]byte{2}, SessionID: "ses_a", CreatedAt: after(time.Minute), ExpiresAt: after(2 * time.Hour)}
		noError(t, s.Sessions.UseRefreshToken(t.Context(), first.Hash, after(time.Minute), child))
		first.UsedAt = pointer(after(time.Minute))
		session.ExpiresAt = child.ExpiresAt
		for _, want := range []*account.RefreshToken{first, child} {
			token, of, err := s.Sessions.RefreshToken(t.Context(), want.Hash)
			noError(t, err)
			if diff := cmp.Diff(want, token) + cmp.Diff(session, of); diff != "" {
				t.Error(diff)
			}
		}
		_, _, err := s.Sessions.RefreshToken(t.Context(), [32]byte{9})
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})

	t.Run("AUserSeesAndEndsOwnSessions", func(t *testing.T) {
		s := withUser(t)
		begin(t, s, "ses_a", "usr_a", 1)
		_, first := begin(t, s, "ses_b", "usr_a", 2)
		begin(t, s, "ses_ended", "usr_a", 3)
		begin(t, s, "ses_other", "usr_b", 4)
		noError(t, s.Sessions.EndSession(t.Context(), "ses_ended", epoch))
		child := &account.RefreshToken{Hash: [32]byte{9}, SessionID: "ses_b", CreatedAt: after(time.Minute), ExpiresAt: after(2 * time.Hour)}
		noError(t, s.Sessions.UseRefreshToken(t.Context(), first.Hash, after(time.Minute), child))
		want := func(now time.Time, limit int, want ...account.OwnSession) {
			t.Helper()
			got, err := s.Sessions.OwnSessions(t.Context(), "usr_a", now, limit)
			noError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		a := account.OwnSession{ID: "ses_a", CreatedAt: epoch, LastUsedAt: epoch}
		b := account.OwnSession{ID: "ses_b", CreatedAt: epoch, LastUsedAt: after(time.Minute)}
		want(after(time.Minute), 10, b, a)
		want(after(time.Minute), 1, b)
		want(after(time.Hour), 10, b) // the other one has expired

		for _, id := range []string{"ses_other", "ses_ended", "ses_none"} {
			wantProblem(t, s.Sessions.EndOwnSession(t.Context(), "usr_a", id, after(time.Minute)), problem.NotFound, problem.CodeNotFound)
		}
		noError(t, s.Sessions.EndOwnSession(t.Context(), "usr_a", "ses_b", after(time.Minute)))
		wantGone(t, s, "ses_b")
		want(after(time.Minute), 10, a)
		_, other, err := s.Sessions.RefreshToken(t.Context(), [32]byte{4})
		noError(t, err)
		if other.EndedAt != nil {
			t.Error("another user's session has ended")
		}
	})

	t.Run("OldSessionsArePruned", func(t *testing.T) {
		s := withUser(t)
		begin(t, s, "ses_ended", "usr_a", 1)
		noError(t, s.Sessions.EndSession(t.Context(), "ses_ended", epoch))
		begin(t, s, "ses_over", "usr_a", 2)
		_, first := begin(t, s, "ses_on", "usr_a", 3)
		child := &account.RefreshToken{Hash: [32]byte{4}, SessionID: "ses_on", CreatedAt: epoch, ExpiresAt: after(3 * time.Hour)}
		noError(t, s.Sessions.UseRefreshToken(t.Context(), first.Hash, epoch, child))
		left := func(want string) {
			t.Helper()
			got := ""
			for i := range byte(4) {
				if _, _, err := s.Sessions.RefreshToken(t.Context(), [32]byte{i + 1}); err == nil {
					got += string('1' + rune(i))
				}
			}
			if got != want {
				t.Errorf("left are the tokens %s, want %s", got, want)
			}
		}
		noError(t, s.Sessions.PruneSessions(t.Context(), after(30*time.Minute), epoch.Add(-time.Second)))
		left("1234")
		noError(t, s.Sessions.PruneSessions(t.Context(), after(30*time.Minute), epoch))
		left("234")
		noError(t, s.Sessions.PruneSessions(t.Context(), after(2*time.Hour), after(time.Hour)))
		left("4")
		_, err := s.Sessions.Standing(t.Context(), "ses_on")
		noError(t, err)
	})
}

// startSession begins a session whose first token has a hash of n in every byte.
func startSession(t *testing.T, s *store.Store, id, userID string, n byte) {
	t.Helper()
	noError(t, s.Sessions.StartSession(t.Context(), session(id, userID), refreshToken(id, n)))
}

func session(id, userID string) *account.Session {
	return &account.Session{ID: id, UserID: userID, WorkspaceID: "wsp_a", CreatedAt: epoch, ExpiresAt: after(time.Hour)}
}

func refreshToken(sessionID string, n byte) *account.RefreshToken {
	return &account.RefreshToken{Hash: [32]byte{n}, SessionID: sessionID, CreatedAt: epoch, ExpiresAt: after(time.Hour)}
}

// refresh uses a token, as the domain does. If the token was used or its session has ended, it is a conflict.
func refresh(ctx context.Context, s *store.Store, n, child byte) error {
	return s.Run(ctx, func(ctx context.Context) error {
		t, its, err := s.Sessions.RefreshToken(ctx, [32]byte{n})
		if err != nil {
			return err
		}
		if t.UsedAt != nil || its.EndedAt != nil {
			return problem.Conflicts("over")
		}
		return s.Sessions.UseRefreshToken(ctx, t.Hash, epoch, refreshToken(its.ID, child))
	})
}
