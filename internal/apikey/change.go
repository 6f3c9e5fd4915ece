package apikey

import (
	"cmp"
	"net/netip"
	"strconv"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
)

// Draft is what the creator of a key chooses.
type Draft struct {
	Name              string
	Scopes            auth.Scopes
	ExpiresAt         *time.Time
	RequestsPerMinute *int64 // at least 1; nil: the creating key's own, else the tier's
	Quota             Quota
	SubjectID         string // empty: the creator's, if it is bound
	AgentID           string
	AllowedIPs        []netip.Prefix // nil: the creating key's
	Metadata          map[string]any
	WorkspaceID       string // empty: the creator's; only an operator can choose another
}

// Quota is a key's own limit per UTC day and month, each at least 1; nil is none.
type Quota struct{ Daily, Monthly *int64 }

// Change is a change of a key. A nil field stays as it is.
type Change struct {
	Name       *string
	Scopes     *auth.Scopes
	Expiry     *Expiry
	RateLimit  *RateLimit
	Quota      *Quota
	AllowedIPs *[]netip.Prefix
	Metadata   *map[string]any
	Disabled   *bool
}

// Expiry is a new expiry of a key; nil is never.
type Expiry struct{ At *time.Time }

// RateLimit is a new minute limit of a key; nil is the tier's.
type RateLimit struct{ RequestsPerMinute *int64 }

// maxRevival is how long after its expiry a key can be given a later one.
const maxRevival = 30 * 24 * time.Hour

// check validates d for its creator and the workspace's tier, and binds it like its creator.
func (d *Draft) check(p *auth.Principal, tier *limit.Tier, now time.Time) error {
	if err := checkScopes(p, d.Scopes); err != nil {
		return err
	}
	if err := checkName(d.Name); err != nil {
		return err
	}
	if err := checkExpiry(d.ExpiresAt, now); err != nil {
		return err
	}
	if err := checkRateLimit(d.RequestsPerMinute, tier); err != nil {
		return err
	}
	if err := checkMetadata(d.Metadata); err != nil {
		return err
	}
	if p.SubjectID != "" && d.SubjectID == "" {
		d.SubjectID = p.SubjectID
	}
	if p.AgentID != "" && d.AgentID == "" {
		d.AgentID = p.AgentID
	}
	if !bindingAllows(p.SubjectID, d.SubjectID) || !bindingAllows(p.AgentID, d.AgentID) {
		return problem.Missing()
	}
	return nil
}

// check validates what does not depend on the key.
func (c *Change) check(p *auth.Principal, tier *limit.Tier, now time.Time) error {
	if c.Scopes != nil {
		if err := checkScopes(p, *c.Scopes); err != nil {
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
		return checkMetadata(*c.Metadata)
	}
	return nil
}

// apply changes k, or returns why k cannot be changed so. own is the calling key, nil for users. revived reports that k
// was expired and is not any more.
func (c *Change) apply(k *APIKey, p *auth.Principal, own *APIKey, now time.Time) (revived bool, err error) {
	if k.RevokedAt != nil {
		return false, problem.Conflicts("This API key is revoked, so it cannot be changed.")
	}
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Scopes != nil {
		k.Scopes = *c.Scopes
	}
	if err := checkSubset(p, k.Scopes); err != nil {
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
		k.Daily, k.Monthly = c.Quota.Daily, c.Quota.Monthly
		if own != nil && *c.Quota != (Quota{}) { // a limit that is left out is the calling key's
			k.Daily, k.Monthly = cmp.Or(k.Daily, own.Daily), cmp.Or(k.Monthly, own.Monthly)
		}
	}
	if c.AllowedIPs != nil {
		k.AllowedIPs = canonical(*c.AllowedIPs)
	}
	if c.Metadata != nil {
		k.Metadata = *c.Metadata
	}
	if c.Disabled != nil && *c.Disabled != (k.DisabledAt != nil) {
		k.DisabledAt = nil
		if *c.Disabled {
			k.DisabledAt = &now
		}
	}
	return revived, checkWithin(own, k)
}

// details describes c for the audit log.
func (c *Change) details() map[string]string {
	d := map[string]string{}
	note := func(field string, set bool, value string) {
		if set {
			d[field] = value
		}
	}
	note("name", c.Name != nil, audit.Changed)
	note("rateLimit", c.RateLimit != nil, audit.Changed)
	note("quota", c.Quota != nil, audit.Changed)
	note("allowedIps", c.AllowedIPs != nil, audit.Changed)
	note("metadata", c.Metadata != nil, audit.Changed)
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
