package api

import (
	"net/http"
	"strings"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/usage"
)

// serve takes a request through the checks, in the order that decisions.md (E) lays down: what a caller is told never
// depends on anything that a later check knows.
func (x *requestState) serve() {
	x.warnOfProxy()
	p := x.negotiate()
	if p == nil && x.snapshot.Rehearsing(x.version.Number, x.at) {
		p = x.rehearse()
	}
	if p != nil {
		x.turnAway(p)
		return
	}
	rt, values := x.table.find(x.r)
	if rt == nil && x.wantsHome() {
		rt = &homeRoute
	}
	if rt == nil {
		x.noSuchRoute()
		return
	}
	x.route = rt
	rt.setPathValues(x.r, values)
	if rt.page != nil {
		x.servePage(rt)
	} else {
		x.serveOperation(rt.op)
	}
}

func (x *requestState) serveOperation(op *endpoint.Operation) {
	if op.SignIn {
		x.signIn = x.signedIn
	} else if op.Credentials == endpoint.NoCredential && op.Uncharged {
		// It costs nobody anything, so the headers are those of a caller without a credential (decisions.md, H).
	} else if op.Credentials == endpoint.NoCredential {
		x.recognise()
		if x.known && x.admit() != nil {
			x.forget() // it opens nothing here, and its numbers are not this request's
		}
	} else if err := x.identify(op.Credentials); err != nil {
		x.turnAwayFor(err)
		return
	} else if err := x.admit(); err != nil {
		x.turnAwayFor(err)
		return
	}
	if !x.charge(op) {
		if op.SignIn {
			x.refuseSignIn(op)
		} else {
			x.refuse()
		}
		return
	}
	if p := x.mayNot(op); p != nil {
		x.fail(p)
		return
	}
	if !x.makeRoom(op) {
		x.fail(errNoRoom)
		return
	}
	x.allot(op.Class)
	x.findHolders()
	x.run(op)
}

// mayNot says why the caller may not do op, nil where it may.
//
// A key that is bound to a subject or agent administers nothing, whatever its scopes: whoever can make users and give
// them passwords is bound no longer.
func (x *requestState) mayNot(op *endpoint.Operation) *problem.Problem {
	p := &x.principal
	switch {
	case !p.Scopes.Allows(op.Scope),
		op.Operator && !p.Operator,
		op.Scope&auth.Admin != 0 && p.Bound():
		return problem.ScopeMissing(op.Scope.String())
	default:
		return nil
	}
}

// charge takes the request's price from whoever pays: the caller's budgets, or the address's where there is no caller.
// It reports whether the request may pass.
//
// The operator of the machine pays nothing: a tier that was set too small, the operator workspace's own included, could
// else not be set right before the month is over.
func (x *requestState) charge(op *endpoint.Operation) bool {
	x.judged = true
	switch workspace, key := &x.caller.workspace, &x.caller.live.Account; {
	case x.known && (op.Uncharged || x.principal.Kind == auth.Local):
		x.verdict = x.api.o.Limiter.Peek(x.at, 1, *workspace, *key)
		x.free = x
		return true
	case x.known:
		x.verdict, x.receipt = x.api.o.Limiter.Charge(x.at, 1, *workspace, *key)
		x.paid = x.verdict.Allowed
	case op.Uncharged || !x.chargeable():
		x.peekAddress()
		return true
	default:
		x.verdict, x.receipt = x.chargeAddress()
	}
	return x.verdict.Allowed
}

// chargeable reports whether requests for the path cost anything: those under /api/ do (decisions.md, H).
func (x *requestState) chargeable() bool {
	return x.api.o.Surface == usage.Primary && strings.HasPrefix(x.r.URL.Path, "/api/")
}

// noSuchRoute answers a path or a method that is not there, for everybody alike, and OPTIONS for what is.
func (x *requestState) noSuchRoute() {
	if x.r.URL.Path == "*" && x.r.Method == http.MethodOptions {
		x.options(allMethods)
		return
	}
	switch allow := x.table.allow(x.r); {
	case allow == "":
		x.turnAway(errNotFound)
	case x.r.Method == http.MethodOptions:
		x.options(allow)
	default:
		x.w.Header()["Allow"] = []string{allow}
		x.turnAway(errMethod)
	}
}

func (x *requestState) options(allow string) {
	x.peekAddress()
	x.w.Header()["Allow"] = []string{allow}
	x.preflight(allow)
	x.send(http.StatusNoContent, nil, nil)
}

// turnAwayFor is turnAway for an error that may be a fault of ours: that costs the client nothing.
func (x *requestState) turnAwayFor(err error) {
	if p, ok := problem.As(err); ok && statuses[p.Kind] < http.StatusInternalServerError {
		x.turnAway(p)
		return
	}
	x.peekAddress()
	x.fail(err)
}

// turnAway refuses a request before its caller's budgets are asked. That is charged to the client's address alone, and
// an address whose budget is spent learns nothing more about credentials and paths. A valid credential still sees its
// own numbers in the headers.
func (x *requestState) turnAway(p *problem.Problem) {
	if x.chargeable() {
		verdict, _ := x.chargeAddress()
		x.verdict, x.judged = verdict, true
		if !verdict.Allowed {
			switch p.Kind {
			case problem.Unauthenticated, problem.NotFound, problem.MethodNotAllowed:
				x.w.Header().Del("Allow")
				x.refuse()
				return
			}
		}
	} else {
		x.peekAddress()
	}
	if p.Kind != problem.Unauthenticated {
		x.recognise()
	}
	if x.known {
		x.verdict = x.api.o.Limiter.Peek(x.at, 1, x.caller.workspace, x.caller.live.Account)
	}
	x.fail(p)
}

// peekAddress makes the headers those of a caller without a credential, at no cost.
func (x *requestState) peekAddress() {
	x.verdict, x.judged = x.api.o.Limiter.Peek(x.at, 1, x.addressAccount(), limit.Account{}), true
}
