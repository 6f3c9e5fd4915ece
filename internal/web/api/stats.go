package api

import (
	"sync/atomic"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
)

// Stats says how busy a surface is, and what it has refused since the program started.
type Stats struct {
	InFlight    int64 // requests with a slot; those of a surface with Options.Primary count there
	MaxInFlight int64 // 0 for a surface with Options.Primary

	NoSlot   int64 // requests that were refused because no slot was left for them
	NoBody   int64 // because too many bodies were arriving
	NoMemory int64 // because too many large bodies were being processed

	Throttled []PolicyCount
}

// PolicyCount counts the 429 responses of a policy.
type PolicyCount struct {
	Policy string
	Count  int64
}

// policies are the values of details.policy.
var policies = [...]string{
	string(limit.PolicyTierMinute), string(limit.PolicyKeyMinute), string(limit.PolicyDailyQuota), string(limit.PolicyMonthlyQuota),
	string(limit.PolicyAnonymous), account.LoginPolicy,
}

// counters count refusals. A request that is served counts nothing here.
type counters struct {
	noSlot, noBody, noMemory atomic.Int64
	throttled                [len(policies)]atomic.Int64
}

func (c *counters) throttle(policy string) {
	for i := range policies {
		if policies[i] == policy {
			c.throttled[i].Add(1)
		}
	}
}

// Stats returns the statistics of now.
func (a *API) Stats() Stats {
	c := &a.counters
	s := Stats{NoSlot: c.noSlot.Load(), NoBody: c.noBody.Load(), NoMemory: c.noMemory.Load()}
	if a.o.Primary == nil {
		s.InFlight, s.MaxInFlight = a.slots.taken.Load(), a.slots.all
	}
	for i := range policies {
		s.Throttled = append(s.Throttled, PolicyCount{policies[i], c.throttled[i].Load()})
	}
	return s
}

// ListenerStats says how many connections a listener has.
type ListenerStats struct {
	Open, Max int64
	Refused   int64 // closed at once because their address had its share
}

// Stats returns the statistics of now.
func (l *Listener) Stats() ListenerStats {
	return ListenerStats{Open: int64(len(l.slots)), Max: int64(cap(l.slots)), Refused: l.refused.Load()}
}
