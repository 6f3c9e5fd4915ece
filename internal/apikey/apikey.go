// Package apikey manages API keys and authenticates requests with them (docs/spec/decisions.md, section D).
//
// Service creates, changes, rotates, revokes and verifies keys. It works on an APIKey, the key as the database stores it,
// and returns a Record, the key as clients see it.
//
// Directory holds all keys that are not revoked in memory. Directory.Lookup turns the text that a request sends into a
// LiveKey. After each commit the Service puts the changed key into the Directory; Directory.Reload reads the keys that
// other processes have changed.
package apikey

import (
	"context"
	"net/netip"
	"time"

	"keepsake/internal/auth"
)

// APIKey is a credential for servers (§2.1). Its text is shown once, at creation, and stored only as a keyed hash.
type APIKey struct {
	ID          string // key_…
	WorkspaceID string
	Name        string
	Scopes      auth.Scopes
	ExpiresAt   *time.Time

	RequestsPerMinute *int64 // its own minute limit; nil: the tier's
	Daily, Monthly    *int64 // its own quotas; nil: only the workspace's apply

	SubjectID  string // the subject or agent that it is bound to, fixed at creation; usually empty
	AgentID    string
	AllowedIPs []netip.Prefix // empty: all addresses
	Metadata   map[string]any // string, float64 or bool

	CreatedAt    time.Time
	CreatedBy    string // ID of the user or key that created it, or "local"
	UpdatedAt    time.Time
	DisabledAt   *time.Time
	RevokedAt    *time.Time
	RevokeReason string
	Revision     int64

	Secrets []Secret // newest first; the second was replaced by a rotation and has perhaps expired
}

// Secret is one text of a key. A key has two while it is rotated.
type Secret struct {
	Hash       [32]byte // HMAC-SHA-256 of the text under the instance's pepper
	Hint       string   // the prefix and the first four characters, which tell keys apart
	CreatedAt  time.Time
	ValidUntil *time.Time // end of its grace period after a rotation; nil: with the key
	LastUsedAt *time.Time // set by Service; stores ignore it
}

// Filter selects keys for a list. Lists are newest first: by CreatedAt, then ID, both descending.
type Filter struct {
	State     State  // empty: all; as of Now
	CreatedBy string // empty: all
	SubjectID string // of bound keys; empty: all
	AgentID   string
	Now       time.Time
	Before    *Position // list only keys that come after this position; nil: from the start
	Limit     int
}

// Position is a place in a list of keys.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// Store stores keys. Methods that take a workspace return problem.Missing for a key of another workspace.
type Store interface {
	// CreateAPIKey adds k with its secrets. It returns LimitReached if the workspace already has max keys that are neither
	// revoked nor expired at k.CreatedAt; a max of 0 is no limit.
	CreateAPIKey(ctx context.Context, k *APIKey, max int64) error
	// APIKey reads one key with its secrets.
	APIKey(ctx context.Context, workspaceID, id string) (*APIKey, error)
	// ListAPIKeys reads at most f.Limit keys.
	ListAPIKeys(ctx context.Context, workspaceID string, f Filter) ([]APIKey, error)
	// UpdateAPIKey replaces the stored key and its secrets, except for what is fixed at creation. It returns
	// RevisionMismatch if the stored revision is not k.Revision-1. A secret that k does not have is deleted.
	UpdateAPIKey(ctx context.Context, k *APIKey) error
	// CountAPIKeys counts the workspace's keys that are neither revoked nor expired at now. Inside a transaction the count
	// stays right until the commit.
	CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error)
	// APIKeyBySecret returns the key that has a secret with this hash, whatever its state; Missing if there is none.
	APIKeyBySecret(ctx context.Context, hash [32]byte) (*APIKey, error)
}
