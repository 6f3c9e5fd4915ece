package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// line is one connection to a surface, asked one request after the other.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (b *bundle) line() *line {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.listen())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return &line{b.t, conn, bufio.NewReader(conn)}
}

func (l *line) do(method, path string, headers ...string) answer {
	l.t.Helper()
	request := method + " " + path + " HTTP/1.1\r\nHost: a\r\n"
	for i := 0; i < len(headers); i += 2 {
		request += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(l.conn, request+"\r\n"); err != nil {
		l.t.Fatal(err)
	}
	resp, err := http.ReadResponse(l.in, &http.Request{Method: method})
	if err != nil {
		l.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	a := answer{Response: resp, text: string(body)}
	_ = json.Unmarshal(body, &a.object) // an answer that is no object has none
	return a
}

// A client that repeats a request on one connection gets the present state each time.
func TestAConnectionGoesNoWayForLonger(t *testing.T) {
	t.Parallel()
	b := successor(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	l := b.line()
	get := func(path string) answer { return l.do("GET", path, "X-API-Key", key) }
	for range 3 {
		if a := get("/api/v1/read").want(t, 200, ""); a.object["scopes"] == nil || a.Header.Get("X-API-Version") != "1" {
			t.Errorf("got %s %v", a.text, a.Header)
		}
		l.do("HEAD", "/api/v1/read", "X-API-Key", key).want(t, 200, "")
		get("/api/v1/ping").want(t, 200, "")
		get("/api/v1/ping").want(t, 200, "")
		get("/api/v1/fresh").want(t, 404, "not_found")
		get("/api/v1/read").want(t, 200, "")
		l.do("DELETE", "/api/v1/read", "X-API-Key", key).want(t, 405, "method_not_allowed")
		get("/api/v1/%72ead").want(t, 200, "")
		get("/api/v1/notes/%7Bid%7D").want(t, 404, "not_found")
		get("/api/v2/read").want(t, 404, "version_not_found")
	}
	b.notes.text["{id}"] = "of a note"
	for range 3 { // a path that reads like its template
		if a := get("/api/v1/notes/%7Bid%7D").want(t, 200, ""); a.object["id"] != "{id}" {
			t.Errorf("got %s", a.text)
		}
	}
	get("/api/v1/read").want(t, 200, "")
	get("/api/v1/read").want(t, 200, "")

	now := b.clock.Now()
	b.release(now, lifecycle.AddMonths(now, 6))
	for range 2 {
		if a := get("/api/v1/read").want(t, 200, ""); a.Header.Get("Deprecation") != "true" || a.Header.Get("X-API-Version") != "1" {
			t.Errorf("once deprecated it answers %v", a.Header)
		}
	}
	for range 2 {
		if a := get("/api/v2/read").want(t, 200, ""); a.object["says"] != "version 2" || a.Header.Get("Deprecation") != "" {
			t.Errorf("version 2 answers %s %v", a.text, a.Header)
		}
	}
	get("/api/v1/read").want(t, 200, "")
	b.clock.Move(lifecycle.AddMonths(now, 6).Sub(now))
	get("/api/v1/read").want(t, 410, "version_sunset")
	get("/api/v1/read").want(t, 410, "version_sunset")
	get("/api/v2/read").want(t, 200, "")
}

// Governing a request allocates its context and, if its path has a parameter, three more for that. The input and the answer of
// the operation are two more. The test is not parallel, because it counts allocations.
func TestGoverningARequestAllocatesLittle(t *testing.T) {
	type in struct {
		ID string `path:"id"`
	}
	type out struct {
		Body struct {
			ID string `json:"id"`
		}
	}
	b := setup(t, func(o *api.Options) {
		endpoint.Add(o.Operations, endpoint.Operation{
			ID: "echo", Method: "GET", Path: "/echo/{id}", Since: 1, Tag: "notes", Summary: "Test", Status: 200, Credentials: endpoint.Key,
		}, func(_ context.Context, in *in) (*out, error) {
			answer := &out{}
			answer.Body.ID = in.ID
			return answer, nil
		})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := api.LimitConnections(l, 1, nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	key := b.Key(apitest.Operator, auth.All, nil)
	for path, want := range map[string]float64{"/api/v1/ping": 3, "/api/v1/echo/a": 6} {
		r := request("GET", path, "", "X-API-Key", key)
		r = r.WithContext(api.NewServer(b.handler, slog.New(slog.DiscardHandler)).ConnContext(t.Context(), conn))
		w := &nowhere{header: http.Header{}}
		var fresh http.Request
		n := testing.AllocsPerRun(200, func() {
			fresh = *r // without the parameters of the one before
			b.handler.ServeHTTP(w, &fresh)
		})
		if n > want || w.status != 200 {
			t.Errorf("%s: status %d, with %v allocations, want %v at most", path, w.status, n, want)
		}
	}
}

// nowhere is a ResponseWriter that keeps nothing but the status.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
