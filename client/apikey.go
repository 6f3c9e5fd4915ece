package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// APIKey is the record of an API key, without the text of the key.
type APIKey struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Hint         string         `json:"hint"` // the first characters of the key
	Scopes       []string       `json:"scopes"`
	State        string         `json:"state"` // active, rotating, expired, disabled, revoked
	ExpiresAt    *time.Time     `json:"expiresAt"`
	RateLimit    RateLimit      `json:"rateLimit"`
	Quota        *Quota         `json:"quota"`
	SubjectID    *string        `json:"subjectId"`
	AgentID      *string        `json:"agentId"`
	AllowedIPs   []string       `json:"allowedIps"`
	Metadata     map[string]any `json:"metadata"` // string, json.Number or bool
	CreatedAt    time.Time      `json:"createdAt"`
	CreatedBy    string         `json:"createdBy"`
	UpdatedAt    time.Time      `json:"updatedAt"`
	LastUsedAt   *time.Time     `json:"lastUsedAt"`
	Secrets      []Secret       `json:"secrets"`
	RevokedAt    *time.Time     `json:"revokedAt"`
	RevokeReason *string        `json:"revokeReason"`
	Revision     int64          `json:"revision"`
}

// RateLimit is a key's own minute limit.
type RateLimit struct {
	RequestsPerMinute int64 `json:"requestsPerMinute"`
	Inherited         bool  `json:"inherited"` // from the tier
}

// Quota is a key's own daily and monthly quota. If it is nil, only the workspace's quota applies.
type Quota struct {
	Daily   *int64 `json:"daily"`
	Monthly *int64 `json:"monthly"`
}

