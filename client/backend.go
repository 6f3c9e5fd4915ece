package client

import (
	"context"
	"net/http"
	"time"
)

// Backend calls the backend listener of a server, for services next to it. It is safe for concurrent use. The other paths of
// that listener are for proxies and monitoring.
type Backend struct{ client *Client }

// NewBackend returns a client for the backend listener at baseURL (http://127.0.0.1:8081). It has the backend secret, an API key
// with the scope developer:manage, or both. With an API key, the calls know only keys of its workspace; the secret alone knows the
// keys of all workspaces. A listener that other machines can reach requires the secret.
func NewBackend(baseURL, secret, apiKey string, options ...Option) (*Backend, error) {
	if err := headerValue("the backend secret", secret); err != nil {
		return nil, err
	}
	c, err := New(baseURL, apiKey, options...)
	if err != nil {
		return nil, err
	}
	c.secret = secret
	return &Backend{c}, nil
}

// VerifyAPIKey verifies a key and charges it, as VerifyAPIKey of Client does.
func (b *Backend) VerifyAPIKey(ctx context.Context, q Inquiry) (*Verification, error) {
	return b.client.verify(ctx, request{method: http.MethodPost, path: "/verify", versioned: true}, q)
}

// ServedRequests are requests that another service has served to a key.
type ServedRequests struct {
	ID     string    `json:"id"` // counts once in 7 days, so that a report can be repeated
	KeyID  string    `json:"keyId"`
	Route  string    `json:"route"` // a template: GET /orders/{id}
	Status int       `json:"status"`
	Count  int64     `json:"count"`
	At     time.Time `json:"at"` // within the last 24 hours
}

// UsageReceipt is the result of a report.
type UsageReceipt struct {
	Accepted   int           `json:"accepted"`
	Duplicates int           `json:"duplicates"` // reported before
	Errors     []ReportError `json:"errors"`
}

// ReportError says why an item was refused. It does not affect the other items.
type ReportError struct {
	Index   int    `json:"index"`
	ID      string `json:"id"`
	Field   string `json:"field"` // items[3].at
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

// ReportUsage counts up to 1,000 items in the quotas and the analytics of their keys. The call is repeated after a failure,
// because each ID counts once.
func (b *Backend) ReportUsage(ctx context.Context, items []ServedRequests) (*UsageReceipt, error) {
	in := struct {
		Items []ServedRequests `json:"items"`
	}{items}
	return result[UsageReceipt](func(out any) error {
		return b.client.send(ctx, request{method: http.MethodPost, path: "/usage", versioned: true, safe: true}, in, out)
	})
}

// RateLimits returns the limits that the last response reported, as RateLimits of Client does.
func (b *Backend) RateLimits() *RateLimits { return b.client.RateLimits() }
