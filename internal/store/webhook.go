package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"keepsake/internal/event"
	"keepsake/internal/problem"
)

const webhookColumns = `id, workspace_id, events, sealed, description, disabled_at, disabled_reason, failing_since, last_success_at,
	created_at, created_by, updated_at, revision`

func scanWebhook(row Row) (*event.Webhook, error) {
	w := &event.Webhook{}
	var types, reason string
	var disabled, failing, success *int64
	var created, updated int64
	err := row.Scan(&w.ID, &w.WorkspaceID, &types, &w.Sealed, &w.Description, &disabled, &reason, &failing, &success,
		&created, &w.CreatedBy, &updated, &w.Revision)
	if err != nil {
		return nil, err
	}
	w.DisabledAt, w.FailingSince, w.LastSuccessAt = maybeTime(disabled), maybeTime(failing), maybeTime(success)
	w.DisabledReason, w.CreatedAt, w.UpdatedAt = event.DisabledReason(reason), timeOf(created), timeOf(updated)
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
func (s *Store) CreateWebhook(ctx context.Context, w *event.Webhook, max int) error {
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
		_, err := q.Exec(ctx, `INSERT INTO webhook (`+webhookColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			w.ID, w.WorkspaceID, types, w.Sealed, w.Description, maybeMicros(w.DisabledAt), string(w.DisabledReason), maybeMicros(w.FailingSince),
			maybeMicros(w.LastSuccessAt), micros(w.CreatedAt), w.CreatedBy, micros(w.UpdatedAt), w.Revision)
		if err != nil {
			return fmt.Errorf("add webhook: %w", err)
		}
		return nil
	})
}

// Webhook implements event.Store.
func (s *Store) Webhook(ctx context.Context, workspaceID, id string) (*event.Webhook, error) {
	return readWebhook(s.main.In(ctx).QueryRow(ctx,
		`SELECT `+webhookColumns+` FROM webhook WHERE id = $1 AND workspace_id = $2`, id, workspaceID))
}

