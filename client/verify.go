package client

import (
	"context"
	"net/http"
)

// Inquiry asks about a key that a caller sent to a service of yours.
type Inquiry struct {
	Key            string   `json:"key"`
	RequiredScopes []string `json:"requiredScopes,omitempty"`
	Cost           int64    `json:"cost,omitempty"`    // 0: 1
	Consume        *bool    `json:"consume,omitempty"` // false: the request is not charged to the key
	IP             string   `json:"ip,omitempty"`      // where the key came from; a key with allowed addresses needs it
}

// Verification is what the server says of a key.
type Verification struct {
	Valid       bool           `json:"valid"`
	Code        string         `json:"code"` // VALID, INVALID, EXPIRED, REVOKED, DISABLED, INSUFFICIENT_SCOPE, IP_NOT_ALLOWED, RATE_LIMITED, QUOTA_EXCEEDED
	KeyID       *string        `json:"keyId"`
	WorkspaceID *string        `json:"workspaceId"`
	Name        *string        `json:"name"`
	Scopes      []string       `json:"scopes"`
	Metadata    map[string]any `json:"metadata"`
	RateLimit   *Budget        `json:"rateLimit"` // the tighter of the key's and its workspace's; nil for a key that may not be used
	Quota       *Budgets       `json:"quota"`
}

// VerifyAPIKey judges a key of the client's own workspace, and has it pay where the answer is valid. It is not repeated
// after an answer whose effect is not known, so that a key never pays twice.
func (c *Client) VerifyAPIKey(ctx context.Context, q Inquiry) (*Verification, error) {
	r := request{method: http.MethodPost, path: "/api/v1/developer/verify", once: true}
	return result[Verification](func(out any) error { return c.send(ctx, r, q, out) })
}
