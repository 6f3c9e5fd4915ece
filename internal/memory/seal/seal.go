// Package seal contains the master key, the secrets that it wraps, and the data keys of subjects that those wrap.
package seal

import (
	"context"
	"time"
)

// The secrets that every instance has from its first start on. Each is 32 independent random bytes, wrapped by the
// master key. None is derived from the master key, so that it can be rotated without invalidating API keys or cursors.
// More secrets are added later (Secrets.Add, Secrets.Ensure).
const (
	Pepper = "pepper" // hashes of API keys
	Cursor = "cursor" // MAC of list cursors
	Replay = "replay" // keyed hashes of idempotency keys and bodies
	Log    = "log"    // authenticates the audit log, its checkpoints and journals, and hashes the persons in the log
	Check  = "check"  // detects a wrong master key at start
)

// The secrets that are created when they are first needed.
const (
	Refresh      = "refresh"  // hashes and successors of refresh tokens
	LookupSecret = "lookup"   // hashes by which subjects, agents and sessions are found (see Lookup)
	Bindings     = "bindings" // seals what API keys are bound to (see Binding)
	Receipts     = "receipts" // signs receipts of erasures
	Rows         = "rows"     // IDs of imported rows without one
	Backend      = "backend"  // text that opens the backend listener; only if processes share the database
)

// JournalHead is the prefix of a secret's name that is followed by the name of a process, a slash and a number. The secret
// with the highest number authenticates a line of that process's journal: the journal contains it unless lines were lost.
const JournalHead = "journal-head/"

// Wrapped is a stored secret, encrypted with the master key and bound to its name and the instance.
type Wrapped struct {
	Name      string
	Sealed    []byte
	CreatedAt time.Time
}

// Store stores wrapped secrets, separate from the data.
type Store interface {
	// InstanceID is the random ID of the instance that the secrets belong to. It never changes.
	InstanceID(ctx context.Context) (string, error)
	// Secrets reads all wrapped secrets, ordered by name.
	Secrets(ctx context.Context) ([]Wrapped, error)
	// AddSecrets adds secrets with new names. If one exists, or a wrapping secret has a later one (see NumberedAfter), it is
	// a conflict and nothing is added.
	AddSecrets(ctx context.Context, w []Wrapped) error
	// RemoveSecret removes a secret. The error is problem.Missing if it does not exist and a conflict if it wraps data
	// keys.
	RemoveSecret(ctx context.Context, name string) error
	// ResealSecrets replaces the ciphertexts of all secrets or none. The names must be those of all stored secrets.
	// Anything else is a conflict, because it would leave some under another key.
	ResealSecrets(ctx context.Context, w []Wrapped) error
	// ScrubSecrets overwrites what the database's files still contain of removed or resealed secrets, as far as the
	// engine can. It must not run inside a transaction.
	ScrubSecrets(ctx context.Context) error
}
