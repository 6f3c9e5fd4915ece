package api

import (
	"net/http"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/endpoint"
)

// routed is a request with the version and the route that serve it.
type routed struct {
	*received
	snapshot *lifecycle.Snapshot
	version  *lifecycle.Version // that serves the request; the current one if none does
	table    *table             // of that version
	inPath   bool               // the path names a version
	gone     *lifecycle.Version // the requested version, if it is sunset
	route    *route             // noRoute until it is found
	trusted  bool               // the request has the backend secret
}

// serveOperation serves a request for an operation.
func (x *routed) serveOperation(op *endpoint.Operation) {
	if p := x.checkBackend(op); p != nil {
		x.turnAway(p, nil)
		return
	}
	step := &steps[x.route.kind]
	known, err := step.identify(x)
	if err != nil {
		x.turnAwayFor(err, known)
		return
	}
	who := x.as(x.route.kind, known)
	paid, ok := step.charge(who)
	if !ok {
		step.refuse(paid)
		return
	}
	running, p := who.admit(paid)
	if p != nil {
		running.fail(p)
		return
	}
	running.run()
}

// as returns the request with its caller; nil for none.
func (x *routed) as(k kind, known *caller) *identified {
	who := &x.exchange.identified
	who.received, who.routed, who.kind = x.received, x, k
	if known != nil {
		who.setCaller(known)
	}
	return who
}

// isPageMissed reports whether a browser looks for a page at a path that does not exist.
func (x *routed) isPageMissed() bool {
	return x.table.missing != nil && x.reading() && !x.chargeable() && prefersHTML(x.r.Header["Accept"]) && x.table.allow(x.r) == ""
}

// noSuchRoute responds to unknown paths and methods, alike for all callers, and to OPTIONS.
func (x *routed) noSuchRoute() {
	if x.r.URL.Path == "*" && x.r.Method == http.MethodOptions {
		x.options(allMethods)
		return
	}
	switch allow := x.table.allow(x.r); {
	case allow == "":
		x.turnAway(errNotFound, nil)
	case x.r.Method == http.MethodOptions:
		x.options(allow)
	default:
		x.w.Header()["Allow"] = []string{allow}
		x.turnAway(errMethod, nil)
	}
}

func (x *routed) options(allow string) {
	c := x.as(noOperation, nil).peek()
	x.w.Header()["Allow"] = []string{allow}
	x.preflight(allow)
	c.answer().send(http.StatusNoContent, nil, nil)
}

// turnAwayFor is turnAway for an error that can be a fault of ours, which is not charged.
func (x *routed) turnAwayFor(err error, known *caller) {
	if p, ok := problem.As(err); ok && statuses[p.Kind] < http.StatusInternalServerError {
		x.turnAway(p, known)
		return
	}
	x.as(x.route.kind, known).peek().fail(err)
}

// turnAway refuses a request before it is charged to its caller. It charges the client's address, and an address without
// requests left learns nothing more about credentials and paths. A valid credential still sees its own limits in the
// headers. A wrong credential is charged on every path, so that guessing is slow on the backend listener too.
//
// known is the owner of a credential that is valid but cannot be used here; nil if none was looked for or none is valid.
func (x *routed) turnAway(p *problem.Problem, known *caller) {
	verdict, left := limit.Verdict{}, true
	if x.chargeable() || isWrongCredential(p) {
		verdict, _ = x.address.charge()
		left = verdict.Allowed
	} else {
		verdict = x.address.peek()
	}
	if !left {
		switch p.Kind {
		case problem.Unauthenticated, problem.NotFound, problem.MethodNotAllowed:
			x.w.Header().Del("Allow")
			x.as(noOperation, known).charged(verdict, limit.Receipt{}).refuse()
			return
		}
	}
	if known == nil && p.Kind != problem.Unauthenticated {
		known = x.recognise()
	}
	who := x.as(noOperation, known)
	if known != nil {
		verdict = who.peekLimits()
	}
	who.charged(verdict, limit.Receipt{}).fail(p)
}

// isWrongCredential reports whether a credential was sent and is not valid.
func isWrongCredential(p *problem.Problem) bool {
	return p.Kind == problem.Unauthenticated && p.Code != problem.CodeMissingCredentials
}
