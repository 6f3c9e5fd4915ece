// Package apikey makes API keys, keeps their states and recognises them.
package apikey

import (
	"context"
	"net/netip"
	"time"

	"keepsake/internal/auth"
)

// APIKey is a credential for servers (§2.1). Its text is shown once, at creation, and is kept only as a keyed hash.
type APIKey struct {
	ID          string // key_…
	WorkspaceID string
	Name        string
	Scopes      auth.Scopes
	ExpiresAt   *time.Time

	RequestsPerMinute *int64 // its own minute limit; nil follows the tier's number
	Daily, Monthly    *int64 // quotas of its own; nil for none besides the workspace's

	SubjectID  string // bound to one subject or agent, fixed at creation; empty when not
	AgentID    string
	AllowedIPs []netip.Prefix // empty: from anywhere
	Metadata   map[string]any // string, float64 or bool

	CreatedAt    time.Time
	CreatedBy    string // id of the user or key that made it, or "local"
	UpdatedAt    time.Time
	DisabledAt   *time.Time
	RevokedAt    *time.Time
	RevokeReason string
	Revision     int64

	Secrets []Secret // newest first; the second one is of a rotation, and may be over
}

// Secret is one text under which a key is known.
type Secret struct {
	Hash       [32]byte // HMAC-SHA-256 of the text under the instance's pepper
	Hint       string   // the prefix and the first four characters, to tell keys apart by eye
	CreatedAt  time.Time
	ValidUntil *time.Time // end of the grace after a rotation; nil: as long as the key
	LastUsedAt *time.Time // filled in by Service; a store neither keeps nor reads it here
}

// Filter narrows a list of keys. Lists are newest first: by CreatedAt, then ID, both falling.
type Filter struct {
	State     State  // empty: all; as of Now
	CreatedBy string // empty: all
	SubjectID string // what a bound key may see; empty: all
	AgentID   string
	Now       time.Time
	Before    *Position // continue after this one
	Limit     int
}

// Position is a place in a list of keys.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// Store keeps keys. Every method that takes a workspace answers problem.Missing for a key of another one.
type Store interface {
	// CreateAPIKey adds k with its secrets, unless the workspace has max keys that are neither revoked nor expired as of
	// k.CreatedAt (0: no limit): then it is LimitReached and nothing is written.
	CreateAPIKey(ctx context.Context, k *APIKey, max int64) error
	// APIKey reads one key with its secrets.
	APIKey(ctx context.Context, workspaceID, id string) (*APIKey, error)
	// ListAPIKeys reads at most f.Limit keys.
	ListAPIKeys(ctx context.Context, workspaceID string, f Filter) ([]APIKey, error)
	// UpdateAPIKey replaces everything of k but identity and creation, its secrets included, if the stored revision is
	// still k.Revision-1; otherwise RevisionMismatch. A secret that k has no more is gone for good.
	UpdateAPIKey(ctx context.Context, k *APIKey) error
	// CountAPIKeys counts the workspace's keys that are neither revoked nor expired at now. Called inside a unit of work,
	// the count stands until that commits.
	CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error)
	// APIKeyBySecret returns the key that has a secret with this hash, whatever its state; Missing if there is none.
	APIKeyBySecret(ctx context.Context, hash [32]byte) (*APIKey, error)
}