// Secret describes one secret of a key, without its text.
type Secret struct {
	Hint       string     `json:"hint"`
	CreatedAt  time.Time  `json:"createdAt"`
	ValidUntil *time.Time `json:"validUntil"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// CreatedAPIKey is a new key with its text, which cannot be read again. Key is empty if the first response was lost and the
// call was repeated. Then revoke the key and create another.
type CreatedAPIKey struct {
	APIKey
	Key string `json:"key"`
}

// NewAPIKey describes a key to create. Name and at least one scope are required. A restriction that is left out is copied
// from the calling key, if there is one.
type NewAPIKey struct {
	Name       string         `json:"name"`
	Scopes     []string       `json:"scopes"`
	ExpiresAt  *time.Time     `json:"expiresAt,omitempty"`
	RateLimit  *NewRateLimit  `json:"rateLimit,omitempty"`
	Quota      *Quota         `json:"quota,omitempty"`
	SubjectID  string         `json:"subjectId,omitempty"`
	AgentID    string         `json:"agentId,omitempty"`
	AllowedIPs []string       `json:"allowedIps,omitempty"` // CIDR
	Metadata   map[string]any `json:"metadata,omitempty"`

	WorkspaceID string `json:"workspaceId,omitempty"` // the key's workspace; only operators can set it
}

// NewRateLimit is a minute limit of a new or changed key. The tier's limit is its maximum.
type NewRateLimit struct {
	RequestsPerMinute int64 `json:"requestsPerMinute"`
}

// APIKeyQuery selects keys, and a page of their list.
type APIKeyQuery struct {
	State     string // empty: all
	CreatedBy string // empty: all
	Limit     int    // 0: the server's default
	Cursor    string
}

// APIKeyChange changes the fields that are set: Name: client.To("crawler"), ExpiresAt: client.Cleared[time.Time]().
type APIKeyChange struct {
	Name       Change[string]         `json:"name,omitzero"`
	Scopes     Change[[]string]       `json:"scopes,omitzero"`
	ExpiresAt  Change[time.Time]      `json:"expiresAt,omitzero"`
	RateLimit  Change[NewRateLimit]   `json:"rateLimit,omitzero"` // cleared: the tier's limit applies
	Quota      Change[Quota]          `json:"quota,omitzero"`
	AllowedIPs Change[[]string]       `json:"allowedIps,omitzero"`
	Metadata   Change[map[string]any] `json:"metadata,omitzero"`
	Disabled   Change[bool]           `json:"disabled,omitzero"`
}

const apiKeys = "/api/v1/developer/api-keys"

func apiKeyPath(id string) string { return apiKeys + "/" + url.PathEscape(id) }

// CreateAPIKey creates a key.
func (c *Client) CreateAPIKey(ctx context.Context, k NewAPIKey) (*CreatedAPIKey, error) {
	return result[CreatedAPIKey](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: apiKeys, keyed: true}, k, out)
	})
}

// APIKey reads one key.
func (c *Client) APIKey(ctx context.Context, id string) (*APIKey, error) {
	return result[APIKey](func(out any) error { return c.get(ctx, apiKeyPath(id), nil, out) })
}

// ListAPIKeys reads one page of keys, newest first.
func (c *Client) ListAPIKeys(ctx context.Context, q APIKeyQuery) (*Page[APIKey], error) {
	values := url.Values{}
	set(values, "state", q.State)
	set(values, "createdBy", q.CreatedBy)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[APIKey]](func(out any) error { return c.get(ctx, apiKeys, values, out) })
}

// EachAPIKey reads all keys that q selects, page by page.
func (c *Client) EachAPIKey(ctx context.Context, q APIKeyQuery) iter.Seq2[APIKey, error] {
	return each(q.Cursor, func(cursor string) (*Page[APIKey], error) {
		q.Cursor = cursor
		return c.ListAPIKeys(ctx, q)
	})
}

// RevokeAPIKey revokes a key permanently. Revoking it again changes nothing. An instance whose disk is full also refuses the
// key from then on, and stores the revocation later.
func (c *Client) RevokeAPIKey(ctx context.Context, id, reason string) (*APIKey, error) {
	body := struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	r := request{method: http.MethodPost, path: apiKeyPath(id) + "/revoke", keyed: true}
	return result[APIKey](func(out any) error { return c.send(ctx, r, body, out) })
}

// Rotation contains the options of RotateAPIKey. With the zero value, the old secret works for another day.
type Rotation struct {
	GraceSeconds *int64 `json:"graceSeconds,omitempty"` // how long the old secret still works, up to 30 days; nil: one day
	Force        bool   `json:"force,omitempty"`        // rotate during a rotation, too; its older secret ends at once
}

// RotateAPIKey gives a key a new secret; with ifRevision, only if the key still has that revision. The new text cannot be
// read again.
func (c *Client) RotateAPIKey(ctx context.Context, id string, rotation Rotation, ifRevision *int64) (*CreatedAPIKey, error) {
	r := request{method: http.MethodPost, path: apiKeyPath(id) + "/rotate", ifMatch: ifRevision, keyed: true}
	return result[CreatedAPIKey](func(out any) error { return c.send(ctx, r, rotation, out) })
}

// CompleteAPIKeyRotation ends the older secret of a key now. If the key has only one secret, nothing changes.
func (c *Client) CompleteAPIKeyRotation(ctx context.Context, id string) (*APIKey, error) {
	r := request{method: http.MethodPost, path: apiKeyPath(id) + "/complete-rotation", keyed: true}
	return result[APIKey](func(out any) error { return c.send(ctx, r, nil, out) })
}

// DeleteAPIKey revokes a key permanently; with ifRevision, only if it still has that revision.
func (c *Client) DeleteAPIKey(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: apiKeyPath(id), ifMatch: ifRevision}, nil)
}

// ChangeAPIKey changes a key; with ifRevision only if it still has that revision.
func (c *Client) ChangeAPIKey(ctx context.Context, id string, change APIKeyChange, ifRevision *int64) (*APIKey, error) {
	r := request{method: http.MethodPatch, path: apiKeyPath(id), ifMatch: ifRevision}
	return result[APIKey](func(out any) error { return c.send(ctx, r, change, out) })
}
