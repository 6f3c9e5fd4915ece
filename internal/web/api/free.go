package api

import (
	"errors"

	"keepsake/internal/govern/auth"
)

// Charge implements endpoint.Request.
func (c *operationContext) Charge() error {
	if c.free == nil {
		return errors.New("charge the caller of a request whose price was taken before its operation ran")
	}
	return c.free.chargeFree()
}

// Refund implements endpoint.Request.
func (c *operationContext) Refund() {
	if c.free != nil && c.free.paid {
		c.free.refund()
	}
}

func (x *requestState) chargeFree() error {
	if x.paid || x.principal.Kind == auth.Local {
		return nil
	}
	x.verdict, x.receipt = x.api.o.Limiter.Charge(x.at, 1, x.caller.workspace, x.caller.live.Account)
	if x.paid = x.verdict.Allowed; !x.paid {
		return spent(&x.verdict)
	}
	return nil
}
