package api

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"time"

	"keepsake/internal/base/id"
)

// Constant header values, shared by all responses and never modified.
var (
	mediaJSON = []string{"application/json"}
	mediaHTML = []string{"text/html; charset=utf-8"}

	// Pages are text that runs nothing, loads nothing and cannot be framed.
	pagePolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	// With TLS, browsers must use only HTTPS from now on.
	transportSecurity = []string{"max-age=31536000"}

	closing = []string{"close"}
)

// answered is a request with its response.
type answered struct {
	*received
	charged *charged

	status   int    // 0 before the head is sent
	size     int    // of the body in bytes
	code     string // of the error, if the response is one
	discards bool   // the rest of the request's body, after the response

	zip *gzip.Writer // of a response in pieces; nil if it is not compressed
}

func (x *answered) routed() *routed { return x.charged.identified.routed }

// lengthFrom is the size from which we set Content-Length; below, Go's server does that.
const lengthFrom = 2048

// send sends every response, with the headers that all responses have.
func (x *answered) send(status int, media []string, body []byte) {
	x.discards = x.leavesBody()
	if x.discards {
		x.w.Header()["Connection"] = closing
	}
	allowed := status != http.StatusNoContent && status != http.StatusNotModified
	if x.discards && allowed || media != nil && (len(body) >= lengthFrom || x.r.Method == http.MethodHead) {
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.head(status, media)
	if len(body) > 0 && x.r.Method != http.MethodHead {
		x.size, _ = x.w.Write(body) // the client can have disconnected
	}
}

// head writes the status and the headers: the common ones as lines, others through the header map.
func (x *answered) head(status int, media []string) {
	h := x.w.Header()
	if media != nil {
		h["Content-Type"] = media
	}
	x.api.base.publicPaths(h)
	if x.routed().route.page != nil && h["Content-Security-Policy"] == nil {
		h["Content-Security-Policy"] = pagePolicy
	}
	if x.r.TLS != nil {
		h["Strict-Transport-Security"] = transportSecurity
	}
	if framingInDoubt(x.r) {
		h["Connection"] = closing
	}
	if who := x.charged.identified.caller; who != nil {
		who.warnings(x.at, h)
	}
	x.routed().deprecation(h)
	if x.api.vary {
		x.allowOrigin(h)
	}
	if x.conn != nil {
		x.conn.headers = x.everyAnswer(x.conn.headers[:0], status)
		x.conn.waiting = true
	} else {
		x.everyAnswer(nil, status).into(h)
	}
	x.status = status
	if x.stream != nil {
		_ = x.stream.conn.SetWriteDeadline(time.Now().Add(answerTime)) // deadlines of connections use the real clock
	}
	x.w.WriteHeader(status)
}

// framingInDoubt reports whether the connection must close after the response, because a proxy before us can see the end of
// the body elsewhere (RFC 9112, 6.1): a request with both Transfer-Encoding and Content-Length, or with Transfer-Encoding
// over HTTP/1.0. net/http removes the header that it ignores, so every chunked request and every HTTP/1.0 request with a
// body counts as such.
func framingInDoubt(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.TransferEncoding != nil || r.ProtoMinor == 0 && r.ContentLength != 0)
}

// everyAnswer appends the headers of every response (§8, §9.2; docs/spec/conventions.md).
func (x *answered) everyAnswer(h headers, status int) headers {
	h = h.text("X-API-Version: ", x.routed().table.number).text("X-Content-Type-Options: ", "nosniff")
	if x.charged.identified.caller != nil || x.routed().trusted || status >= http.StatusBadRequest {
		h = h.text("Cache-Control: ", "no-store")
	}
	v := &x.charged.verdict
	h = h.number("X-RateLimit-Limit: ", v.Limit).number("X-RateLimit-Remaining: ", v.Remaining).number("X-RateLimit-Reset: ", v.ResetUnix)
	h = h.number("X-RateLimit-Daily-Remaining: ", v.DailyRemaining).number("X-RateLimit-Monthly-Remaining: ", v.MonthlyRemaining)
	if v.HasKey {
		h = h.number("X-RateLimit-Key-Limit: ", v.KeyLimit).number("X-RateLimit-Key-Remaining: ", v.KeyRemaining)
	}
	if p := x.charged.judgement.owner; p != nil {
		h = ownerHeaders(h, p)
	}
	if x.ctx.callerID != "" {
		return h.text("X-Request-Id: ", x.ctx.callerID)
	}
	return append(id.Append(append(h, "X-Request-Id: "...), id.Request, x.ctx.uuid), "\r\n"...)
}

// spelling returns the specification's spelling of a canonical header name.
func spelling(name string) string {
	if name == "Etag" {
		return "ETag"
	}
	return name
}
