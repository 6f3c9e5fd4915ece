package client

import (
	"context"
	"time"
)

// Warning is a problem that a running service has noticed.
type Warning struct {
	About string    `json:"about"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"` // the last time
}

// Warnings lists the problems that a running service has noticed. It only works with a client from OverSocket.
func (c *Client) Warnings(ctx context.Context) ([]Warning, error) {
	var list struct{ Items []Warning }
	err := c.get(ctx, "/local/warnings", nil, &list)
	return list.Items, err
}
