package api

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/id"
)

// call is the part of a request that its operation sees, as its context.Context and as its endpoint.Request. It is not
// reused, because a database driver may look at a context after the request has ended.
type call struct {
	at       time.Time // when the request came in
	uuid     id.UUID   // of the request, unless the caller gave an id
	callerID string    // X-Request-Id of the caller, when it is one
	number   int       // of the version that serves it
	request  *http.Request
	api      *API

	principal auth.Principal
	known     bool                                   // there is a principal
	signIn    func(userID, workspaceID string) error // of an operation that finds out who calls
	free      *exchange                              // of an operation that is Uncharged and can charge its caller after all

	parent  context.Context
	timeout time.Duration         // of the class; 0: none
	timed   atomic.Pointer[timed] // made when somebody waits for it
}

// timed is a context with the function that ends it.
type timed struct {
	context.Context
	end context.CancelFunc
}

// neverTimed is what a call has that ended before anybody waited for it.
var neverTimed timed

// A deadline costs a timer only for operations that look at it: those that touch memory alone never do.
func (c *call) start() context.Context {
	t := c.timed.Load()
	if t == nil {
		t = &timed{c.parent, func() {}}
		if c.timeout > 0 {
			t.Context, t.end = context.WithTimeout(c.parent, c.timeout)
		}
		if !c.timed.CompareAndSwap(nil, t) { // somebody else was first
			t.end()
			t = c.timed.Load()
		}
	}
	if t == &neverTimed {
		return c.parent
	}
	return t
}

// stop ends the context, and reports whether nobody has ever waited for its end. Whoever looks at it for the first time
// after that sees the connection's.
func (c *call) stop() (unseen bool) {
	if c.timed.CompareAndSwap(nil, &neverTimed) {
		return true
	}
	if t := c.timed.Load(); t != &neverTimed {
		t.end()
	}
	return false
}

// Deadline is the end of the class's time.
func (c *call) Deadline() (time.Time, bool) { return c.start().Deadline() }

// Done is closed when the client went away or the class's time is over.
func (c *call) Done() <-chan struct{} { return c.start().Done() }

// Err says which of the two it was.
func (c *call) Err() error { return c.start().Err() }

// Value answers for the caller and the request, and otherwise as the connection's context does.
func (c *call) Value(key any) any {
	switch key {
	case auth.PrincipalKey:
		if !c.known {
			return nil
		}
		return &c.principal
	case endpoint.RequestKey:
		return endpoint.Request(c)
	case audit.SourceKey:
		return audit.Source{Address: c.Client(), RequestID: c.RequestID()}
	default:
		return c.parent.Value(key)
	}
}

// RequestID is the id of the request.
func (c *call) RequestID() string {
	if c.callerID != "" {
		return c.callerID
	}
	return id.Format(id.Request, c.uuid)
}

// APIVersion is the version that serves the request.
func (c *call) APIVersion() int { return c.number }

// At is when the request came in.
func (c *call) At() time.Time { return c.at }

// takeRequestID keeps the caller's id where it is well formed, else makes one.
func (c *call) takeRequestID(r *http.Request) {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && wellFormedRequestID(sent[0]) {
		c.callerID = sent[0]
		return
	}
	c.uuid = id.RequestAt(c.at)
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
