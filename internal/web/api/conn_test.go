package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
)

// Whatever a connection is asked, one request behind the other or several at once: each answer has its own headers, each
// of them once, and nothing of them gets into a body.
func TestEveryResponseHasItsOwnHeadersOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	long := strings.Repeat("n", 150_000) // far over the buffers of net/http
	post := func(text, more string) string {
		body := `{"text":"` + text + `"}`
		return fmt.Sprintf("POST /api/v1/notes HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), more, body)
	}
	asked := []struct {
		method, request string
		status          int
	}{
		{"GET", "GET /api/v1/ping HTTP/1.1\r\n\r\n", 200},
		{"HEAD", "HEAD /api/v1/ping HTTP/1.1\r\n\r\n", 200},
		{"POST", post(long, ""), 201},
		{"OPTIONS", "OPTIONS /api/v1/ping HTTP/1.1\r\n\r\n", 204},
		{"GET", "GET /nowhere HTTP/1.1\r\n\r\n", 404},
		{"DELETE", "DELETE /api/v1/ping HTTP/1.1\r\n\r\n", 405},
		{"GET", "GET /api/v1/fails HTTP/1.1\r\n\r\n", 500},
		{"POST", post("short", "Expect: 100-continue\r\n"), 201},
		{"GET", "GET /api/v1/panics HTTP/1.1\r\n\r\n", 500},
		{"GET", "GET /api/v1/ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200},
		{"GET", "GET /api/v1/ping HTTP/1.1\r\n\r\n", 200},
	}
	for _, pipelined := range []bool{false, true} {
		t.Run(fmt.Sprintf("pipelined %t", pipelined), func(t *testing.T) {
			conn, err := net.Dial("tcp", b.listen())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			send := func(i int) {
				own := fmt.Sprintf("Host: a\r\nX-API-Key: %s\r\nX-Request-Id: request-%d\r\n", key, i)
				first, rest, _ := strings.Cut(asked[i].request, "\r\n")
				if _, err := io.WriteString(conn, first+"\r\n"+own+rest); err != nil {
					t.Error(err)
				}
			}
			if pipelined {
				go func() {
					for i := range asked {
						send(i)
					}
				}()
			}
			for i, a := range asked {
				if !pipelined {
					send(i)
				}
				resp, err := http.ReadResponse(in, &http.Request{Method: a.method})
				for err == nil && resp.StatusCode == http.StatusContinue {
					resp, err = http.ReadResponse(in, &http.Request{Method: a.method})
				}
				if err != nil {
					t.Fatalf("answer %d: %v", i, err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || strings.Contains(string(body), "X-RateLimit") {
					t.Fatalf("body of answer %d: %.200s, %v", i, body, err)
				}
				if resp.StatusCode != a.status || resp.Header.Get("X-Request-Id") != fmt.Sprintf("request-%d", i) {
					t.Errorf("answer %d is %d %s, want %d of request-%d", i, resp.StatusCode, resp.Header.Get("X-Request-Id"), a.status, i)
				}
				for _, name := range []string{
					"X-API-Version", "X-Content-Type-Options", "X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining",
					"X-RateLimit-Reset", "X-RateLimit-Daily-Remaining", "X-RateLimit-Monthly-Remaining",
				} {
					if got := resp.Header.Values(name); len(got) != 1 || got[0] == "" {
						t.Errorf("answer %d has %s %q, want it once", i, name, got)
					}
				}
				if strings.Contains(asked[i].request, long) && !strings.Contains(string(body), long) {
					t.Errorf("the long body of answer %d did not arrive", i)
				}
			}
		})
	}
}

// A client that still sends when it is refused reads the refusal and an orderly end, not a reset.
func TestARefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := net.Dial("tcp", b.listen())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /api/v1/notes HTTP/1.1\r\nHost: a\r\nX-API-Key: " + b.Key(apitest.Operator, auth.All, nil) +
		"\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n\r\n"
	if _, err := io.WriteString(conn, head+strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("got %v, %v, want 413", resp, err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Errorf("after the refusal: %v, want an end", err)
	}
}

// A connection saves hashing the key that it sent before, and nothing else: each request is judged by what holds then.
func TestAConnectionBelievesNoKeyForLonger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := map[string]*apikey.APIKey{}
	reading := b.Key(apitest.Operator, auth.Read, func(k *apikey.APIKey) { keys["read"] = k })
	writing := b.Key(apitest.Operator, auth.Write, func(k *apikey.APIKey) { keys["write"] = k })
	almost := writing[:len(writing)-1] + "0"
	if almost == writing {
		almost = writing[:len(writing)-1] + "1"
	}
	conn, err := net.Dial("tcp", b.listen())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	expect := func(key string, status int, text string) {
		t.Helper()
		fmt.Fprintf(conn, "GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nX-API-Key: %s\r\n\r\n", key)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(body), text) {
			t.Errorf("got %d %s, %v; want %d with %s", resp.StatusCode, body, err, status, text)
		}
	}
	revoke := func(scope string) {
		revoked := *keys[scope]
		at := b.clock.Now()
		revoked.RevokedAt, revoked.Revision = &at, revoked.Revision+1
		b.Keys.Put(&revoked)
	}
	for range 3 {
		expect(reading, 200, `"read"`)
		expect(writing, 200, `"write"`)
		expect(writing, 200, `"write"`)
		expect(almost, 401, problem.CodeInvalidAPIKey)
		expect(writing+"0", 401, problem.CodeInvalidAPIKey)
	}
	expect(writing, 200, `"write"`)
	revoke("write")
	expect(writing, 401, problem.CodeAPIKeyRevoked)
	expect(reading, 200, `"read"`)
	expect(reading, 200, `"read"`)
	revoke("read")
	expect(reading, 401, problem.CodeAPIKeyRevoked)
	expect(writing, 401, problem.CodeAPIKeyRevoked)
}
