package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/event"
)

const webhookColumns = `id, workspace_id, events, sealed, description, disabled_at, disabled_reason, failing_since, last_success_at,
	failures, paused_until, slow, enabled_at, created_at, created_by, updated_at, revision`

func scanWebhook(row Row) (*event.Webhook, error) {
	w := &event.Webhook{}
	var types, reason string
	var disabled, failing, success, paused *int64
	var slow, enabled, created, updated int64
	err := row.Scan(&w.ID, &w.WorkspaceID, &types, &w.Sealed, &w.Description, &disabled, &reason, &failing, &success,
		&w.Failures, &paused, &slow, &enabled, &created, &w.CreatedBy, &updated, &w.Revision)
	if err != nil {
		return nil, err
	}
	w.DisabledAt, w.FailingSince, w.LastSuccessAt = maybeTime(disabled), maybeTime(failing), maybeTime(success)
	w.PausedUntil, w.Slow, w.EnabledAt = maybeTime(paused), slow != 0, TimeOf(enabled)
	w.DisabledReason, w.CreatedAt, w.UpdatedAt = event.DisabledReason(reason), TimeOf(created), TimeOf(updated)
	w.Types, err = typesOf(types)
	return w, err
}

func typesText(types []event.Type) (string, error) {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = string(t)
	}
	return listText(list)
}

// CreateWebhook implements event.Store. The row of the workspace is locked, so that two callers cannot both add the last one.
func (s *Events) CreateWebhook(ctx context.Context, w *event.Webhook, max int) error {
	types, err := typesText(w.Types)
	if err != nil {
		return err
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		if err := s.main.Hold(ctx, `SELECT id FROM workspace WHERE id = $1`, w.WorkspaceID); err != nil {
			return fmt.Errorf("hold workspace: %w", err)
		}
		q := s.main.In(ctx)
		var n int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM webhook WHERE workspace_id = $1`, w.WorkspaceID).Scan(&n); err != nil {
			return fmt.Errorf("count webhooks: %w", err)
		}
		if n >= max {
			return problem.LimitReached("webhooks", fmt.Sprintf("This workspace already has %d webhooks, which is the limit.", max))
		}
		_, err := q.Exec(ctx, `INSERT INTO webhook (`+webhookColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
			w.ID, w.WorkspaceID, types, w.Sealed, w.Description, maybeMicros(w.DisabledAt), string(w.DisabledReason), maybeMicros(w.FailingSince),
			maybeMicros(w.LastSuccessAt), w.Failures, maybeMicros(w.PausedUntil), bit(w.Slow), Micros(w.EnabledAt), Micros(w.CreatedAt), w.CreatedBy, Micros(w.UpdatedAt), w.Revision)
		if err != nil {
			return fmt.Errorf("add webhook: %w", err)
		}
		return nil
	})
}

// Webhook implements event.Store.
func (s *Events) Webhook(ctx context.Context, workspaceID, id string) (*event.Webhook, error) {
	return readWebhook(s.main.In(ctx).QueryRow(ctx,
		`SELECT `+webhookColumns+` FROM webhook WHERE id = $1 AND workspace_id = $2`, id, workspaceID))
}

// HoldWebhook implements event.Store.
func (s *Events) HoldWebhook(ctx context.Context, id string) (*event.Webhook, error) {
	return readWebhook(s.main.HoldRow(ctx, `SELECT `+webhookColumns+` FROM webhook WHERE id = $1`, id))
}

func readWebhook(row Row) (*event.Webhook, error) {
	w, err := scanWebhook(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read webhook: %w", err)
	}
	return w, nil
}

// ListWebhooks implements event.Store.
func (s *Events) ListWebhooks(ctx context.Context, workspaceID, before string, limit int) ([]event.Webhook, error) {
	var c Conditions
	c.Where("workspace_id = ?", workspaceID)
	if before != "" {
		c.Where("id < ?", before)
	}
	rows, err := s.main.In(ctx).Query(ctx,
		`SELECT `+webhookColumns+` FROM webhook WHERE `+c.String()+` ORDER BY id DESC LIMIT `+c.Arg(limit), c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	var list []event.Webhook
	err = ForEach(rows, func(row Row) error {
		w, err := scanWebhook(row)
		if err == nil {
			list = append(list, *w)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return list, nil
}

// UpdateWebhook implements event.Store.
func (s *Events) UpdateWebhook(ctx context.Context, w *event.Webhook) error {
	types, err := typesText(w.Types)
	if err != nil {
		return err
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE webhook SET events = $1, sealed = $2, description = $3, disabled_at = $4, disabled_reason = $5, failing_since = $6,
				failures = $7, paused_until = $8, slow = $9, enabled_at = $10, updated_at = $11, revision = $12
			WHERE id = $13 AND workspace_id = $14 AND revision = $15`,
			types, w.Sealed, w.Description, maybeMicros(w.DisabledAt), string(w.DisabledReason), maybeMicros(w.FailingSince),
			w.Failures, maybeMicros(w.PausedUntil), bit(w.Slow), Micros(w.EnabledAt), Micros(w.UpdatedAt), w.Revision, w.ID, w.WorkspaceID, w.Revision-1)
		if err != nil {
			return fmt.Errorf("change webhook: %w", err)
		}
		if n == 0 {
			return errStale
		}
		return nil
	})
}

// DeleteWebhook implements event.Store.
func (s *Events) DeleteWebhook(ctx context.Context, workspaceID, id string) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `DELETE FROM webhook WHERE id = $1 AND workspace_id = $2`, id, workspaceID)
		if err != nil {
			return fmt.Errorf("remove webhook: %w", err)
		}
		if n == 0 {
			return problem.Missing()
		}
		return nil
	})
}

// SaveHealth implements event.Store.
func (s *Events) SaveHealth(ctx context.Context, w *event.Webhook) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		_, err := q.Exec(ctx, `
			UPDATE webhook SET failing_since = $1, last_success_at = $2, failures = $3, paused_until = $4, slow = $5 WHERE id = $6`,
			maybeMicros(w.FailingSince), maybeMicros(w.LastSuccessAt), w.Failures, maybeMicros(w.PausedUntil), bit(w.Slow), w.ID)
		if err != nil {
			return fmt.Errorf("store the health of a webhook: %w", err)
		}
		if w.DisabledAt == nil {
			return nil
		}
		_, err = q.Exec(ctx, `
			UPDATE webhook SET disabled_at = $1, disabled_reason = $2, updated_at = $1, revision = revision + 1
			WHERE id = $3 AND disabled_at IS NULL`, Micros(*w.DisabledAt), string(w.DisabledReason), w.ID)
		if err != nil {
			return fmt.Errorf("disable a webhook: %w", err)
		}
		return nil
	})
}

// bit is a truth as it is stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
