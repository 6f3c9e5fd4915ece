package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// Tier is a set of limits that workspaces are assigned to.
type Tier struct {
	Name string `json:"name"`
	TierNumbers
	Revision int64 `json:"revision"` // 1 until the configured numbers are changed
}

// TierNumbers are the limits of a tier. Rates always apply. Of the counts, nil means no limit, and 0 means none.
type TierNumbers struct {
	RequestsPerMinute int64 `json:"requestsPerMinute"`
	Daily             int64 `json:"daily"`
	Monthly           int64 `json:"monthly"`

	Keys      *int64 `json:"keys"`
	Users     *int64 `json:"users"`
	Documents *int64 `json:"documents"`
	Memories  *int64 `json:"memories"`
	Storage   *int64 `json:"storage"` // stored bytes
}

// TierQuery selects a page of the list of tiers.
type TierQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

const tiers = "/api/v1/admin/tiers"

// ListTiers reads one page of tiers. Every call about tiers needs a credential of the operator workspace.
func (c *Client) ListTiers(ctx context.Context, q TierQuery) (*Page[Tier], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Tier]](func(out any) error { return c.get(ctx, tiers, values, out) })
}

// EachTier reads all tiers, page by page.
func (c *Client) EachTier(ctx context.Context, q TierQuery) iter.Seq2[Tier, error] {
	return each(q.Cursor, func(cursor string) (*Page[Tier], error) {
		q.Cursor = cursor
		return c.ListTiers(ctx, q)
	})
}

// ChangeTier changes the limits of a tier, from the next request on; with ifRevision, only if it still has that revision.
func (c *Client) ChangeTier(ctx context.Context, name string, numbers TierNumbers, ifRevision *int64) (*Tier, error) {
	r := request{method: http.MethodPut, path: tiers + "/" + url.PathEscape(name), ifMatch: ifRevision}
	return result[Tier](func(out any) error { return c.send(ctx, r, numbers, out) })
}
