package api

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Client is who sent the request: the peer, or where the peer is a trusted proxy the rightmost hop of X-Forwarded-For
// that is not one. What a client writes further left counts for nothing. It is the zero Addr on the data folder's socket.
// It is read where it is needed, because most requests need it nowhere.
func (c *operationContext) Client() netip.Addr {
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

// proxyWarning says when to warn of a proxy that trustedProxies does not name: at most once an hour.
type proxyWarning struct {
	mu   sync.Mutex
	next time.Time
}

// due reports whether a warning is due. The next one is an hour later.
func (w *proxyWarning) due(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Before(w.next) {
		return false
	}
	w.next = now.Add(time.Hour)
	return true
}

// warnOfProxy logs a warning if the peer sent X-Forwarded-For and is no trusted proxy. Usually it is a proxy that the
// operator forgot to name, and all of its clients count as one. Connections to the data folder's socket have no peer.
func (x *requestState) warnOfProxy() {
	if x.r.Header["X-Forwarded-For"] == nil || x.api.o.Surface != usage.Primary {
		return
	}
	at, err := netip.ParseAddrPort(x.r.RemoteAddr)
	if err != nil {
		return
	}
	peer := at.Addr().Unmap().WithZone("")
	if !within(peer, x.api.o.TrustedProxies) && x.api.proxies.due(x.at) {
		x.api.o.Log.Warn("ignored X-Forwarded-For from a peer that trustedProxies does not name", "peer", peer.String(), "setting", "trustedProxies")
	}
}

// addressAccount is the budget of the client's address: the one for signing in, or the one for everything else.
func (x *requestState) addressAccount() limit.Account {
	if x.address.Use == nil {
		if x.signingIn() {
			x.address = x.api.o.Addresses.SignIn(x.Client())
		} else {
			x.address = x.api.o.Addresses.Account(x.Client())
		}
	}
	return x.address
}

// signingIn reports whether the path is one of those that people sign in with.
func (c *operationContext) signingIn() bool {
	return strings.HasPrefix(c.request.URL.Path, "/api/auth/")
}

// toll is the price of a request that its client's address pays. It is taken once, whatever the request is refused for.
type toll struct {
	taken   bool
	verdict limit.Verdict
	receipt limit.Receipt
}

// chargeAddress takes the price of the request from the address it came from. The daily and monthly numbers are for those
// who have no account, and refuse nobody who signs in: only the minute counts there.
func (x *requestState) chargeAddress() (limit.Verdict, limit.Receipt) {
	if !x.toll.taken {
		x.toll.taken = true
		x.toll.verdict, x.toll.receipt = x.takeToll()
	}
	return x.toll.verdict, x.toll.receipt
}

func (x *requestState) takeToll() (limit.Verdict, limit.Receipt) {
	account := x.addressAccount()
	if !x.signingIn() {
		return x.api.o.Limiter.Charge(x.at, 1, account, limit.Account{})
	}
	minute := account
	minute.Daily, minute.Monthly = 0, 0
	verdict, receipt := x.api.o.Limiter.Charge(x.at, 1, minute, limit.Account{})
	all := x.api.o.Limiter.Peek(x.at, 1, account, limit.Account{})
	verdict.DailyRemaining, verdict.MonthlyRemaining = all.DailyRemaining, all.MonthlyRemaining
	return verdict, receipt
}

// refundAddress gives the address back what it was charged.
func (x *requestState) refundAddress() {
	x.toll.receipt.Refund()
	x.toll = toll{}
}
