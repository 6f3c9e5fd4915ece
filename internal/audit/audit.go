// Package audit keeps the log of who did what: a chain of rows in which each holds the keyed hash of the one before.
//
// A row is written in the unit of work of what it tells of, so that neither is there without the other. It holds ids and
// words of our own, never text that somebody stored, and never a secret; where a person would be named it holds
// Log.Pseudonym of the name.
//
// A chain shows a row that was changed, taken out or moved, but not that its end was cut off: the rows before still
// fit together. Checkpoints tell where it ended, signed, in a file outside the database, and the last one lies sealed beside
// the instance's secrets, so that the file itself cannot be lost unnoticed.
package audit

import (
	"context"
	"net/netip"
	"time"
)

// Action is what was done, noun first: api_key.created.
type Action string

// The actions.
const (
	KeyCreated           Action = "api_key.created"
	KeyChanged           Action = "api_key.changed"
	KeyRotated           Action = "api_key.rotated"
	KeyRotationCompleted Action = "api_key.rotation_completed"
	KeyRevoked           Action = "api_key.revoked"

	UserCreated     Action = "user.created"
	UserChanged     Action = "user.changed"
	UserDeleted     Action = "user.deleted"
	PasswordChanged Action = "user.password_changed"

	SessionStarted      Action = "session.started"
	SessionRefused      Action = "session.refused" // a sign-in that failed
	SessionEnded        Action = "session.ended"
	RefreshTokenReused  Action = "session.token_reused"
	SigningKeyRotated   Action = "signing_key.rotated"
	MasterKeyRotated    Action = "master_key.rotated"
	WorkspaceCreated    Action = "workspace.created"
	WorkspaceChanged    Action = "workspace.changed"
	TierChanged         Action = "tier.changed"
	VersionReleased     Action = "version.released"
	VersionChanged      Action = "version.changed"
	VersionRehearsed    Action = "version.sunset_rehearsed"
	VersionRetired      Action = "version.retired"
	InstanceInitialised Action = "instance.initialised"
	InstanceRestored    Action = "instance.restored"
	BackupMade          Action = "backup.made"
)

// Outcome is how it ended.
type Outcome string

// The outcomes. The empty one stands for Done.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused"
	Failed  Outcome = "failed"
)

// Changed stands in Details for a value that the log does not hold: a name, an address, a password.
const Changed = "changed"

// Entry is something to be logged. Everything but Action may be empty.
type Entry struct {
	Action      Action
	WorkspaceID string // whose admins see it; empty: it concerns the instance, and only its operator sees it
	Actor       string // auth.Principal.Actor: a key, a user or "local"; empty: nobody who was known
	Target      string // the id of what it was done to, or a pseudonym
	Outcome     Outcome
	// Details are what was set, by the name of its field in the API: {"role":"admin","name":"changed"}. Values are ids,
	// numbers and words of ours, anything else is Changed.
	Details map[string]string
	Count   int64 // how often; 0 stands for once

	At        time.Time  // zero: now
	Address   netip.Addr // where it came from; zero: as the context says
	RequestID string     // empty: as the context says
}

// Recorder is what takes entries: a *Log, and in tests whatever they like.
type Recorder interface {
	// Record adds e to the log. Inside a unit of work e is written when the unit commits, and not at all if it does not;
	// outside it is on stable storage when Record returns. An error fails the unit: what cannot be logged must not happen.
	Record(ctx context.Context, e Entry) error
}

// Reader is what takes entries of what was only looked at: a *Log.
type Reader interface {
	// Read adds entries to the log before what they tell of is shown. An error means that it must not be shown.
	Read(ctx context.Context, entries ...Entry) error
}

// Source is where the request that ctx belongs to came from.
type Source struct {
	Address   netip.Addr
	RequestID string
}

type sourceKey struct{}

// SourceKey is the context key under which the context of a request answers with its Source.
var SourceKey any = sourceKey{}
