package api_test

import (
	"bufio"
	"bytes"
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
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// sendFirst sends a request as a whole before it reads the response, which must be followed by the end of the connection.
func sendFirst(t *testing.T, addr, head string, body []byte) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // only ends what hangs
	if _, err := conn.Write(append([]byte(head), body...)); err != nil {
		t.Fatalf("the body was not taken: %v", err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.HasPrefix(text, []byte(`{"error":`)) {
		t.Errorf("the body of the response is %q, %v", text, err)
	}
	if _, err := in.ReadByte(); err != io.EOF || !resp.Close {
		t.Errorf("after the response: %v; it said that the connection closes: %v", err, resp.Close)
	}
	return resp
}

func TestClientsThatSendFirstSeeTheResponse(t *testing.T) {
	t.Parallel()
	const size = 9 << 20 // more than the buffers between client and server
	patient := func(o *api.Options) { o.MinTimeout = time.Minute }
	b := setup(t, patient)
	all := "X-API-Key: " + b.Key(apitest.Operator, auth.All, nil) + "\r\n"
	reader := "X-API-Key: " + b.Key(apitest.Operator, auth.Read, nil) + "\r\n"
	spentKey := b.Key(apitest.Operator, auth.All, perMinute(1))
	b.do("GET", "/api/v1/ping", "", "X-API-Key", spentKey).want(t, 200, "")
	spent := "X-API-Key: " + spentKey + "\r\n"
	now := b.clock.Now()
	old := successor(t, patient)
	old.release(now, lifecycle.AddMonths(now, 6))
	old.clock.Move(lifecycle.AddMonths(now, 6).Sub(now))

	busy := setup(t, patient, func(o *api.Options) { o.InFlight = 2 }) // one of them is reserved
	busyKey := busy.Key(apitest.Operator, auth.All, nil)
	busy.notes.block, busy.notes.entered = make(chan struct{}), make(chan struct{})
	running := make(chan answer, 1)
	go func() { running <- busy.do("POST", "/api/v1/notes", `{"text":"a"}`, "X-API-Key", busyKey) }()
	<-busy.notes.entered
	t.Cleanup(func() { close(busy.notes.block); <-running })

	const media = "Content-Type: application/json\r\n"
	body := bytes.Repeat([]byte("a"), size)
	addr, oldAddr, busyAddr := b.listen(), old.listen(), busy.listen()
	for _, c := range []struct {
		name, addr, start, headers string
		status                     int
	}{
		{"no credential", addr, "POST /api/v1/notes", media, 401},
		{"a wrong key", addr, "POST /api/v1/notes", "X-API-Key: kpsk_wrong\r\n" + media, 401},
		{"too small a scope", addr, "POST /api/v1/notes", reader + media, 403},
		{"an unknown path", addr, "POST /api/v1/nope", all + media, 404},
		{"another method", addr, "PUT /api/v1/ping", all + media, 405},
		{"a sunset version", oldAddr, "POST /api/v1/notes", media, 410},
		{"too large", addr, "POST /api/v1/notes", all + media, 413},
		{"too large, with an Idempotency-Key", addr, "POST /api/v1/notes", all + media + "Idempotency-Key: once-and-only\r\n", 413},
		{"another type", addr, "POST /api/v1/notes", all + "Content-Type: text/plain\r\n", 415},
		{"another type of a stream", addr, "POST /api/v1/notes/import", all + "Content-Type: text/plain\r\n", 415},
		{"over the limit", addr, "POST /api/v1/notes", spent + media, 429},
		{"a busy server", busyAddr, "POST /api/v1/notes/import", "X-API-Key: " + busyKey + "\r\nContent-Type: application/x-ndjson\r\n", 503},
	} {
		for name, framing := range map[string]struct{ version, header, before, after string }{
			"length":                 {"1.1", fmt.Sprintf("Content-Length: %d", size), "", ""},
			"length, Connection":     {"1.1", fmt.Sprintf("Connection: close\r\nContent-Length: %d", size), "", ""},
			"length over HTTP/1.0":   {"1.0", fmt.Sprintf("Content-Length: %d", size), "", ""},
			"length, not waiting":    {"1.1", fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d", size), "", ""},
			"a chunk":                {"1.1", "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n", size), "\r\n0\r\n\r\n"},
			"a chunk with a trailer": {"1.1", "Trailer: X\r\nTransfer-Encoding: chunked", fmt.Sprintf("%x\r\n", size), "\r\n0\r\nX: y\r\n\r\n"},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				head := c.start + " HTTP/" + framing.version + "\r\nHost: a\r\n" + c.headers + framing.header + "\r\n\r\n" + framing.before
				resp := sendFirst(t, c.addr, head, append(bytes.Clone(body), framing.after...))
				if resp.StatusCode != c.status {
					t.Errorf("got %d, want %d", resp.StatusCode, c.status)
				}
			})
		}
	}
}

