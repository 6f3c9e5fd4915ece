package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
)

func TestAStreamThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	addr := b.listen()
	for name, chunk := range map[string]string{
		"a chunk without a length":  "xyz\r\n",
		"a chunk that is too short": "ff\r\nabc\r\n0\r\n\r\n",
	} {
		for _, extra := range []string{"", "Idempotency-Key: once-and-only-once\r\n"} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "POST /api/v1/notes/import HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"+
				"Content-Type: application/x-ndjson\r\nX-API-Key: "+key+"\r\n"+extra+"\r\n"+chunk)
			_ = conn.(*net.TCPConn).CloseWrite()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"field":"body"`) {
				t.Errorf("%s, %q: got %d %s, want 400 for the body", name, extra, resp.StatusCode, body)
			}
			_ = conn.Close()
		}
	}
	if b.notes.created != 0 {
		t.Errorf("ran %d times on bodies that never came whole", b.notes.created)
	}
}

func TestAStreamBeyondItsLimitIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	for _, extra := range [][]string{nil, {"Idempotency-Key", onceKey}} {
		r := request("POST", "/api/v1/notes/import", "", append(extra, "X-API-Key", key, "Content-Type", "application/x-ndjson")...)
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, 65<<20)), -1
		b.send(r).want(t, 413, "payload_too_large")
		r = request("POST", "/api/v1/notes/import", "", append(extra, "X-API-Key", key, "Content-Type", "application/x-ndjson")...)
		r.Body, r.ContentLength = io.NopCloser(zeros{}), 65<<20
		b.send(r).want(t, 413, "payload_too_large")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestAStreamIsAsWelcomeInManyPieces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	addr := b.listen()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/notes/import HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-ndjson\r\nX-API-Key: %s\r\n\r\n", key)
	for range 100 {
		fmt.Fprint(conn, "4\r\nab\n\n\r\n")
	}
	fmt.Fprint(conn, "0\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || !strings.Contains(string(body), `"bytes":400`) {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}
