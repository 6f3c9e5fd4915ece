package client

import (
	"context"
	"net/url"
	"time"
)

// APIKeyUsage is the use of a key, in equal intervals.
type APIKeyUsage struct {
	KeyID    string       `json:"keyId"`
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Interval string       `json:"interval"` // minute, hour, day
	Points   []UsagePoint `json:"points"`   // one per interval, oldest first; the last interval has not ended
}

// UsagePoint is the use in one interval.
type UsagePoint struct {
	T         time.Time `json:"t"` // start of the interval
	Requests  int64     `json:"requests"`
	Errors    int64     `json:"errors"`    // 4xx except 429, and 5xx
	Throttled int64     `json:"throttled"` // 429
	Charged   int64     `json:"charged"`
}

// APIKeyLimits contains what a key and its workspace have left.
type APIKeyLimits struct {
	KeyID     string          `json:"keyId"`
	State     string          `json:"state"`
	At        time.Time       `json:"at"`
	RateLimit OwnRate         `json:"rateLimit"`
	Quota     *Budgets        `json:"quota"` // the key's own; nil if it has none
	Workspace WorkspaceLimits `json:"workspace"`
}

// OwnRate is a key's minute limit.
type OwnRate struct {
	Budget
	Inherited bool `json:"inherited"` // from the tier
}

// WorkspaceLimits contains the limits that a key shares with its workspace.
type WorkspaceLimits struct {
	Tier      string  `json:"tier"`
	RateLimit Budget  `json:"rateLimit"`
	Quota     Budgets `json:"quota"`
}

// Budgets are the budgets of the day and the month; nil if there is no such limit.
type Budgets struct {
	Daily   *Budget `json:"daily"`
	Monthly *Budget `json:"monthly"`
}

// Budget is a limit and what is left of it.
type Budget struct {
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	ResetsAt  time.Time `json:"resetsAt"`
}

// Self describes the client's own key.
type Self struct {
	APIKey
	Workspace Workspace `json:"workspace"`
}

// Workspace is the workspace of a key.
type Workspace struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Tier     string `json:"tier"`
	Operator bool   `json:"operator"` // its admins administer the whole instance
}

// APIKeyUsage reads a key's use in the window that ends now: 1h in minutes, 24h or 7d in hours, or 30d in days. An empty
// window is 24h.
func (c *Client) APIKeyUsage(ctx context.Context, id, window string) (*APIKeyUsage, error) {
	values := url.Values{}
	set(values, "window", window)
	return result[APIKeyUsage](func(out any) error { return c.get(ctx, apiKeyPath(id)+"/usage", values, out) })
}

// APIKeyLimits reads what a key has left. The call is not charged to the key.
func (c *Client) APIKeyLimits(ctx context.Context, id string) (*APIKeyLimits, error) {
	return result[APIKeyLimits](func(out any) error { return c.get(ctx, apiKeyPath(id)+"/limits", nil, out) })
}

// WhoAmI reads the client's own key and its permissions.
func (c *Client) WhoAmI(ctx context.Context) (*Self, error) {
	return result[Self](func(out any) error { return c.get(ctx, "/api/v1/developer/whoami", nil, out) })
}
