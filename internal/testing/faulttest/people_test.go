package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

// person is a client with an address of its own: all of 127.0.0.0/8 is this machine.
type person struct {
	t    testing.TB
	s    *server
	http *http.Client
}

// at gives the person at the nth address.
func (s *server) at(n int) *person {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(n/250), byte(1+n%250))}}
	return &person{t: s.t, s: s, http: &http.Client{
		Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
	}}
}

// reply is an answer with its JSON.
type reply struct {
	status int
	header http.Header
	text   []byte
	body   map[string]any
}

func (r *reply) code() string { s, _ := r.body["error"].(string); return s }

// ask sends a request with headers in pairs.
func (p *person) ask(method, path string, body any, headers ...string) *reply {
	p.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			p.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.s.URL+path, bytes.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
		return &reply{}
	}
	defer res.Body.Close()
	r := &reply{status: res.StatusCode, header: res.Header}
	if r.text, err = io.ReadAll(res.Body); err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
	}
	if len(r.text) > 0 {
		_ = json.Unmarshal(r.text, &r.body) // what is no JSON has no members
	}
	return r
}

func (p *person) login(email, password string) *reply {
	p.t.Helper()
	return p.ask(http.MethodPost, "/api/auth/login", map[string]string{"email": email, "password": password})
}

// session is a pair of tokens.
type session struct {
	*person
	access, refresh string
}

// signIn logs in, which must work.
func (p *person) signIn(email, password string) *session {
	p.t.Helper()
	r := p.login(email, password)
	if r.status != http.StatusOK {
		p.t.Fatalf("login of %s: %d %s", email, r.status, r.text)
	}
	return p.sessionOf(r)
}

func (p *person) sessionOf(r *reply) *session {
	s := &session{person: p}
	s.access, _ = r.body["accessToken"].(string)
	s.refresh, _ = r.body["refreshToken"].(string)
	return s
}

// with sends a request with the access token.
func (s *session) with(method, path string, body any) *reply {
	s.t.Helper()
	return s.ask(method, path, body, "Authorization", "Bearer "+s.access)
}

func (s *session) refreshWith(token string) *reply {
	s.t.Helper()
	return s.ask(http.MethodPost, "/api/auth/refresh", map[string]string{"refreshToken": token})
}

// newUser makes a user and gives its id.
func (s *server) newUser(email, password, role string) string {
	s.t.Helper()
	made := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/admin/users",
		map[string]string{"email": email, "password": password, "role": role})
	return made["id"].(string)
}

// memory reads a number of the process's memory in bytes: VmRSS is what it holds, VmHWM the most it has held.
func (s *server) memory(name string) int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		testtier.Missing(s.t, "/proc, which says what memory a process has")
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return kib << 10
		}
	}
	s.t.Fatalf("/proc says nothing of %s", name)
	return 0
}

// gateSize is how many passwords the server hashes at once.
func gateSize() int { return runtime.GOMAXPROCS(0) }
