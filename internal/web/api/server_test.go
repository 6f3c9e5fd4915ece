package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// listen serves b on a socket as the program does, and gives its address.
func (b *bundle) listen() string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	server := api.NewServer(b.handler, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(api.LimitConnections(l, 32, nil)) }()
	b.t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

func TestOverASocket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	addr := b.listen()
	get := func(method, path string) (*http.Response, string) {
		t.Helper()
		r, _ := http.NewRequest(method, "http://"+addr+path, nil)
		r.Header.Set("X-API-Key", key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	whole, body := get("GET", "/api/v1/ping")
	head, none := get("HEAD", "/api/v1/ping")
	if head.ContentLength != int64(len(body)) || none != "" || head.StatusCode != whole.StatusCode {
		t.Errorf("HEAD says %d bytes and has %q; GET has %d", head.ContentLength, none, len(body))
	}
	if resp, body := get("GET", "/api/v1/panics"); resp.StatusCode != 500 || !strings.Contains(body, "internal_error") {
		t.Errorf("a panic is answered %d %s", resp.StatusCode, body)
	}
	if resp, _ := get("GET", "/api/v1/ping"); resp.StatusCode != 200 {
		t.Errorf("after a panic: %d", resp.StatusCode)
	}

	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: a\r\nX-API-Key: "+key+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 204 || resp.Header.Get("X-API-Version") != "1" {
		t.Errorf("OPTIONS * got %v, %v", resp, err)
	}
}

func TestALocalConnectionNeedsNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := request("GET", "/api/v1/administer", "")
	a := b.send(r.WithContext(api.LocalContext(context.Background(), nil))).want(t, 200, "")
	if number(t, a, "X-RateLimit-Limit") != 1_000_000 {
		t.Errorf("a local caller sees %v, want the operator workspace's numbers", a.Header)
	}
}

func TestMoreThanTheRoomForIsTurnedDown(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.InFlight = 2 }) // one of them is reserved
	key := b.Key(apitest.Operator, auth.All, nil)
	b.notes.block, b.notes.entered = make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { b.do("POST", "/api/v1/notes", `{"text":"a"}`, "X-API-Key", key) })
	<-b.notes.entered
	a := b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 503, "unavailable")
	if a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, want 1", a.Header.Get("Retry-After"))
	}
	b.do("GET", "/api/v1/nothing", "").want(t, 404, "")
	close(b.notes.block)
	running.Wait()
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
}

func TestAnOperationThatTakesTooLongIsCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	gone, cancel := context.WithCancel(context.Background())
	r := request("GET", "/api/v1/waits", "", "X-API-Key", key).WithContext(gone)
	time.AfterFunc(10*time.Millisecond, cancel)
	b.send(r).want(t, 503, "unavailable")
}

func TestLogHasOneLinePerRequest(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	b := setup(t, func(o *api.Options) {
		o.LogRequests = true
		o.Log = slog.New(slog.NewJSONHandler(&lines, nil))
	})
	key := b.Key(apitest.Operator, auth.All, nil)
	b.do("GET", "/api/v1/notes/canary-in-the-path", "", "X-API-Key", key)
	b.do("CANARY", "/canary%1b[31m?q=canary", "", "User-Agent", "canary", "X-API-Key", "canary")
	b.do("POST", "/api/v1/notes", `{"text":"canary"}`, "X-API-Key", key, "Idempotency-Key", "canary-canary")
	b.do("POST", "/api/v1/notes", `{"canary":"canary"}`, "X-API-Key", key)
	if text := strings.ToLower(lines.String()); strings.Contains(text, "canary") || strings.Contains(text, key) {
		t.Fatalf("the log tells what was sent:\n%s", lines.String())
	}
	var seen []string
	for line := range strings.Lines(lines.String()) {
		var entry struct {
			Msg, ID, Method, Route, Key, Client string
			Status, Bytes                       int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		if entry.Msg != "request" || entry.ID == "" || entry.Client != "192.0.2.1" {
			t.Errorf("line %s", line)
		}
		seen = append(seen, entry.Method+" "+entry.Route)
	}
	want := "GET /api/v1/notes/{id}, other none, POST /api/v1/notes, POST /api/v1/notes"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("lines for %s, want %s", got, want)
	}
}

// pipes is a listener in memory: each connection that is sent is accepted once.
type pipes struct {
	net.Listener
	incoming chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.incoming:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &pipes{incoming: make(chan net.Conn, 2), closed: make(chan struct{})}
		l := api.LimitConnections(inner, 1, nil)
		accepted := make(chan net.Conn, 2)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- conn
			}
		}()
		for range 2 {
			conn, other := net.Pipe()
			defer other.Close()
			inner.incoming <- conn
		}
		synctest.Wait()
		if len(accepted) != 1 {
			t.Fatalf("%d connections were accepted, want one", len(accepted))
		}
		first := <-accepted
		_ = first.Close()
		_ = first.Close() // frees one place only
		second := <-accepted
		_ = l.Close()
		_ = second.Close()
		if _, more := <-accepted; more {
			t.Error("a connection was accepted after Close")
		}
	})
}

// A 503 ends by itself, so it is a warning; a 500 is a bug, so it is an error.
func TestLevelOfFailedRequests(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"fails": "ERROR", "unavailable": "WARN"} {
		var lines bytes.Buffer
		b := setup(t, func(o *api.Options) { o.Log = slog.New(slog.NewJSONHandler(&lines, nil)) })
		b.do("GET", "/api/v1/"+path, "", "X-API-Key", b.Key(apitest.Operator, auth.All, nil))
		if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"`+want+`","msg":"request failed"`) {
			t.Errorf("/%s is logged as %q, want one line with level %s", path, got, want)
		}
	}
}
