// Package audit stores the audit log: chains of rows, each with a keyed hash of itself and of the row before.
//
// A row is written in the transaction of the change that it records, so that neither exists without the other. It holds IDs
// and fixed words, never text that a client stored and never a secret. In place of a person's name it holds Log.Pseudonym.
//
// A chain shows a row that was changed, removed or moved, but not that its end was cut off: the rows before still fit
// together. So signed checkpoints in a file outside the database say where the chains ended, and the last one is sealed in a
// record beside the instance's secrets, which shows that the file itself was lost.
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

	UserCreated      Action = "user.created"
	UserChanged      Action = "user.changed"
	UserDeleted      Action = "user.deleted"
	PasswordChanged  Action = "user.password_changed"
	SetupLinkCreated Action = "user.setup_link_created"

	SessionStarted       Action = "session.started"
	SessionRefused       Action = "session.refused" // a sign-in that failed
	SessionEnded         Action = "session.ended"
	RefreshTokenReused   Action = "session.token_reused"
	SigningKeyRotated    Action = "signing_key.rotated"
	MasterKeyRotated     Action = "master_key.rotated"
	WorkspaceCreated     Action = "workspace.created"
	WorkspaceChanged     Action = "workspace.changed"
	TierChanged          Action = "tier.changed"
	VersionReleased      Action = "version.released"
	VersionChanged       Action = "version.changed"
	VersionRehearsed     Action = "version.sunset_rehearsed"
	VersionDeprecated    Action = "version.deprecated"
	VersionChecked       Action = "version.traffic_checked"
	VersionSunset        Action = "version.sunset"
	VersionRetired       Action = "version.retired"
	WebhookCreated       Action = "webhook.created"
	WebhookChanged       Action = "webhook.changed"
	WebhookDeleted       Action = "webhook.deleted"
	WebhookRotated       Action = "webhook.secret_rotated"
	WebhookDisabled      Action = "webhook.disabled" // because nothing could be delivered
	CollectionChanged    Action = "collection.settings_changed"
	CollectionDeleted    Action = "collection.settings_deleted"
	BackendSecretRefused Action = "backend_secret.refused" // a wrong secret on the backend listener
	InstanceInitialised  Action = "instance.initialised"
	InstanceRestored     Action = "instance.restored"
	BackupMade           Action = "backup.made"
)

// Outcome is the result of an action.
type Outcome string

// The outcomes. The empty one means Done.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused"
	Failed  Outcome = "failed"
)

// Changed replaces a value in Details that the log must not contain: a name, an address, a password.
const Changed = "changed"

// Entry is an entry to log. Only Action is required.
type Entry struct {
	Action      Action
	WorkspaceID string // whose admins see it; empty if it concerns the instance, and only its operator sees it
	Actor       string // auth.Principal.Actor: a key, a user or "local"; empty: unknown
	Target      string // the ID of the object, or a pseudonym
	Outcome     Outcome
	// Details are the values set, by field name in the API: {"role":"admin","name":"changed"}. Values are IDs, numbers
	// and fixed words; anything else is Changed.
	Details map[string]string
	Count   int64 // how often; 0 means once

	At        time.Time  // zero for now
	Address   netip.Addr // of the client; zero for that of the context
	RequestID string     // empty for that of the context
}

// Recorder records entries. *Log implements it, and so do fakes in tests.
type Recorder interface {
	// Record adds e to the log. Inside a transaction, e is written when it commits; outside of one, e is on stable storage when
	// Record returns. An error fails the transaction: a change that cannot be logged must not happen.
	Record(ctx context.Context, e Entry) error
}

// Reader records entries of reads. *Log implements it.
type Reader interface {
	// Read adds entries to the log before the response is sent. After an error, nothing may be sent.
	Read(ctx context.Context, entries ...Entry) error
}

// Source is the origin of the request that ctx belongs to.
type Source struct {
	Address   netip.Addr
	RequestID string
}

type sourceKey struct{}

// SourceKey is the context key of a request's Source.
var SourceKey any = sourceKey{}
