package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Snapshot is a consistent copy of the databases, from which a backup is written.
type Snapshot struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir"`   // folder of the copy, in the server's data folder
	State    string    `json:"state"` // running, ready, failed
	Instance string    `json:"instance"`
	MadeAt   time.Time `json:"madeAt"`
	Bytes    int64     `json:"bytes"` // of the copy so far
	Total    int64     `json:"total"` // of the source; the copy can be smaller
	Problem  string    `json:"problem"`
}

const snapshots = "/local/snapshots"

// StartSnapshot starts a snapshot of a running instance. The snapshot is kept for a minute after the last call about it. It
// only works with a client from OverSocket.
func (c *Client) StartSnapshot(ctx context.Context) (*Snapshot, error) {
	r := request{method: http.MethodPost, path: snapshots}
	return result[Snapshot](func(out any) error { return c.send(ctx, r, nil, out) })
}

// Snapshot reads the state of a snapshot.
func (c *Client) Snapshot(ctx context.Context, id string) (*Snapshot, error) {
	return result[Snapshot](func(out any) error { return c.get(ctx, snapshots+"/"+url.PathEscape(id), nil, out) })
}

// DiscardSnapshot cancels a snapshot and removes its files.
func (c *Client) DiscardSnapshot(ctx context.Context, id string) error {
	return c.send(ctx, request{method: http.MethodDelete, path: snapshots + "/" + url.PathEscape(id)}, nil, nil)
}
