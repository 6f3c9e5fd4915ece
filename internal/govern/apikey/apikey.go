// Package apikey manages API keys and authenticates requests with them (docs/spec/apikeys.md).
//
// The text of a key is what a client sends, kpsk_…. It is shown once and not stored. A Secret is what is stored of one
// text: its keyed hash. A key has two secrets while it is rotated, otherwise one. A rotation lets the older secret work for
// a grace period.
//
// A key is bound if it has a SubjectID or AgentID. The bounds of a key are its expiry, networks, quotas and minute limit: a
// key can only create, change and rotate keys within its own bounds (bounds.go).
//
// Read in this order:
//
//   - apikey.go and state.go: APIKey, the key as the database stores it, and the State that follows from it.
//   - text.go and hasher.go: texts and their hashes.
//   - directory.go, entry.go, index.go: Directory keeps in memory every key that is not revoked. Directory.Lookup turns
//     the text that a request sends into a LiveKey (livekey.go). If the key is not in memory, Directory.LookupStored
//     reads the database (stored.go). Directory.Reload reads the keys that other processes have changed (reload.go).
//   - service.go, then create.go, change.go, rotate.go and revoke.go: Service changes keys. It returns a Record, the key
//     as clients see it (record.go). After each commit it puts the changed key into the Directory.
//   - verify.go and judge.go: Service.Verify answers whether a key could make a request, for services that use API keys of
//     this instance as their own. LiveKey.Judge decides it.
//   - pending.go: a pending revocation is one that is in force in this process while the database does not accept writes.
package apikey

import (
	"context"
	"net/netip"
	"time"

	"keepsake/internal/govern/auth"
)

// APIKey is a credential for servers, as the database stores it.
type APIKey struct {
	ID          string // key_…
	WorkspaceID string
	Name        string
	Scopes      auth.Scopes
	ExpiresAt   *time.Time // nil: never

	RequestsPerMinute *int64 // its own minute limit; nil: the tier's
	Daily, Monthly    *int64 // its own quotas; nil: only the workspace's apply

	SubjectID  string // the subject or agent that it is bound to, fixed at creation; usually empty
	AgentID    string
	AllowedIPs []netip.Prefix // canonical; empty: all addresses
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

// Secret is what is stored of one text of a key.
type Secret struct {
	Hash       [32]byte // HMAC-SHA-256 of the text under the instance's pepper
	Hint       string   // the prefix and the first four random characters, so that people can tell keys apart
	CreatedAt  time.Time
	ValidUntil *time.Time // end of its grace period after a rotation; nil: it works as long as the key
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
	// CreateAPIKey adds k with its secrets. It returns problem.LimitReached if the workspace already has maxKeys keys that
	// are neither revoked nor expired at k.CreatedAt; a nil maxKeys is no limit.
	CreateAPIKey(ctx context.Context, k *APIKey, maxKeys *int64) error
	// APIKey reads one key with its secrets.
	APIKey(ctx context.Context, workspaceID, id string) (*APIKey, error)
	// ListAPIKeys reads at most f.Limit keys.
	ListAPIKeys(ctx context.Context, workspaceID string, f Filter) ([]APIKey, error)
	// UpdateAPIKey replaces the stored key and its secrets, except for ID, WorkspaceID, CreatedAt and CreatedBy. It deletes
	// secrets that k does not have. It returns problem.RevisionMismatch if the stored revision is not k.Revision-1.
	UpdateAPIKey(ctx context.Context, k *APIKey) error
	// CountAPIKeys counts the workspace's keys that are neither revoked nor expired at now. Inside a transaction, no other
	// transaction can add a key to the workspace before the commit.
	CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error)
	// APIKeyBySecret returns the key that has a secret with this hash, in any state, or problem.Missing.
	APIKeyBySecret(ctx context.Context, hash [32]byte) (*APIKey, error)
}
