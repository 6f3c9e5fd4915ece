package api

import (
	"keepsake/internal/base/problem"
	"keepsake/internal/base/trace"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/endpoint"
)

// identified is a request whose caller was looked for.
type identified struct {
	*received
	routed *routed
	kind   kind
	caller *caller // nil: none
}

// setCaller sets the caller, also for the operation.
func (x *identified) setCaller(c *caller) {
	x.caller, x.ctx.principal = c, c.live.Principal
}

// free reports whether an operation costs its caller nothing before it runs. The operator of the machine is not charged, so that
// limits that were set too low can be corrected.
func (x *identified) free(op *endpoint.Operation) bool {
	return op.Uncharged || x.ctx.principal.Kind == auth.Local || isUncounted(x.ctx.parent)
}

// charge charges the request to the caller, or to the client's address if there is no caller. It reports whether the request
// can continue.
func (x *identified) charge() (c *charged, ok bool) {
	op := x.routed.route.op
	switch {
	case x.caller != nil && x.free(op):
		return x.peek(), true
	case x.caller != nil:
		step := x.step("charge limits", trace.Internal) // it can wait for Redis
		c = x.charged(x.api.o.Limiter.Charge(x.at, 1, x.caller.workspace, x.caller.live.Account))
		step.Finish(false)
	case op.Uncharged || !x.chargeable():
		return x.peek(), true
	default:
		c = x.charged(x.address.charge())
	}
	return c, c.verdict.Allowed
}

// peek passes on without a charge.
func (x *identified) peek() *charged { return x.charged(x.peekLimits(), limit.Receipt{}) }

// peekLimits returns the limits of the caller, or those of the client's address if there is no caller.
func (x *identified) peekLimits() limit.Verdict {
	if x.caller == nil {
		return x.address.peek()
	}
	return x.api.o.Limiter.Peek(x.at, 1, x.caller.workspace, x.caller.live.Account)
}

// charged passes on with a charge.
func (x *identified) charged(verdict limit.Verdict, receipt limit.Receipt) *charged {
	c := &x.exchange.charged
	c.received, c.identified, c.verdict, c.receipt = x.received, x, verdict, receipt
	return c
}

// mayNot returns why the caller cannot use op, or nil.
//
// A key that is bound to a subject or agent cannot administer anything, whatever its scopes: it could create users and so
// evade its binding.
func (x *identified) mayNot(op *endpoint.Operation) *problem.Problem {
	p := &x.ctx.principal
	switch {
	case !p.Scopes.Allows(op.Scope),
		op.Operator && !p.Operator,
		op.Scope&auth.Admin != 0 && p.Bound():
		return problem.ScopeMissing(op.Scope.String())
	default:
		return nil
	}
}

// admit gives the request what its operation needs to run, or returns why it cannot run. c is nil if the operation charges.
func (x *identified) admit(c *charged) (*admitted, *problem.Problem) {
	op := x.routed.route.op
	a := &x.exchange.admitted
	a.received, a.identified, a.charged, a.op = x.received, x, c, op
	if p := x.mayNot(op); p != nil {
		return a, p
	}
	if !a.takeBodyMemory() {
		return a, errNoMemory
	}
	x.allot(op.Class)
	a.findHolders()
	x.ctx.running = a
	return a, nil
}
