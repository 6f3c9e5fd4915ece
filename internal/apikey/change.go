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

// Draft is what whoever creates a key chooses.
type Draft struct {
	Name              string
	Scopes            auth.Scopes
	ExpiresAt         *time.Time
	RequestsPerMinute *int64 // at least 1; nil: as the creating key, else it follows the tier's number
	Quota             Quota
	SubjectID         string // empty: what the creator is bound to, if it is
	AgentID           string
	AllowedIPs        []netip.Prefix // nil: what the creating key has
	Metadata          map[string]any
	WorkspaceID       string // empty: the creator's; only an operator names one
}

// Quota is a key's own allowance of a UTC day and month, each at least 1; nil is none besides the workspace's.
type Quota struct{ Daily, Monthly *int64 }

// Change is what a key may be given later; a nil member stays as it is, any other replaces the whole.
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

// Expiry is a new end of a key; nil is none.
type Expiry struct{ At *time.Time }

// RateLimit is a new minute limit of a key; nil follows the tier's number.
type RateLimit struct{ RequestsPerMinute *int64 }

// revivable is for how long after its end a key may be given a later one.
const revivable = 30 * 24 * time.Hour

// check judges d against its creator and the workspace's tier, and binds it as its creator is bound.
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
	if !alike(p.SubjectID, d.SubjectID) || !alike(p.AgentID, d.AgentID) {
		return problem.Missing()
	}
	return nil
}

// check judges what can be judged without the key.
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

// apply changes k, or says what about k forbids it. own is the key p is, nil for people. revived: an expired key is live
// again.
func (c *Change) apply(k *APIKey, p *auth.Principal, own *APIKey, now time.Time) (revived bool, err error) {
	if k.RevokedAt != nil {
		return false, problem.Conflicts("This API key is revoked, which is final.")
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
		if expired && now.Sub(*k.ExpiresAt) > revivable {
			return false, problem.Conflicts("This API key expired more than 30 days ago; make a new one.")
		}
		revived = expired
		k.ExpiresAt = c.Expiry.At
	}
	if c.RateLimit != nil {
		k.RequestsPerMinute = c.RateLimit.RequestsPerMinute
	}
	if c.Quota != nil {
		k.Daily, k.Monthly = c.Quota.Daily, c.Quota.Monthly
		if own != nil && *c.Quota != (Quota{}) { // half a quota leaves the other half to own
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

// details is what the audit log is told of c.
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
