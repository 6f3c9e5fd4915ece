package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// WorkspaceRecord is a workspace as operators see it.
type WorkspaceRecord struct {
	Workspace
	Suspended  bool `json:"suspended"`  // its credentials are refused
	Embeddings bool `json:"embeddings"` // its texts are sent to the embeddings endpoint
	// SearchEngine is where its search index is, or is moved to: SearchLocal or SearchOpenSearch.
	SearchEngine string      `json:"searchEngine"`
	SearchMove   *SearchMove `json:"searchMove"` // nil: the index is not being moved
	CreatedAt    time.Time   `json:"createdAt"`
	Revision     int64       `json:"revision"`
}

// The engines of search indexes.
const (
	SearchLocal      = "local"      // an index in each process
	SearchOpenSearch = "opensearch" // one in the OpenSearch cluster of the instance
)

// SearchMove is the move of a search index. The old one answers until the new one is complete.
type SearchMove struct {
	From    string `json:"from"`    // the engine that answers searches now
	Percent *int   `json:"percent"` // how much of the new index is built; nil: the process that answered does not know
}

// NewWorkspace describes a workspace to create. An empty tier means free.
type NewWorkspace struct {
	Name string `json:"name"`
	Tier string `json:"tier,omitempty"`
}

// WorkspaceChange changes the fields that are set.
type WorkspaceChange struct {
	Name       Change[string] `json:"name,omitzero"`
	Tier       Change[string] `json:"tier,omitzero"`
	Suspended  Change[bool]   `json:"suspended,omitzero"`
	Embeddings Change[bool]   `json:"embeddings,omitzero"`
	// SearchEngine moves the search index in the background: SearchLocal or SearchOpenSearch.
	SearchEngine Change[string] `json:"searchEngine,omitzero"`
}

// WorkspaceQuery selects a page of the list of workspaces.
type WorkspaceQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

const workspaces = "/api/v1/admin/workspaces"

func workspacePath(id string) string { return workspaces + "/" + url.PathEscape(id) }

// CreateWorkspace creates a workspace. Every call about workspaces needs a credential of the operator workspace.
func (c *Client) CreateWorkspace(ctx context.Context, w NewWorkspace) (*WorkspaceRecord, error) {
	return result[WorkspaceRecord](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: workspaces, keyed: true}, w, out)
	})
}

// WorkspaceRecord reads one workspace.
func (c *Client) WorkspaceRecord(ctx context.Context, id string) (*WorkspaceRecord, error) {
	return result[WorkspaceRecord](func(out any) error { return c.get(ctx, workspacePath(id), nil, out) })
}

// ListWorkspaces reads one page of workspaces, newest first.
func (c *Client) ListWorkspaces(ctx context.Context, q WorkspaceQuery) (*Page[WorkspaceRecord], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[WorkspaceRecord]](func(out any) error { return c.get(ctx, workspaces, values, out) })
}

// EachWorkspace reads all workspaces, page by page.
func (c *Client) EachWorkspace(ctx context.Context, q WorkspaceQuery) iter.Seq2[WorkspaceRecord, error] {
	return each(q.Cursor, func(cursor string) (*Page[WorkspaceRecord], error) {
		q.Cursor = cursor
		return c.ListWorkspaces(ctx, q)
	})
}

// ChangeWorkspace changes a workspace; with ifRevision only if it still has that revision.
func (c *Client) ChangeWorkspace(ctx context.Context, id string, change WorkspaceChange, ifRevision *int64) (*WorkspaceRecord, error) {
	r := request{method: http.MethodPatch, path: workspacePath(id), ifMatch: ifRevision}
	return result[WorkspaceRecord](func(out any) error { return c.send(ctx, r, change, out) })
}
