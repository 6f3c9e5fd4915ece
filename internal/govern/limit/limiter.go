// Package limit decides what a caller can still do in a minute, a day and a month.
//
// A [Use] holds the counters of one subject: a workspace, an API key or a client address. An [Account] is a Use with the
// limits that apply to it (its [Allowance]). A request is charged to the account of its workspace and, if it has one, to
// that of its key. That makes six budgets, each a counter in its current window with a limit. A charge takes from all of
// them or from none.
//
// There are two limiters. [Local] serves a process that counts alone. [Shared] serves several processes (peers) that share
// a database. It charges the same counters in the same way, but a counter then shows what all peers have used as far as
// this process knows, and a budget has a ceiling, which is at most its limit, up to which this process can go by itself.
//
// One process:
//
//   - window.go, use.go: windows, and counters that start again when theirs ends
//   - charge.go, verdict.go: a charge, and its result
//
// Several processes:
//
//   - store.go: the counter store, where peers add up what each of them has admitted
//   - sync.go: what a process knows of the others, reporting to the store and reading the sums
//   - ceiling.go: how far a process can go by itself, with and without the store, and what bounds follow
//   - shared.go: a charge, and the request that has to wait at a ceiling
//   - run.go: when to sync, losing the store, and finding it again
//
// Where limits come from: tier.go, table.go (the tiers that are in force) and addresses.go (callers without a credential).
//
// internal/govern/usage makes the days and months durable.
package limit

import "time"

// Limiter charges requests to accounts. All methods are safe for concurrent use.
type Limiter interface {
	// Charge takes cost units from every budget of both accounts, or from none. workspace, whose Use is never nil, is the
	// client's address (see Addresses) if there is no credential. key is the zero Account if the caller has no key; otherwise
	// it was initialized as a key of this workspace. A cost below 0 counts as 0.
	Charge(now time.Time, cost int64, workspace, key Account) (Verdict, Receipt)
	// Peek returns the verdict a charge of cost would get, and takes nothing.
	Peek(now time.Time, cost int64, workspace, key Account) Verdict
	// Mode says how limits are meant to be kept.
	Mode() Mode
	// Degraded reports whether the counter store, if there is one, cannot be reached.
	Degraded() bool
}

// Mode says how limits are kept; GET /api/v1/admin/cache-stats shows it.
type Mode string

// The modes.
const (
	ModeLocal  Mode = "local"  // one process counts everything
	ModeSplit  Mode = "split"  // each peer has its share of every limit
	ModeShared Mode = "shared" // the peers count together through a counter store; without it each has its share
)

// Allowance is what a subject may use. A number of 0 means that there is no such limit.
type Allowance struct {
	PerMinute int64
	Daily     int64
	Monthly   int64
}

// Allowance is what the tier gives to a workspace or, for the anonymous tier, to an address.
func (t Tier) Allowance() Allowance {
	return Allowance{PerMinute: t.RequestsPerMinute, Daily: t.Daily, Monthly: t.Monthly}
}

// Account is a subject's counters with its limits: all that a charge needs to know of it.
type Account struct {
	Use *Use
	Key Key // the account's API key; nil for a workspace and an address
	Allowance
	Anonymous bool // an address without a credential: the policy of every refusal is Anonymous
}

// Key is an API key. Only Shared asks for its ID, and only once, so a Use need not hold it.
type Key interface{ ID() string }
