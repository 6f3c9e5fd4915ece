package api

import (
	"compress/gzip"
	"io"
	"net/http"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
)

// requestState is everything that the pipeline knows about a request and its response. It is reused, so nothing that can
// outlive the request refers to it. The operationContext can outlive the request and is not reused.
type requestState struct {
	*operationContext

	w    http.ResponseWriter
	r    *http.Request
	conn *conn // nil if we cannot write to it directly

	snapshot *lifecycle.Snapshot
	version  *lifecycle.Version // that serves the request; the current one if none does
	table    *table             // of that version
	inPath   bool               // the path names a version
	gone     *lifecycle.Version // the requested version, if it is sunset
	route    *route

	caller  caller
	trusted bool          // the request has the backend secret
	address limit.Account // counters of the client's address, once they were needed
	toll    toll          // charged to the address
	verdict limit.Verdict // of the rate-limit headers
	judged  bool          // verdict is set
	visits  limit.Verdict // of the address, on a request that is free
	receipt limit.Receipt // of the charge
	paid    bool          // the caller was charged, not an address
	passed  bool          // the credential was judged and passed
	carry   bool          // send a 429 as a 403 (endpoint.Demand)
	shares  shares        // of capacity that all callers share

	roomOf   string // whose room the request's body takes
	roomSize int64  // how much of it; 0: none

	body     *progress // of a stream, with its deadlines
	incoming arriving  // of other classes, while it is read

	zip *gzip.Writer // of a response in pieces; nil if it is not compressed

	sent     io.Reader // the body as net/http gave it
	discards bool      // the rest of it, after the response

	buf    []byte // for the encoded response; reused
	code   string // of the error, if the response is one
	status int    // of the response; 0 before it is sent
	size   int    // of its body in bytes
}

// maxBuffer keeps a large response from occupying memory forever.
const maxBuffer = 64 << 10

// begin returns an unused requestState. All its fields except the buffer are zero.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *requestState {
	x := a.states.Get().(*requestState)
	ctx := r.Context()
	x.operationContext = &operationContext{request: r, api: a, parent: ctx, at: a.o.Now(), timeout: smallTime}
	x.w, x.r, x.sent, x.conn, x.route = w, r, r.Body, connOf(ctx), &noRoute
	x.takeRequestID(r)
	if a.o.Tracer != nil {
		x.beginSpan()
	}
	return x
}

// release returns a requestState for reuse. It is not called after a panic, because something can still hold it.
func (x *requestState) release() {
	a, buf := x.api, x.buf
	if cap(buf) > maxBuffer {
		buf = nil
	}
	c := x.operationContext
	c.signIn, c.free, c.calls, c.judging = nil, nil, nil, nil // the context can outlive the request
	*x = requestState{buf: buf}
	a.states.Put(x)
}
