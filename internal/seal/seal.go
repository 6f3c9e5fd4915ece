// Package seal keeps the master key, the secrets it wraps, and under those the data keys of subjects.
package seal

import (
	"context"
	"time"
)

// The secrets every instance has from its first start on. Each is 32 random bytes of its own, wrapped by the master key;
// none is derived from it, so that the master key can be rotated without killing API keys or cursors. Further ones are
// added while it runs (Secrets.Add, Secrets.Ensure).
const (
	Pepper = "pepper" // hashes of API keys
	Cursor = "cursor" // MAC of list cursors
	Replay = "replay" // keyed hashes of idempotency keys and bodies
	Log    = "log"    // authenticates the audit log, its checkpoints and journals, and hashes the persons in the log
	Check  = "check"  // tells a wrong master key at start
)

// Those that are ensured when they are first needed.
const (
	Refresh      = "refresh"  // hashes and successors of refresh tokens
	LookupSecret = "lookup"   // hashes by which subjects, agents and sessions are found (see Lookup)
	Bindings     = "bindings" // seals what API keys are bound to (see Binding)
	Receipts     = "receipts" // signs receipts of erasures
)

// JournalBegun begins the names of secrets that are there from the moment on at which a journal's lines are authenticated;
// the name of its process follows.
const JournalBegun = "journal/"

// Wrapped is a secret as it lies in the store: sealed by the master key, bound to its name and the instance.
type Wrapped struct {
	Name      string
	Sealed    []byte
	CreatedAt time.Time
}

// Store keeps wrapped secrets, apart from the data.
type Store interface {
	// InstanceID is the random id of the instance the secrets belong to. It never changes.
	InstanceID(ctx context.Context) (string, error)
	// Secrets reads all wrapped secrets, by name.
	Secrets(ctx context.Context) ([]Wrapped, error)
	// AddSecrets adds secrets whose names are new; one that exists is a conflict and nothing is added.
	AddSecrets(ctx context.Context, w []Wrapped) error
	// RemoveSecret removes one secret; one that is not there is problem.Missing, one that wraps data keys a conflict.
	RemoveSecret(ctx context.Context, name string) error
	// ResealSecrets replaces how secrets are sealed, all or none. The names must be those of all secrets there are:
	// anything else is a conflict, because it would leave some under another key.
	ResealSecrets(ctx context.Context, w []Wrapped) error
	// ScrubSecrets overwrites what the database's files still hold of secrets that were removed or resealed, as far as the
	// engine can. It does not belong inside a unit of work.
	ScrubSecrets(ctx context.Context) error
}
