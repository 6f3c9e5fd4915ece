package event

import "time"

// Webhook is an address of a workspace that gets events.
type Webhook struct {
	ID          string
	WorkspaceID string
	Types       []Type // empty: all, also those of later releases
	Sealed      []byte // the URL and the secrets, encrypted: see target
	Description string

	DisabledAt     *time.Time
	DisabledReason DisabledReason
	FailingSince   *time.Time // the first failure after the last delivery that succeeded
	LastSuccessAt  *time.Time
	Failures       int        // attempts that failed since the last success
	PausedUntil    *time.Time // nothing is sent before, because of them
	Slow           bool       // the last response took SlowAfter or longer, or did not come in time
	EnabledAt      time.Time  // since when it is enabled, if it is

	CreatedAt time.Time
	CreatedBy string
	UpdatedAt time.Time
	Revision  int64
}

// Wants returns the types that the webhook gets.
func (w *Webhook) Wants() TypeSet {
	if len(w.Types) == 0 {
		return AllTypes
	}
	return SetOf(w.Types...)
}

// DisabledReason is why a webhook is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledByUser  DisabledReason = "requested"
	DisabledFailing DisabledReason = "failing" // nothing was delivered for as long as retries last
	DisabledGone    DisabledReason = "gone"    // the receiver answered 410
	// DisabledOverloaded: more deliveries waited than MaxPending, or than MaxLatePending and for longer than MaxLate.
	DisabledOverloaded DisabledReason = "overloaded"
)

// State is how far a delivery is.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed" // the last attempt failed
)

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID          string
	WebhookID   string
	WorkspaceID string
	EventID     string
	Type        Type
	Payload     string
	State       State
	CreatedAt   time.Time
	// PendingSince is when a delivery was created or last replayed.
	PendingSince time.Time

	// DueAt is the time of the next attempt of a pending delivery. While a process sends it, DueAt is the time at which another
	// one can take it over, and Claim identifies the process's attempt.
	DueAt *time.Time
	Claim string

	Tries      int        // attempts since the delivery was created or replayed
	TriesSince *time.Time // the first of them
	FinishedAt *time.Time
	Attempts   []Attempt // the newest ones, oldest first
}

// Attempt is one request of a delivery.
type Attempt struct {
	At       time.Time     `json:"at"`
	Status   int           `json:"status,omitempty"` // of the response; 0: there was none
	Error    string        `json:"error,omitempty"`  // empty: the attempt succeeded
	Duration time.Duration `json:"duration"`
}
