package apikey

import (
	"context"
	"net/netip"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// A principal can only create, change and rotate keys with scopes that it has itself. A key can also do this only within
// its own bounds: expiry, networks, quotas and minute limit. Otherwise a key with developer:manage could widen itself or
// create a wider key. Users have no bounds.

// checkNewScopes refuses no scopes, and scopes that p does not have.
func checkNewScopes(p *auth.Principal, scopes auth.Scopes) error {
	if scopes == auth.None {
		return problem.Validation("scopes", problem.TooShort, "An API key needs at least one scope.")
	}
	return checkScopesHeld(p, scopes)
}

// checkScopesHeld refuses scopes that p does not have.
func checkScopesHeld(p *auth.Principal, scopes auth.Scopes) error {
	if p.Scopes.Allows(scopes) {
		return nil
	}
	missing := problem.ScopeMissing((scopes &^ p.Scopes).Names()[0])
	missing.Details.Field = "scopes"
	return missing
}

// checkScopesAndBounds refuses a key with scopes that p does not have, or with wider bounds than p's own key.
func (s *Service) checkScopesAndBounds(ctx context.Context, p *auth.Principal, k *APIKey, now time.Time) error {
	caller, err := s.callerKey(ctx, p, now)
	if err != nil {
		return err
	}
	if err := checkScopesHeld(p, k.Scopes); err != nil {
		return err
	}
	return checkBounds(caller, k)
}

// checkBounds returns an error that names the first bound of k that is wider than caller's. caller can be nil.
func checkBounds(caller, k *APIKey) error {
	if caller == nil {
		return nil
	}
	for _, bound := range []struct {
		field string
		wider bool
	}{
		{"expiresAt", caller.ExpiresAt != nil && (k.ExpiresAt == nil || k.ExpiresAt.After(*caller.ExpiresAt))},
		{"rateLimit.requestsPerMinute", above(k.RequestsPerMinute, caller.RequestsPerMinute)},
		{"quota.daily", above(k.Daily, caller.Daily)},
		{"quota.monthly", above(k.Monthly, caller.Monthly)},
		{"allowedIps", !covers(caller.AllowedIPs, k.AllowedIPs)},
	} {
		if bound.wider {
			return problem.Exceeds(bound.field,
				"An API key cannot create, change or rotate a key with a wider "+bound.field+" than its own.")
		}
	}
	return nil
}

// above reports whether n is a wider limit than ceiling; nil is no limit.
func above(n, ceiling *int64) bool { return ceiling != nil && (n == nil || *n > *ceiling) }

// covers reports whether each of the networks lies in one of outer. No networks means all addresses. Both lists are
// canonical. Two adjacent networks of outer do not cover the network that they form together.
func covers(outer, networks []netip.Prefix) bool {
	if len(outer) == 0 {
		return true
	}
	if len(networks) == 0 {
		return false
	}
	for _, n := range networks {
		if !inOne(outer, n) {
			return false
		}
	}
	return true
}

func inOne(outer []netip.Prefix, n netip.Prefix) bool {
	for _, o := range outer {
		if o.Bits() <= n.Bits() && o.Contains(n.Addr()) {
			return true
		}
	}
	return false
}

// canonical returns prefixes as client addresses are compared with them: without host bits, and IPv4 networks in IPv6
// notation as IPv4 networks.
func canonical(prefixes []netip.Prefix) []netip.Prefix {
	list := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		list[i] = p.Masked()
	}
	return list
}
