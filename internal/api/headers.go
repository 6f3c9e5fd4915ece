package api

import (
	"net/http"
	"strings"

	"keepsake/internal/limit"
	"keepsake/internal/wire"
)

// headers are the headers of an answer as they go out, each `Name: value\r\n`, spelled as the specification spells them.
//
// A dozen headers that every answer has cost net/http more than all that governs a request: it keeps them in a map that
// grows, copies the map, sorts and checks it. On a connection of ours they are appended to one buffer instead, which
// goes out behind the status line (decision 14). Where the bytes are not ours to write (TLS, the data folder's socket,
// tests without a connection) the same lines go through the map.
type headers []byte

// text appends a header, of which start is all before the value. Names and values are ours or were checked before:
// nobody else's bytes get here unread.
func (h headers) text(start, value string) headers {
	return append(append(append(h, start...), value...), "\r\n"...)
}

// number appends a header whose value is a number.
func (h headers) number(start string, n int64) headers {
	return append(wire.AppendNumber(append(h, start...), n), "\r\n"...)
}

// answerHeaders are the headers that every answer has. They stay where they are from one answer to the next: most of
// them say the same for a minute at least, and of a number that counts down the last digits change.
type answerHeaders struct {
	text    headers
	of      steadily
	numbers [4]digits // of the budgets: what is left in the minute, the day and the month, and of the key
	own     int       // where the line of the request id begins
}

// steadily is what those of them say that are in most answers what they were in the last one.
type steadily struct {
	version      string
	private      bool // no cache may keep the answer
	limit, reset int64
	hasKey       bool
	keyLimit     int64
}

// set makes them those of an answer, but for the request id, which comes last.
func (a *answerHeaders) set(of *steadily, v *limit.Verdict) {
	if a.text == nil || a.of != *of ||
		!a.numbers[0].put(a.text, v.Remaining) || !a.numbers[1].put(a.text, v.DailyRemaining) || !a.numbers[2].put(a.text, v.MonthlyRemaining) ||
		v.HasKey && !a.numbers[3].put(a.text, v.KeyRemaining) {
		a.write(of, v)
	}
	a.text = a.text[:a.own]
}

func (a *answerHeaders) write(of *steadily, v *limit.Verdict) {
	h := a.text[:0].text("X-API-Version: ", of.version).text("X-Content-Type-Options: ", "nosniff")
	if of.private {
		h = h.text("Cache-Control: ", "no-store")
	}
	h = h.number("X-RateLimit-Limit: ", of.limit).number("X-RateLimit-Reset: ", of.reset)
	if of.hasKey {
		h = h.number("X-RateLimit-Key-Limit: ", of.keyLimit)
	}
	h = h.digits("X-RateLimit-Remaining: ", v.Remaining, &a.numbers[0])
	h = h.digits("X-RateLimit-Daily-Remaining: ", v.DailyRemaining, &a.numbers[1])
	h = h.digits("X-RateLimit-Monthly-Remaining: ", v.MonthlyRemaining, &a.numbers[2])
	if of.hasKey {
		h = h.digits("X-RateLimit-Key-Remaining: ", v.KeyRemaining, &a.numbers[3])
	}
	a.text, a.of, a.own = h, *of, len(h)
}

// digits is a number as it stands in a text.
type digits struct {
	n         int64
	end       int   // behind its last digit
	low, high int64 // the numbers that have as many
}

// digits appends a header whose value is a number, and says where its digits are.
func (h headers) digits(start string, n int64, d *digits) headers {
	h = h.number(start, n)
	if n < 0 || n >= 1e18 {
		*d = digits{low: 1} // always written anew
		return h
	}
	*d = digits{n: n, end: len(h) - len("\r\n"), high: 9}
	for d.high < n {
		d.low, d.high = d.high+1, d.high*10+9
	}
	return h
}

// put makes it another number, digit by digit from the last one to the first that stays. It is false where the other one
// does not have as many.
func (d *digits) put(text []byte, n int64) bool {
	if n < d.low || n > d.high {
		return false
	}
	for was, is, at := d.n, n, d.end-1; was != is; was, is, at = was/10, is/10, at-1 {
		text[at] = byte('0' + is%10)
	}
	d.n = n
	return true
}

// into sets the headers in a map, under the names as they are written: clients read them in any case.
func (h headers) into(m http.Header) {
	rest := string(h)
	values := make([]string, 0, 16)
	for rest != "" {
		colon, end := strings.IndexByte(rest, ':'), strings.IndexByte(rest, '\r')
		values = append(values, rest[colon+len(": "):end])
		m[rest[:colon]] = values[len(values)-1:][:1:1]
		rest = rest[end+len("\r\n"):]
	}
}
