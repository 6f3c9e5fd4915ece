// Package seal keeps the master key and the secrets it wraps.
package seal

import (
	"context"
	"time"
)

// The secrets an instance has. Each is 32 random bytes of its own, wrapped by the master key; none is derived from it,
// so that the master key can be rotated without killing API keys or cursors.
const (
	Pepper = "pepper" // hashes of API keys
	Cursor = "cursor" // MAC of list cursors
	Replay = "replay" // keyed hashes of idempotency keys and bodies
	Log    = "log"    // signs checkpoints of the audit log and hashes the persons in it
	Check  = "check"  // tells a wrong master key at start
)

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
	// Secrets reads all wrapped secrets.
	Secrets(ctx context.Context) ([]Wrapped, error)
	// AddSecrets adds secrets whose names are new; one that exists is a conflict and nothing is added.
	AddSecrets(ctx context.Context, w []Wrapped) error
}
