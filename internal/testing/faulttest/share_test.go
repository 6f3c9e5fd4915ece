package faulttest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// connect opens a connection from an address of this machine.
func (s *server) connect(t *testing.T, from net.IP) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		testtier.Missing(t, fmt.Sprintf("the right to open many connections, from any loopback address (%v)", err))
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// TestSlowBodiesBlockNoOtherClient holds T53 for slots: more requests of one user than there are slots have bodies that do not
// arrive. All others are served, also from the same address.
func TestSlowBodiesBlockNoOtherClient(t *testing.T) {
	t.Parallel()
	const slots = 32
	s := start(t, t.TempDir(), "", programtest.Env(fmt.Sprintf("KEEPSAKE_LIMITS_IN_FLIGHT=%d", slots)))
	s.newUser("ada@example.org", goodPassword, "member")
	for i := range slots + 8 {
		conn := s.connect(t, net.IPv4(127, 9, 0, 1))
		fmt.Fprintf(conn, "POST /api/v1/developer/verify HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", s.Key)
		// The program asks for the body once it waits for it.
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
			t.Fatalf("slow request %d is answered %q, %v", i, line, err)
		}
		_, _ = io.WriteString(conn, `{"key":`)
	}
	for _, from := range []net.IP{net.IPv4(127, 9, 0, 1), net.IPv4(127, 9, 0, 2)} {
		p := &person{t: t, s: s, http: &http.Client{Timeout: patience, Transport: &http.Transport{
			DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext, DisableKeepAlives: true,
		}}}
		u := p.signIn("ada@example.org", goodPassword)
		if r := u.with(http.MethodGet, "/api/v1/profile", nil); r.status != http.StatusOK {
			t.Errorf("profile: %d %s", r.status, r.text)
		}
		for _, path := range []string{"/api/v1/health", "/api/v1/search?q=x", "/api/v1/documents"} {
			if r := p.ask(http.MethodGet, path, nil, "X-API-Key", s.Key); r.status != http.StatusOK {
				t.Errorf("GET %s: %d %s", path, r.status, r.text)
			}
		}
	}
	s.MustLive()
}

// TestIdleConnectionsBlockNoOtherClient holds T53 for connections: one address opens more than there may be. It gets half of
// them, and others are served.
func TestIdleConnectionsBlockNoOtherClient(t *testing.T) {
	t.Parallel()
	const most = 40
	s := start(t, t.TempDir(), "", programtest.Env(fmt.Sprintf("KEEPSAKE_LIMITS_CONNECTIONS=%d", most)))
	served := 0
	for range most + 10 {
		conn := s.connect(t, net.IPv4(127, 9, 0, 1))
		_, _ = io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-API-Key: "+s.Key+"\r\n\r\n") // it may be closed already
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			continue
		}
		if res.StatusCode != http.StatusOK {
			t.Fatalf("health: %d", res.StatusCode)
		}
		served++ // and then the connection is idle
	}
	if served > most/2 || served < most/4 {
		t.Errorf("one address has %d of %d connections", served, most)
	}
	for n := range 3 {
		if r := s.at(n).ask(http.MethodGet, "/api/v1/health", nil, "X-API-Key", s.Key); r.status != http.StatusOK {
			t.Errorf("health from another address: %d %s", r.status, r.text)
		}
	}
	s.MustLive()
}
