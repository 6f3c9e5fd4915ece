package api

import (
	"net/http"
	"net/netip"
	"strings"

	"keepsake/internal/limit"
)

// Client is who sent the request: the peer, or where the peer is a trusted proxy the rightmost hop of X-Forwarded-For
// that is not one. What a client writes further left counts for nothing. It is the zero Addr on the data folder's socket.
// It is read where it is needed, because most requests need it nowhere.
func (c *call) Client() netip.Addr {
	peer, err := netip.ParseAddrPort(c.request.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return forwarded(peer.Addr().Unmap().WithZone(""), c.request.Header, c.api.o.TrustedProxies)
}

func forwarded(peer netip.Addr, h http.Header, trusted []netip.Prefix) netip.Addr {
	lines := h["X-Forwarded-For"]
	if len(trusted) == 0 || len(lines) == 0 || !within(peer, trusted) {
		return peer
	}
	client := peer
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, last := lines[i], ""; rest != ""; {
			rest, last = cutLast(rest)
			hop, ok := parseHop(last)
			if !ok {
				return client
			}
			if client = hop; !within(hop, trusted) {
				return client
			}
		}
	}
	return client
}

// cutLast splits off what comes after the last comma.
func cutLast(list string) (rest, last string) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:]
	}
	return "", list
}

// parseHop reads an address, with or without the port that some proxies add.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

func within(addr netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// addressAccount is the budget of the client's address.
func (x *exchange) addressAccount() limit.Account {
	if x.address.Use == nil {
		x.address = x.api.o.Addresses.Account(x.Client())
	}
	return x.address
}
