package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/testing/await"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// slowBody is a request body in two parts. It sends the second part on demand.
type slowBody struct {
	first, rest io.Reader
	waits       chan struct{} // closed once the first part was read
	more        chan struct{}
}

func newSlowBody(first, rest string) *slowBody {
	return &slowBody{strings.NewReader(first), strings.NewReader(rest), make(chan struct{}), make(chan struct{})}
}

func (s *slowBody) Read(p []byte) (int, error) {
	if n, err := s.first.Read(p); err == nil {
		return n, nil
	}
	if s.waits != nil {
		close(s.waits)
		s.waits = nil
		<-s.more
	}
	return s.rest.Read(p)
}

func (*slowBody) Close() error { return nil }

// sendSlowly sends a note whose body stops after first, and waits until it has; the channel gives the answer.
func (b *bundle) sendSlowly(body *slowBody, headers ...string) <-chan answer {
	b.t.Helper()
	r := request("POST", "/api/v1/notes", "", append(headers, "Content-Type", "application/json")...)
	r.Body, r.ContentLength = body, -1
	waits, done := body.waits, make(chan answer, 1)
	go func() { done <- b.send(r) }()
	await.Receive(b.t, "the body stops", waits)
	return done
}

func TestSlowBodiesHoldNoSlots(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.InFlight = 2 }) // one of them is reserved
	key := b.Key(apitest.Operator, auth.All, nil)
	var bodies []*slowBody
	var answers []<-chan answer
	for i := range 20 {
		body := newSlowBody(`{"text":`, `"a"}`)
		more := []string{"Idempotency-Key", fmt.Sprintf("slow-and-steady-%d", i)}
		answers = append(answers, b.sendSlowly(body, append(more[:2*(i%2)], "X-API-Key", key)...))
		bodies = append(bodies, body)
	}
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	b.do("POST", "/api/v1/notes", `{"text":"b"}`, "X-API-Key", key).want(t, 201, "")
	for i, body := range bodies { // one after the other: there is one slot
		close(body.more)
		(<-answers[i]).want(t, 201, "")
	}
}

func TestASlowStreamHoldsASlot(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.InFlight = 2 })
	key := b.Key(apitest.Operator, auth.All, nil)
	body := newSlowBody("a\n", "b\n")
	r := request("POST", "/api/v1/notes/import", "", "X-API-Key", key, "Content-Type", "application/x-ndjson")
	r.Body, r.ContentLength = body, -1
	waits, done := body.waits, make(chan answer, 1)
	go func() { done <- b.send(r) }()
	await.Receive(t, "the body stops", waits)
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 503, "unavailable")
	close(body.more)
	(<-done).want(t, 200, "")
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
}

// crowd is requests that stay in flight until the test ends.
type crowd struct {
	*bundle
	running sync.WaitGroup
}

func newCrowd(t *testing.T, change ...func(o *api.Options)) *crowd {
	c := &crowd{bundle: setup(t, append(change, func(o *api.Options) { o.InFlight = 16 })...)} // one of them is reserved
	c.notes.block, c.notes.entered = make(chan struct{}), make(chan struct{})
	t.Cleanup(c.running.Wait)
	t.Cleanup(func() { close(c.notes.block) })
	return c
}

// from is a request from an address.
func from(method, path, body, addr, key string, headers ...string) *http.Request {
	r := request(method, path, body, append(headers, "X-API-Key", key)...)
	r.RemoteAddr = net.JoinHostPort(addr, "1234")
	return r
}

// join adds n requests that stay.
func (c *crowd) join(n int, addr, key string, headers ...string) {
	c.t.Helper()
	for range n {
		r := from("POST", "/api/v1/notes", `{"text":"a"}`, addr, key, headers...)
		c.running.Go(func() { c.send(r) })
		await.Receive(c.t, "one more is in flight", c.notes.entered)
	}
}

// ask says how a request fares that does not stay.
func (c *crowd) ask(addr, key string, headers ...string) answer {
	c.t.Helper()
	return c.send(from("GET", "/api/v1/ping", "", addr, key, headers...))
}

func TestAWorkspaceLeavesSlotsForOthers(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	one, other := c.Key(apitest.Operator, auth.All, nil), c.Key(apitest.Operator, auth.All, nil)
	c.join(4, "192.0.2.1", one)
	c.join(4, "192.0.2.2", other) // half of all, and no address has more than a quarter
	a := c.ask("192.0.2.3", one).want(t, 503, "unavailable")
	if a.Header.Get("Retry-After") != "1" || number(t, a, "X-RateLimit-Remaining") != 1_000_000-8 {
		t.Errorf("the refusal has the headers %v, want Retry-After and no charge", a.Header)
	}
	guest := c.Key(apitest.Guest, auth.All, nil)
	c.join(3, "192.0.2.4", guest)
	c.ask("192.0.2.4", guest).want(t, 200, "")
	c.join(1, "192.0.2.4", guest)
	c.ask("192.0.2.5", guest).want(t, 503, "unavailable") // it has a quarter
}

