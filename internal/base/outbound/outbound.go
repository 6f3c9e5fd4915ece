// Package outbound connects to servers that a setting or a client names. Unless private addresses are allowed, it connects only to
// the public internet. It checks each address when it connects, because the address of a name can change after any earlier check.
package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Options say what a Client connects to.
type Options struct {
	// AllowPrivate permits addresses that are not on the public internet.
	AllowPrivate bool
	// Lookup resolves the name of a host. The system's resolver if nil.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// MaxPerHost is the number of idle connections that are kept for each host.
	MaxPerHost int
}

// ErrAddress is the error of a request to an address that is not allowed.
var ErrAddress = errors.New("the address is not allowed")

const maxHeader = 16 << 10

// NewClient returns a client that uses no proxy, follows no redirect and connects only to allowed addresses.
func NewClient(o Options) *http.Client {
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: o.dial, Proxy: nil, DisableCompression: true, MaxResponseHeaderBytes: maxHeader, MaxIdleConns: 64,
			MaxIdleConnsPerHost: o.MaxPerHost, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dial connects to an allowed address of a host. It resolves the name itself and connects to the address that it has checked.
func (o Options) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := o.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	err = ErrAddress
	for _, a := range addresses {
		if !o.AllowPrivate && !Public(a) {
			continue
		}
		var conn net.Conn
		if conn, err = (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (o Options) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return o.Lookup(ctx, host)
}

// global are the networks of the public internet. All others are private or lead to others: those of IPv6 that contain an IPv4
// address (compatible, translated, NAT64) are not among them.
var global = prefixes("0.0.0.0/0", "2000::/3")

// special are the networks within them that are not on the public internet, or that lead to others (6to4, Teredo).
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, text := range list {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Public reports whether an address is on the public internet. An address with a zone is not. Of those that contain an IPv4 address,
// only mapped ones can be: they are judged by it.
func Public(address netip.Addr) bool {
	address = address.Unmap()
	return address.IsValid() && address.Zone() == "" && within(address, global) && !within(address, special)
}

func within(address netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(address) })
}

// RetryAfter reads a Retry-After header: a number of seconds or a date. It returns 0 if the text is neither.
func RetryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 1<<20 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
