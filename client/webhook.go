package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Webhook is an address to which events are delivered.
type Webhook struct {
	ID             string          `json:"id"`
	URL            string          `json:"url"`
	Events         []string        `json:"events"`
	Description    string          `json:"description"`
	Disabled       bool            `json:"disabled"`
	DisabledAt     *time.Time      `json:"disabledAt"`
	DisabledReason *string         `json:"disabledReason"` // requested, failing, gone or overloaded
	FailingSince   *time.Time      `json:"failingSince"`
	LastSuccessAt  *time.Time      `json:"lastSuccessAt"`
	Secrets        []WebhookSecret `json:"secrets"` // newest first
	CreatedAt      time.Time       `json:"createdAt"`
	CreatedBy      string          `json:"createdBy"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	Revision       int64           `json:"revision"`
}

// WebhookSecret describes a secret that signs deliveries, without its text.
type WebhookSecret struct {
	Hint       string     `json:"hint"`
	CreatedAt  time.Time  `json:"createdAt"`
	ValidUntil *time.Time `json:"validUntil"`
}

// CreatedWebhook is a webhook with a new secret, which cannot be read again. Secret is empty if the first response was lost and
// the call was repeated. Then rotate the secret.
type CreatedWebhook struct {
	Webhook
	Secret string `json:"secret"`
}

// NewWebhook describes a webhook to create.
type NewWebhook struct {
	URL         string   `json:"url"`
	Events      []string `json:"events,omitempty"` // none: all
	Description string   `json:"description,omitempty"`
}

// WebhookChange changes the fields that are set. Cleared events are all events.
type WebhookChange struct {
	URL         Change[string]   `json:"url,omitzero"`
	Events      Change[[]string] `json:"events,omitzero"`
	Description Change[string]   `json:"description,omitzero"`
	Disabled    Change[bool]     `json:"disabled,omitzero"`
}

// WebhookQuery selects a page of the list of webhooks.
type WebhookQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID            string            `json:"id"`
	WebhookID     string            `json:"webhookId"`
	EventID       string            `json:"eventId"`
	Event         string            `json:"event"`
	State         string            `json:"state"` // pending, delivered or failed
	Payload       string            `json:"payload"`
	CreatedAt     time.Time         `json:"createdAt"`
	NextAttemptAt *time.Time        `json:"nextAttemptAt"`
	FinishedAt    *time.Time        `json:"finishedAt"`
	Attempts      []DeliveryAttempt `json:"attempts"` // oldest first
}

// DeliveryAttempt is one request of a delivery.
type DeliveryAttempt struct {
	At     time.Time `json:"at"`
	Status *int      `json:"status"`
	Error  *string   `json:"error"`
	Ms     float64   `json:"ms"`
}

// DeliveryQuery selects deliveries of a webhook, and a page of their list.
type DeliveryQuery struct {
	State   string // empty: all
	Event   string // empty: all
	EventID string // empty: all
	Limit   int    // 0: the server's default
	Cursor  string
}

const webhooks = "/api/v1/admin/webhooks"

func webhookPath(id string) string { return webhooks + "/" + url.PathEscape(id) }

func deliveryPath(webhookID, id string) string {
	return webhookPath(webhookID) + "/deliveries/" + url.PathEscape(id)
}

// CreateWebhook creates a webhook.
func (c *Client) CreateWebhook(ctx context.Context, w NewWebhook) (*CreatedWebhook, error) {
	return result[CreatedWebhook](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: webhooks, keyed: true}, w, out)
	})
}

// Webhook reads one webhook.
func (c *Client) Webhook(ctx context.Context, id string) (*Webhook, error) {
	return result[Webhook](func(out any) error { return c.get(ctx, webhookPath(id), nil, out) })
}

// ListWebhooks reads one page of webhooks, newest first.
func (c *Client) ListWebhooks(ctx context.Context, q WebhookQuery) (*Page[Webhook], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Webhook]](func(out any) error { return c.get(ctx, webhooks, values, out) })
}

// EachWebhook reads all webhooks, page by page.
func (c *Client) EachWebhook(ctx context.Context, q WebhookQuery) iter.Seq2[Webhook, error] {
	return each(q.Cursor, func(cursor string) (*Page[Webhook], error) {
		q.Cursor = cursor
		return c.ListWebhooks(ctx, q)
	})
}

// ChangeWebhook changes a webhook; with ifRevision only if it still has that revision.
func (c *Client) ChangeWebhook(ctx context.Context, id string, change WebhookChange, ifRevision *int64) (*Webhook, error) {
	r := request{method: http.MethodPatch, path: webhookPath(id), ifMatch: ifRevision}
	return result[Webhook](func(out any) error { return c.send(ctx, r, change, out) })
}

// DeleteWebhook deletes a webhook and its deliveries; with ifRevision only if it still has that revision.
func (c *Client) DeleteWebhook(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: webhookPath(id), ifMatch: ifRevision}, nil)
}

// RotateWebhookSecret gives a webhook a new secret. Deliveries are signed with both for the grace.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string, rotation Rotation, ifRevision *int64) (*CreatedWebhook, error) {
	r := request{method: http.MethodPost, path: webhookPath(id) + "/rotate", ifMatch: ifRevision, keyed: true}
	return result[CreatedWebhook](func(out any) error { return c.send(ctx, r, rotation, out) })
}

// PingWebhook sends a test event. The delivery shows the result a moment later.
func (c *Client) PingWebhook(ctx context.Context, id string) (*Delivery, error) {
	r := request{method: http.MethodPost, path: webhookPath(id) + "/ping", keyed: true}
	return result[Delivery](func(out any) error { return c.send(ctx, r, nil, out) })
}

// ListDeliveries reads one page of the deliveries of a webhook, newest first.
func (c *Client) ListDeliveries(ctx context.Context, webhookID string, q DeliveryQuery) (*Page[Delivery], error) {
	values := url.Values{}
	set(values, "state", q.State)
	set(values, "event", q.Event)
	set(values, "eventId", q.EventID)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Delivery]](func(out any) error { return c.get(ctx, webhookPath(webhookID)+"/deliveries", values, out) })
}

// EachDelivery reads all deliveries that q selects, page by page.
func (c *Client) EachDelivery(ctx context.Context, webhookID string, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return each(q.Cursor, func(cursor string) (*Page[Delivery], error) {
		q.Cursor = cursor
		return c.ListDeliveries(ctx, webhookID, q)
	})
}

// Delivery reads one delivery of a webhook.
func (c *Client) Delivery(ctx context.Context, webhookID, id string) (*Delivery, error) {
	return result[Delivery](func(out any) error { return c.get(ctx, deliveryPath(webhookID, id), nil, out) })
}

// ReplayDelivery sends a delivery again.
func (c *Client) ReplayDelivery(ctx context.Context, webhookID, id string) (*Delivery, error) {
	r := request{method: http.MethodPost, path: deliveryPath(webhookID, id) + "/replay", keyed: true}
	return result[Delivery](func(out any) error { return c.send(ctx, r, nil, out) })
}