func TestAnAddressLeavesSlotsForOthers(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	operator, guest := c.Key(apitest.Operator, auth.All, nil), c.Key(apitest.Guest, auth.All, nil)
	c.join(8, "2001:db8::1", operator)
	c.ask("2001:db8::2", guest).want(t, 503, "unavailable") // the same /64
	c.ask("2001:db8:0:1::1", guest).want(t, 200, "")
	r := request("GET", "/api/open", "")
	r.RemoteAddr = "[2001:db8::3]:1234"
	c.send(r).want(t, 503, "unavailable")
	r.RemoteAddr = "192.0.2.1:1234"
	c.send(r).want(t, 200, "")
}

func TestAProxyHasNoShareOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, func(o *api.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	operator, guest := c.Key(apitest.Operator, auth.All, nil), c.Key(apitest.Guest, auth.All, nil)
	c.join(8, "10.0.0.1", operator, "X-Forwarded-For", "192.0.2.1")
	c.ask("10.0.0.1", guest, "X-Forwarded-For", "192.0.2.1").want(t, 503, "unavailable")
	c.ask("10.0.0.1", guest, "X-Forwarded-For", "192.0.2.2").want(t, 200, "")
	c.join(3, "10.0.0.1", guest) // the proxy itself
	c.ask("10.0.0.2", guest).want(t, 200, "")
}

func TestArrivingBodiesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.InFlight = 2 }) // 2 MiB of bodies
	operator, guest := b.Key(apitest.Operator, auth.All, nil), b.Key(apitest.Guest, auth.All, nil)
	blank := func(kib int) string { return strings.Repeat(" ", kib<<10) }
	first, second := newSlowBody(blank(700), `{"text":"a"}`), newSlowBody(blank(300), `{"text":"a"}`)
	answers := []<-chan answer{b.sendSlowly(first, "X-API-Key", operator), b.sendSlowly(second, "X-API-Key", operator)}
	note := func(addr, key, body string) answer { return b.send(from("POST", "/api/v1/notes", body, addr, key)) }
	// More than half is taken soon, and the operator's workspace has more than a quarter.
	a := note("192.0.2.2", operator, blank(100)+`{"text":"a"}`).want(t, 503, "unavailable")
	if a.Header.Get("Connection") != "close" {
		t.Error("the connection of a body that is not read stays open")
	}
	note("192.0.2.2", operator, `{"text":"a"}`).want(t, 201, "")
	note("192.0.2.3", guest, blank(300)+`{"text":"a"}`).want(t, 201, "")
	for i, body := range []*slowBody{first, second} {
		close(body.more)
		(<-answers[i]).want(t, 201, "")
	}
	note("192.0.2.2", operator, blank(900)+`{"text":"a"}`).want(t, 201, "")
}

// remote is a connection from an address.
type remote struct {
	net.Conn
	addr   net.Addr
	closed chan struct{}
}

func (r *remote) RemoteAddr() net.Addr { return r.addr }

func (r *remote) Close() error { close(r.closed); return nil }

func TestAnAddressLeavesConnectionsForOthers(t *testing.T) {
	t.Parallel()
	inner := &pipes{incoming: make(chan net.Conn, 1), closed: make(chan struct{})}
	l := api.LimitConnections(inner, 16, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	defer l.Close()
	// connect gives the connection of an address as the server has it; nil if it was closed at once.
	connect := func(addr string) net.Conn {
		t.Helper()
		r := &remote{addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 1234)), closed: make(chan struct{})}
		inner.incoming <- r
		select {
		case c := <-accepted:
			return c
		case <-r.closed:
			return nil
		}
	}
	var open []net.Conn
	for i := range 8 {
		c := connect("2001:db8::1")
		if c == nil {
			t.Fatalf("connection %d of the first half is refused", i)
		}
		open = append(open, c)
	}
	if connect("2001:db8::2") != nil {
		t.Error("one network has more than half of all")
	}
	for i := range 4 {
		if connect("192.0.2.1") == nil {
			t.Fatalf("connection %d of a quarter is refused", i)
		}
	}
	if connect("192.0.2.1") != nil {
		t.Error("an address has more than a quarter after half were taken")
	}
	for i := range 3 {
		if connect("10.0.0.1") == nil {
			t.Fatalf("connection %d of a proxy is refused", i)
		}
	}
	for _, c := range open[:6] {
		c.Close()
	}
	if connect("2001:db8::3") == nil {
		t.Error("what was closed still counts")
	}
}
