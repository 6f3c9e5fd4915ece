package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store/cluster"
)

// Sessions stores sessions and their refresh tokens.
type Sessions struct {
	main *DB
	news *News
}

// UserByEmail implements account.SessionStore.
func (s *Sessions) UserByEmail(ctx context.Context, email string) (*account.User, error) {
	var c Conditions
	c.Where(`email = ?`, email)
	list, err := users(ctx, s.main, &c, "")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, problem.Missing()
	}
	return &list[0], nil
}

// NoteLogin implements account.SessionStore.
func (s *Sessions) NoteLogin(ctx context.Context, u *account.User, at time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE account_user SET last_login_at = $1 WHERE id = $2 AND password_hash = $3 AND NOT disabled`,
			Micros(at), u.ID, u.PasswordHash)
		if err != nil {
			return fmt.Errorf("record login of %s: %w", u.ID, err)
		}
		if n == 0 {
			return problem.Missing()
		}
		return nil
	})
}

// StartSession implements account.SessionStore.
func (s *Sessions) StartSession(ctx context.Context, session *account.Session, first *account.RefreshToken) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		_, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO session (id, user_id, workspace_id, created_at, expires_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			session.ID, session.UserID, session.WorkspaceID, Micros(session.CreatedAt), Micros(session.ExpiresAt),
			maybeMicros(session.EndedAt))
		if err != nil {
			return fmt.Errorf("add session: %w", err)
		}
		return s.addRefreshToken(ctx, first)
	})
}

func (s *Sessions) addRefreshToken(ctx context.Context, t *account.RefreshToken) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		INSERT INTO refresh_token (hash, session_id, created_at, expires_at, used_at) VALUES ($1, $2, $3, $4, $5)`,
		t.Hash[:], t.SessionID, Micros(t.CreatedAt), Micros(t.ExpiresAt), maybeMicros(t.UsedAt))
	if err != nil {
		return fmt.Errorf("add refresh token: %w", err)
	}
	return nil
}

// Standing implements account.SessionStore.
func (s *Sessions) Standing(ctx context.Context, sessionID string) (*account.Standing, error) {
	var st account.Standing
	err := s.main.In(ctx).QueryRow(ctx, `
		SELECT u.id, u.workspace_id, u.role FROM session s JOIN account_user u ON u.id = s.user_id
		WHERE s.id = $1 AND s.ended_at IS NULL AND NOT u.disabled`, sessionID).
		Scan(&st.UserID, &st.WorkspaceID, (*string)(&st.Role))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return &st, nil
}

// RefreshToken implements account.SessionStore.
func (s *Sessions) RefreshToken(ctx context.Context, hash [32]byte) (*account.RefreshToken, *account.Session, error) {
	// Two refreshes of one family meet at the row of the session.
	err := s.main.Hold(ctx, `
		SELECT id FROM session WHERE id = (SELECT session_id FROM refresh_token WHERE hash = $1)`, hash[:])
	if err != nil {
		return nil, nil, fmt.Errorf("hold session: %w", err)
	}
	t, session := account.RefreshToken{Hash: hash}, account.Session{}
	var created, expires, began, ends int64
	var used, ended *int64
	err = s.main.In(ctx).QueryRow(ctx, `
		SELECT t.created_at, t.expires_at, t.used_at, s.id, s.user_id, s.workspace_id, s.created_at, s.expires_at, s.ended_at
		FROM refresh_token t JOIN session s ON s.id = t.session_id WHERE t.hash = $1`, hash[:]).
		Scan(&created, &expires, &used, &session.ID, &session.UserID, &session.WorkspaceID, &began, &ends, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, problem.Missing()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read refresh token: %w", err)
	}
	t.SessionID, t.CreatedAt, t.ExpiresAt, t.UsedAt = session.ID, TimeOf(created), TimeOf(expires), maybeTime(used)
	session.CreatedAt, session.ExpiresAt, session.EndedAt = TimeOf(began), TimeOf(ends), maybeTime(ended)
	return &t, &session, nil
}

// UseRefreshToken implements account.SessionStore.
func (s *Sessions) UseRefreshToken(ctx context.Context, hash [32]byte, at time.Time, child *account.RefreshToken) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `UPDATE refresh_token SET used_at = $1 WHERE hash = $2`, Micros(at), hash[:]); err != nil {
			return fmt.Errorf("use refresh token: %w", err)
		}
		if _, err := q.Exec(ctx, `UPDATE session SET expires_at = $1 WHERE id = $2`, Micros(child.ExpiresAt), child.SessionID); err != nil {
			return fmt.Errorf("extend session %s: %w", child.SessionID, err)
		}
		return s.addRefreshToken(ctx, child)
	})
}

