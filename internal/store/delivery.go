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

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/event"
)

const deliveryColumns = `id, webhook_id, workspace_id, event_id, type,
	(SELECT e.payload FROM event e WHERE e.id = webhook_delivery.event_id AND e.workspace_id = webhook_delivery.workspace_id),
	state, created_at, pending_since, due_at, claim, tries, tries_since, finished_at, attempts`

func scanDelivery(row Row) (*event.Delivery, error) {
	d := &event.Delivery{}
	var kind, state, attempts string
	var created, pending int64
	var due, since, finished *int64
	err := row.Scan(&d.ID, &d.WebhookID, &d.WorkspaceID, &d.EventID, &kind, &d.Payload, &state, &created, &pending, &due, &d.Claim, &d.Tries,
		&since, &finished, &attempts)
	if err != nil {
		return nil, err
	}
	d.Type, d.State, d.CreatedAt = event.Type(kind), event.State(state), TimeOf(created)
	d.PendingSince = TimeOf(pending)
	d.DueAt, d.TriesSince, d.FinishedAt = maybeTime(due), maybeTime(since), maybeTime(finished)
	if err := json.Unmarshal([]byte(attempts), &d.Attempts); err != nil {
		return nil, fmt.Errorf("decode attempts: %w", err)
	}
	return d, nil
}

