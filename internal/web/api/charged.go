package api

import (
	"keepsake/internal/govern/limit"
)

// charged is a request that was charged to its caller, or to the client's address if it has no caller. A request that costs
// nothing passes this stage too, because every response shows limits.
type charged struct {
	*received
	identified *identified
	verdict    limit.Verdict // for the rate-limit headers
	receipt    limit.Receipt // of the charge; zero if nothing was charged
	judgement  judgement     // of a Judging operation
}

// refund refunds a request that failed by a fault of ours, also in its headers.
func (x *charged) refund() {
	if x.receipt.Cost() == 0 {
		return
	}
	x.receipt.Refund()
	x.receipt = limit.Receipt{}
	x.verdict = x.identified.peekLimits()
}

// answer returns the response, of which nothing is sent yet.
func (x *charged) answer() *answered {
	a := &x.exchange.answered
	a.received, a.charged = x.received, x
	return a
}
