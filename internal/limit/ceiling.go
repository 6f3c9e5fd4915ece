package limit

import (
	"math"
	"time"
)

// peers is what follows from the membership, as of the last look.
type peers struct {
	count       int64 // of those who can have used a part of the present minute, this process included
	settled     bool  // all others count this process, and have reported what they admitted before they did
	counted     bool  // the others count this process, or did until so recently that they leave it its share
	partitioned int64 // others who do not reach the counter store
	since       int64 // when that number last changed from 0, by the counter store's clock
}

func (p *peers) alone() bool { return p.count == 1 }

// allowance is how much a process can admit without the others knowing. All of them together can so pass a limit by no
// more than a tenth of it, or by one each if that is more.
func (p *peers) allowance(limit int64) int64 { return max(1, limit/(10*p.count)) }

// lease is how much a process can admit after it has read that total is used: the allowance while enough is left, less
// as the rest shrinks, and nothing if the rest is less than one each. Then each unit is asked for.
func (p *peers) lease(limit, total int64) int64 {
	if !p.settled {
		return 0
	}
	return min(p.allowance(limit), max(0, limit-total)/p.count)
}

// share is what a process that hears nothing of the others admits of a minute.
func (p *peers) share(limit int64) int64 { return max(1, limit/p.count) }

// quotaShare is what a process admits of a quota until it hears again what the database has. It is half of its share of the
// rest, because two processes can each divide the same rest at different moments; two halves do not exceed it. It is
// rounded up, so that the last unit goes to the first request.
func (p *peers) quotaShare(limit, total int64) int64 {
	return (max(0, limit-total) + 2*p.count - 1) / (2 * p.count)
}

// withoutPartitioned is what the peers that count together have of a minute: each peer that is partitioned admits its
// share. A minute that began before this process heard of that stays as it was.
func (p *peers) withoutPartitioned(limit, began int64) int64 {
	if p.partitioned == 0 || began < p.since {
		return limit
	}
	return max(1, limit-min(p.partitioned, p.count-1)*p.share(limit))
}

// outage is a time without the counter store. Without a counter store there is one that never ends.
type outage struct {
	since      int64         // Unix second of the counter store's clock
	lostAt     time.Duration // since the limiter began
	recovering bool          // the counter store answers again and receives what was admitted meanwhile
}

const (
	recent       = 300 * time.Millisecond // the age up to which a sum tells what was used when the counter store was lost
	storedRecent = 3 * time.Second        // the age up to which the database's sum of a quota is good enough to divide the rest
)

// never is before every time since a limiter began.
const never = time.Duration(math.MinInt64 / 2)

// setCeiling decides how far a budget can go in this process, and notes whether too little is known for that.
func (c *sharedCharge) setCeiling(at int) {
	b, k, bucket := &c.budgets[at], Kind(at%kinds), c.buckets[at/kinds]
	st := bucket.state(k)
	began := c.minuteEnd[at/kinds] - minute
	bucket.limits[k] = b.limit
	switch {
	case c.peers.alone():
		st.base, st.heardAt = b.used(), c.since // all of it was admitted here
	case c.outage == nil:
		if k == Minute {
			b.limit = c.peers.withoutPartitioned(b.limit, began)
			bucket.limits[k] = b.limit
		}
		b.ceiling = st.base + c.peers.lease(b.limit, st.base)
		c.stale = c.stale || c.since-bucket.syncedAt > freshFor
	case k == Minute:
		b.ceiling = c.minuteShare(st, b.limit, began)
		b.limit = min(b.limit, b.ceiling) // the headers show what a caller gets
	default:
		share := c.peers.quotaShare(b.limit, st.base)
		if c.since-st.heardAt > storedRecent { // the others can have used all that was left
			share = min(share, c.peers.allowance(b.limit))
		}
		b.ceiling = st.base + share
	}
	b.ceiling = min(b.ceiling, b.limit)
}

// minuteShare is how far a minute can go without the counter store: a share of what was left when the counter store was
// lost, and of the whole limit in the minutes after that.
func (c *sharedCharge) minuteShare(st *state, limit, began int64) int64 {
	switch {
	case began >= c.outage.since:
		return st.others + c.peers.share(limit)
	case !c.peers.counted:
		return st.base
	case c.outage.lostAt-st.heardAt > recent:
		return st.base + c.peers.allowance(limit)
	default:
		return st.base + max(0, limit-st.base)/c.peers.count
	}
}