// HoldWebhook implements event.Store.
func (s *Store) HoldWebhook(ctx context.Context, id string) (*event.Webhook, error) {
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
func (s *Store) ListWebhooks(ctx context.Context, workspaceID, before string, limit int) ([]event.Webhook, error) {
	var c conditions
	c.where("workspace_id = ?", workspaceID)
	if before != "" {
		c.where("id < ?", before)
	}
	rows, err := s.main.In(ctx).Query(ctx,
		`SELECT `+webhookColumns+` FROM webhook WHERE `+c.String()+` ORDER BY id DESC LIMIT `+c.arg(limit), c.args...)
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
func (s *Store) UpdateWebhook(ctx context.Context, w *event.Webhook) error {
	types, err := typesText(w.Types)
	if err != nil {
		return err
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE webhook SET events = $1, sealed = $2, description = $3, disabled_at = $4, disabled_reason = $5, failing_since = $6,
				updated_at = $7, revision = $8
			WHERE id = $9 AND workspace_id = $10 AND revision = $11`,
			types, w.Sealed, w.Description, maybeMicros(w.DisabledAt), string(w.DisabledReason), maybeMicros(w.FailingSince),
			micros(w.UpdatedAt), w.Revision, w.ID, w.WorkspaceID, w.Revision-1)
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
func (s *Store) DeleteWebhook(ctx context.Context, workspaceID, id string) error {
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
func (s *Store) SaveHealth(ctx context.Context, w *event.Webhook) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		_, err := q.Exec(ctx, `UPDATE webhook SET failing_since = $1, last_success_at = $2 WHERE id = $3`,
			maybeMicros(w.FailingSince), maybeMicros(w.LastSuccessAt), w.ID)
		if err != nil {
			return fmt.Errorf("store the health of a webhook: %w", err)
		}
		if w.DisabledAt == nil {
			return nil
		}
		_, err = q.Exec(ctx, `
			UPDATE webhook SET disabled_at = $1, disabled_reason = $2, updated_at = $1, revision = revision + 1
			WHERE id = $3 AND disabled_at IS NULL`, micros(*w.DisabledAt), string(w.DisabledReason), w.ID)
		if err != nil {
			return fmt.Errorf("disable a webhook: %w", err)
		}
		return nil
	})
}

const deliveryColumns = `id, webhook_id, workspace_id, event_id, type, payload, state, created_at, due_at, claim, tries, tries_since,
	finished_at, attempts`

func scanDelivery(row Row) (*event.Delivery, error) {
	d := &event.Delivery{}
	var kind, state, attempts string
	var created int64
	var due, since, finished *int64
	err := row.Scan(&d.ID, &d.WebhookID, &d.WorkspaceID, &d.EventID, &kind, &d.Payload, &state, &created, &due, &d.Claim, &d.Tries,
		&since, &finished, &attempts)
	if err != nil {
		return nil, err
	}
	d.Type, d.State, d.CreatedAt = event.Type(kind), event.State(state), timeOf(created)
	d.DueAt, d.TriesSince, d.FinishedAt = maybeTime(due), maybeTime(since), maybeTime(finished)
	if err := json.Unmarshal([]byte(attempts), &d.Attempts); err != nil {
		return nil, fmt.Errorf("decode attempts: %w", err)
	}
	return d, nil
}

// Delivery implements event.Store.
func (s *Store) Delivery(ctx context.Context, webhookID, id string) (*event.Delivery, error) {
	d, err := scanDelivery(s.main.In(ctx).QueryRow(ctx,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE id = $1 AND webhook_id = $2`, id, webhookID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read delivery: %w", err)
	}
	return d, nil
}

// ListDeliveries implements event.Store.
func (s *Store) ListDeliveries(ctx context.Context, webhookID string, f event.DeliveryFilter) ([]event.Delivery, error) {
	var c conditions
	c.where("webhook_id = ?", webhookID)
	if f.State != "" {
		c.where("state = ?", string(f.State))
	}
	if f.Type != "" {
		c.where("type = ?", string(f.Type))
	}
	if f.EventID != "" {
		c.where("event_id = ?", f.EventID)
	}
	if f.Before != "" {
		c.where("id < ?", f.Before)
	}
	return s.deliveriesOf(s.main.In(ctx).Query(ctx,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE `+c.String()+` ORDER BY id DESC LIMIT `+c.arg(f.Limit), c.args...))
}

func (*Store) deliveriesOf(rows Rows, err error) ([]event.Delivery, error) {
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	var list []event.Delivery
	err = ForEach(rows, func(row Row) error {
		d, err := scanDelivery(row)
		if err == nil {
			list = append(list, *d)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// DueWebhooks implements event.Store. It looks at one delivery of each webhook.
func (s *Store) DueWebhooks(ctx context.Context, now time.Time, limit int) ([]string, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT q.id FROM (
			SELECT w.id, (SELECT min(d.due_at) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) AS due
			FROM webhook w WHERE w.disabled_at IS NULL
		) q WHERE q.due <= $1 ORDER BY q.due, q.id LIMIT $2`, micros(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list due webhooks: %w", err)
	}
	var list []string
	err = ForEach(rows, func(row Row) error {
		var id string
		if err := row.Scan(&id); err != nil {
			return err
		}
		list = append(list, id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list due webhooks: %w", err)
	}
	return list, nil
}

// Backlog implements event.Store. It looks at the first due delivery of each webhook, and counts entries of an index.
func (s *Store) Backlog(ctx context.Context, max int) (event.Backlog, error) {
	var b event.Backlog
	var oldest *int64
	err := s.main.In(ctx).QueryRow(ctx, `
		SELECT
			(SELECT count(*) FROM (
				SELECT d.due_at FROM webhook w JOIN webhook_delivery d ON d.webhook_id = w.id AND d.due_at IS NOT NULL
				WHERE w.disabled_at IS NULL LIMIT $1) p),
			(SELECT min(q.due) FROM (
				SELECT (SELECT min(d.due_at) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) AS due
				FROM webhook w WHERE w.disabled_at IS NULL) q)`, max).Scan(&b.Pending, &oldest)
	if err != nil {
		return event.Backlog{}, fmt.Errorf("count the outbox: %w", err)
	}
	if oldest != nil {
		b.OldestAt = timeOf(*oldest)
	}
	return b, nil
}

// ClaimDeliveries implements event.Store. A process that waited for the row of another one checks due_at again, so a delivery is
// claimed once.
func (s *Store) ClaimDeliveries(ctx context.Context, webhookID, claim string, now, until time.Time, limit int) (*event.Webhook, []event.Delivery, error) {
	var w *event.Webhook
	var list []event.Delivery
	err := s.main.Run(ctx, func(ctx context.Context) (err error) {
		w, list = nil, nil
		q := s.main.In(ctx)
		found, err := scanWebhook(q.QueryRow(ctx, `SELECT `+webhookColumns+` FROM webhook WHERE id = $1 AND disabled_at IS NULL`, webhookID))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read webhook: %w", err)
		}
		list, err = s.deliveriesOf(q.Query(ctx, `
			UPDATE webhook_delivery SET due_at = $1, claim = $2 WHERE due_at <= $3 AND id IN (
				SELECT id FROM webhook_delivery WHERE webhook_id = $4 AND due_at IS NOT NULL AND due_at <= $3 ORDER BY due_at, id LIMIT $5)
			RETURNING `+deliveryColumns, micros(until), claim, micros(now), webhookID, limit))
		slices.SortFunc(list, func(a, b event.Delivery) int { return strings.Compare(a.ID, b.ID) })
		w = found
		return err
	})
	return w, list, err
}

// SaveDelivery implements event.Store.
func (s *Store) SaveDelivery(ctx context.Context, d *event.Delivery, claim string) (saved bool, err error) {
	attempts, err := json.Marshal(d.Attempts)
	if err != nil {
		return false, fmt.Errorf("encode attempts: %w", err)
	}
	if d.Attempts == nil {
		attempts = []byte("[]")
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE webhook_delivery SET state = $1, due_at = $2, claim = $3, tries = $4, tries_since = $5, finished_at = $6, attempts = $7
			WHERE id = $8 AND claim = $9`,
			string(d.State), maybeMicros(d.DueAt), d.Claim, d.Tries, maybeMicros(d.TriesSince), maybeMicros(d.FinishedAt), string(attempts), d.ID, claim)
		if err != nil {
			return fmt.Errorf("store delivery: %w", err)
		}
		saved = n > 0
		return nil
	})
	return saved, err
}

// PruneDeliveries implements event.Store.
func (s *Store) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		removed = 0
		for _, which := range []struct {
			where string
			args  []any
		}{
			{`created_at < $1 LIMIT $2`, []any{micros(before), limit}},
			{`NOT EXISTS (SELECT 1 FROM webhook w WHERE w.id = webhook_delivery.webhook_id) LIMIT $1`, []any{limit}},
		} {
			n, err := s.main.In(ctx).Exec(ctx,
				`DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE `+which.where+`)`, which.args...)
			if err != nil {
				return fmt.Errorf("prune deliveries: %w", err)
			}
			removed += int(n)
		}
		return nil
	})
	return removed, err
}
