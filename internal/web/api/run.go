package api

import (
	"io"
	"net/http"
	"strings"

	"keepsake/internal/web/endpoint"
)

// run binds the input, calls the operation and responds.
func (x *requestState) run(op *endpoint.Operation) {
	if op.Idempotent {
		if key := x.r.Header[idempotencyKey]; key != nil {
			x.runOnce(op, key)
			return
		}
	}
	in, err := x.receive(op, nil)
	if err != nil {
		x.fail(err)
		return
	}
	x.runBound(op, in)
}

// bodyBlock is the increment in which an arriving body takes capacity.
const bodyBlock = 16 << 10

// receive binds the input and then takes a slot. While its body arrives, a request has no slot, so that slow clients occupy
// none; its received bytes count instead. A stream is processed as it arrives, with a slot.
func (x *requestState) receive(op *endpoint.Operation, copied io.Writer) (in endpoint.Bound, err error) {
	switch {
	case op.Class == endpoint.Stream || x.r.ContentLength == 0:
		in, err = op.Bind(x.r, copied)
	case x.arrive(bodyBlock):
		body := x.r.Body
		x.incoming = arriving{ReadCloser: body, x: x}
		x.r.Body = &x.incoming
		in, err = op.Bind(x.r, copied)
		x.r.Body = body // net/http looks at it before the response
		x.arrived()
	default:
		err = errBusy
	}
	if err == nil && !x.enter(op.Vital) {
		return in, errBusy
	}
	if err == errBusy && x.r.ProtoMajor == 1 { //nolint:errorlint // our own value; do not wait for the rest of the body
		x.w.Header()["Connection"] = closing
	}
	return in, err
}

// arriving is a body that takes capacity as it arrives.
type arriving struct {
	io.ReadCloser
	x     *requestState
	read  int64
	ended bool // the end was read
}

// Read implements io.Reader. It returns errBusy if there is no capacity left.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.read += int64(n)
	a.ended = a.ended || err == io.EOF
	for a.read > a.x.shares.arriving {
		if !a.x.arrive(bodyBlock) {
			return 0, errBusy
		}
	}
	return n, err
}

// runBound is run after the input was bound.
func (x *requestState) runBound(op *endpoint.Operation, in endpoint.Bound) {
	var resp endpoint.Response
	if err := x.invoke(op, in, &resp); err != nil {
		x.fail(err)
		return
	}
	x.respond(&resp)
}

// invoke runs the operation and encodes its response into the reused buffer.
func (x *requestState) invoke(op *endpoint.Operation, in endpoint.Bound, resp *endpoint.Response) error {
	err := op.Answer(x.operationContext, in, resp, x.buf[:0])
	x.locate(op, resp)
	if cap(resp.Body) > cap(x.buf) {
		x.buf = resp.Body
	}
	return err
}

// locate completes the path of a new resource, which operations return below the version.
func (x *requestState) locate(op *endpoint.Operation, resp *endpoint.Response) {
	for i := range resp.Header {
		if f := &resp.Header[i]; f.Name == "Location" && op.Since > 0 {
			f.Value = x.table.prefix + strings.TrimPrefix(f.Value, "/")
		}
	}
}

// respond sends an operation's response, or 304 for a GET whose If-None-Match matches.
func (x *requestState) respond(resp *endpoint.Response) {
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
	switch {
	case h["Content-Type"] != nil: // the operation says it
		media = h["Content-Type"]
	case resp.Media != "":
		media = []string{resp.Media}
	case resp.Body == nil:
		media = nil
	}
	x.sendCompressed(resp.Status, media, resp.Body)
}

// reading reports whether the request asks for a representation.
func (x *requestState) reading() bool {
	return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
}
