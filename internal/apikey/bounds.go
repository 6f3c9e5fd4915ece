package apikey

import (
	"cmp"
	"net/netip"

	"keepsake/internal/limit"
	"keepsake/internal/problem"
)

// A key can only create, change and rotate keys within its own expiry, networks, quotas and minute limit. Otherwise a key
// with developer:manage could widen itself or create a wider key. Users have no such bounds.

// inherit gives k, which creator creates, the creator's bounds for those that the draft leaves out. It takes the tier's
// minute limit if the creator's is higher, because the tier was lowered or k belongs to another workspace.
func inherit(k *APIKey, d Draft, creator *APIKey, tier *limit.Tier) {
	k.ExpiresAt = cmp.Or(d.ExpiresAt, creator.ExpiresAt)
	k.RequestsPerMinute = cmp.Or(d.RequestsPerMinute, atMost(creator.RequestsPerMinute, tier.RequestsPerMinute))
	k.Daily = cmp.Or(d.Quota.Daily, creator.Daily)
	k.Monthly = cmp.Or(d.Quota.Monthly, creator.Monthly)
	if d.AllowedIPs == nil {
		k.AllowedIPs = creator.AllowedIPs
	}
}

func atMost(n *int64, max int64) *int64 {
	if n == nil || *n <= max {
		return n
	}
	return &max
}

// checkWithin returns an error that names the first bound of k that is wider than own's. own can be nil.
func checkWithin(own, k *APIKey) error {
	if own == nil {
		return nil
	}
	for _, bound := range []struct {
		field string
		wider bool
	}{
		{"expiresAt", own.ExpiresAt != nil && (k.ExpiresAt == nil || k.ExpiresAt.After(*own.ExpiresAt))},
		{"rateLimit.requestsPerMinute", above(k.RequestsPerMinute, own.RequestsPerMinute)},
		{"quota.daily", above(k.Daily, own.Daily)},
		{"quota.monthly", above(k.Monthly, own.Monthly)},
		{"allowedIps", !covers(own.AllowedIPs, k.AllowedIPs)},
	} {
		if bound.wider {
			return problem.Exceeds(bound.field,
				"An API key cannot create, change or rotate a key with a wider "+bound.field+" than its own.")
		}
	}
	return nil
}

// above reports whether n is a wider limit than own; nil is no limit.
func above(n, own *int64) bool { return own != nil && (n == nil || *n > *own) }

// covers reports whether each of the networks lies in one of own. No networks means all addresses. Both lists are
// canonical. Two adjacent networks of own do not cover the network that they form together.
func covers(own, networks []netip.Prefix) bool {
	if len(own) == 0 {
		return true
	}
	for _, n := range networks {
		if !inOne(own, n) {
			return false
		}
	}
	return len(networks) > 0
}

func inOne(own []netip.Prefix, n netip.Prefix) bool {
	for _, o := range own {
		if o.Bits() <= n.Bits() && o.Contains(n.Addr()) {
			return true
		}
	}
	return false
}
