package conformance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// way is how a run reaches its target. The budget of callers without a credential is kept by address and is small, so that
// each check comes from an address of its own where there is more than one: a loopback address of this machine, or one
// that X-Forwarded-For names.
type way struct {
	shared   *http.Client // of all checks; nil where each has one, which leaves from its own loopback address
	proxied  bool
	loopback bool
	next     atomic.Uint32
}

func newWay(t Target, base *url.URL) *way {
	seed := make([]byte, 4)
	_, _ = rand.Read(seed) // never fails (documentation of crypto/rand)
	w := &way{proxied: t.Proxied, loopback: t.HTTP == nil && !t.Proxied && isLoopback(base.Hostname()) && hasManyLoopbacks()}
	w.next.Store(binary.BigEndian.Uint32(seed))
	switch {
	case t.HTTP != nil:
		client := *t.HTTP // the caller's own is never changed
		client.CheckRedirect = stay
		w.shared = &client
	case !w.loopback:
		w.shared = newClient(&net.Dialer{Timeout: dialTimeout}, "")
	}
	return w
}

// many says whether checks can come from different addresses.
func (w *way) many() bool { return w.proxied || w.loopback }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.To4() != nil && ip.IsLoopback()
}

// hasManyLoopbacks says whether this system takes all of 127.0.0.0/8 for its own, as Linux does and macOS does not.
func hasManyLoopbacks() bool {
	l, err := net.Listen("tcp4", "127.77.1.1:0")
	if err != nil {
		return false
	}
	_ = l.Close() // nothing has connected
	return true
}

const dialTimeout = 10 * time.Second

// newClient makes a client; an empty network leaves the choice to the address.
func newClient(dialer *net.Dialer, network string) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, given, address string) (net.Conn, error) {
				if network != "" {
					given = network
				}
				return dialer.DialContext(ctx, given, address)
			},
			DisableCompression: true, MaxIdleConnsPerHost: 64, ForceAttemptHTTP2: true,
			IdleConnTimeout:       20 * time.Second, // sooner than servers: after a wait for a limit nothing is sent on a connection that ends
			ExpectContinueTimeout: 5 * time.Second,
		},
		Timeout:       time.Minute,
		CheckRedirect: stay,
	}
}

// stay returns redirects as answers to look at.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// door is where one check comes from.
type door struct {
	way     *way
	client  *http.Client
	address net.IP // nil where there is one address only
}

func (w *way) door() *door {
	d := &door{way: w}
	d.open()
	return d
}

func (d *door) open() {
	d.client = d.way.shared
	if !d.way.many() {
		return
	}
	n := d.way.next.Add(1)
	high, low := byte(n/250), byte(1+n%250)
	if d.way.proxied {
		d.address = net.IPv4(198, 18, high, low) // for tests of networks (RFC 2544), which no caller has
		return
	}
	d.address = net.IPv4(127, 77, high, low)
	d.client = newClient(&net.Dialer{Timeout: dialTimeout, LocalAddr: &net.TCPAddr{IP: d.address}}, "tcp4")
}

// name adds the header that names the address to a request, unless the check names another.
func (d *door) name(h http.Header) {
	if d.way.proxied && h.Get("X-Forwarded-For") == "" {
		h.Set("X-Forwarded-For", d.address.String())
	}
}

// move goes on from another address and says whether there was one.
func (d *door) move() bool {
	if !d.way.many() {
		return false
	}
	d.close()
	d.open()
	return true
}

// close ends the connections of this door alone.
func (d *door) close() {
	if d.client != d.way.shared {
		d.client.CloseIdleConnections()
	}
}
