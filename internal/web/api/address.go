package api

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"keepsake/internal/govern/limit"
)

// Client returns who sent the request: the peer, or if the peer is a trusted proxy, the rightmost hop of X-Forwarded-For
// that is not one. What a client writes further left is ignored. On the data folder's socket it is the zero Addr. It is
// computed on demand, because most requests do not need it.
func (c *operationContext) Client() netip.Addr {
	peer, ok := c.peer()
	if !ok {
		return netip.Addr{}
	}
	return forwarded(peer, c.request.Header, c.api.o.TrustedProxies)
}

// peer returns the other end of the connection; false if it is a socket.
func (c *operationContext) peer() (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(c.request.RemoteAddr)
	return peer.Addr().Unmap().WithZone(""), err == nil
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

// cutLast splits off what follows the last comma.
func cutLast(list string) (rest, last string) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:]
	}
	return "", list
}

// parseHop parses an address, with or without the port that some proxies add.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(s)
		addr = at.Addr()
	}
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

// proxyWarning limits the warning about an untrusted proxy to one an hour.
type proxyWarning struct {
	mu   sync.Mutex
	next time.Time
	peer netip.Addr // the last untrusted peer that sent X-Forwarded-For
	at   time.Time
}

// UntrustedProxy returns the last peer whose X-Forwarded-For was ignored, because TrustedProxies does not contain it, and
// the time of its request. The address is invalid if there was none.
func (a *API) UntrustedProxy() (peer netip.Addr, at time.Time) {
	a.proxies.mu.Lock()
	defer a.proxies.mu.Unlock()
	return a.proxies.peer, a.proxies.at
}

// due notes the peer and reports whether a warning is due. The next one is an hour later.
func (w *proxyWarning) due(peer netip.Addr, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peer, w.at = peer, now
	if now.Before(w.next) {
		return false
	}
	w.next = now.Add(time.Hour)
	return true
}

// warnOfProxy logs a warning if the peer sent X-Forwarded-For and is not a trusted proxy. Usually it is a proxy that is
// missing in trustedProxies, so that all its clients count as one. Connections to the data folder's socket have no peer.
func (x *received) warnOfProxy() {
	if x.r.Header["X-Forwarded-For"] == nil {
		return
	}
	at, err := netip.ParseAddrPort(x.r.RemoteAddr)
	if err != nil {
		return
	}
	peer := at.Addr().Unmap().WithZone("")
	if !within(peer, x.api.o.TrustedProxies) && x.api.proxies.due(peer, x.at) {
		x.api.o.Log.Warn("ignored X-Forwarded-For from a peer that trustedProxies does not name", "peer", peer.String(), "setting", "trustedProxies")
	}
}

// signingIn reports whether the path is one of sign-in.
func (c *operationContext) signingIn() bool {
	return strings.HasPrefix(c.request.URL.Path, "/api/auth/")
}

// addressLimits are the limits of the client's address. A request is charged to them at most once, whatever the reasons.
type addressLimits struct {
	of      *operationContext
	account limit.Account // of sign-in or of everything else, once it was needed
	taken   bool          // it was charged
	verdict limit.Verdict
	receipt limit.Receipt
}

func (l *addressLimits) find() limit.Account {
	if l.account.Use == nil {
		if addresses := l.of.api.o.Addresses; l.of.signingIn() {
			l.account = addresses.SignIn(l.of.Client())
		} else {
			l.account = addresses.Account(l.of.Client())
		}
	}
	return l.account
}

// peek returns the limits of a caller without a credential.
func (l *addressLimits) peek() limit.Verdict {
	return l.of.api.o.Limiter.Peek(l.of.at, 1, l.find(), limit.Account{})
}

// charge charges the request to the client's address. The daily and monthly limits are for clients without an account, so only
// the minute limit applies to sign-in.
func (l *addressLimits) charge() (limit.Verdict, limit.Receipt) {
	if l.taken {
		return l.verdict, l.receipt
	}
	l.taken = true
	account := l.find()
	if l.of.signingIn() {
		account.Daily, account.Monthly = 0, 0
	}
	l.verdict, l.receipt = l.of.api.o.Limiter.Charge(l.of.at, 1, account, limit.Account{})
	if l.of.signingIn() {
		all := l.peek()
		l.verdict.DailyRemaining, l.verdict.MonthlyRemaining = all.DailyRemaining, all.MonthlyRemaining
	}
	return l.verdict, l.receipt
}

// refund refunds what the address was charged.
func (l *addressLimits) refund() {
	l.receipt.Refund()
	l.taken, l.verdict, l.receipt = false, limit.Verdict{}, limit.Receipt{}
}
