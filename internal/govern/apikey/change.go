package apikey

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Change is a change of a key. A nil field stays as it is.
type Change struct {
	Name                     *string
	Scopes                   *auth.Scopes
	Expiry                   *Expiry
	RateLimit                *RateLimit
	Quota                    *Quota // with both nil: no quota of its own; with one nil: see Service.Change
	KeepsDaily, KeepsMonthly bool   // that quota stays as it is, whatever Quota contains
	AllowedIPs               *[]netip.Prefix
	Metadata                 *map[string]any // merged by name: a nil value removes an entry, and a nil map removes all
	Disabled                 *bool
}

// Expiry is a new expiry of a key; nil is never.
type Expiry struct{ At *time.Time }

// RateLimit is a new minute limit of a key; nil is the tier's.
type RateLimit struct{ RequestsPerMinute *int64 }

// maxRevival is how long after its expiry a key can be given a later one.
const maxRevival = 30 * 24 * time.Hour

// Change changes a key. It returns problem.RevisionMismatch if ifRevision does not allow the stored revision,
// problem.Conflicts if the key is revoked or expired too long ago, and otherwise the errors of Create. p must have all
// scopes that the key has after the change. If a calling key changes the quotas and only one of them is left, the other
// is its own.
func (s *Service) Change(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, c Change) (*Record, error) {
	now := s.stamp()
	tier, err := s.tier(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := c.check(p, tier, now); err != nil {
		return nil, err
	}
	entry := audit.Entry{Action: audit.KeyChanged, Details: c.details()}
	return s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) (bool, error) {
		caller, err := s.callerKey(ctx, p, now)
		if err != nil {
			return false, err
		}
		before := *k
		revived, err := c.apply(k, p, caller, now)
		if err != nil {
			return false, err
		}
		c.addLimits(entry.Details, &before, k)
		if revived {
			err = s.checkRoom(ctx, k.WorkspaceID, tier.Keys, now)
		}
		return true, err
	})
}

// check validates what does not depend on the key.
func (c *Change) check(p *auth.Principal, tier *limit.Tier, now time.Time) error {
	if c.Scopes != nil {
		if err := checkNewScopes(p, *c.Scopes); err != nil {
			return err
		}
	}
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return err
		}
	}
	if c.Expiry != nil {
		if err := checkExpiry(c.Expiry.At, now); err != nil {
			return err
		}
	}
	if c.RateLimit != nil {
		if err := checkRateLimit(c.RateLimit.RequestsPerMinute, tier); err != nil {
			return err
		}
	}
	if c.Metadata != nil {
		return checkMetadata(mergedMetadata(nil, *c.Metadata))
	}
	return nil
}

// mergedMetadata applies a merge patch to metadata.
func mergedMetadata(old, change map[string]any) map[string]any {
	if change == nil {
		return nil
	}
	merged := map[string]any{}
	maps.Copy(merged, old)
	maps.Copy(merged, change)
	maps.DeleteFunc(merged, func(_ string, value any) bool { return value == nil })
	return merged
}

