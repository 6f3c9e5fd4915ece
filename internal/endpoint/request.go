package endpoint

import (
	"context"
	"net/netip"
	"time"
)

// Request is what an operation may know of its request besides its input and its caller.
type Request interface {
	RequestID() string  // as in the X-Request-Id header of the answer
	APIVersion() int    // the version that serves it, also where the path names none
	At() time.Time      // when it came in
	Client() netip.Addr // where it came from; zero on the data folder's socket
	// SignedIn makes the user who proved to be its caller pay for a SignIn operation, in place of the address it came
	// from. A workspace that is suspended or has spent its budget is a *problem.Problem, and then nobody is signed in.
	SignedIn(userID, workspaceID string) error
	// Charge has the caller pay for a request of an Uncharged operation after all; it pays once, however often it is called.
	// A budget that is spent is a *problem.Problem. Refund takes it back.
	Charge() error
	Refund()
}

type requestKey struct{}

// RequestKey is the context key under which the pipeline's own context answers with the Request.
var RequestKey any = requestKey{}

// RequestOf gives the request an operation runs for. It panics where there is none, which is a defect.
func RequestOf(ctx context.Context) Request {
	if r, ok := ctx.(Request); ok { // the context itself, which nobody has wrapped
		return r
	}
	r, ok := ctx.Value(RequestKey).(Request)
	if !ok {
		panic("endpoint: there is no request in this context")
	}
	return r
}
