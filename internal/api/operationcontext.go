package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/id"
)

// operationContext is the part of a request that its operation sees, as its context.Context and as its endpoint.Request. It is
// not reused, because a database driver can look at a context after the request has ended.
type operationContext struct {
	at       time.Time // when the request came in
	uuid     id.UUID   // of the request, unless the caller gave an id
	callerID string    // X-Request-Id of the caller, when it is one
	number   int       // of the version that serves it
	request  *http.Request
	api      *API

	principal auth.Principal
	known     bool                                   // there is a principal
	signIn    func(userID, workspaceID string) error // of an operation that finds out who calls
	free      *requestState                          // of an operation that is Uncharged and can charge its caller after all

	parent  context.Context
	timeout time.Duration // of the class; 0: none

	once  sync.Once // makes the next two
	timed context.Context
	end   context.CancelFunc
}

// start gives the context that ends with the class's time, and makes it when it is first asked for. Operations that touch
// memory alone never ask, and context.WithTimeout makes four allocations: with them governing a request would exceed its
// goal of six.
func (c *operationContext) start() context.Context {
	c.once.Do(func() {
		c.timed, c.end = c.parent, func() {}
		if c.timeout > 0 {
			c.timed, c.end = context.WithTimeout(c.parent, c.timeout)
		}
	})
	return c.timed
}

// stop ends the context. If no caller has asked for it by now, it is the connection's context from here on.
func (c *operationContext) stop() {
	c.once.Do(func() { c.timed, c.end = c.parent, func() {} })
	c.end()
}

// Deadline is the end of the class's time.
func (c *operationContext) Deadline() (time.Time, bool) { return c.start().Deadline() }

// Done is closed when the client went away or the class's time is over.
func (c *operationContext) Done() <-chan struct{} { return c.start().Done() }

// Err says which of the two it was.
func (c *operationContext) Err() error { return c.start().Err() }

// Value answers for the caller and the request, and otherwise as the connection's context does.
func (c *operationContext) Value(key any) any {
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
func (c *operationContext) RequestID() string {
	if c.callerID != "" {
		return c.callerID
	}
	return id.Format(id.Request, c.uuid)
}

// APIVersion is the version that serves the request.
func (c *operationContext) APIVersion() int { return c.number }

// At is when the request came in.
func (c *operationContext) At() time.Time { return c.at }

// takeRequestID keeps the caller's id where it is well formed, else makes one.
func (c *operationContext) takeRequestID(r *http.Request) {
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
