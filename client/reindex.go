package client

import (
	"context"
	"net/http"
)

// Reindex is the progress of rebuilding search indexes.
type Reindex struct {
	Running    bool   `json:"running"`
	Workspaces int    `json:"workspaces"`
	Done       int    `json:"done"`    // workspaces whose index was replaced
	Changes    int64  `json:"changes"` // that were indexed
	Total      int64  `json:"total"`   // an estimate
	Problem    string `json:"problem"` // why it ended early
}

const reindex = "/local/search/reindex"

// StartReindex starts to rebuild the search index of a workspace, or all if workspaceID is empty, while searches use the old
// ones. It only works with a client from OverSocket.
func (c *Client) StartReindex(ctx context.Context, workspaceID string) (*Reindex, error) {
	body := struct {
		WorkspaceID string `json:"workspaceId,omitempty"`
	}{workspaceID}
	r := request{method: http.MethodPost, path: reindex}
	return result[Reindex](func(out any) error { return c.send(ctx, r, body, out) })
}

// Reindexing reads the progress of the last rebuild. It only works with a client from OverSocket.
func (c *Client) Reindexing(ctx context.Context) (*Reindex, error) {
	return result[Reindex](func(out any) error { return c.get(ctx, reindex, nil, out) })
}
