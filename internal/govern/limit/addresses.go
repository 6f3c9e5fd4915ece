package limit

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"unsafe"
)

// DefaultAddresses is how many addresses are remembered unless configuration says otherwise.
const DefaultAddresses = 65_536

// Addresses keeps the budgets of callers without a credential, in memory only: for each client address one for signing in
// and one for everything else, of the same size. It remembers a bounded number of them; beyond that the one that was
// silent longest is forgotten, and starts again from zero if it comes back. A cache that weighs frequency would rather forget
// newcomers, whose every request would then find a fresh budget.
type Addresses struct {
	allowance atomic.Pointer[Allowance]
	capacity  int // of each shard
	seed      maphash.Seed
	shards    []addressShard
}

// addressKey is an address without its zone: IPv4 in its IPv6 form, and of IPv6 only the /64, which is what one customer
// gets.
type addressKey struct {
	network [16]byte
	signIn  bool
}

// address is allocated by itself, so that a request still holds its own budget when the address is forgotten meanwhile.
type address struct {
	use          Use
	key          addressKey
	newer, older *address // neighbours in the ring
}

// addressShard keeps its addresses in a ring through root, ordered by their last request: root.older is the newest of them
// and root.newer the oldest.
type addressShard struct {
	mu                      sync.Mutex
	byKey                   map[addressKey]*address
	root                    address
	hits, misses, evictions int64
}

// shardAddresses is how many addresses a shard has at least, so that shards fill evenly.
const shardAddresses = 1024

// NewAddresses remembers at most capacity addresses, at least one, each with this allowance.
func NewAddresses(allowance Allowance, capacity int) *Addresses {
	count := 1
	for count < 64 && count*2*shardAddresses <= capacity {
		count *= 2
	}
	a := &Addresses{
		capacity: max(1, capacity/count),
		seed:     maphash.MakeSeed(),
		shards:   make([]addressShard, count),
	}
	a.Allow(allowance)
	for i := range a.shards {
		s := &a.shards[i]
		s.byKey = map[addressKey]*address{}
		s.root.newer, s.root.older = &s.root, &s.root
	}
	return a
}

// Allow gives every address another allowance from the next request on; what it used stays used.
func (a *Addresses) Allow(allowance Allowance) { a.allowance.Store(&allowance) }

// Account is the budget of an address; IPv6 addresses of one /64 share one. The zero Addr, of a caller without an
// address, has one too.
func (a *Addresses) Account(addr netip.Addr) Account { return a.account(keyOf(addr, false)) }

// SignIn is the budget that an address has for signing in. It is separate, so that users can sign in although other callers
// at a shared address send wrong keys.
func (a *Addresses) SignIn(addr netip.Addr) Account { return a.account(keyOf(addr, true)) }

func (a *Addresses) account(key addressKey) Account {
	s := &a.shards[maphash.Comparable(a.seed, key)%uint64(len(a.shards))]
	return Account{Use: s.find(key, a.capacity), Allowance: *a.allowance.Load(), Anonymous: true}
}

func keyOf(addr netip.Addr, signIn bool) addressKey {
	key := addressKey{signIn: signIn}
	if !addr.IsValid() {
		return key
	}
	key.network = addr.As16() // IPv4 as ::ffff:a.b.c.d, whether or not it came as such
	if addr.Is6() && !addr.Is4In6() {
		clear(key.network[8:])
	}
	return key
}

// subject names the counters. The network comes first, so that those for signing in have another name.
func (k *addressKey) subject() string {
	if k.signIn {
		return string(k.network[:]) + "sign-in"
	}
	return string(k.network[:])
}

// find returns the counters of an address, and makes it the newest.
func (s *addressShard) find(key addressKey, capacity int) *Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byKey[key]
	if known != nil {
		s.hits++
		known.leave()
	} else {
		s.misses++
		if len(s.byKey) >= capacity {
			oldest := s.root.newer
			oldest.leave()
			oldest.use.evict()
			delete(s.byKey, oldest.key)
			s.evictions++
		}
		known = &address{key: key}
		known.use.Init(key.subject())
		s.byKey[key] = known
	}
	known.enter(&s.root)
	return &known.use
}

func (e *address) leave() {
	e.newer.older, e.older.newer = e.older, e.newer
}

func (e *address) enter(root *address) {
	e.newer, e.older = root, root.older
	root.older.newer, root.older = e, e
}

// CacheStats are a cache's numbers; GET /api/v1/admin/cache-stats shows them.
type CacheStats struct {
	Entries, Capacity, Bytes int64
	Hits, Misses, Evictions  int64
}

// Stats reports on the remembered addresses.
func (a *Addresses) Stats() CacheStats {
	stats := CacheStats{Capacity: int64(a.capacity * len(a.shards))}
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		stats.Entries += int64(len(s.byKey))
		stats.Hits += s.hits
		stats.Misses += s.misses
		stats.Evictions += s.evictions
		s.mu.Unlock()
	}
	stats.Bytes = stats.Entries * addressBytes
	return stats
}

// addressBytes is what one address takes: itself, and its place in a map that is on average three quarters full.
const addressBytes = int64(unsafe.Sizeof(address{})) + int64(unsafe.Sizeof(addressKey{})+8)*4/3
