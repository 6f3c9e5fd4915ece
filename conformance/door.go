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

// way is how a run reaches its target. Limits of callers without a credential are small and count by address. So each check
// uses its own address if possible: a loopback address of this machine, or one in X-Forwarded-For.
type way struct {
	shared   *http.Client // of all checks; nil if each has a client with its own loopback address
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
		client := *t.HTTP // do not change the caller's
		client.CheckRedirect = stay
		w.shared = &client
	case !w.loopback:
		w.shared = newClient(&net.Dialer{Timeout: dialTimeout}, "")
	}
	return w
}

// many reports whether checks can use different addresses.
func (w *way) many() bool { return w.proxied || w.loopback }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.To4() != nil && ip.IsLoopback()
}

// hasManyLoopbacks reports whether all of 127.0.0.0/8 belongs to this machine, as on Linux but not on macOS.
func hasManyLoopbacks() bool {
	l, err := net.Listen("tcp4", "127.77.1.1:0")
	if err != nil {
		return false
	}
	_ = l.Close() // nothing has connected
	return true
}

const dialTimeout = 10 * time.Second

// newClient returns a client. If network is empty, the address decides.
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
			IdleConnTimeout:       20 * time.Second, // less than servers, so that no request uses a connection that is being closed
			ExpectContinueTimeout: 5 * time.Second,
		},
		Timeout:       time.Minute,
		CheckRedirect: stay,
	}
}

// stay returns redirects instead of following them.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// door is the address and the client of one check.
type door struct {
	way     *way
	client  *http.Client
	address net.IP // nil if there is only one address
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
		d.address = net.IPv4(198, 18, high, low) // reserved for network tests (RFC 2544)
		return
	}
	d.address = net.IPv4(127, 77, high, low)
	d.client = newClient(&net.Dialer{Timeout: dialTimeout, LocalAddr: &net.TCPAddr{IP: d.address}}, "tcp4")
}

// name adds X-Forwarded-For to a request, unless the check has set it.
func (d *door) name(h http.Header) {
	if d.way.proxied && h.Get("X-Forwarded-For") == "" {
		h.Set("X-Forwarded-For", d.address.String())
	}
}

// move changes to another address, and reports whether there is one.
func (d *door) move() bool {
	if !d.way.many() {
		return false
	}
	d.close()
	d.open()
	return true
}

// close closes the connections of this door only.
func (d *door) close() {
	if d.client != d.way.shared {
		d.client.CloseIdleConnections()
	}
}
