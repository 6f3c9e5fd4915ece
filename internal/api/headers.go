package api

import (
	"net/http"
	"strconv"
	"strings"
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
	return append(strconv.AppendInt(append(h, start...), n, 10), "\r\n"...)
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
