package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The table of docs/http.md: ours says whether the answer came from our code, with every header.
func TestWhatGosServerAnswersByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	addr := b.listen()
	const get, post = "GET /api/open HTTP/1.1\r\n", "POST /api/v1/notes HTTP/1.1\r\nHost: a\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		ours          bool
	}{
		{"no request line", "rubbish\r\n\r\n", 400, false},
		{"a method that is none", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"a header name that is none", get + "Host: a\r\nX Y: 1\r\n\r\n", 400, false},
		{"a NUL in a value", get + "Host: a\r\nX: a\x00b\r\n\r\n", 400, false},
		{"a broken escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"no Host", get + "\r\n", 400, false},
		{"two Hosts", get + "Host: a\r\nHost: b\r\n\r\n", 400, false},
		{"a malformed Host", get + "Host: a b\r\n\r\n", 400, false},
		{"a length that is no number", post + "Content-Length: x\r\n\r\n", 400, false},
		{"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, false},
		{"too many headers", get + "Host: a\r\nX: " + strings.Repeat("a", 21<<10) + "\r\n\r\n", 431, false},
		{"a transfer encoding", post + "Transfer-Encoding: gzip\r\n\r\n", 501, false},
		{"an expectation", post + "Expect: miracles\r\nContent-Length: 1\r\n\r\n", 417, false},
		{"a protocol version", "GET / HTTP/2.5\r\nHost: a\r\n\r\n", 505, false},

		{"HTTP/1.0", "GET /api/open HTTP/1.0\r\n\r\n", 200, true},
		{"bare line feeds", "GET /api/open HTTP/1.1\nHost: a\n\n", 200, true},
		{"a folded header", get + "Host: a\r\nX: a\r\n b\r\n\r\n", 200, true},
		{"an absolute target", "GET http://elsewhere/api/open HTTP/1.1\r\nHost: a\r\n\r\n", 200, true},
		{"an upgrade", get + "Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 200, true},
		{"a length and chunks", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 401, true},
		{"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 404, true},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 404, true},
		{"everything", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, true},
		{"a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(conn, c.request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if ours := resp.Header.Get("X-RateLimit-Limit") != ""; resp.StatusCode != c.status || ours != c.ours {
				t.Errorf("got %d, ours is %v; want %d and %v", resp.StatusCode, ours, c.status, c.ours)
			}
		})
	}
}