// EndSession implements account.SessionStore.
func (s *Sessions) EndSession(ctx context.Context, sessionID string, at time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `UPDATE session SET ended_at = $1 WHERE id = $2 AND ended_at IS NULL`, Micros(at), sessionID)
		if err != nil {
			return fmt.Errorf("end session %s: %w", sessionID, err)
		}
		if n > 0 {
			s.news.announce(ctx, cluster.Session, sessionID)
		}
		return nil
	})
}

// EndSessions implements account.SessionStore.
func (s *Sessions) EndSessions(ctx context.Context, userID, except string, at time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		// Changes of a user write that row first, so it is locked before the sessions here, too.
		if err := s.main.Hold(ctx, `SELECT id FROM account_user WHERE id = $1`, userID); err != nil {
			return fmt.Errorf("hold user %s: %w", userID, err)
		}
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE session SET ended_at = $1 WHERE user_id = $2 AND id <> $3 AND ended_at IS NULL`, Micros(at), userID, except)
		if err != nil {
			return fmt.Errorf("end the sessions of %s: %w", userID, err)
		}
		if n > 0 {
			s.news.announce(ctx, cluster.User, userID)
		}
		return nil
	})
}

// OwnSessions implements account.SessionStore.
func (s *Sessions) OwnSessions(ctx context.Context, userID string, now time.Time, limit int) ([]account.OwnSession, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT s.id, s.created_at,
			coalesce((SELECT max(t.created_at) FROM refresh_token t WHERE t.session_id = s.id), s.created_at) AS used_at,
			coalesce((SELECT min(l.address) FROM audit_log l WHERE l.target = s.id AND l.target <> '' AND l.action = $1), '')
		FROM session s WHERE s.user_id = $2 AND s.ended_at IS NULL AND s.expires_at > $3
		ORDER BY used_at DESC, s.id DESC LIMIT $4`, string(audit.SessionStarted), userID, Micros(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list the sessions of %s: %w", userID, err)
	}
	defer rows.Close()
	var list []account.OwnSession
	for rows.Next() {
		var o account.OwnSession
		var created, used int64
		if err := rows.Scan(&o.ID, &created, &used, &o.Address); err != nil {
			return nil, fmt.Errorf("read a session of %s: %w", userID, err)
		}
		o.CreatedAt, o.LastUsedAt = TimeOf(created), TimeOf(used)
		list = append(list, o)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the sessions of %s: %w", userID, err)
	}
	return list, nil
}

// EndOwnSession implements account.SessionStore.
func (s *Sessions) EndOwnSession(ctx context.Context, userID, sessionID string, at time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE session SET ended_at = $1 WHERE id = $2 AND user_id = $3 AND ended_at IS NULL`, Micros(at), sessionID, userID)
		if err != nil {
			return fmt.Errorf("end session %s: %w", sessionID, err)
		}
		if n == 0 {
			return problem.Missing()
		}
		s.news.announce(ctx, cluster.Session, sessionID)
		return nil
	})
}

// PruneSessions implements account.SessionStore.
func (s *Sessions) PruneSessions(ctx context.Context, now, before time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		if err := holdPruning(ctx, s.main); err != nil {
			return err
		}
		q := s.main.In(ctx)
		// Tokens refer to sessions, so they go first.
		_, err := q.Exec(ctx, `
			DELETE FROM refresh_token WHERE expires_at <= $1
				OR session_id IN (SELECT id FROM session WHERE ended_at <= $2 OR expires_at <= $2)`, Micros(now), Micros(before))
		if err != nil {
			return fmt.Errorf("prune refresh tokens: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM session WHERE ended_at <= $1 OR expires_at <= $1`, Micros(before)); err != nil {
			return fmt.Errorf("prune sessions: %w", err)
		}
		return nil
	})
}

// holdPruning serializes transactions that delete old rows, because they could lock the same rows in different orders.
func holdPruning(ctx context.Context, main *DB) error {
	if err := main.Hold(ctx, `SELECT id FROM instance`); err != nil {
		return fmt.Errorf("hold the instance: %w", err)
	}
	return nil
}

// EndAllSessions ends every session and returns how many there were.
func (s *Sessions) EndAllSessions(ctx context.Context, at time.Time) (ended int64, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		ended, err = s.main.In(ctx).Exec(ctx, `UPDATE session SET ended_at = $1 WHERE ended_at IS NULL`, Micros(at))
		if err != nil {
			return fmt.Errorf("end all sessions: %w", err)
		}
		s.news.announce(ctx, cluster.Everything, "")
		return nil
	})
	return ended, err
}
