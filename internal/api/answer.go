package api

import (
	"net/http"
	"strconv"
	"time"

	"keepsake/internal/id"
)

// Header values that never change, made once. They are shared by all answers and never written to.
var (
	mediaJSON = []string{"application/json"}
	mediaHTML = []string{"text/html; charset=utf-8"}

	// Pages hold text and nothing that runs, loads or is framed.
	pagePolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	// Where TLS is served here, browsers shall ask for nothing else.
	transportSecurity = []string{"max-age=31536000"}

	closing = []string{"close"}
)

// lengthFrom is the size from which on we say how long a body is; below, Go's server does so without a header entry.
const lengthFrom = 2048

// send is the writer through which every answer leaves: it adds the headers that every answer has, and writes it.
func (x *requestState) send(status int, media []string, body []byte) {
	if media != nil && (len(body) >= lengthFrom || x.r.Method == http.MethodHead) {
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.head(status, media)
	if len(body) > 0 && x.r.Method != http.MethodHead {
		x.size, _ = x.w.Write(body) // a client that went away is not told so
	}
}

// head writes status and headers: what every answer has as lines, the rest through the header map.
func (x *requestState) head(status int, media []string) {
	h := x.w.Header()
	if media != nil {
		h["Content-Type"] = media
	}
	if x.route.page != nil {
		h["Content-Security-Policy"] = pagePolicy
	}
	if x.r.TLS != nil {
		h["Strict-Transport-Security"] = transportSecurity
	}
	if framingInDoubt(x.r) {
		h["Connection"] = closing
	}
	if x.known {
		x.caller.warnings(x.at, h)
	}
	x.deprecation(h)
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
	if x.body != nil {
		_ = x.body.conn.SetWriteDeadline(time.Now().Add(answerTime)) // as every deadline of a connection, by the real clock
	}
	x.w.WriteHeader(status)
}

// framingInDoubt reports whether the connection must close after the answer, because a proxy in front of us may see the end
// of the body elsewhere (RFC 9112, 6.1): a request with both Transfer-Encoding and Content-Length, or with Transfer-Encoding
// over HTTP/1.0. net/http removes the header that it does not use, so these look like any other chunked request, or like any
// other request with a body over HTTP/1.0.
func framingInDoubt(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.TransferEncoding != nil || r.ProtoMinor == 0 && r.ContentLength != 0)
}

// everyAnswer appends the headers that every answer has (§8, §9.2; decisions.md, A).
func (x *requestState) everyAnswer(h headers, status int) headers {
	h = h.text("X-API-Version: ", x.table.number).text("X-Content-Type-Options: ", "nosniff")
	if x.known || status >= http.StatusBadRequest {
		h = h.text("Cache-Control: ", "no-store")
	}
	v := &x.verdict
	h = h.number("X-RateLimit-Limit: ", v.Limit).number("X-RateLimit-Remaining: ", v.Remaining).number("X-RateLimit-Reset: ", v.ResetUnix)
	h = h.number("X-RateLimit-Daily-Remaining: ", v.DailyRemaining).number("X-RateLimit-Monthly-Remaining: ", v.MonthlyRemaining)
	if v.HasKey {
		h = h.number("X-RateLimit-Key-Limit: ", v.KeyLimit).number("X-RateLimit-Key-Remaining: ", v.KeyRemaining)
	}
	if x.callerID != "" {
		return h.text("X-Request-Id: ", x.callerID)
	}
	return append(id.Append(append(h, "X-Request-Id: "...), id.Request, x.uuid), "\r\n"...)
}

// spelling is how the specification writes a header that an operation gives in Go's canonical form.
func spelling(name string) string {
	if name == "Etag" {
		return "ETag"
	}
	return name
}

// link makes a path of ours a link: absolute where the instance knows its public address, never from the Host header.
func (x *requestState) link(target string) string {
	if target != "" && target[0] == '/' {
		return x.api.o.PublicURL + target
	}
	return target
}
