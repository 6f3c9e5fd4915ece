package limit

import "time"

// Receipt says what a charge took, from which windows. The zero Receipt took nothing.
type Receipt struct {
	at             int64 // Unix second
	workspace, key charged
	cost           int64
}

type charged struct {
	use                    *Use
	minute, daily, monthly uint32
}

// At is the moment the charge counts for. It is the moment it was asked for, unless the day's counter had begun a later
// day already, because clocks step back and goroutines overtake each other at midnight: then it is that day's first.
// Usage is recorded under this moment, so that counters and recorded use agree to the unit.
func (r Receipt) At() time.Time { return time.Unix(r.at, 0).UTC() }

// Refund gives the charge back to the windows it came from.
func (r Receipt) Refund() {}

// Charge takes cost from every budget of both accounts or from none.
func Charge(now time.Time, cost int64, workspace, key Account) (Verdict, Receipt) {
	return Verdict{}, Receipt{}
}

// Peek gives the verdict a charge of 1 would get, without charging.
func Peek(now time.Time, workspace, key Account) Verdict { return Verdict{} }
