package limit

import "time"

// These are the decisions of limits that several members share, as functions of what one of them knows. A *member* is one
// process of several with the same credentials. How the numbers get from one to the others is in shared.go.

// allowance is how much a member may admit of a budget that the others have not heard of. All of them together can so
// pass a limit by no more than a tenth of it, or by one for each member where that is more.
func allowance(limit int64, members int64) int64 { return max(1, limit/(10*members)) }

// leased is how much a member may admit after it has heard that total is used: the allowance while enough is left, less
// as the rest shrinks, and nothing where the rest does not go round. Then each unit is asked for.
func leased(limit, total, members int64) int64 {
	return min(allowance(limit, members), max(0, limit-total)/members)
}

// shareOf is what a member that hears nothing of the others admits in a window.
func shareOf(limit, members int64) int64 { return max(1, limit/members) }

// shareOfRest is what a member admits of the rest of a budget that is counted by hearsay, such as a quota by what is
// durable, until it hears again. It is half of its share: what the others hear of and have already divided anew may be
// what this member has divided before, and with half of it each they still do not pass the limit. It is rounded up, so
// that the last unit goes to whoever asks for it. Who is alone has all of it.
func shareOfRest(limit, total, members int64) int64 {
	if members == 1 {
		return max(0, limit-total)
	}
	return (max(0, limit-total) + 2*members - 1) / (2 * members)
}

// unheardOfRest is the same where what is known of the others is old, so that they may have used all the rest.
func unheardOfRest(limit, total, members int64) int64 {
	if members == 1 {
		return max(0, limit-total)
	}
	return min(allowance(limit, members), shareOfRest(limit, total, members))
}

// A member that loses the others in the middle of a window has its share of what was left when it heard of them last,
// less what they are likely to have used since: what it heard of may not be older than stale.
const stale = 2 * time.Second

func shareAtLoss(limit, total, members int64, age time.Duration, perSecond float64) int64 {
	if age > stale {
		return 0
	}
	grown := int64(perSecond*age.Seconds() + 0.5)
	return max(0, limit-total-grown) / members
}

// Clock of the ledger, as a member sees it: an offset to its own steady time. An answer that took long says little about
// the moment in which it was given, so it counts only where it contradicts what is known.
type reckoning struct {
	offset time.Duration // the ledger's Unix time less our time since the start
	within time.Duration // how wrong that may be
	at     time.Duration // when it was learned, by our time since the start
}

// drift is how fast two clocks may part: 100 parts in a million.
const drift = 10_000 // 1 / drift

// heard takes in that the ledger's clock was at a Unix time at some moment between sent and got.
func (r reckoning) heard(sent, got, unix time.Duration) reckoning {
	fresh := reckoning{offset: unix - (sent+got)/2, within: (got-sent)/2 + time.Microsecond, at: got}
	if r.at == 0 && r.within == 0 {
		return fresh
	}
	doubt := r.within + (got-r.at)/drift
	if apart := fresh.offset - r.offset; fresh.within <= doubt || apart > doubt+fresh.within || -apart > doubt+fresh.within {
		return fresh
	}
	return r
}
