package api

import (
	"errors"

	"keepsake/internal/govern/auth"
)

// Charge implements endpoint.Request.
func (c *operationContext) Charge() error {
	x := c.running
	if x == nil || x.charged == nil || x.identified.caller == nil || !x.identified.free(x.op) {
		return errors.New("charge the caller of a request whose price was taken before its operation ran")
	}
	return x.charged.chargeLate()
}

// Refund implements endpoint.Request.
func (c *operationContext) Refund() {
	if x := c.running; x != nil && x.charged != nil && x.identified.caller != nil && x.identified.free(x.op) {
		x.charged.refund()
	}
}

// chargeLate charges the caller of a request that was free so far, at most once.
func (x *charged) chargeLate() error {
	who := x.identified.caller
	if x.receipt.Cost() > 0 || who.live.Principal.Kind == auth.Local {
		return nil
	}
	x.verdict, x.receipt = x.api.o.Limiter.Charge(x.at, 1, who.workspace, who.live.Account)
	if !x.verdict.Allowed {
		return spent(&x.verdict, x.at)
	}
	return nil
}
