package apikey

import (
	"slices"
	"time"
)

// State is computed from a key's timestamps whenever it is needed, and never stored (docs/spec/apikeys.md).
type State string

// The states, in order of precedence.
const (
	Revoked  State = "revoked"  // final
	Disabled State = "disabled" // until it is enabled again
	Expired  State = "expired"
	Rotating State = "rotating" // two secrets that can be used
	Active   State = "active"
)

// StateAt is the key's state at now.
func (k *APIKey) StateAt(now time.Time) State {
	switch {
	case k.RevokedAt != nil:
		return Revoked
	case k.DisabledAt != nil:
		return Disabled
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return Expired
	case len(k.liveSecrets(now)) > 1:
		return Rotating
	default:
		return Active
	}
}

// liveSecrets returns the secrets that have not expired, newest first.
func (k *APIKey) liveSecrets(now time.Time) []Secret {
	return slices.DeleteFunc(slices.Clone(k.Secrets), func(s Secret) bool { return !s.liveAt(now) })
}

func (s *Secret) liveAt(now time.Time) bool { return s.ValidUntil == nil || now.Before(*s.ValidUntil) }

// refusal is the problem of a key that cannot be used in this state, or nil. A process that has not heard of a change yet can still
// accept the key, but reads its new state.
func (s State) refusal() error {
	switch s {
	case Revoked:
		return errRevoked
	case Disabled:
		return errDisabled
	case Expired:
		return errExpired
	default:
		return nil
	}
}
