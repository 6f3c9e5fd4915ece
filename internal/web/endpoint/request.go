package endpoint

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"keepsake/internal/govern/auth"
)

// Request is what an operation can know of its request in addition to its input and its caller.
type Request interface {
	RequestID() string  // as in the response header X-Request-Id
	APIVersion() int    // the version that serves it, even if the path names none
	At() time.Time      // when it was received
	Client() netip.Addr // the client's address; zero on the data folder's socket
	// SignedIn charges a SignIn operation to the authenticated user instead of the client's address. It returns a
	// *problem.Problem, and the login must fail, if the workspace is suspended or has no requests left.
	SignedIn(userID, workspaceID string) error
	// Charge charges the caller for an Uncharged operation, at most once. It returns a *problem.Problem if no requests are
	// left. Refund undoes it.
	Charge() error
	Refund()
	// Call runs another operation for the caller, within this request: with the operation's scope, validation and
	// Idempotency-Key, and without another charge. Only operations that declare Calls can use it. The response has a body and
	// no pieces. An error is what the operation's own caller would get.
	Call(c *Call) (Response, error)
	// Part runs one of several parts of the request, each of which costs as much as a request. The first one was charged as the
	// request. Each other one is charged before it runs, and counts as one more request to the operation. failed is the body of
	// the error if run fails or no requests are left; nil if run succeeds. Only operations that declare Parts can use it.
	Part(run func() error) (failed []byte, err error)
	// Judge decides for a Judging operation whether the owner of the credential in this request can make a request to another
	// service. If so, it charges the cost, and headers of the response name the owner. Otherwise it returns a *problem.Problem.
	Judge(d Demand) error
}

// Call is a request to an operation of the API version that serves the calling request.
type Call struct {
	Operation string            // its ID
	Path      map[string]string // parameters in the path
	Query     url.Values
	Header    map[string]string // by canonical name
	Body      []byte            // JSON; nil for none
}

// Demand is what another service requires of its callers.
type Demand struct {
	Scopes auth.Scopes // all of them
	Cost   int64       // requests to charge, at least 1
	// Carry429 sends a 429 as a 403 with X-Keepsake-Status, for proxies that pass on no other refusal.
	Carry429 bool
}

type requestKey struct{}

// RequestKey is the context key of the Request.
var RequestKey any = requestKey{}

// RequestOf returns the Request of an operation's context. It panics if there is none, which is a defect.
func RequestOf(ctx context.Context) Request {
	if r, ok := ctx.(Request); ok { // the pipeline's context, not wrapped
		return r
	}
	r, ok := ctx.Value(RequestKey).(Request)
	if !ok {
		panic("endpoint: there is no request in this context")
	}
	return r
}
