package client

import "context"

// Listener is a listener of a running service.
type Listener struct {
	Name string `json:"name"` // primary, backend or ai
	URL  string `json:"url"`  // its address on this machine; empty for a Unix socket
}

// Listeners lists the listeners of a running service. It only works with a client from OverSocket.
func (c *Client) Listeners(ctx context.Context) ([]Listener, error) {
	var list struct{ Items []Listener }
	err := c.get(ctx, "/local/listeners", nil, &list)
	return list.Items, err
}
