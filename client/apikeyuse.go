package client

import (
	"context"
	"net/url"
	"time"
)

// APIKeyUsage is what a key was used for, in equal steps.
type APIKeyUsage struct {
	KeyID    string       `json:"keyId"`
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Interval string       `json:"interval"` // minute, hour, day
	Points   []UsagePoint `json:"points"`   // one for each interval, rising; the last one is still open
}

// UsagePoint is one step of it.
type UsagePoint struct {
	T         time.Time `json:"t"` // its start
	Requests  int64     `json:"requests"`
	Errors    int64     `json:"errors"`    // 4xx but 429, and 5xx
	Throttled int64     `json:"throttled"` // 429
	Charged   int64     `json:"charged"`
}

// APIKeyLimits is what a key and its workspace have left.
type APIKeyLimits struct {
	KeyID     string          `json:"keyId"`
	State     string          `json:"state"`
	At        time.Time       `json:"at"`
	RateLimit OwnRate         `json:"rateLimit"`
	Quota     *Budgets        `json:"quota"` // of its own; nil when it has none
	Workspace WorkspaceLimits `json:"workspace"`
}

// OwnRate is a key's minute limit.
type OwnRate struct {
	Budget
	Inherited bool `json:"inherited"` // it is the tier's
}

// WorkspaceLimits is what a key shares with the rest of its workspace.
type WorkspaceLimits struct {
	Tier      string  `json:"tier"`
	RateLimit Budget  `json:"rateLimit"`
	Quota     Budgets `json:"quota"`
}

// Budgets are those of a day and a month; nil where there is none of that kind.
type Budgets struct {
	Daily   *Budget `json:"daily"`
	Monthly *Budget `json:"monthly"`
}

// Budget is one allowance and what is left of it.
type Budget struct {
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	ResetsAt  time.Time `json:"resetsAt"`
}

// Self is who the client's own key is.
type Self struct {
	APIKey
	Workspace Workspace `json:"workspace"`
}

// Workspace is the tenant a key belongs to.
type Workspace struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Tier     string `json:"tier"`
	Operator bool   `json:"operator"` // its admins administer the whole instance
}

// APIKeyUsage reads a key's usage series over the window that ends now: 1h in minutes, 24h or 7d in hours, 30d in days;
// an empty one is 24h.
func (c *Client) APIKeyUsage(ctx context.Context, id, window string) (*APIKeyUsage, error) {
	values := url.Values{}
	set(values, "window", window)
	return result[APIKeyUsage](func(out any) error { return c.get(ctx, apiKeyPath(id)+"/usage", values, out) })
}

// APIKeyLimits reads what a key has left, without spending anything of it.
func (c *Client) APIKeyLimits(ctx context.Context, id string) (*APIKeyLimits, error) {
	return result[APIKeyLimits](func(out any) error { return c.get(ctx, apiKeyPath(id)+"/limits", nil, out) })
}

// WhoAmI reads who the client's own key is and what it may do.
func (c *Client) WhoAmI(ctx context.Context) (*Self, error) {
	return result[Self](func(out any) error { return c.get(ctx, "/api/v1/developer/whoami", nil, out) })
}
