package apikey

import (
	"net/netip"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// LiveKey is an API key that can be used now, with what a request needs of it.
type LiveKey struct {
	Principal auth.Principal
	Workspace *account.Entry
	Account   limit.Account // the key's own counters and limits; a minute limit that it inherits is the tier's
	Usage     usage.Owner

	RotateBy  int64 // Unix second at which the secret that was sent expires; 0: when the key does
	ExpiresAt int64 // Unix second at which the key expires; 0: never

	usageSecret usage.Secret
	allowedIPs  []netip.Prefix
	recorder    Recorder
}

// liveKey returns the key of e if it can be used now with the secret that has this hash.
func (d *Directory) liveKey(e *entry, hash [32]byte, now time.Time) (LiveKey, error) {
	s := e.secretWith(hash)
	if refusal := e.check(s, now); refusal != nil {
		if refusal == errRevoked {
			d.revokedUses.add(e.ID(), e.workspace.ID(), now)
		}
		return LiveKey{}, refusal
	}
	k := LiveKey{
		Principal: auth.Principal{
			Kind: auth.APIKey, WorkspaceID: e.workspace.ID(), Operator: e.workspace.Operator(), Key: e.id, Scopes: e.scopes,
		},
		Workspace: e.workspace, Account: limit.Account{Use: e.counters, Key: e}, Usage: e.usageOwner,
		RotateBy: s.validUntil / 1000, ExpiresAt: e.expiresAt / 1000,
		usageSecret: s.usageSecret, recorder: d.recorder,
	}
	if r := e.restrictions; r != nil {
		k.Principal.SubjectID, k.Principal.AgentID = r.subjectID, r.agentID
		k.Account.Allowance, k.allowedIPs = r.limits, r.allowedIPs
	}
	if k.Account.PerMinute == 0 {
		k.Account.PerMinute = e.workspace.Tier().RequestsPerMinute
	}
	return k, nil
}

// Anywhere reports whether the key can be used from every address, so that the client's need not be determined.
func (k *LiveKey) Anywhere() bool { return len(k.allowedIPs) == 0 }

// AllowedFrom reports whether the key can be used from a client address. A key with allowed addresses cannot be used from
// an unknown one, the zero Addr.
func (k *LiveKey) AllowedFrom(addr netip.Addr) bool {
	if k.Anywhere() {
		return true
	}
	addr = addr.Unmap().WithZone("")
	for _, p := range k.allowedIPs {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Touch records that the secret was used at now. It writes memory only; usage stores it each second.
func (k *LiveKey) Touch(now time.Time) { k.recorder.Touch(k.usageSecret, now) }
