package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/trace"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// operationContext is the part of a request that its operation sees, as its context.Context and its endpoint.Request. It is
// not reused, because a database driver can use a context after the request has ended.
type operationContext struct {
	at       time.Time // when the request was received
	uuid     id.UUID   // the request ID, unless the caller sent one
	callerID string    // the caller's valid X-Request-Id
	number   int       // of the version that serves the request
	request  *http.Request
	api      *API

	principal auth.Principal // of the caller; Anonymous if it has none
	running   *admitted      // while the operation runs, else nil

	span *trace.Span // of the request; nil if requests are not traced

	parent  context.Context
	timeout time.Duration // of the class; 0: none

	once  sync.Once // guards the next two
	timed context.Context
	end   context.CancelFunc
}

// start returns the context with the class's timeout, and creates it on first use. Operations that only use memory never
// need it, and its four allocations would exceed the goal of six for a request.
func (c *operationContext) start() context.Context {
	c.once.Do(func() {
		c.timed, c.end = c.parent, func() {}
		if c.timeout > 0 {
			c.timed, c.end = context.WithTimeout(c.parent, c.timeout)
		}
	})
	return c.timed
}

// stop cancels the context. From here on it is the connection's context if it was not created.
func (c *operationContext) stop() {
	c.once.Do(func() { c.timed, c.end = c.parent, func() {} })
	c.end()
}

// Deadline implements context.Context.
func (c *operationContext) Deadline() (time.Time, bool) { return c.start().Deadline() }

// Done implements context.Context: the client disconnected, or the class's time is over.
func (c *operationContext) Done() <-chan struct{} { return c.start().Done() }

// Err implements context.Context.
func (c *operationContext) Err() error { return c.start().Err() }

// Value returns the caller and the request, and other values of the connection's context.
func (c *operationContext) Value(key any) any {
	switch key {
	case auth.PrincipalKey:
		if c.principal.Kind == auth.Anonymous {
			return nil
		}
		return &c.principal
	case endpoint.RequestKey:
		return endpoint.Request(c)
	case audit.SourceKey:
		return audit.Source{Address: c.Client(), RequestID: c.RequestID()}
	case trace.Key:
		if c.span == nil {
			return nil
		}
		return c.span
	default:
		return c.parent.Value(key)
	}
}

// RequestID implements endpoint.Request.
func (c *operationContext) RequestID() string {
	if c.callerID != "" {
		return c.callerID
	}
	return id.Format(id.Request, c.uuid)
}

// APIVersion implements endpoint.Request.
func (c *operationContext) APIVersion() int { return c.number }

// At implements endpoint.Request.
func (c *operationContext) At() time.Time { return c.at }

func (c *operationContext) clientText() string {
	if client := c.Client(); client.IsValid() {
		return client.String()
	}
	return "local"
}

// takeRequestID uses the caller's ID if it is well formed, else a new one.
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
