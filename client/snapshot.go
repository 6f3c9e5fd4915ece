package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Snapshot is a consistent copy of the databases, which a backup is packed from.
type Snapshot struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir"`   // of the files, in the data folder of the server
	State    string    `json:"state"` // running, ready, failed
	Instance string    `json:"instance"`
	MadeAt   time.Time `json:"madeAt"`
	Bytes    int64     `json:"bytes"` // of the copy so far
	Total    int64     `json:"total"` // of what is copied: the copy can be smaller
	Problem  string    `json:"problem"`
}

const snapshots = "/local/snapshots"

// StartSnapshot begins a snapshot of a running instance. It is kept for a minute after the last call about it. Only a
// client made by OverSocket can; elsewhere nothing is there.
func (c *Client) StartSnapshot(ctx context.Context) (*Snapshot, error) {
	r := request{method: http.MethodPost, path: snapshots, once: true}
	return result[Snapshot](func(out any) error { return c.send(ctx, r, nil, out) })
}

// Snapshot tells how far a snapshot is.
func (c *Client) Snapshot(ctx context.Context, id string) (*Snapshot, error) {
	return result[Snapshot](func(out any) error { return c.get(ctx, snapshots+"/"+url.PathEscape(id), nil, out) })
}

// DiscardSnapshot ends a snapshot and removes its files.
func (c *Client) DiscardSnapshot(ctx context.Context, id string) error {
	return c.send(ctx, request{method: http.MethodDelete, path: snapshots + "/" + url.PathEscape(id)}, nil, nil)
}
