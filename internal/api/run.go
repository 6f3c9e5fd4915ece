package api

import (
	"net/http"
	"strings"

	"keepsake/internal/endpoint"
)

// run binds the input, calls the operation and answers.
func (x *exchange) run(op *endpoint.Operation) {
	if op.Idempotent {
		if key := x.r.Header[idempotencyKey]; key != nil {
			x.runOnce(op, key)
			return
		}
	}
	in, err := op.Bind(x.r, nil)
	if err != nil {
		x.fail(err)
		return
	}
	x.runBound(op, in)
}

// runBound is run once the input is bound.
func (x *exchange) runBound(op *endpoint.Operation, in endpoint.Bound) {
	var resp endpoint.Response
	if err := x.invoke(op, in, &resp); err != nil {
		x.fail(err)
		return
	}
	x.respond(&resp)
}

// invoke runs the operation and encodes its answer into the exchange's buffer.
func (x *exchange) invoke(op *endpoint.Operation, in endpoint.Bound, resp *endpoint.Response) error {
	err := op.Answer(x.call, in, resp, x.buf[:0])
	if cap(resp.Body) > cap(x.buf) {
		x.buf = resp.Body
	}
	return err
}

// respond writes an operation's answer. A GET whose caller has it already is 304.
func (x *exchange) respond(resp *endpoint.Response) {
	h := x.w.Header()
	etag := ""
	for _, f := range resp.Header {
		h[spelling(f.Name)] = []string{f.Value}
		if f.Name == "Etag" {
			etag = f.Value
		}
	}
	if etag != "" && resp.Status == http.StatusOK && x.reading() {
		if sent := x.r.Header["If-None-Match"]; sent != nil && endpoint.Unchanged(strings.Join(sent, ", "), etag) {
			x.send(http.StatusNotModified, nil, nil)
			return
		}
	}
	if resp.Pieces != nil {
		x.sendPieces(resp.Status, []string{resp.Media}, resp.Pieces)
		return
	}
	media := mediaJSON
	if resp.Body == nil {
		media = nil
	}
	x.send(resp.Status, media, resp.Body)
}

// reading reports whether the request asks for a representation.
func (x *exchange) reading() bool {
	return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
}
