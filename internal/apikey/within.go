package apikey

import (
	"cmp"
	"net/netip"

	"keepsake/internal/limit"
	"keepsake/internal/problem"
)

// A key makes and changes keys within its own bounds: its end, networks, quotas and minute limit. Otherwise whoever holds
// a key with developer:manage could remove its bounds, or make another key without them. People have no such bounds.

// inherit gives k, a key that creator makes, creator's bounds where the draft names none. Where creator's minute limit is
// above the tier's, because that was lowered or k is for another workspace, k gets the tier's number.
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

// checkWithin refuses a key with wider bounds than own, naming the first field that is wider; own may be nil.
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
				"An API key cannot create, change or rotate a key with wider bounds than its own ("+bound.field+").")
		}
	}
	return nil
}

// above reports whether n is a wider limit than own; nil is none.
func above(n, own *int64) bool { return own != nil && (n == nil || *n > *own) }

// covers reports whether each of the networks lies in one of own; none at all is everywhere. Both are canonical. Two
// neighbouring networks of own do not cover the one that they make up together.
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
