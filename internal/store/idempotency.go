package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/idempotency"
)

// KeepAnswer implements idempotency.Store. An answer that has expired and waits to be pruned makes room.
func (s *Store) KeepAnswer(ctx context.Context, a *idempotency.Answer) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		body := a.Body
		if body == nil {
			body = []byte{}
		}
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO kept_answer (claim, request, status, location, etag, has_body, body, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (claim) DO UPDATE SET request = excluded.request, status = excluded.status,
				location = excluded.location, etag = excluded.etag, has_body = excluded.has_body, body = excluded.body,
				created_at = excluded.created_at, expires_at = excluded.expires_at
			WHERE kept_answer.expires_at <= excluded.created_at`,
			a.Claim[:], a.Request[:], a.Status, a.Location, a.ETag, a.Body != nil, body, micros(a.CreatedAt), micros(a.ExpiresAt))
		if err != nil {
			return fmt.Errorf("keep answer: %w", err)
		}
		if n == 0 {
			return idempotency.ErrAnswered
		}
		return nil
	})
}

// KeptAnswer implements idempotency.Store.
func (s *Store) KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*idempotency.Answer, error) {
	a := idempotency.Answer{Claim: claim}
	var request, body []byte
	var hasBody bool
	var created, expires int64
	err := s.main.In(ctx).QueryRow(ctx, `
		SELECT request, status, location, etag, has_body, body, created_at, expires_at
		FROM kept_answer WHERE claim = $1 AND expires_at > $2`, claim[:], micros(now)).
		Scan(&request, &a.Status, &a.Location, &a.ETag, &hasBody, &body, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read kept answer: %w", err)
	}
	copy(a.Request[:], request)
	if hasBody {
		a.Body = append([]byte{}, body...)
	}
	a.CreatedAt, a.ExpiresAt = timeOf(created), timeOf(expires)
	return &a, nil
}

// PruneAnswers implements idempotency.Store.
func (s *Store) PruneAnswers(ctx context.Context, now time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		if err := s.holdPruning(ctx); err != nil {
			return err
		}
		if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM kept_answer WHERE expires_at <= $1`, micros(now)); err != nil {
			return fmt.Errorf("prune kept answers: %w", err)
		}
		return nil
	})
}