// Delivery implements event.Store.
func (s *Events) Delivery(ctx context.Context, webhookID, id string) (*event.Delivery, error) {
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
func (s *Events) ListDeliveries(ctx context.Context, webhookID string, f event.DeliveryFilter) ([]event.Delivery, error) {
	var c Conditions
	c.Where("webhook_id = ?", webhookID)
	if f.State != "" {
		c.Where("state = ?", string(f.State))
	}
	if f.Type != "" {
		c.Where("type = ?", string(f.Type))
	}
	if f.EventID != "" {
		c.Where("event_id = ?", f.EventID)
	}
	if f.Before != "" {
		c.Where("id < ?", f.Before)
	}
	return s.deliveriesOf(s.main.In(ctx).Query(ctx,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE `+c.String()+` ORDER BY id DESC LIMIT `+c.Arg(f.Limit), c.Args...))
}

func (*Events) deliveriesOf(rows Rows, err error) ([]event.Delivery, error) {
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
func (s *Events) DueWebhooks(ctx context.Context, now time.Time, limit int) ([]event.Due, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT id, workspace_id, slow, failures FROM (
			SELECT t.*, row_number() OVER (PARTITION BY t.poor ORDER BY t.turn, t.due, t.id) AS place FROM (
				SELECT q.*, row_number() OVER (PARTITION BY q.poor, q.workspace_id ORDER BY q.due, q.id) AS turn FROM (
					SELECT w.id, w.workspace_id, w.slow, w.failures, CASE WHEN w.slow > 0 OR w.failures > 0 THEN 1 ELSE 0 END AS poor,
						(SELECT min(d.due_at) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) AS due
					FROM webhook w WHERE w.disabled_at IS NULL AND (w.paused_until IS NULL OR w.paused_until <= $1)
				) q WHERE q.due <= $1
			) t
		) p WHERE p.place <= $2 ORDER BY p.turn, p.due, p.id`, Micros(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list due webhooks: %w", err)
	}
	var list []event.Due
	err = ForEach(rows, func(row Row) error {
		var one event.Due
		var slow, failures int64
		if err := row.Scan(&one.WebhookID, &one.WorkspaceID, &slow, &failures); err != nil {
			return err
		}
		one.Slow, one.Failing = slow > 0, failures > 0
		list = append(list, one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list due webhooks: %w", err)
	}
	return list, nil
}

// OverloadedWebhooks implements event.Store. It reads at most most entries of an index for each webhook.
func (s *Events) OverloadedWebhooks(ctx context.Context, most, late int, since time.Time) (list []string, err error) {
	const pending = `FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL`
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT w.id FROM webhook w WHERE w.disabled_at IS NULL
			AND EXISTS (SELECT 1 `+pending+` LIMIT 1 OFFSET $1)
			AND (EXISTS (SELECT 1 `+pending+` LIMIT 1 OFFSET $2)
				OR w.enabled_at < $3 AND EXISTS (SELECT 1 `+pending+` AND d.pending_since < $3))
		ORDER BY w.id`, late, most, Micros(since))
	if err != nil {
		return nil, fmt.Errorf("list overloaded webhooks: %w", err)
	}
	err = ForEach(rows, func(row Row) error {
		var id string
		err := row.Scan(&id)
		list = append(list, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list overloaded webhooks: %w", err)
	}
	return list, nil
}

// Backlog implements event.Store. It looks at the first due delivery of each webhook, and counts entries of an index.
func (s *Events) Backlog(ctx context.Context, max int) (event.Backlog, error) {
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
		b.OldestAt = TimeOf(*oldest)
	}
	return b, nil
}

// ClaimDeliveries implements event.Store. A process that waited for the row of another one checks due_at again, so a delivery is
// claimed once.
func (s *Events) ClaimDeliveries(ctx context.Context, webhookID, claim string, now, until time.Time, limit int) (*event.Webhook, []event.Delivery, error) {
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
			RETURNING `+deliveryColumns, Micros(until), claim, Micros(now), webhookID, limit))
		slices.SortFunc(list, func(a, b event.Delivery) int { return strings.Compare(a.ID, b.ID) })
		w = found
		return err
	})
	return w, list, err
}

// SaveDelivery implements event.Store.
func (s *Events) SaveDelivery(ctx context.Context, d *event.Delivery, claim string) (saved bool, err error) {
	attempts, err := json.Marshal(d.Attempts)
	if err != nil {
		return false, fmt.Errorf("encode attempts: %w", err)
	}
	if d.Attempts == nil {
		attempts = []byte("[]")
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			UPDATE webhook_delivery SET state = $1, due_at = $2, claim = $3, tries = $4, tries_since = $5, finished_at = $6, attempts = $7,
				pending_since = $8
			WHERE id = $9 AND claim = $10`,
			string(d.State), maybeMicros(d.DueAt), d.Claim, d.Tries, maybeMicros(d.TriesSince), maybeMicros(d.FinishedAt), string(attempts),
			Micros(d.PendingSince), d.ID, claim)
		if err != nil {
			return fmt.Errorf("store delivery: %w", err)
		}
		saved = n > 0
		return nil
	})
	return saved, err
}

// PruneDeliveries implements event.Store.
func (s *Events) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		removed = 0
		for _, which := range []struct {
			where string
			args  []any
		}{
			{`created_at < $1 LIMIT $2`, []any{Micros(before), limit}},
			{`NOT EXISTS (SELECT 1 FROM webhook w WHERE w.id = webhook_delivery.webhook_id) LIMIT $1`, []any{limit}},
		} {
			n, err := s.removeDeliveries(ctx, which.where, which.args...)
			if err != nil {
				return err
			}
			removed += n
		}
		// Two transactions that removed the last two deliveries of an event at once can each have left its payload to the other.
		_, err := s.main.In(ctx).Exec(ctx, `
			DELETE FROM event WHERE created_at < $1 AND NOT EXISTS (
				SELECT 1 FROM webhook_delivery d WHERE d.event_id = event.id AND d.workspace_id = event.workspace_id)`, Micros(before))
		if err != nil {
			return fmt.Errorf("prune payloads: %w", err)
		}
		return nil
	})
	return removed, err
}

// RemoveDeliveries implements event.Store.
func (s *Events) RemoveDeliveries(ctx context.Context, webhookID string, limit int) (removed int, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) (err error) {
		removed, err = s.removeDeliveries(ctx, `webhook_id = $1 LIMIT $2`, webhookID, limit)
		return err
	})
	return removed, err
}

// removeDeliveries removes deliveries, and the payloads that no other delivery has.
func (s *Events) removeDeliveries(ctx context.Context, where string, args ...any) (removed int, err error) {
	q := s.main.In(ctx)
	rows, err := q.Query(ctx, `
		DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE `+where+`) RETURNING event_id`, args...)
	if err != nil {
		return 0, fmt.Errorf("remove deliveries: %w", err)
	}
	var events []string
	err = ForEach(rows, func(row Row) error {
		var id string
		err := row.Scan(&id)
		events = append(events, id)
		removed++
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove deliveries: %w", err)
	}
	slices.Sort(events)
	for some := range slices.Chunk(slices.Compact(events), ListSize) {
		var c Conditions
		c.In("id", some)
		c.Where(`NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = event.id AND d.workspace_id = event.workspace_id)`)
		if _, err := q.Exec(ctx, `DELETE FROM event WHERE `+c.String(), c.Args...); err != nil {
			return 0, fmt.Errorf("remove payloads: %w", err)
		}
	}
	return removed, nil
}
