package api

import (
	"net/http"

	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
)

// requestState is everything that the pipeline learns about one request and its response. It is reused after the response,
// so nothing that can outlive the request refers to it. The operationContext can outlive the request and is not reused.
type requestState struct {
	*operationContext

	w    http.ResponseWriter
	r    *http.Request
	conn *conn // nil where its bytes are not ours to write

	snapshot *lifecycle.Snapshot
	version  *lifecycle.Version // that serves the request; the current one where none does
	table    *table             // of that version
	inPath   bool               // the path names a version
	gone     *lifecycle.Version // the sunset version that was asked for
	route    *route

	caller  caller
	address limit.Account // budget of the client's address, once it was asked for
	toll    toll          // what the address was charged
	verdict limit.Verdict // the numbers of the headers
	judged  bool          // verdict holds
	receipt limit.Receipt // of the charge
	paid    bool          // the caller's own budgets, not an address's, were charged
	shares  shares        // what it has taken of what all callers share

	roomOf   string // who has room for the request's body
	roomSize int64  // how much; 0: it needs none

	body     *progress // of a stream, whose deadlines we keep
	incoming arriving  // of other classes, while it is read

	buf    []byte // where the answer is encoded; it is reused, too
	status int    // of the answer, 0 while none was sent
	size   int    // bytes of its body
}

// maxBuffer keeps one large answer from holding memory for ever.
const maxBuffer = 64 << 10

// begin takes a requestState that is not in use. All its fields but the buffer are zero.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *requestState {
	x := a.states.Get().(*requestState)
	ctx := r.Context()
	x.operationContext = &operationContext{request: r, api: a, parent: ctx, at: a.o.Now(), timeout: smallTime}
	x.w, x.r, x.conn, x.route = w, r, connOf(ctx), &noRoute
	x.takeRequestID(r)
	return x
}

// release gives a requestState back. After a panic it is not given back, because something may still hold it.
func (x *requestState) release() {
	a, buf := x.api, x.buf
	if cap(buf) > maxBuffer {
		buf = nil
	}
	x.operationContext.signIn, x.operationContext.free = nil, nil // the context can outlive the request
	*x = requestState{buf: buf}
	a.states.Put(x)
}
