package faulttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// speak sends raw bytes to the server and gives the status of its answer, its headers and how long it took. Status 0 is
// a connection that was closed without an answer.
func (s *server) speak(t *testing.T, raw string) (*http.Response, string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	// A server may answer and close before it has read everything: what it said still counts.
	_, sent := io.WriteString(conn, raw)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, "", errors.Join(err, sent)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body) // cut off or not, it is only shown
	return res, string(body), nil
}

// exhaust sends raw bytes and reads until the server closes the connection, so that nothing of them is still to be served.
func (s *server) exhaust(t *testing.T, raw string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, raw) // the server may close before it has read everything
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server neither answers nor closes after %.60q", raw)
	}
}

// TestUglyRequestsAreAnsweredOrClosed speaks broken and hostile HTTP. Statuses with ours set come from the program's own
// writer and carry every header; the others are written by Go's server before any of our code runs (docs/http.md
// lists them).
func TestUglyRequestsAreAnsweredOrClosed(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	key := "X-API-Key: " + s.Key + "\r\n"
	post := "POST /api/v1/search HTTP/1.1\r\nHost: x\r\n" + key + "Content-Type: application/json\r\n"
	const closed = 0
	for name, bad := range map[string]struct {
		raw  string
		want []int
		ours bool
	}{
		"two different lengths":          {post + "Content-Length: 9\r\nContent-Length: 10\r\n\r\n{\"q\":\"x\"}", []int{400, closed}, false},
		"a negative length":              {post + "Content-Length: -1\r\n\r\n", []int{400, closed}, false},
		"a length with a plus":           {post + "Content-Length: +9\r\n\r\n{\"q\":\"x\"}", []int{400, closed}, false},
		"length and chunks":              {post + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"q\":\"x\"}\r\n0\r\n\r\n", []int{200, 400, closed}, false},
		"an unknown coding":              {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", []int{400, 501, closed}, false},
		"a coding with a blank":          {post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", []int{400, closed}, false},
		"a folded header":                {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n" + key + "\r\n", []int{200, 400, closed}, false},
		"two hosts":                      {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nHost: y\r\n" + key + "\r\n", []int{400, closed}, false},
		"no host":                        {"GET /api/v1/health HTTP/1.1\r\n" + key + "\r\n", []int{400, closed}, false},
		"a host that is none":            {"GET /api/v1/health HTTP/1.1\r\nHost: a b\r\n" + key + "\r\n", []int{400, closed}, false},
		"a NUL in a header":              {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n" + key + "\r\n", []int{400, closed}, false},
		"the absolute form":              {"GET http://other/api/v1/health HTTP/1.1\r\nHost: x\r\n" + key + "Connection: close\r\n\r\n", []int{200}, true},
		"CONNECT":                        {"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", []int{404, 405, 400}, true},
		"OPTIONS of everything":          {"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{200, 204, 404, 400}, false},
		"GET of a star":                  {"GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{400, 404}, false},
		"an upgrade to HTTP/2":           {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n" + key + "\r\n", []int{200}, true},
		"the preface of HTTP/2":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 404, 505, closed}, false},
		"HTTP/0.9":                       {"GET /api/v1/health\r\n\r\n", []int{400, closed}, false},
		"HTTP/3.0":                       {"GET /api/v1/health HTTP/3.0\r\nHost: x\r\n\r\n", []int{400, 505, closed}, false},
		"HTTP/1.0":                       {"GET /api/v1/health HTTP/1.0\r\n" + key + "\r\n", []int{200}, true},
		"no HTTP at all":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400, closed}, false},
		"a method of symbols":            {"G<T /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n", []int{400, closed}, false},
		"a method nobody knows":          {"BREW /api/v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{405}, true},
		"a broken escape":                {"GET /api/v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}, false},
		"an escaped slash":               {"GET /api%2fv1/health HTTP/1.1\r\nHost: x\r\n" + key + "Connection: close\r\n\r\n", []int{404}, true},
		"dots and escapes":               {"GET /api/v1/documents/..%2f..%2fhealth HTTP/1.1\r\nHost: x\r\n" + key + "Connection: close\r\n\r\n", []int{400, 404}, true},
		"a NUL in a path":                {"GET /api/v1/documents/a%00b HTTP/1.1\r\nHost: x\r\n" + key + "Connection: close\r\n\r\n", []int{400, 404}, true},
		"a megabyte of path":             {"GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{414, 431, closed}, false},
		"a megabyte of header":           {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", []int{431, closed}, false},
		"ten thousand headers":           {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: a\r\n", 10_000) + "\r\n", []int{431, closed}, false},
		"two megabytes of Authorization": {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat(".", 2<<20) + "\r\n\r\n", []int{431, closed}, false},
		"10 KB of dots as a token":       {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat(".", 10<<10) + "\r\nConnection: close\r\n\r\n", []int{401}, true},
		"a chunk that is no number":      {post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", []int{400}, true},
		"a chunk that ends too soon":     {post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n9\r\n{\"q\":\"x\"}XX\r\n0\r\n\r\n", []int{400}, true},
		"a chunk of 16 exabytes":         {post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}", []int{400, 413}, true},
		"chunks without end":             {post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 1500), []int{413, closed}, true},
		"a length of 5 GB":               {post + "Content-Length: 5368709120\r\n\r\n{", []int{413}, true},
		"an expectation nobody knows":    {post + "Expect: tea\r\nContent-Length: 9\r\n\r\n{\"q\":\"x\"}", []int{417, 200}, false},
		"a body with GET":                {"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 3\r\nConnection: close\r\n\r\nabc", []int{200, 400, 415}, true},
		"a packed bomb":                  {post + "Content-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\n\x1f\x8b\x08\x00", []int{400, 415}, true},
	} {
		t.Run(name, func(t *testing.T) {
			res, body, err := s.speak(t, bad.raw)
			status := closed
			if err == nil {
				status = res.StatusCode
			}
			if !slices.Contains(bad.want, status) {
				t.Errorf("status %d (%v), want one of %v: %.300s", status, err, bad.want, body)
			}
			if bad.ours && res != nil {
				for _, header := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Reset", "X-Request-Id", "X-Content-Type-Options"} {
					if res.Header.Get(header) == "" {
						t.Errorf("status %d without %s", status, header)
					}
				}
				if status >= 400 && !strings.Contains(body, `"requestId"`) {
					t.Errorf("status %d without our body: %.300s", status, body)
				}
			}
		})
	}
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
	s.MustLive()
}

// TestSmuggledRequestsAreNotServed hides a second request in the body of a first one, or behind the place where another
// server could see the body end.
func TestSmuggledRequestsAreNotServed(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	hidden := "DELETE /api/v1/documents/kept HTTP/1.1\r\nHost: x\r\nX-API-Key: " + s.Key + "\r\n\r\n"
	const search = "9\r\n{\"q\":\"x\"}\r\n0\r\n\r\n"
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/kept", document(0, "kept"))
	head := "POST /api/v1/search HTTP/1.1\r\nHost: x\r\nX-API-Key: " + s.Key + "\r\nContent-Type: application/json\r\n"
	for name, raw := range map[string]string{
		"a refused body":           strings.Replace(head, "search", "nothing", 1) + "Content-Length: " + strconv.Itoa(len(hidden)) + "\r\n\r\n" + hidden,
		"a body that was not read": strings.Replace(head, s.Key, "nobody", 1) + "Content-Length: " + strconv.Itoa(len(hidden)) + "\r\n\r\n" + hidden,
		"a length and chunks":      head + "Content-Length: " + strconv.Itoa(len(search)+len(hidden)) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + search + hidden,
		"chunks and HTTP/1.0":      strings.Replace(head, "1.1", "1.0", 1) + "Connection: keep-alive\r\nContent-Length: " + strconv.Itoa(len(search)) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + search + hidden,
		"chunks that are broken":   head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n" + hidden,
	} {
		s.exhaust(t, raw+"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if status, _, err := s.Do(context.Background(), http.MethodGet, "/api/v1/documents/kept", nil); err != nil || status != http.StatusOK {
			t.Errorf("%s: the hidden request was served (%d %v)", name, status, err)
			s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/kept", document(0, "kept"))
		}
	}
}

// TestSlowClientsAreDisconnected opens connections that send a header, or a body, a byte at a time. Other requests
// are answered before the first of them is closed, and all of them are closed.
func TestSlowClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "waits for the 10 s that a client has to send a request")
	s := start(t, t.TempDir(), "")
	const each = 60
	var open sync.WaitGroup
	closed := make(chan error, 2*each) // why a connection could not be written to any more
	slow := func(start, drip string) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Error(err)
		} else {
			defer conn.Close()
			_, err = io.WriteString(conn, start)
		}
		open.Done()
		for err == nil {
			time.Sleep(250 * time.Millisecond)
			_, err = io.WriteString(conn, drip)
		}
		closed <- err
	}
	open.Add(2 * each)
	for range each {
		go slow("GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-A: ", "a")
		go slow("POST /api/v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-API-Key: "+s.Key+"\r\nContent-Length: 100000\r\n\r\n", " ")
	}
	open.Wait()
	for range 20 {
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
	}
	for range 2 * each {
		await.Receive(t, "the server closes a slow connection", closed)
	}
	s.MustLive()
}

// TestIdleConnectionsCostLittle opens many connections that say nothing.
func TestIdleConnectionsCostLittle(t *testing.T) {
	t.Parallel()
	const idle = 2_000
	s := start(t, t.TempDir(), "")
	before := s.resident(t)
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for range idle {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			testtier.Missing(t, fmt.Sprintf("the right to more than %d open connections (%v)", len(conns), err))
		}
		conns = append(conns, conn)
	}
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
	if grown := s.resident(t) - before; grown > idle*25<<10 {
		t.Errorf("%d idle connections cost %d KiB each", idle, grown/idle>>10)
	}
}

// resident is the memory of the process in bytes.
func (s *server) resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID()))
	if err != nil {
		testtier.Missing(t, "/proc, which says what memory a process has")
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestSIGTERMEndsWhatIsRunningFirst stops the server under load: no request that was taken fails, and readiness says no.
func TestSIGTERMEndsWhatIsRunningFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	of := newLedger()
	done := make(chan struct{})
	for w := range 4 {
		go func() {
			for i := 0; of.put(context.Background(), s, 0, fmt.Sprintf("stop-w%d-%d", w, i)); i++ {
			}
			done <- struct{}{}
		}()
	}
	await.Until(t, "writes are acknowledged", func() bool { return of.acknowledged() > 0 })
	s.Stop()
	for range 4 {
		<-done
	}
	// A refused connection leaves its write undecided; what was taken has been answered.
	if len(of.undecided) > 4 {
		t.Errorf("%d writes had no answer", len(of.undecided))
	}
	s = start(t, dir, s.Key)
	of.check(t, s, 0)
}

// TestASecondSIGTERMEndsAtOnce stops a server that still has a request to wait for.
func TestASecondSIGTERMEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /api/v1/documents/import HTTP/1.1\r\nHost: x\r\nX-API-Key: "+s.Key+"\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// It asks for the body once it is at work on the request.
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("a request with a body that is to come is answered %q %v", line, err)
	}
	s.Signal(syscall.SIGTERM)
	// Two signals of a kind that come before one was heard are one.
	await.Until(t, "the server begins to stop", func() bool { return strings.Contains(s.Log.String(), `"msg":"stopping"`) })
	if s.Ended() {
		t.Fatalf("the server does not wait for what is under way\n%s", s.Log)
	}
	s.Signal(syscall.SIGTERM)
	// A server that waits for the request ends with code 0, once it has given the request up.
	if code := s.ExitCode(); code == 0 {
		t.Errorf("the second SIGTERM ended the server in order\n%s", s.Log)
	}
}
