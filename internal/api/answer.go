package api

import (
	"net/http"
	"strconv"

	"keepsake/internal/id"
)

// Header values that never change, made once. They are shared by all answers and never written to.
var (
	mediaJSON = []string{"application/json"}
	mediaHTML = []string{"text/html; charset=utf-8"}
	nosniff   = []string{"nosniff"}
	noStore   = []string{"no-store"}
)

// numberNames are the headers whose values are numbers of this answer, in the order send appends them.
var numberNames = [...]string{
	"X-Request-Id",
	"X-Ratelimit-Limit",
	"X-Ratelimit-Remaining",
	"X-Ratelimit-Reset",
	"X-Ratelimit-Daily-Remaining",
	"X-Ratelimit-Monthly-Remaining",
	"X-Ratelimit-Key-Limit",
	"X-Ratelimit-Key-Remaining",
}

// lengthFrom is the size from which on we say how long a body is; below, Go's server does so without a header entry.
const lengthFrom = 2048

// send is the writer through which every answer leaves: it adds the headers that every answer has, and writes it. The
// constant values are shared, the numbers appended into one buffer that becomes one string.
func (x *exchange) send(status int, media []string, body []byte) {
	h := x.w.Header()
	h["X-Api-Version"] = x.table.number
	h["X-Content-Type-Options"] = nosniff
	if media != nil {
		h["Content-Type"] = media
	}
	if x.caller.known || status >= http.StatusBadRequest {
		h["Cache-Control"] = noStore
	}
	x.numberHeaders(h)
	if x.caller.known {
		x.caller.warnings(x.now, h)
	}
	x.deprecation(h)
	if x.api.vary {
		x.allowOrigin(h)
	}
	if media != nil && (len(body) >= lengthFrom || x.r.Method == http.MethodHead) {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.status = status
	if x.streaming != nil {
		_ = x.streaming.SetWriteDeadline(x.api.o.Now().Add(answerTime))
	}
	x.w.WriteHeader(status)
	if len(body) > 0 && x.r.Method != http.MethodHead {
		x.size, _ = x.w.Write(body) // a client that went away is not told so
	}
}

func (x *exchange) numberHeaders(h http.Header) {
	var ends [len(numberNames)]int
	var scratch [192]byte
	b := scratch[:0]
	if x.callerID == nil {
		b = id.Append(b, id.Request, x.uuid)
	} else {
		h[numberNames[0]] = x.callerID
	}
	ends[0] = len(b)
	v := &x.verdict
	for i, n := range [...]int64{v.Limit, v.Remaining, v.ResetUnix, v.DailyRemaining, v.MonthlyRemaining, v.KeyLimit, v.KeyRemaining} {
		b = strconv.AppendInt(b, n, 10)
		ends[i+1] = len(b)
	}
	text := string(b)
	count := len(numberNames)
	if !v.HasKey {
		count -= 2
	}
	start := 0
	for i, name := range numberNames[:count] {
		if x.numbers[i] = text[start:ends[i]]; x.numbers[i] != "" {
			h[name] = x.numbers[i : i+1 : i+1]
		}
		start = ends[i]
	}
}

// link makes a path of ours a link: absolute where the instance knows its public address, never from the Host header.
func (x *exchange) link(target string) string {
	if target != "" && target[0] == '/' {
		return x.api.o.PublicURL + target
	}
	return target
}
