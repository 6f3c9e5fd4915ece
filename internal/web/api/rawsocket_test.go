package api_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// The table of docs/http.md: ours says whether the answer came from our code, with every header.
func TestResponsesOfGosServer(t *testing.T) {
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
		{"a header line without a colon", get + "Host: a\r\nabc\r\n\r\n", 400, false},
		{"a header line without a name", get + "Host: a\r\n: x\r\n\r\n", 400, false},
		{"a control character in the path", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"a target without a slash", "GET api/open HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"a request of HTTP/0.9", "GET /\r\n\r\n", 400, false},
		{"a negative length", post + "Content-Length: -1\r\n\r\n", 400, false},
		{"two transfer encodings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501, false},
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
		{"HTTP/1.2", "GET /api/open HTTP/1.2\r\nHost: a\r\n\r\n", 200, true},
		{"bare line feeds", "GET /api/open HTTP/1.1\nHost: a\n\n", 200, true},
		{"a folded header", get + "Host: a\r\nX: a\r\n b\r\n\r\n", 200, true},
		{"an absolute target", "GET http://elsewhere/api/open HTTP/1.1\r\nHost: a\r\n\r\n", 200, true},
		{"an upgrade", get + "Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 200, true},
		{"a length and chunks", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 401, true},
		{"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 404, true},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405, true},
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

// Of two requests on one connection only the first is answered if the end of its body is in doubt.
func TestAmbiguousBodyClosesTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	addr := b.listen()
	key := "X-API-Key: " + b.Key(apitest.Operator, auth.All, nil) + "\r\n"
	const post, body = "POST /api/v1/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n", `{"text":"a"}`
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	old := strings.Replace(post, "1.1", "1.0", 1) + "Connection: keep-alive\r\n"
	next := "GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n" + key + "\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		closes        bool
	}{
		{"a length", post + key + "Content-Length: 12\r\n\r\n" + body, 201, false},
		{"a length and chunks", post + key + "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 201, true},
		{"chunks and a length", post + key + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunks, 201, true},
		{"a length and chunks, refused", post + "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 401, true},
		{"a length and chunks over HTTP/1.0", old + key + "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + body, 201, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(conn, c.request+next); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status || resp.Close != c.closes {
				t.Errorf("got %d, closing is %v; want %d and %v", resp.StatusCode, resp.Close, c.status, c.closes)
			}
			if _, err := http.ReadResponse(in, nil); (err != nil) != c.closes {
				t.Errorf("the next request on the connection: %v", err)
			}
		})
	}
}

// A client that waits to be asked for its body is refused before any time passes.
func TestARefusedImportDoesNotWaitForItsBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start := "POST /api/v1/notes/import HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
	key := "X-API-Key: " + b.Key(apitest.Operator, auth.All, nil) + "\r\n"
	reader := "X-API-Key: " + b.Key(apitest.Operator, auth.Read, nil) + "\r\n"
	const lines, length = "Content-Type: application/x-ndjson\r\n", "Content-Length: 100\r\n\r\n"
	for name, c := range map[string]struct{ request, want string }{
		"no credential":         {start + lines + length, "401"},
		"too small a scope":     {start + reader + lines + length, "403"},
		"another type":          {start + key + "Content-Type: text/plain\r\n" + length, "415"},
		"another type, kept":    {start + key + "Idempotency-Key: once-and-only\r\nContent-Type: text/plain\r\n" + length, "415"},
		"too large":             {start + key + lines + "Content-Length: 100000000\r\n\r\n", "413"},
		"a bad Idempotency-Key": {start + key + "Idempotency-Key: x\r\n" + lines + length, "400"},
		"an unknown parameter":  {strings.Replace(start, "import", "import?x=1", 1) + key + lines + length, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := &pipes{incoming: make(chan net.Conn, 1), closed: make(chan struct{})}
				server := api.NewServer(b.handler, slog.New(slog.DiscardHandler))
				go func() { _ = server.Serve(api.LimitConnections(inner, 1, nil)) }()
				defer server.Close()
				ours, theirs := net.Pipe()
				defer ours.Close()
				inner.incoming <- theirs
				if _, err := io.WriteString(ours, c.request); err != nil {
					t.Fatal(err)
				}
				answered := make(chan string, 1)
				go func() {
					line, _ := bufio.NewReader(ours).ReadString('\n')
					answered <- line
				}()
				synctest.Wait() // the clock stands still until everybody waits
				select {
				case line := <-answered:
					if !strings.HasPrefix(line, "HTTP/1.1 "+c.want) {
						t.Errorf("got %q, want %s", line, c.want)
					}
				default:
					t.Error("there is no answer before the body")
				}
			})
		})
	}
}
