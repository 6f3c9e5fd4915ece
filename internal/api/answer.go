package api

import (
	"net/http"
	"strconv"
	"time"

	"keepsake/internal/endpoint"
	"keepsake/internal/id"
)

// Headers are written as the specification spells them. That is not Go's canonical form for names with capitals inside
// (X-API-Version), so they are set in the map directly, here and nowhere else; every client reads them in any case.

// Header values that never change, made once. They are shared by all answers and never written to.
var (
	mediaJSON  = []string{"application/json"}
	mediaLines = []string{endpoint.MediaLines}
	mediaHTML  = []string{"text/html; charset=utf-8"}
	nosniff    = []string{"nosniff"}
	noStore    = []string{"no-store"}

	// Pages hold text and nothing that runs, loads or is framed.
	pagePolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	// Where TLS is served here, browsers shall ask for nothing else.
	transportSecurity = []string{"max-age=31536000"}
)

// ownNames are the headers whose values are new with every answer, in the order ownHeaders appends them.
var ownNames = [...]string{
	"X-Request-Id",
	"X-RateLimit-Remaining",
	"X-RateLimit-Daily-Remaining",
	"X-RateLimit-Monthly-Remaining",
	"X-RateLimit-Key-Remaining",
}

// lengthFrom is the size from which on we say how long a body is; below, Go's server does so without a header entry.
const lengthFrom = 2048

// send is the writer through which every answer leaves: it adds the headers that every answer has, and writes it.
func (x *exchange) send(status int, media []string, body []byte) {
	if media != nil && (len(body) >= lengthFrom || x.r.Method == http.MethodHead) {
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.head(status, media)
	if len(body) > 0 && x.r.Method != http.MethodHead {
		x.size, _ = x.w.Write(body) // a client that went away is not told so
	}
}

// head writes status and headers.
func (x *exchange) head(status int, media []string) {
	h := x.w.Header()
	h["X-API-Version"] = x.table.number
	h["X-Content-Type-Options"] = nosniff
	if media != nil {
		h["Content-Type"] = media
	}
	if x.known || status >= http.StatusBadRequest {
		h["Cache-Control"] = noStore
	}
	if x.route.page != nil {
		h["Content-Security-Policy"] = pagePolicy
	}
	if x.r.TLS != nil {
		h["Strict-Transport-Security"] = transportSecurity
	}
	x.limitHeaders(h)
	x.ownHeaders(h)
	if x.known {
		x.caller.warnings(x.at, h)
	}
	x.deprecation(h)
	if x.api.vary {
		x.allowOrigin(h)
	}
	x.status = status
	if x.body != nil {
		_ = x.body.conn.SetWriteDeadline(time.Now().Add(answerTime)) // as every deadline of a connection, by the real clock
	}
	x.w.WriteHeader(status)
}

// limitHeaders sets the numbers that stay the same for a while: limits change by hand, windows end once a minute.
func (x *exchange) limitHeaders(h http.Header) {
	texts := &x.api.texts
	h["X-RateLimit-Limit"] = texts.of(x.verdict.Limit)
	h["X-RateLimit-Reset"] = texts.of(x.verdict.ResetUnix)
	if x.verdict.HasKey {
		h["X-RateLimit-Key-Limit"] = texts.of(x.verdict.KeyLimit)
	}
}

// ownHeaders sets what is new with every answer: appended into one buffer that becomes one string.
func (x *exchange) ownHeaders(h http.Header) {
	var scratch [128]byte
	var ends [len(ownNames)]int
	b, v := scratch[:0], &x.verdict
	if x.callerID == nil {
		b = id.Append(b, id.Request, x.uuid)
	} else {
		b = append(b, x.callerID[0]...)
	}
	ends[0] = len(b)
	for i, n := range [...]int64{v.Remaining, v.DailyRemaining, v.MonthlyRemaining, v.KeyRemaining} {
		b = strconv.AppendInt(b, n, 10)
		ends[i+1] = len(b)
	}
	count := len(ownNames)
	if !v.HasKey {
		count--
	}
	text, start := string(b), 0
	for i, name := range ownNames[:count] {
		x.own[i] = text[start:ends[i]]
		h[name] = x.own[i : i+1 : i+1]
		start = ends[i]
	}
}

// spelling is how the specification writes a header that an operation gives in Go's canonical form.
func spelling(name string) string {
	if name == "Etag" {
		return "ETag"
	}
	return name
}

// link makes a path of ours a link: absolute where the instance knows its public address, never from the Host header.
func (x *exchange) link(target string) string {
	if target != "" && target[0] == '/' {
		return x.api.o.PublicURL + target
	}
	return target
}
