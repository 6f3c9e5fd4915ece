package limit

import "net/netip"

// Addresses keeps the budgets of callers without a credential, one per client address.
type Addresses struct{}

// DefaultAddresses is how many addresses are remembered unless configuration says otherwise.
const DefaultAddresses = 65_536

// NewAddresses remembers at most capacity addresses, each with this allowance.
func NewAddresses(allowance Allowance, capacity int) *Addresses { return &Addresses{} }

// Account is the budget of an address; IPv6 addresses of one /64 share one.
func (a *Addresses) Account(addr netip.Addr) Account { return Account{} }

// CacheStats are a cache's numbers for the cache-stats answer.
type CacheStats struct {
	Entries, Capacity, Bytes int64
	Hits, Misses, Evictions  int64
}

// Stats reports on the remembered addresses.
func (a *Addresses) Stats() CacheStats { return CacheStats{} }
