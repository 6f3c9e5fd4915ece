package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/id"
	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
)

// exchange is one request with its answer: all that the way of a request learns, in one allocation. It is never reused,
// because it is also the context its operation runs with, and a database driver may look at a context late.
type exchange struct {
	api *API
	w   http.ResponseWriter
	r   *http.Request
	now time.Time

	uuid     id.UUID  // of the request, unless the caller gave an id
	callerID []string // X-Request-Id of the caller, when it is one

	snapshot *lifecycle.Snapshot
	version  *lifecycle.Version // that serves the request; the current one where none does
	table    *table             // of that version
	versions bool               // the path names a version
	gone     *lifecycle.Version // the sunset version that was asked for
	route    *route

	caller  caller
	address limit.Account // budget of the client's address, once it was asked for
	verdict limit.Verdict // the numbers of the headers
	judged  bool          // verdict holds
	receipt limit.Receipt // of the charge
	paid    bool          // the caller's own budgets, not an address's, were charged
	counted bool          // this request holds a slot of those in flight

	streaming *http.ResponseController // of a stream, whose deadlines we keep

	status int // of the answer, 0 while none was sent
	size   int // bytes of its body

	own [len(ownNames)]string // the header values that are this answer's alone

	parent  context.Context
	once    sync.Once
	timed   context.Context // parent with the class's deadline, made when somebody waits for it
	cancel  context.CancelFunc
	timeout time.Duration
}

// The four methods make an exchange the context.Context of its operation. A deadline costs a timer only for operations
// that look at it: those that touch memory alone never do.

// Deadline is the end of the class's time.
func (x *exchange) Deadline() (time.Time, bool) {
	if x.timeout == 0 {
		return x.parent.Deadline()
	}
	return x.start().Deadline()
}

// Done is closed when the client went away or the class's time is over.
func (x *exchange) Done() <-chan struct{} { return x.start().Done() }

// Err says which of the two it was.
func (x *exchange) Err() error { return x.start().Err() }

// Value answers for the caller and the request, and otherwise as the connection's context does.
func (x *exchange) Value(key any) any {
	switch key {
	case auth.PrincipalKey:
		if x.caller.known {
			return &x.caller.live.Principal
		}
		return (*auth.Principal)(nil)
	case endpoint.RequestKey:
		return endpoint.Request(x)
	default:
		return x.parent.Value(key)
	}
}

func (x *exchange) start() context.Context {
	x.once.Do(func() {
		x.timed, x.cancel = x.parent, func() {}
		if x.timeout > 0 {
			x.timed, x.cancel = context.WithTimeout(x.parent, x.timeout)
		}
	})
	return x.timed
}

// RequestID is the id of the request.
func (x *exchange) RequestID() string {
	if x.callerID != nil {
		return x.callerID[0]
	}
	return id.Format(id.Request, x.uuid)
}

// At is when the request came in.
func (x *exchange) At() time.Time { return x.now }

// APIVersion is the version that serves the request.
func (x *exchange) APIVersion() int { return x.version.Number }

// takeRequestID keeps the caller's id where it is well formed, else makes one.
func (x *exchange) takeRequestID() {
	if sent := x.r.Header["X-Request-Id"]; len(sent) == 1 && wellFormedRequestID(sent[0]) {
		x.callerID = sent
		return
	}
	x.uuid = id.RequestAt(x.now)
}

// wellFormedRequestID is ^[A-Za-z0-9_-]{8,64}$.
func wellFormedRequestID(s string) bool {
	if len(s) < 8 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
