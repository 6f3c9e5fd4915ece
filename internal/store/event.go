package store

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/govern/event"
	"keepsake/internal/store/cluster"
)

// Events stores webhooks, and events until they are delivered.
type Events struct {
	main *DB
	news *News
}

// Interests reads the types of events that the webhooks of a workspace can want; those of all workspaces if the ID is empty.
func (s *Events) Interests(ctx context.Context, workspaceID string) (map[string]event.TypeSet, error) {
	query, args := `SELECT workspace_id, types FROM webhook_interest`, []any(nil)
	if workspaceID != "" {
		query, args = query+` WHERE workspace_id = $1`, []any{workspaceID}
	}
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list wanted events: %w", err)
	}
	all := map[string]event.TypeSet{}
	err = ForEach(rows, func(row Row) error {
		var id string
		var types int64
		if err := row.Scan(&id, &types); err != nil {
			return err
		}
		all[id] = event.TypeSet(types)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list wanted events: %w", err)
	}
	return all, nil
}

// HoldInterest implements event.Store.
func (s *Events) HoldInterest(ctx context.Context, workspaceID string) (event.TypeSet, time.Time, error) {
	var types, widened int64
	if _, err := s.main.In(ctx).Exec(ctx, `
		INSERT INTO webhook_interest (workspace_id, types, widened_at) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING`, workspaceID); err != nil {
		return 0, time.Time{}, fmt.Errorf("hold wanted events: %w", err)
	}
	err := s.main.HoldRow(ctx, `SELECT types, widened_at FROM webhook_interest WHERE workspace_id = $1`, workspaceID).Scan(&types, &widened)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("hold wanted events: %w", err)
	}
	return event.TypeSet(types), TimeOf(widened), nil
}

// SetInterest implements event.Store.
func (s *Events) SetInterest(ctx context.Context, workspaceID string, types event.TypeSet, at time.Time) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		UPDATE webhook_interest SET types = $1, widened_at = $2 WHERE workspace_id = $3`, int64(types), Micros(at), workspaceID)
	if err != nil {
		return fmt.Errorf("store wanted events: %w", err)
	}
	s.news.announce(ctx, cluster.Webhook, workspaceID)
	return nil
}

// Subscribers implements event.OutboxStore.
func (s *Events) Subscribers(ctx context.Context, workspaceID string) ([]event.Subscriber, error) {
	query, args := `SELECT id, workspace_id, events FROM webhook WHERE disabled_at IS NULL`, []any(nil)
	if workspaceID != "" {
		query, args = query+` AND workspace_id = $1`, []any{workspaceID}
	}
	rows, err := s.main.In(ctx).Query(ctx, query+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list subscribers: %w", err)
	}
	var list []event.Subscriber
	err = ForEach(rows, func(row Row) error {
		var one event.Subscriber
		var types string
		if err := row.Scan(&one.WebhookID, &one.WorkspaceID, &types); err != nil {
			return err
		}
		names, err := typesOf(types)
		one.Types = event.SetOf(names...)
		if len(names) == 0 {
			one.Types = event.AllTypes
		}
		list = append(list, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list subscribers: %w", err)
	}
	return list, nil
}

func typesOf(text string) ([]event.Type, error) {
	names, err := listOf(text)
	if err != nil {
		return nil, err
	}
	var list []event.Type
	for _, name := range names {
		list = append(list, event.Type(name))
	}
	return list, nil
}

var addEvents = &Bulk{Into: `event (id, workspace_id, payload, created_at)`, Columns: 4}

var addDeliveries = &Bulk{
	Into: `webhook_delivery (id, webhook_id, workspace_id, event_id, type, state, created_at, pending_since, due_at, claim, tries, attempts)`,

	Columns: 12,
}

// AddDeliveries implements event.OutboxStore.
func (s *Events) AddDeliveries(ctx context.Context, list []event.Delivery) error {
	type key struct{ eventID, workspaceID string }
	var events []*event.Delivery // one for each payload
	seen := map[key]bool{}
	for i := range list {
		if k := (key{list[i].EventID, list[i].WorkspaceID}); !seen[k] {
			seen[k], events = true, append(events, &list[i])
		}
	}
	err := s.main.Run(ctx, func(ctx context.Context) error {
		_, err := s.main.Insert(ctx, addEvents, len(events), func(i int, values []any) []any {
			d := events[i]
			return append(values, d.EventID, d.WorkspaceID, d.Payload, Micros(d.CreatedAt))
		})
		if err != nil {
			return err
		}
		_, err = s.main.Insert(ctx, addDeliveries, len(list), func(i int, values []any) []any {
			d := &list[i]
			return append(values, d.ID, d.WebhookID, d.WorkspaceID, d.EventID, string(d.Type), string(d.State),
				Micros(d.CreatedAt), Micros(d.PendingSince), maybeMicros(d.DueAt), d.Claim, int64(d.Tries), "[]")
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("add deliveries: %w", err)
	}
	return nil
}

// ExtendEvent implements event.OutboxStore. A process that claims one of the deliveries at the same time waits for the row, and
// then sees that it is not due, or this transaction waits and sees that the claim is another.
func (s *Events) ExtendEvent(ctx context.Context, e event.Extension) (kept bool, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		n, err := q.Exec(ctx, `
			UPDATE webhook_delivery SET due_at = $1, claim = $2 WHERE event_id = $3 AND workspace_id = $4 AND claim = $5`,
			Micros(e.DueAt), e.NextClaim, e.EventID, e.WorkspaceID, e.Claim)
		if err != nil {
			return fmt.Errorf("extend an event: %w", err)
		}
		if kept = n == int64(e.Deliveries); !kept {
			return s.release(ctx, e.WorkspaceID, e.EventID, e.NextClaim, e.Now)
		}
		if _, err := q.Exec(ctx, `UPDATE event SET payload = $1 WHERE id = $2 AND workspace_id = $3`, e.Payload, e.EventID, e.WorkspaceID); err != nil {
			return fmt.Errorf("extend an event: %w", err)
		}
		return nil
	})
	return kept, err
}

// ReleaseEvent implements event.OutboxStore.
func (s *Events) ReleaseEvent(ctx context.Context, workspaceID, eventID, claim string, at time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error { return s.release(ctx, workspaceID, eventID, claim, at) })
}

func (s *Events) release(ctx context.Context, workspaceID, eventID, claim string, at time.Time) error {
	if claim == "" {
		return nil
	}
	_, err := s.main.In(ctx).Exec(ctx, `
		UPDATE webhook_delivery SET due_at = $1, claim = '' WHERE event_id = $2 AND workspace_id = $3 AND claim = $4`,
		Micros(at), eventID, workspaceID, claim)
	if err != nil {
		return fmt.Errorf("release an event: %w", err)
	}
	return nil
}

// AddOnce implements event.OutboxStore.
func (s *Events) AddOnce(ctx context.Context, name string, at time.Time) (first bool, err error) {
	n, err := s.main.Once(ctx, `INSERT INTO event_once (name, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, Micros(at))
	if err != nil {
		return false, fmt.Errorf("add the name of an event: %w", err)
	}
	return n > 0, nil
}

// PruneOnce implements event.Store.
func (s *Events) PruneOnce(ctx context.Context, before time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM event_once WHERE at < $1`, Micros(before))
		if err != nil {
			return fmt.Errorf("prune names of events: %w", err)
		}
		return nil
	})
}