// dialPipe connects to a server of b in memory.
func (b *bundle) dialPipe(t *testing.T) net.Conn {
	inner := &pipes{incoming: make(chan net.Conn, 1), closed: make(chan struct{})}
	server := api.NewServer(b.handler, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(api.LimitConnections(inner, 1, nil)) }()
	t.Cleanup(func() { _ = server.Close() })
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	inner.incoming <- theirs
	return ours
}

// A sender that stops loses its connection a second after the response, and holds no slot until then.
func TestARestThatDoesNotArriveEndsAfterASecond(t *testing.T) {
	t.Parallel()
	const start = "POST /api/v1/notes/import HTTP/1.1\r\nHost: a\r\n"
	for name, head := range map[string]string{
		"refused before its body": start + "Content-Length: 9000000\r\n\r\nabc",
		"in chunks":               start + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
		"too large":               start + "KEY\r\nContent-Type: application/x-ndjson\r\nContent-Length: 90000000\r\n\r\nabc",
		"a client that waits":     start + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
		"refused with a slot":     start + "KEY\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *api.Options) { o.InFlight = 2 }) // one of them is reserved
			key := b.Key(apitest.Operator, auth.All, nil)
			synctest.Test(t, func(t *testing.T) {
				conn := b.dialPipe(t)
				if _, err := io.WriteString(conn, strings.Replace(head, "KEY", "X-API-Key: "+key, 1)); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(conn)
				began := time.Now()
				resp, err := http.ReadResponse(in, nil)
				if err != nil || resp.StatusCode < 400 {
					t.Fatalf("got %v, %v", resp, err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || time.Since(began) > 0 {
					t.Errorf("the response took %s, %v", time.Since(began), err)
				}
				b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
				if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
					t.Errorf("after the response: %q, %v", rest, err)
				}
				if held := time.Since(began); held > 1500*time.Millisecond { // net/http waits for half a second before it closes
					t.Errorf("the connection was held for %s", held)
				}
			})
		})
	}
}

// A sender that never stops is cut off, however fast it is: time stands still here.
func TestAnEndlessRestIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	synctest.Test(t, func(t *testing.T) {
		conn := b.dialPipe(t)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		if _, err := io.WriteString(conn, "POST /api/v1/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		block, sent := make([]byte, 1<<20), 0
		for sent < 1<<30 {
			n, err := conn.Write(block)
			sent += n
			if err != nil {
				break
			}
		}
		if sent < 64<<20 || sent > 129<<20 {
			t.Errorf("%d MiB were taken", sent>>20)
		}
	})
}

// Responses that leave nothing unread, or little, keep the connection.
func TestReadAndSmallBodiesKeepTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := "X-API-Key: " + b.Key(apitest.Operator, auth.All, nil) + "\r\n"
	conn, err := net.Dial("tcp", b.listen())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(conn)
	large := `{"text":"` + strings.Repeat("a", 900<<10) + `"}`
	for _, c := range []struct {
		start, headers, body string
		status               int
	}{
		{"POST /api/v1/notes", "Content-Type: application/json\r\n", `{"text":"a"}`, 401},
		{"POST /api/v1/notes", key + "Content-Type: application/json\r\n", large, 400},
		{"POST /api/v1/notes/import", key + "Content-Type: application/x-ndjson\r\n", large, 200},
		{"POST /api/v1/notes/import", key + "Content-Type: application/x-ndjson\r\nIdempotency-Key: once-and-only\r\n", large, 200},
		{"POST /api/v1/nope", key, `{}`, 404},
	} {
		request := fmt.Sprintf("%s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s", c.start, c.headers, len(c.body), c.body)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != c.status || resp.Close {
			t.Errorf("%s: got %d, closing is %v, %v", c.start, resp.StatusCode, resp.Close, err)
		}
	}
}
