package api

import (
	"io"
	"net/http"
	"time"
)

// After a response that leaves a body unread, the rest is read and discarded before the connection closes. Closing at once would
// reset the connection, and clients that send the whole body first would lose the response.
const (
	discardTime = time.Second
	// maxDiscarded is twice the largest body that an operation takes, so that a body over that limit ends within it too.
	maxDiscarded = 2 * maxStream
	// Up to this size, net/http reads the rest itself before it responds, and keeps the connection.
	maxKept = 256 << 10
)

// leavesBody reports whether the connection closes after the response and the client can still be sending the body. HTTP/2
// needs nothing: it ends the stream, not the connection. A call for a page has no connection.
func (x *received) leavesBody() bool {
	if x.r.ProtoMajor != 1 || x.r.ContentLength == 0 || isVisit(x.ctx.parent) {
		return false
	}
	read, ended := x.incoming.read, x.incoming.ended
	if x.stream != nil {
		read, ended = x.stream.read, x.stream.ended
	}
	if x.r.ContentLength < 0 {
		return !ended // reading on finds the end
	}
	unread := x.r.ContentLength - read
	closes := x.r.Close || x.w.Header().Get("Connection") == closing[0] || x.r.Header["Expect"] != nil || framingInDoubt(x.r)
	return unread >= maxKept || unread > 0 && closes
}

// discard sends the response and then discards the rest of the body. The request is settled by then, so it only occupies its
// connection.
func (e *exchange) discard() {
	x := &e.received
	if !e.answered.discards {
		return
	}
	c := http.NewResponseController(x.w)
	if c.SetReadDeadline(time.Now().Add(max(discardTime, x.api.o.MinTimeout))) != nil || c.Flush() != nil { // deadlines of connections use the real clock
		return
	}
	_, _ = io.CopyN(io.Discard, x.sent, maxDiscarded) // the client can have disconnected
}
