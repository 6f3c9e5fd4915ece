package client

import (
	"context"
	"net/http"
)

// Inquiry is a question about a key that a caller sent to your service.
type Inquiry struct {
	Key            string   `json:"key"`
	RequiredScopes []string `json:"requiredScopes,omitempty"`
	Cost           int64    `json:"cost,omitempty"`    // 0: 1
	Consume        *bool    `json:"consume,omitempty"` // false: the request is not charged to the key
	IP             string   `json:"ip,omitempty"`      // the caller's address; required for a key with allowed addresses
}

// Verification is the result of verifying a key.
type Verification struct {
	Valid bool `json:"valid"`
	// Code is VALID, INVALID, EXPIRED, REVOKED, DISABLED, INSUFFICIENT_SCOPE, IP_NOT_ALLOWED, RATE_LIMITED or QUOTA_EXCEEDED.
	Code        string         `json:"code"`
	KeyID       *string        `json:"keyId"`
	WorkspaceID *string        `json:"workspaceId"`
	Name        *string        `json:"name"`
	Scopes      []string       `json:"scopes"`
	Metadata    map[string]any `json:"metadata"`
	RateLimit   *Budget        `json:"rateLimit"` // the lower one of the key's and its workspace's; nil for an invalid key
	Quota       *Budgets       `json:"quota"`
}

// VerifyAPIKey verifies a key of the client's own workspace, and charges the key if it is valid. A call that charges is not
// repeated if its first attempt can have had an effect, so that a key is never charged twice.
func (c *Client) VerifyAPIKey(ctx context.Context, q Inquiry) (*Verification, error) {
	return c.verify(ctx, request{method: http.MethodPost, path: "/api/v1/developer/verify"}, q)
}

func (c *Client) verify(ctx context.Context, r request, q Inquiry) (*Verification, error) {
	r.safe = q.Consume != nil && !*q.Consume
	return result[Verification](func(out any) error { return c.send(ctx, r, q, out) })
}
