package apikey

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// entry is one API key in memory. It is immutable: a changed key gets a new entry, so a request sees one revision of a
// key and never parts of two. All entries of a key share its counters and its usage handles.
type entry struct {
	id         id.UUID
	workspace  *account.Entry
	counters   *limit.Use
	usageOwner usage.Owner
	scopes     auth.Scopes
	disabled   bool
	revoked    bool
	revision   int64
	expiresAt  int64 // Unix milliseconds; 0: never

	current  secret
	previous *secret // the one that a rotation replaced, for its grace period; usually nil

	restrictions *restrictions // nil for most keys
}

// secret is a Secret in memory.
type secret struct {
	hash        [32]byte
	validUntil  int64 // Unix milliseconds; 0: as long as the key
	usageSecret usage.Secret
}

// restrictions are the limits, binding and networks that only few keys have.
type restrictions struct {
	limits     limit.Allowance // 0: none of its own
	subjectID  string
	agentID    string
	allowedIPs []netip.Prefix
}

// newEntry returns the entry of k, which shares the counters and handles of old, the entry that it replaces. old can be
// nil.
func (d *Directory) newEntry(key id.UUID, k *APIKey, old *entry) (*entry, error) {
	workspace, ok := d.accounts.Entry(k.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("API key %s: workspace %s does not exist", k.ID, k.WorkspaceID)
	}
	if n := len(k.Secrets); n != 1 && n != 2 {
		return nil, fmt.Errorf("API key %s: %d secrets, want 1 or 2", k.ID, n)
	}
	e := &entry{
		id: key, workspace: workspace, scopes: k.Scopes, revision: k.Revision, expiresAt: milliseconds(k.ExpiresAt),
		disabled: k.DisabledAt != nil, revoked: k.RevokedAt != nil || d.denied[key],
	}
	if old != nil {
		e.counters, e.usageOwner = old.counters, old.usageOwner
	} else {
		e.counters, e.usageOwner = new(limit.Use), d.recorder.Owner(k.WorkspaceID, k.ID)
		e.counters.InitKey(k.ID, workspace.Account().Use)
	}
	e.current = d.newSecret(e.usageOwner, &k.Secrets[0], old)
	if len(k.Secrets) == 2 {
		previous := d.newSecret(e.usageOwner, &k.Secrets[1], old)
		e.previous = &previous
	}
	if k.RequestsPerMinute != nil || k.Daily != nil || k.Monthly != nil || k.SubjectID != "" || k.AgentID != "" || len(k.AllowedIPs) > 0 {
		e.restrictions = &restrictions{
			limits:    limit.Allowance{PerMinute: orZero(k.RequestsPerMinute), Daily: orZero(k.Daily), Monthly: orZero(k.Monthly)},
			subjectID: k.SubjectID, agentID: k.AgentID, allowedIPs: slices.Clone(k.AllowedIPs),
		}
	}
	return e, nil
}

func (d *Directory) newSecret(o usage.Owner, s *Secret, old *entry) secret {
	next := secret{hash: s.Hash, validUntil: milliseconds(s.ValidUntil)}
	if known := old.secretWith(s.Hash); known != nil {
		next.usageSecret = known.usageSecret
	} else {
		next.usageSecret = d.recorder.Secret(o, s.Hint)
	}
	return next
}

// ID returns the key's ID. It implements limit.Key.
func (e *entry) ID() string { return id.Format(id.APIKey, e.id) }

// secretWith returns the secret with this hash, nil if the key has none. e can be nil.
func (e *entry) secretWith(hash [32]byte) *secret {
	switch {
	case e == nil:
		return nil
	case e.current.hash == hash:
		return &e.current
	case e.previous != nil && e.previous.hash == hash:
		return e.previous
	default:
		return nil
	}
}

// check says why the key cannot be used with s now; nil if it can. The state of a key is shown only to a caller whose
// secret has not expired.
func (e *entry) check(s *secret, now time.Time) *problem.Problem {
	ms := now.UnixMilli()
	switch {
	case s.validUntil != 0 && ms >= s.validUntil:
		return ErrInvalid
	case e.revoked:
		return errRevoked
	case e.disabled:
		return errDisabled
	case e.expiresAt != 0 && ms >= e.expiresAt:
		return errExpired
	default:
		return nil
	}
}

// milliseconds is t in Unix milliseconds, 0 for nil.
func milliseconds(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
