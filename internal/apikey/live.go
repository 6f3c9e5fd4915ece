package apikey

import (
	"net/netip"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Live is a key as the way of a request needs it, with what hangs on it. It is a value: recognising a key allocates
// nothing.
type Live struct {
	Principal auth.Principal
	Workspace *account.Entry
	Key       limit.Account // the key's own counters; an inherited minute limit is the tier's number
	Usage     usage.Owner

	RotateBy  int64 // Unix second at which the secret that was used dies, 0 when it lives as long as the key
	ExpiresAt int64 // Unix second at which the key expires, 0 for never

	secret   usage.Secret
	bounds   *bounds // nil for most keys
	recorder Recorder
}

// Anywhere reports whether the key may be used from every address, so that nobody needs to find out whose this one is.
func (l *Live) Anywhere() bool { return l.bounds == nil || len(l.bounds.allowedIPs) == 0 }

// AllowedFrom reports whether the key may be used from a client address. A key without allowed addresses may be used
// from anywhere; one with them not from an address nobody knows.
func (l *Live) AllowedFrom(addr netip.Addr) bool {
	if l.Anywhere() {
		return true
	}
	addr = addr.Unmap().WithZone("")
	for _, p := range l.bounds.allowedIPs {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Touch notes that the secret was used at now. It writes memory only; usage makes it durable each second.
func (l *Live) Touch(now time.Time) { l.recorder.Touch(l.secret, now) }
