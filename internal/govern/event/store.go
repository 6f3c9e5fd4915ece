package event

import (
	"context"
	"time"
)

// Store stores webhooks and their deliveries. Its methods join the transaction of ctx.
type Store interface {
	OutboxStore
	interestStore
	webhookStore
	deliveryStore
	queueStore
}

// interestStore stores which types of events the webhooks of a workspace can want.
type interestStore interface {
	// HoldInterest locks the interest of a workspace until the transaction ends, and returns it with the time at which it was
	// last set.
	HoldInterest(ctx context.Context, workspaceID string) (TypeSet, time.Time, error)
	// SetInterest replaces an interest that is held. Other processes notice it.
	SetInterest(ctx context.Context, workspaceID string, types TypeSet, at time.Time) error
}

// webhookStore stores webhooks. A webhook of another workspace is problem.Missing.
type webhookStore interface {
	// CreateWebhook adds a webhook. It returns problem.LimitReached if the workspace has max.
	CreateWebhook(ctx context.Context, w *Webhook, max int) error
	// Webhook reads a webhook.
	Webhook(ctx context.Context, workspaceID, id string) (*Webhook, error)
	// ListWebhooks lists webhooks, newest first: those before an ID, if it is not empty.
	ListWebhooks(ctx context.Context, workspaceID, before string, limit int) ([]Webhook, error)
	// UpdateWebhook stores a change of the revision before w.Revision; else it returns problem.RevisionMismatch.
	UpdateWebhook(ctx context.Context, w *Webhook) error
	// DeleteWebhook removes a webhook. RemoveDeliveries and PruneDeliveries remove its deliveries.
	DeleteWebhook(ctx context.Context, workspaceID, id string) error
}

// DeliveryFilter selects deliveries of a webhook.
type DeliveryFilter struct {
	State   State  // empty: all
	Type    Type   // empty: all
	EventID string // empty: all
	Before  string // only older ones than this ID; empty: all
	Limit   int
}

// deliveryStore stores the log of deliveries.
type deliveryStore interface {
	// Delivery reads a delivery. It returns problem.Missing for one of another webhook.
	Delivery(ctx context.Context, webhookID, id string) (*Delivery, error)
	// ListDeliveries lists deliveries, newest first.
	ListDeliveries(ctx context.Context, webhookID string, f DeliveryFilter) ([]Delivery, error)
	// PruneDeliveries removes at most limit deliveries that were created before a time or whose webhook is gone, with the payloads
	// that no other delivery has, and returns how many it removed.
	PruneDeliveries(ctx context.Context, before time.Time, limit int) (int, error)
	// RemoveDeliveries removes at most limit deliveries of a webhook like PruneDeliveries.
	RemoveDeliveries(ctx context.Context, webhookID string, limit int) (int, error)
	// PruneOnce removes names of AddOnce that are older.
	PruneOnce(ctx context.Context, before time.Time) error
}

// queueStore lets processes share the work.
type queueStore interface {
	// DueWebhooks lists webhooks that are neither disabled nor paused and have a delivery that is due: at most limit that are
	// failing or slow, and as many others. Of each kind, it begins with the longest waiting one of each workspace.
	DueWebhooks(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// OverloadedWebhooks lists webhooks that are not disabled and have more than most pending deliveries, or more than late if
	// one of them, and the webhook's being enabled, is older than since.
	OverloadedWebhooks(ctx context.Context, most, late int, since time.Time) ([]string, error)
	// Backlog counts what waits in the outbox, up to a maximum.
	Backlog(ctx context.Context, max int) (Backlog, error)
	// ClaimDeliveries makes due deliveries of a webhook due at until and sets their Claim, so that no other process sends them
	// before. It returns them with their webhook; nil if the webhook is gone or disabled.
	ClaimDeliveries(ctx context.Context, webhookID, claim string, now, until time.Time, limit int) (*Webhook, []Delivery, error)
	// SaveDelivery stores the state, attempts and due time of a delivery whose Claim in the store is claim. saved is false if it
	// is not: another process took it over, or it was removed.
	SaveDelivery(ctx context.Context, d *Delivery, claim string) (saved bool, err error)
	// SaveHealth stores what is known of the receiver of a webhook, and if it is disabled by w and was not before, also that
	// with the next revision.
	SaveHealth(ctx context.Context, w *Webhook) error
	// HoldWebhook locks a webhook of any workspace until the transaction ends, and reads it.
	HoldWebhook(ctx context.Context, id string) (*Webhook, error)
}
