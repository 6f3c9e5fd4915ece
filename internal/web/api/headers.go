package api

import (
	"net/http"
	"strconv"
	"strings"
)

// headers are response headers, each `Name: value\r
// `, spelled like in the specification.
//
// net/http keeps headers in a map that it grows, copies, sorts and checks, which for a dozen headers costs more than the
// whole pipeline. On a conn they are appended to one buffer instead, which is written after the status line (decision 14).
// On other connections (TLS, the data folder's socket, tests without a connection) the same lines are set in the map.
type headers []byte

// text appends a header. start is everything before the value. Names and values are constants or were checked, so they
// contain no line breaks.
func (h headers) text(start, value string) headers {
	return append(append(append(h, start...), value...), "\r\n"...)
}

// number appends a header with a number.
func (h headers) number(start string, n int64) headers {
	return append(strconv.AppendInt(append(h, start...), n, 10), "\r\n"...)
}

// into sets the headers in a map, with their names as spelled here.
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