// apply changes k, or returns why k cannot be changed so. caller can be nil; if it is the same key as k, it is the key
// before the change. revived reports that k was expired and is not any more.
func (c *Change) apply(k *APIKey, p *auth.Principal, caller *APIKey, now time.Time) (revived bool, err error) {
	if k.RevokedAt != nil {
		return false, problem.Conflicts("This API key is revoked, so it cannot be changed.")
	}
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Scopes != nil {
		k.Scopes = *c.Scopes
	}
	if err := checkScopesHeld(p, k.Scopes); err != nil {
		return false, err
	}
	if c.Expiry != nil {
		expired := k.ExpiresAt != nil && !now.Before(*k.ExpiresAt)
		if expired && now.Sub(*k.ExpiresAt) > maxRevival {
			return false, problem.Conflicts("This API key expired more than 30 days ago. Create a new one.")
		}
		revived = expired
		k.ExpiresAt = c.Expiry.At
	}
	if c.RateLimit != nil {
		k.RequestsPerMinute = c.RateLimit.RequestsPerMinute
	}
	if c.Quota != nil {
		if !c.KeepsDaily {
			k.Daily = c.Quota.Daily
		}
		if !c.KeepsMonthly {
			k.Monthly = c.Quota.Monthly
		}
		if removed := k.Daily == nil && k.Monthly == nil; caller != nil && !removed {
			k.Daily, k.Monthly = firstNonNil(k.Daily, caller.Daily), firstNonNil(k.Monthly, caller.Monthly)
		}
	}
	if c.AllowedIPs != nil {
		k.AllowedIPs = canonical(*c.AllowedIPs)
	}
	if c.Metadata != nil {
		k.Metadata = mergedMetadata(k.Metadata, *c.Metadata)
		if err := checkMetadata(k.Metadata); err != nil {
			return false, err
		}
	}
	if c.Disabled != nil && *c.Disabled != (k.DisabledAt != nil) {
		k.DisabledAt = nil
		if *c.Disabled {
			k.DisabledAt = &now
		}
	}
	return revived, checkBounds(caller, k)
}

// checkRoom refuses to revive an expired key in a workspace that has as many keys as its tier allows. A nil
// maxKeys is no limit.
func (s *Service) checkRoom(ctx context.Context, workspaceID string, maxKeys *int64, now time.Time) error {
	if maxKeys == nil {
		return nil
	}
	n, err := s.o.Store.CountAPIKeys(ctx, workspaceID, now)
	if err != nil {
		return err
	}
	if limit.Full(maxKeys, n) {
		return problem.LimitReached("keys", fmt.Sprintf("This workspace already has the %d API keys that its tier allows. Revoked and expired keys do not count.", *maxKeys))
	}
	return nil
}

// details describes c for the audit log, without the limits: see addLimits.
func (c *Change) details() map[string]string {
	d := map[string]string{}
	for field, set := range map[string]bool{"name": c.Name != nil, "allowedIps": c.AllowedIPs != nil, "metadata": c.Metadata != nil} {
		if set {
			d[field] = audit.Changed
		}
	}
	if c.Scopes != nil {
		d["scopes"] = c.Scopes.String()
	}
	if c.Expiry != nil {
		d["expiresAt"] = ""
		if c.Expiry.At != nil {
			d["expiresAt"] = c.Expiry.At.Format(time.RFC3339)
		}
	}
	if c.Disabled != nil {
		d["disabled"] = strconv.FormatBool(*c.Disabled)
	}
	return d
}

// addLimits adds the limits that c changes to details, each with its number before: {"quota.daily":"500",
// "quota.daily.before":"none"}.
func (c *Change) addLimits(details map[string]string, before, after *APIKey) {
	was, is := before.limitTexts(), after.limitTexts()
	for field, set := range map[string]bool{
		rateField: c.RateLimit != nil, dailyField: c.Quota != nil && !c.KeepsDaily, monthlyField: c.Quota != nil && !c.KeepsMonthly,
	} {
		if set || is[field] != was[field] {
			details[field], details[field+".before"] = is[field], was[field]
		}
	}
}

// The fields of a key's own limits in the API, and what the audit log says instead of a number.
const (
	noLimit      = "none"
	rateField    = "rateLimit.requestsPerMinute"
	dailyField   = "quota.daily"
	monthlyField = "quota.monthly"
)

// limitTexts returns the key's own limits by field, for the audit log: numbers, or noLimit.
func (k *APIKey) limitTexts() map[string]string {
	texts := map[string]string{}
	for field, n := range map[string]*int64{rateField: k.RequestsPerMinute, dailyField: k.Daily, monthlyField: k.Monthly} {
		texts[field] = noLimit
		if n != nil {
			texts[field] = strconv.FormatInt(*n, 10)
		}
	}
	return texts
}
