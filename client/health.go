package client

import (
	"context"
	"encoding/json"
	"time"
)

// Health says how the service is.
type Health struct {
	Status    string    `json:"status"`  // healthy or degraded
	Version   string    `json:"version"` // of the API
	Timestamp time.Time `json:"timestamp"`
}

// Health asks how the service is. It needs a key.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return result[Health](func(out any) error { return c.get(ctx, "/api/v1/health", nil, out) })
}

// OpenAPI reads the description of the API's current version.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	var document json.RawMessage
	err := c.get(ctx, "/openapi.json", nil, &document)
	return document, err
}
