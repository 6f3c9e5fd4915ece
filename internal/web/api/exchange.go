package api

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
)

// exchange is the memory of one request. The request passes through stages, and the type of a stage says what is known by then:
//
//	received    the request as it came, and the limits of its client's address
//	routed      the version and the route that serve it
//	identified  its caller, if it has one
//	charged     what it was charged, which the headers of every response show
//	admitted    what it uses of the shared capacity; its operation runs
//	answered    its response
//
// A response that needs no operation skips admitted. A Judging operation is charged while it runs.
//
// An exchange is reused, so nothing that can outlive the request refers to it. The operationContext can outlive the request and is
// not reused.
type exchange struct {
	received   received
	routed     routed
	identified identified
	charged    charged
	admitted   admitted
	answered   answered

	caller caller // that identified.caller refers to
	buf    []byte // for encoded responses; kept for the next request
}

// maxBuffer keeps a large response from occupying memory forever.
const maxBuffer = 64 << 10

// begin returns an unused exchange with the request as it came. All its other members except the buffer are zero.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *exchange {
	e := a.exchanges.Get().(*exchange)
	parent := r.Context()
	ctx := &operationContext{request: r, api: a, parent: parent, at: a.o.Now(), timeout: smallTime}
	ctx.takeRequestID(r)
	x := &e.received
	x.exchange, x.ctx, x.api, x.at = e, ctx, a, ctx.at
	x.w, x.r, x.sent, x.conn, x.address.of = w, r, r.Body, connOf(parent), ctx
	if a.o.Tracer != nil {
		x.beginSpan()
	}
	return e
}

// release returns an exchange for reuse. It is not called after a panic, because something can still hold it.
func (e *exchange) release() {
	a, buf := e.received.api, e.buf
	if cap(buf) > maxBuffer {
		buf = nil
	}
	e.received.ctx.running = nil // the context can outlive the request
	*e = exchange{buf: buf}
	a.exchanges.Put(e)
}

// end runs last in any case: it handles a panic, counts the request and logs it, and discards the rest of its body.
func (e *exchange) end() {
	fault := recover()
	if fault == nil {
		e.settle()
		e.discard()
		e.release()
		return
	}
	defer e.discard() // last
	defer e.settle()
	x := e.route()
	if fault != http.ErrAbortHandler { //nolint:errorlint // the value net/http compares with
		x.api.o.Log.Error("panic", slog.String("id", x.ctx.RequestID()), slog.String("route", x.route.template),
			slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
	}
	if e.answered.status != 0 || fault == http.ErrAbortHandler { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // part of the response was sent: abort the connection, so that it does not look complete
	}
	e.apologise()
}

// route returns the routed stage. If the request did not reach it, the current version answers.
func (e *exchange) route() *routed {
	x := &e.routed
	if x.table == nil {
		x.received, x.route = &e.received, &noRoute
		x.snapshot = x.api.o.Versions.Snapshot()
		x.version = x.snapshot.Current()
		x.ctx.number = x.version.Number
		x.table = &table{number: strconv.Itoa(x.version.Number)}
	}
	return x
}

// apologise responds with a 500 after a panic.
func (e *exchange) apologise() {
	who := &e.identified
	if who.routed == nil {
		who = e.routed.as(noOperation, nil)
	}
	x := &e.charged
	switch {
	case x.identified == nil:
		x = who.peek()
	case x.ourFault(errInternal):
		x.refund()
	}
	clear(x.w.Header())
	x.sendProblem(errInternal, x.bodyOf(errInternal))
}
