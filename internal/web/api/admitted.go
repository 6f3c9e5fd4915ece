package api

import (
	"io"
	"net/http"
	"strings"

	"keepsake/internal/web/endpoint"
)

// admitted is a request whose operation runs.
type admitted struct {
	*received
	identified *identified
	charged    *charged // nil until a Judging operation has judged
	op         *endpoint.Operation
	shares     shares    // of capacity that all callers share
	bodyShare  bodyShare // of the memory for large bodies
	parts      int       // that have begun, see Request.Part
}

// price returns the stage for the response. A Judging operation that failed before it judged has charged nothing, and the
// limits are those of the client's address.
func (x *admitted) price() *charged {
	if x.charged == nil {
		x.charged = x.identified.peek()
	}
	return x.charged
}

func (x *admitted) fail(err error) { x.price().fail(err) }

// run binds the input, calls the operation and responds.
func (x *admitted) run() {
	if x.op.Idempotent {
		if key := x.r.Header[idempotencyKey]; key != nil {
			x.runOnce(key)
			return
		}
	}
	in, err := x.receive(nil)
	if err != nil {
		x.fail(err)
		return
	}
	x.runBound(in)
}

// bodyBlock is the increment in which an arriving body takes capacity.
const bodyBlock = 16 << 10

// receive binds the input and then takes a slot. While its body arrives, a request has no slot, so that slow clients occupy
// none; its received bytes count instead. A stream is processed as it arrives, with a slot.
func (x *admitted) receive(copied io.Writer) (in endpoint.Bound, err error) {
	switch {
	case x.op.Class == endpoint.Stream || x.r.ContentLength == 0:
		in, err = x.op.Bind(x.r, copied)
	case x.arrive(bodyBlock):
		body := x.r.Body
		x.incoming = arriving{ReadCloser: body, x: x}
		x.r.Body = &x.incoming
		in, err = x.op.Bind(x.r, copied)
		x.r.Body = body // net/http looks at it before the response
		x.arrived()
	default:
		err = errBusy
	}
	if err == nil && !x.enter(x.op.Vital) {
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
	x     *admitted
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
func (x *admitted) runBound(in endpoint.Bound) {
	var resp endpoint.Response
	if err := x.invoke(in, &resp); err != nil {
		x.fail(err)
		return
	}
	x.respond(&resp)
}

// invoke runs the operation and encodes its response into the reused buffer.
func (x *admitted) invoke(in endpoint.Bound, resp *endpoint.Response) error {
	err := x.op.Answer(x.ctx, in, resp, x.exchange.buf[:0])
	x.locate(x.op, resp)
	if cap(resp.Body) > cap(x.exchange.buf) {
		x.exchange.buf = resp.Body
	}
	return err
}

// locate completes the path of a new resource, which operations return below the version.
func (x *admitted) locate(op *endpoint.Operation, resp *endpoint.Response) {
	for i := range resp.Header {
		if f := &resp.Header[i]; f.Name == "Location" && op.Since > 0 {
			f.Value = x.identified.routed.table.prefix + strings.TrimPrefix(f.Value, "/")
		}
	}
}

// respond sends an operation's response, or 304 for a GET whose If-None-Match matches.
func (x *admitted) respond(resp *endpoint.Response) {
	a := x.price().answer()
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
			a.send(http.StatusNotModified, nil, nil)
			return
		}
	}
	if resp.Pieces != nil {
		a.sendPieces(resp.Status, []string{resp.Media}, resp.Pieces)
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
	a.sendCompressed(resp.Status, media, resp.Body)
}
