// Package event tells other systems what happened: it stores events in the transactions that cause them and delivers them to
// the webhooks of a workspace.
//
// An event holds IDs, numbers, times and fixed words. It never holds text that a client stored, and never the ID of a subject.
//
// A change and its events commit together: Outbox adds one delivery for each webhook that wants an event to the transaction
// of the change. What one request does with many records is one event, also if it takes several transactions: see Bulk. A
// Deliverer sends them until the receiver accepts them, at least once and in no particular order.
package event

import (
	"context"
	"slices"
	"time"
)

// Type is what happened, noun first: api_key.created.
type Type string

// The types (docs/spec/events.md).
const (
	APIKeyCreated           Type = "api_key.created"
	APIKeyRotated           Type = "api_key.rotated"
	APIKeyRotationCompleted Type = "api_key.rotation_completed"
	APIKeyDisabled          Type = "api_key.disabled"
	APIKeyExpiring          Type = "api_key.expiring"
	APIKeyExpired           Type = "api_key.expired"
	APIKeyRevoked           Type = "api_key.revoked"
	RevokedAPIKeyUsed       Type = "api_key.revoked_key_used"
	QuotaThresholdReached   Type = "quota.threshold_reached"
	VersionDeprecated       Type = "version.deprecated"
	VersionSunsetExtended   Type = "version.sunset_extended"
	VersionSunset           Type = "version.sunset"
	VersionRetired          Type = "version.retired"
	MemoryCreated           Type = "memory.created"
	MemoryUpdated           Type = "memory.updated"
	MemoryForgotten         Type = "memory.forgotten"
	MemoryExpired           Type = "memory.expired"
	SubjectErased           Type = "subject.erased"
	MemoryImported          Type = "memory.imported"
	DocumentImported        Type = "document.imported"
	DocumentDeleted         Type = "document.deleted"
	WebhookDisabled         Type = "webhook.disabled"
)

// Ping is the type of a test delivery. No webhook subscribes to it.
const Ping Type = "webhook.ping"

// Types lists the types that a webhook can want. The position of a type is its bit in a stored TypeSet, so new types are added
// at the end.
var Types = []Type{
	APIKeyCreated, APIKeyRotated, APIKeyRotationCompleted, APIKeyDisabled, APIKeyExpiring, APIKeyExpired, APIKeyRevoked,
	RevokedAPIKeyUsed, QuotaThresholdReached, VersionDeprecated, VersionSunsetExtended, VersionSunset, VersionRetired,
	MemoryCreated, MemoryUpdated, MemoryForgotten, MemoryExpired, SubjectErased, MemoryImported, DocumentImported, DocumentDeleted,
	WebhookDisabled,
}

// TypeSet is a set of types.
type TypeSet uint64

// AllTypes contains every type that a webhook can want.
var AllTypes = TypeSet(1)<<len(Types) - 1

// SetOf returns the set of types. It ignores unknown ones.
func SetOf(types ...Type) (set TypeSet) {
	for _, t := range types {
		if i := slices.Index(Types, t); i >= 0 {
			set |= 1 << i
		}
	}
	return set
}

// Has reports whether the set contains t.
func (s TypeSet) Has(t Type) bool { return s&SetOf(t) != 0 }

// List returns the types of the set, in the order of Types.
func (s TypeSet) List() []Type {
	list := []Type{}
	for i, t := range Types {
		if s&(1<<i) != 0 {
			list = append(list, t)
		}
	}
	return list
}

// Event is something that happened.
type Event struct {
	Type Type
	// WorkspaceID is the workspace whose webhooks get the event. If it is empty, the event concerns the instance, and the
	// webhooks of all workspaces get it.
	WorkspaceID string
	At          time.Time // zero for now
	// Data is what the event is about, by field name in JSON: IDs, numbers, times and fixed words only. Values are strings,
	// integers, booleans, time.Time, lists of strings, or nil.
	Data map[string]any
	// Once names an event that several processes can record, or one process more than once: only the first event with the name
	// is stored. The name is kept for OnceKept. Empty: no such name.
	Once string

	part *part // of a Bulk
}

// OnceKept is how long the name of an Event.Once is kept.
const OnceKept = 400 * 24 * time.Hour

// Recorder records events. *Outbox implements it, and so do fakes in tests.
type Recorder interface {
	// Record adds e to the deliveries of the webhooks that want it. Inside a transaction, they are written when it commits;
	// outside of one, they are on stable storage when Record returns. An error fails the transaction. Without Once, Record only
	// reads memory if no webhook of the workspace wants the event.
	Record(ctx context.Context, e Event) error
}

// Discard is a Recorder that records nothing.
type Discard struct{}

// Record implements Recorder.
func (Discard) Record(context.Context, Event) error { return nil }
