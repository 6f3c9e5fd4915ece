package event

import (
	"context"
	"fmt"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/auth"
)

// Ping adds a delivery of the type Ping.
func (s *Service) Ping(ctx context.Context, p *auth.Principal, webhookID string) (*Delivery, error) {
	var d *Delivery
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		w, err := s.enabled(ctx, p, webhookID)
		if err != nil {
			return err
		}
		now := s.stamp()
		e := Event{Type: Ping, At: now, Data: map[string]any{"webhookId": w.ID}}
		eventID := id.At(id.Event, s.o.Now(), s.o.Random)
		payload, err := payloadOf(eventID, w.WorkspaceID, &e)
		if err != nil {
			return err
		}
		d = &Delivery{
			ID: id.At(id.Delivery, s.o.Now(), s.o.Random), WebhookID: w.ID, WorkspaceID: w.WorkspaceID, EventID: eventID, Type: Ping,
			Payload: payload, State: Pending, CreatedAt: now, PendingSince: now, DueAt: &now,
		}
		if err := s.o.Store.AddDeliveries(ctx, []Delivery{*d}); err != nil {
			return err
		}
		s.added(ctx)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ping webhook: %w", err)
	}
	return d, nil
}

func (s *Service) added(ctx context.Context) {
	if s.o.Added != nil {
		unit.AfterCommit(ctx, s.o.Added)
	}
}

// enabled reads a webhook that is not disabled.
func (s *Service) enabled(ctx context.Context, p *auth.Principal, webhookID string) (*Webhook, error) {
	w, err := s.visible(ctx, p, webhookID)
	if err == nil && w.DisabledAt != nil {
		err = problem.Conflicts("This webhook is disabled. Enable it first.")
	}
	return w, err
}

// Deliveries lists the deliveries of a webhook, newest first.
func (s *Service) Deliveries(ctx context.Context, p *auth.Principal, webhookID string, f DeliveryFilter) ([]Delivery, error) {
	if _, err := s.visible(ctx, p, webhookID); err != nil {
		return nil, err
	}
	return s.o.Store.ListDeliveries(ctx, webhookID, f)
}

// Delivery reads a delivery.
func (s *Service) Delivery(ctx context.Context, p *auth.Principal, webhookID, deliveryID string) (*Delivery, error) {
	if _, err := s.visible(ctx, p, webhookID); err != nil {
		return nil, err
	}
	return s.delivery(ctx, webhookID, deliveryID)
}

func (s *Service) delivery(ctx context.Context, webhookID, deliveryID string) (*Delivery, error) {
	if _, ok := id.Parse(id.Delivery, deliveryID); !ok {
		return nil, problem.Missing()
	}
	return s.o.Store.Delivery(ctx, webhookID, deliveryID)
}

// Replay sends a delivery again, under the same event ID and with as many attempts as a new one. It returns problem.Conflicts
// while the delivery is being sent and if the webhook is disabled.
func (s *Service) Replay(ctx context.Context, p *auth.Principal, webhookID, deliveryID string) (*Delivery, error) {
	var d *Delivery
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		if _, err := s.enabled(ctx, p, webhookID); err != nil {
			return err
		}
		var err error
		if d, err = s.delivery(ctx, webhookID, deliveryID); err != nil {
			return err
		}
		now, claim := s.stamp(), d.Claim
		if claim != "" && d.DueAt != nil && now.Before(*d.DueAt) {
			return errSending
		}
		d.State, d.PendingSince, d.DueAt, d.Claim, d.Tries, d.TriesSince, d.FinishedAt = Pending, now, &now, "", 0, nil, nil
		saved, err := s.o.Store.SaveDelivery(ctx, d, claim)
		if err != nil {
			return err
		}
		if !saved {
			return errSending
		}
		s.added(ctx)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("replay delivery: %w", err)
	}
	return d, nil
}

var errSending = problem.Conflicts("This delivery is being sent right now. Read it again in a few seconds.")
