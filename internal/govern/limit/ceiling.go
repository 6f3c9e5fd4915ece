package limit

import (
	"math"
	"time"
)

// How far a process can go by itself. N is the number of peers, L a limit, and the rest is L less what all peers are known
// to have used. Small limits round up, so that each peer has one unit.
//
//	situation                               this process admits     together they exceed L by at most
//	alone                                   L                       0
//	counting together                       min(L/10N, rest/N)      L/10
//	                                        since it last read
//	without the store, the running minute   rest/N                  what was admitted after the sums were read
//	  with a sum older than 300 ms          L/10N                   that and L/10
//	  if the others do not count it         nothing                 that
//	without the store, later minutes        L/N                     0
//	without the store, a quota              half of rest/N          L/10
//	                                        since it last read
//	  with a sum older than 3 s             L/10N                   L/10
//	only this process without the store     as above                L/N more, in minutes that began before the
//	                                                                others noticed
//
// Without the store each process goes by what it knew last, so an uneven load leaves units unused.

// peers is what follows from the membership, as of the last heartbeat.
type peers struct {
	count   int64 // of peers that can have used a part of the present minute, this process included
	settled bool  // all others have counted this process for settleTime, so they have reported what they admitted with larger shares
	// stillCounted: the others count this process, or did until so recently (countedFor) that they leave it its share.
	stillCounted     bool
	partitioned      int64 // others that do not reach the counter store
	partitionedSince int64 // when the first of them was noticed, by the counter store's clock; meaningless if there is none
}

func (p *peers) alone() bool { return p.count == 1 }

// margin is how much a process can admit without the others knowing. All of them together can so exceed a limit by a tenth
// of it, or by one each if that is more.
func (p *peers) margin(limit int64) int64 { return max(1, limit/(10*p.count)) }

// room is how much a process can admit after it has read that total is used: the margin while enough is left, less as the
// rest shrinks, and nothing if the rest is less than one each. Then each unit is asked for.
func (p *peers) room(limit, total int64) int64 {
	if !p.settled {
		return 0
	}
	return min(p.margin(limit), max(0, limit-total)/p.count)
}

// share is what a process that hears nothing of the others admits of a minute.
func (p *peers) share(limit int64) int64 { return max(1, limit/p.count) }

// quotaShare is what a process admits of a quota until it hears again what the database has. What it admits after one
// reading may not be in the database yet when another process reads it and divides the rest. So each process can have two
// shares that the others do not know of, the last one and the present one, and each of the two is half. It is rounded up, so
// that the last unit goes to the first request.
func (p *peers) quotaShare(limit, total int64) int64 {
	return (max(0, limit-total) + 2*p.count - 1) / (2 * p.count)
}

// withoutPartitioned is what the peers that count together have of a minute: each peer that is partitioned admits its
// share. A minute that began before the first of them was noticed keeps its limit.
func (p *peers) withoutPartitioned(limit, began int64) int64 {
	if p.partitioned == 0 || began < p.partitionedSince {
		return limit
	}
	return max(1, limit-min(p.partitioned, p.count-1)*p.share(limit))
}

// outage is a time without the counter store. There is one before the store has first answered, and a process that has no
// store has one that never ends.
type outage struct {
	start  int64         // Unix second of the counter store's clock; windows are compared with it
	lostAt time.Duration // since the limiter began; the ages of sums are compared with it
	// recovering: the store answers again and receives what was admitted meanwhile. If it is lost again before that is done,
	// the outage has not ended, so start stays.
	recovering bool
}

// beforeFirstAnswer is the outage of a process that has just started. All minutes are later minutes for it.
func beforeFirstAnswer() *outage { return &outage{start: math.MinInt64} }

const (
	recent       = 300 * time.Millisecond // the age up to which a sum tells what was used when the counter store was lost
	storedRecent = 3 * time.Second        // the age up to which the database's sum of a quota is good enough to divide the rest
)

// never is before every time since a limiter began.
const never = time.Duration(math.MinInt64 / 2)

// setCeiling sets the limit and the ceiling of budget i for this process.
func (c *sharedCharge) setCeiling(i int) {
	b, k, bucket := &c.budgets[i], Kind(i%kinds), c.buckets[i/kinds]
	st := bucket.state(k)
	began := c.minuteEnd[i/kinds] - minute
	if k == Minute && c.outage == nil && !c.peers.alone() {
		b.limit = c.peers.withoutPartitioned(b.limit, began)
	}
	bucket.limits[k] = b.limit
	switch {
	case c.peers.alone():
		st.base, st.heardAt = b.used(), c.at // all of it was admitted here
		b.ceiling = b.limit
	case c.outage == nil:
		b.ceiling = st.base + c.peers.room(b.limit, st.base)
	case k == Minute:
		b.ceiling = c.minuteCeiling(st, b.limit, began)
		b.limit = min(b.limit, b.ceiling) // for the headers: no other process lends this one a part of its share
	default:
		share := c.peers.quotaShare(b.limit, st.base)
		if c.at-st.heardAt > storedRecent { // the others can have used all that was left
			share = min(share, c.peers.margin(b.limit))
		}
		b.ceiling = st.base + share
	}
	b.ceiling = min(b.ceiling, b.limit)
}

// minuteCeiling is the ceiling of a minute without the counter store. Ceilings are compared with what all have used as far
// as is known, so others counts as used, too.
func (c *sharedCharge) minuteCeiling(st *state, limit, began int64) int64 {
	switch {
	case began >= c.outage.start: // a later minute
		return st.others + c.peers.share(limit)
	case !c.peers.stillCounted:
		return st.base
	case c.outage.lostAt-st.heardAt > recent:
		return st.base + c.peers.margin(limit)
	default:
		return st.base + max(0, limit-st.base)/c.peers.count
	}
}
