package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
)

// Idempotency stores responses of requests with an Idempotency-Key.
type Idempotency struct {
	main    *DB
	storage *Storage
	own     *ownKeys
}

// KeepAnswer implements idempotency.Store. It replaces an expired response.
func (s *Idempotency) KeepAnswer(ctx context.Context, a *idempotency.Answer) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		if a.MaxBytes != nil {
			left, err := s.storage.StorageRoom(ctx, a.WorkspaceID, *a.MaxBytes)
			if err != nil {
				return err
			}
			if int64(len(a.Body)+len(a.Sealed)+len(a.SealedBy)) > left {
				return problem.StorageFull()
			}
		}
		// The key of the expired response that this one replaces.
		if err := s.own.eraseOwnKeys(ctx, `SELECT key_slot FROM kept_answer WHERE claim = $1 AND expires_at <= $2`, a.Claim[:], Micros(a.CreatedAt)); err != nil {
			return err
		}
		var slot any
		if len(a.Own) > 0 {
			slots, err := s.own.keepOwnKeys(ctx, [][]byte{a.Own})
			if err != nil {
				return err
			}
			slot = slots[0]
		}
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO kept_answer (claim, request, status, location, etag, has_body, body, created_at, expires_at, sealed, sealed_by, workspace_id,
				key_slot)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (claim) DO UPDATE SET request = excluded.request, status = excluded.status,
				location = excluded.location, etag = excluded.etag, has_body = excluded.has_body, body = excluded.body,
				created_at = excluded.created_at, expires_at = excluded.expires_at, sealed = excluded.sealed,
				sealed_by = excluded.sealed_by, workspace_id = excluded.workspace_id,
				key_slot = excluded.key_slot
			WHERE kept_answer.expires_at <= excluded.created_at`,
			a.Claim[:], a.Request[:], a.Status, a.Location, a.ETag, a.Body != nil, orEmpty(a.Body), Micros(a.CreatedAt),
			Micros(a.ExpiresAt), orEmpty(a.Sealed), a.SealedBy, a.WorkspaceID, slot)
		if err != nil {
			return fmt.Errorf("store response: %w", err)
		}
		if n == 0 {
			return idempotency.ErrAnswered
		}
		return s.keepAnswerSubjects(ctx, a)
	})
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

var insertAnswerSubjects = &Bulk{
	Into:    `kept_answer_subject (workspace_id, subject, claim, expires_at)`,
	Columns: 4, Rest: `ON CONFLICT (workspace_id, subject, claim) DO UPDATE SET expires_at = excluded.expires_at`,
}

// keepAnswerSubjects records the subjects that a response is about.
func (s *Idempotency) keepAnswerSubjects(ctx context.Context, a *idempotency.Answer) error {
	_, err := s.main.Insert(ctx, insertAnswerSubjects, len(a.Subjects), func(i int, values []any) []any {
		of := &a.Subjects[i]
		return append(values, of.WorkspaceID, of.Subject[:], a.Claim[:], Micros(a.ExpiresAt))
	})
	if err != nil {
		return fmt.Errorf("record the subjects of a stored response: %w", err)
	}
	return nil
}

// DropAnswers implements idempotency.Store.
func (s *Idempotency) DropAnswers(ctx context.Context, workspaceID string, subject [16]byte) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		const claims = `(SELECT claim FROM kept_answer_subject WHERE workspace_id = $1 AND subject = $2)`
		if err := s.own.eraseOwnKeys(ctx, `SELECT key_slot FROM kept_answer WHERE claim IN `+claims, workspaceID, subject[:]); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `UPDATE kept_answer SET key_slot = NULL, sealed = $3 WHERE claim IN `+claims, workspaceID, subject[:], []byte{}); err != nil {
			return fmt.Errorf("drop stored responses: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM kept_answer_subject WHERE workspace_id = $1 AND subject = $2`, workspaceID, subject[:]); err != nil {
			return fmt.Errorf("remove the subjects of stored responses: %w", err)
		}
		return nil
	})
}

// KeptAnswer implements idempotency.Store.
func (s *Idempotency) KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*idempotency.Answer, error) {
	a := idempotency.Answer{Claim: claim}
	var request, body, sealed []byte
	var hasBody bool
	var created, expires int64
	err := s.main.In(ctx).QueryRow(ctx, `
		SELECT request, status, location, etag, has_body, body, created_at, expires_at, sealed, sealed_by,
			(SELECT k.key FROM erasable_key k WHERE k.slot = kept_answer.key_slot)
		FROM kept_answer WHERE claim = $1 AND expires_at > $2`, claim[:], Micros(now)).
		Scan(&request, &a.Status, &a.Location, &a.ETag, &hasBody, &body, &created, &expires, &sealed, &a.SealedBy, &a.Own)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stored response: %w", err)
	}
	copy(a.Request[:], request)
	if hasBody {
		a.Body = append([]byte{}, body...)
	}
	if len(sealed) > 0 {
		a.Sealed = append([]byte{}, sealed...)
	}
	a.CreatedAt, a.ExpiresAt = TimeOf(created), TimeOf(expires)
	return &a, nil
}

// PruneAnswers implements idempotency.Store.
func (s *Idempotency) PruneAnswers(ctx context.Context, now time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		if err := holdPruning(ctx, s.main); err != nil {
			return err
		}
		if err := s.own.eraseOwnKeys(ctx, `SELECT key_slot FROM kept_answer WHERE expires_at <= $1`, Micros(now)); err != nil {
			return err
		}
		if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM kept_answer WHERE expires_at <= $1`, Micros(now)); err != nil {
			return fmt.Errorf("prune stored responses: %w", err)
		}
		if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM kept_answer_subject WHERE expires_at <= $1`, Micros(now)); err != nil {
			return fmt.Errorf("prune the subjects of stored responses: %w", err)
		}
		return nil
	})
}
