package api

import (
	"net/http"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/trace"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// serve checks a request in the order of docs/spec/scopes.md, so that a refusal reveals nothing that only a later check knows.
func (x *requestState) serve() {
	if x.api.o.Surface != usage.Backend {
		x.warnOfProxy()
	}
	p := x.negotiate()
	if p == nil && x.snapshot.Rehearsing(x.version.Number, x.at) {
		p = x.rehearse()
	}
	if p != nil {
		x.turnAway(p)
		return
	}
	rt, values := x.table.find(x.r)
	if rt == nil {
		x.noSuchRoute()
		return
	}
	x.route = rt
	rt.setPathValues(x.r, values)
	switch {
	case isFree(rt) && x.flooded():
		x.refuseFlood()
	case rt.page != nil:
		x.servePage(rt)
	case rt.op.CheckOrigin && !x.originAllowed():
		x.turnAway(errOrigin)
	default:
		x.serveOperation(rt.op)
	}
}

func (x *requestState) serveOperation(op *endpoint.Operation) {
	if p := x.checkBackendSecret(op); p != nil {
		x.turnAway(p)
		return
	}
	if p := x.checkBackendHost(op); p != nil {
		x.turnAway(p)
		return
	}
	if op.SignIn {
		x.signIn = x.signedIn
	} else if op.Judging {
		x.judging = x
	} else if op.Credentials == endpoint.NoCredential && op.Uncharged {
		// It is free, so the headers are those of a caller without a credential (docs/spec/limits.md).
	} else if op.Credentials == endpoint.NoCredential {
		x.recognise()
		if x.known && x.admit() != nil {
			x.forget() // the credential is not accepted here, and its limits do not apply
		}
	} else if err := x.identify(op.Credentials); err != nil {
		x.turnAwayFor(err)
		return
	} else if err := x.admit(); err != nil {
		x.turnAwayFor(err)
		return
	}
	if !op.Judging && !x.charge(op) {
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
	if op.Calls {
		x.calls = x
	}
	x.run(op)
}

// mayNot returns why the caller cannot use op, or nil.
//
// A key that is bound to a subject or agent cannot administer anything, whatever its scopes: it could create users and so
// evade its binding.
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

// charge charges the request to the caller, or to the client's address if there is no caller. It reports whether the request
// can continue.
//
// The operator of the machine is not charged, so that limits that were set too low can be corrected.
func (x *requestState) charge(op *endpoint.Operation) bool {
	x.judged = true
	switch workspace, key := &x.caller.workspace, &x.caller.live.Account; {
	case x.known && (op.Uncharged || x.principal.Kind == auth.Local || isShown(x.parent)):
		x.verdict = x.api.o.Limiter.Peek(x.at, 1, *workspace, *key)
		x.free = x
		return true
	case x.known:
		step := x.step("charge limits", trace.Internal) // it can wait for Redis
		x.verdict, x.receipt = x.api.o.Limiter.Charge(x.at, 1, *workspace, *key)
		step.Finish(false)
		x.paid = x.verdict.Allowed
	case op.Uncharged || !x.chargeable():
		x.peekAddress()
		return true
	default:
		x.verdict, x.receipt = x.chargeAddress()
	}
	return x.verdict.Allowed
}

// chargeable reports whether requests for the path are charged: those under /api/ and /ai/ are (docs/spec/limits.md), and wrong
// credentials that are judged for another service.
func (x *requestState) chargeable() bool {
	switch path := x.r.URL.Path; x.api.o.Surface {
	case usage.Primary:
		return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/ai/")
	case usage.AI:
		return strings.HasPrefix(path, "/ai/")
	default:
		return x.judging != nil
	}
}

// noSuchRoute responds to unknown paths and methods, alike for all callers, and to OPTIONS.
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

// turnAwayFor is turnAway for an error that can be a fault of ours, which is not charged.
func (x *requestState) turnAwayFor(err error) {
	if p, ok := problem.As(err); ok && statuses[p.Kind] < http.StatusInternalServerError {
		x.turnAway(p)
		return
	}
	x.peekAddress()
	x.fail(err)
}

// turnAway refuses a request before it is charged to its caller. It charges the client's address, and an address without
// requests left learns nothing more about credentials and paths. A valid credential still sees its own limits in the
// headers. A wrong credential is charged on every path, so that guessing is slow on the backend listener too.
func (x *requestState) turnAway(p *problem.Problem) {
	if x.chargeable() || isWrongCredential(p) {
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

// isWrongCredential reports whether a credential was sent and is not valid.
func isWrongCredential(p *problem.Problem) bool {
	return p.Kind == problem.Unauthenticated && p.Code != problem.CodeMissingCredentials
}

// peekAddress sets the headers of a caller without a credential, without charging.
func (x *requestState) peekAddress() {
	x.verdict, x.judged = x.api.o.Limiter.Peek(x.at, 1, x.addressAccount(), limit.Account{}), true
}
