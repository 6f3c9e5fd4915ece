package api

import (
	"net/http"

	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
)

// exchange is one request with its answer: all that the way of a request learns. It goes back to be used again when the
// answer is out, so nothing that may outlive the request refers to it; the call may.
type exchange struct {
	*call

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

	buf    []byte // where the answer is encoded; it stays with the exchange
	status int    // of the answer, 0 while none was sent
	size   int    // bytes of its body
}

// maxBuffer keeps one large answer from holding memory for ever.
const maxBuffer = 64 << 10

// begin takes an exchange that is out of use: all its members but the buffer are zero.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := a.exchanges.Get().(*exchange)
	ctx := r.Context()
	x.call = &call{request: r, api: a, parent: ctx, at: a.o.Now(), timeout: smallTime}
	x.w, x.r, x.conn, x.route = w, r, connOf(ctx), &noRoute
	x.takeRequestID(r)
	return x
}

// release gives an exchange back. One that met a panic is not: nobody knows who still holds it.
func (x *exchange) release() {
	a, buf := x.api, x.buf
	if cap(buf) > maxBuffer {
		buf = nil
	}
	x.call.signIn, x.call.free = nil, nil // the call may outlive the exchange
	*x = exchange{buf: buf}
	a.exchanges.Put(x)
}
