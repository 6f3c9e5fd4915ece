package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

// WebPage is a page for browsers next to the API, such as one of the console. It is not an operation: it is free, and its
// headers show the limits of a caller without a credential. What it shows and does it gets from the API, with Visit.Call.
type WebPage struct {
	Method string
	Path   string // /console/keys/{id}; `/` is the start page, which a client that refuses HTML gets as JSON
	Serve  func(v *Visit) WebResponse
}

// WebResponse is the response of a WebPage. Header contains at least Content-Security-Policy. A 404 without a body is sent as the
// API sends it, in JSON.
type WebResponse struct {
	Status int
	Header http.Header
	Body   []byte
	Zipped []byte // the body in gzip, for clients that accept it; can be nil
	ETag   string // with quotes; empty for none
}

// Visit is a browser's request for a WebPage.
type Visit struct {
	*http.Request
	x *charged
}

// BaseURL returns the address of the API: publicUrl, or this machine with the listener's port. It never depends on the Host
// header.
func (v *Visit) BaseURL() string { return v.x.baseURL() }

// Link returns a link to a path: absolute if publicUrl is set.
func (v *Visit) Link(path string) string { return v.x.link(path) }

// RequestID returns the ID of the request. All calls of a visit have it.
func (v *Visit) RequestID() string { return v.x.ctx.RequestID() }

// PrefersHTML reports whether the visitor is a browser that shows a page, and not a program.
func (v *Visit) PrefersHTML() bool { return prefersHTML(v.x.r.Header["Accept"]) }

// At returns when the request was received.
func (v *Visit) At() time.Time { return v.x.at }

// Client returns the visitor's address, as for operations.
func (v *Visit) Client() netip.Addr { return v.x.ctx.Client() }

// Stream lets the visitor send a body of any length while it makes progress, like an operation of class Stream. It replaces
// the body.
func (v *Visit) Stream() {
	v.x.allot(endpoint.Stream)
	v.Request = v.x.r
}

// MigrationGuide returns the title and the content of the guide that the path of the page names, in HTML. ok is false if there
// is no such guide.
func (v *Visit) MigrationGuide() (title, body string, ok bool) {
	from, to, ok := guideOf(v.PathValue("guide"))
	if !ok || v.x.identified.routed.snapshot.Version(from) == nil || v.x.identified.routed.snapshot.Version(to) == nil {
		return "", "", false
	}
	title, text := migrationGuide(v.x.identified.routed.snapshot, from, lifecycle.Between(v.x.api.o.Steps, from, to), v.x.at)
	return title, string(text), true
}

// Call sends a request to the API as if the visitor had sent it: it passes every check, and its credential is in its headers.
//
// An uncounted request is a GET for what the page itself shows. It is not charged and not recorded as usage, because the visit
// itself is. So a page about usage shows the same usage when it is read again, and opens for a workspace whose quota is used up.
func (v *Visit) Call(r *http.Request, uncounted bool) (resp *http.Response, err error) {
	call := r.WithContext(&visitContext{Context: v.x.ctx.parent, uncounted: uncounted && r.Method == http.MethodGet})
	call.RequestURI, call.RemoteAddr, call.TLS, call.Host = r.URL.RequestURI(), v.x.r.RemoteAddr, v.x.r.TLS, v.x.r.Host
	call.Header = r.Header.Clone()
	call.Header["X-Request-Id"] = []string{v.RequestID()}
	if from := v.x.r.Header["X-Forwarded-For"]; from != nil {
		call.Header["X-Forwarded-For"] = from
	}
	if call.Body == nil {
		call.Body = http.NoBody
	}
	w := &recorder{of: v.x.w, header: http.Header{}}
	defer func() {
		if fault := recover(); fault != nil {
			resp, err = nil, fmt.Errorf("%s %s: the response was cut off", r.Method, r.URL.Path)
		}
		if w.tooLong {
			resp, err = nil, ErrTooLong
		}
	}()
	v.x.api.ServeHTTP(w, call)
	return w.response(r), nil
}

// ErrTooLong is the error of a call with a response that does not fit into memory beside others.
var ErrTooLong = errors.New("the response is too long for a page")

// maxCalled is how many bytes of a response a page can take.
const maxCalled = 64 << 20

// visitContext is the context of a call for a page. It ends with the visit, and has none of its values: the call does not write
// to the visit's connection and has no rights of the data folder's socket.
type visitContext struct {
	context.Context
	uncounted bool
}

// Value returns nil.
func (*visitContext) Value(any) any { return nil }

// isVisit reports whether ctx belongs to a call for a page.
func isVisit(ctx context.Context) bool {
	_, ok := ctx.(*visitContext)
	return ok
}

// isUncounted reports whether ctx belongs to such a call that is not charged and not recorded.
func isUncounted(ctx context.Context) bool {
	visit, ok := ctx.(*visitContext)
	return ok && visit.uncounted
}

// recorder is the http.ResponseWriter of a call for a page.
type recorder struct {
	of      http.ResponseWriter // of the visit
	header  http.Header
	status  int
	body    bytes.Buffer
	tooLong bool
}

// Unwrap lets a call extend the deadlines of the visit's connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.of }

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	if w.tooLong = w.tooLong || w.body.Len()+len(p) > maxCalled; w.tooLong {
		return 0, ErrTooLong
	}
	return w.body.Write(p)
}

func (w *recorder) response(r *http.Request) *http.Response {
	canonical := http.Header{}
	for name, values := range w.header {
		canonical[http.CanonicalHeaderKey(name)] = values
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: canonical, Request: r,
		Body: readCloser{bytes.NewReader(w.body.Bytes())}, ContentLength: int64(w.body.Len()),
	}
}

// webRoute returns the route of a page.
func webRoute(p WebPage) *route {
	return &route{page: func(x *charged) (page, error) {
		resp := p.Serve(&Visit{Request: x.r, x: x})
		if resp.Status == http.StatusNotFound && len(resp.Body) == 0 {
			return page{}, errNotFound
		}
		h := x.w.Header()
		media := resp.Header["Content-Type"]
		for name, values := range resp.Header {
			h[name] = values
		}
		return page{status: resp.Status, media: media, body: resp.Body, zipped: resp.Zipped, etag: resp.ETag}, nil
	}}
}
