package api

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"keepsake/internal/govern/account"
)

// holder counts what a workspace or a client address uses of the shared capacity. The nil holder is unlimited.
type holder struct {
	connections atomic.Int64
	arriving    atomic.Int64 // bytes of bodies
	inFlight    atomic.Int64 // slots
}

// capacity is capacity that all callers share: slots, or bytes of arriving bodies.
type capacity struct {
	all      int64
	reserved int64 // the last ones, for requests that must be served when others are refused
	taken    atomic.Int64
}

// take takes n for a holder that has own already, and reports whether there was enough. own can be nil.
func (g *capacity) take(n int64, vital bool, own ...*atomic.Int64) bool {
	taken, most := g.taken.Add(n), int64(0)
	for _, o := range own {
		if o != nil {
			most = max(most, o.Add(n))
		}
	}
	if vital && taken <= g.all || taken <= g.all-g.reserved && fair(g.all, taken, most) {
		return true
	}
	g.give(n, own...)
	return false
}

// give returns what was taken.
func (g *capacity) give(n int64, own ...*atomic.Int64) {
	g.taken.Add(-n)
	for _, o := range own {
		if o != nil {
			o.Add(-n)
		}
	}
}

// fair reports whether a holder can have own of all. Once more than half of all is taken, a holder gets at most a quarter
// (docs/spec/limits.md).
func fair(all, taken, own int64) bool { return taken <= all/2 || own <= max(1, all/4) }

// addressHolders are the holders of client addresses that are in use. The zero value is ready to use.
type addressHolders struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]*usedHolder
}

type usedHolder struct {
	holder
	users int
}

// acquire returns the holder of an address, until release.
func (a *addressHolders) acquire(addr netip.Addr) *holder {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.byAddr[addr]
	if h == nil {
		if a.byAddr == nil {
			a.byAddr = map[netip.Addr]*usedHolder{}
		}
		h = &usedHolder{}
		a.byAddr[addr] = h
	}
	h.users++
	return &h.holder
}

func (a *addressHolders) release(addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.byAddr[addr]
	if h.users--; h.users == 0 {
		delete(a.byAddr, addr)
	}
}

// networkOf returns what counts as one address: an IPv4 address, or an IPv6 /64, which one customer gets.
func networkOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		return netip.PrefixFrom(addr, 64).Masked().Addr()
	}
	return addr
}

// shares is what a request uses of the shared capacity, and for whom.
type shares struct {
	workspace, address *holder
	client             netip.Addr // whose holder was acquired for this request; else invalid
	arriving           int64      // bytes of its body
	inFlight           bool       // it has a slot
}

// findHolders sets the holders of the request. Requests of a connection belong to its address, unless that is a proxy's.
func (x *admitted) findHolders() {
	if who := x.identified.caller; who != nil {
		x.shares.workspace = x.api.holderOf(who.live.Workspace)
	}
	if x.shares.address = x.peer(); x.shares.address != nil {
		return
	}
	if client := x.ctx.Client(); client.IsValid() && !within(client, x.api.o.TrustedProxies) {
		x.shares.client = networkOf(client)
		x.shares.address = x.api.clients.acquire(x.shares.client)
	}
}

// holderOf returns the holder of a workspace.
func (a *API) holderOf(w *account.Entry) *holder {
	h, ok := a.workspaces.Load(w)
	if !ok {
		h, _ = a.workspaces.LoadOrStore(w, new(holder))
	}
	return h.(*holder)
}

// enter takes a slot. The last ones are reserved for operations that must work under overload.
func (x *admitted) enter(vital bool) bool {
	s := &x.shares
	s.inFlight = x.api.slots.take(1, vital, s.workspace.slots(), s.address.slots())
	if !s.inFlight {
		x.api.counters.noSlot.Add(1)
	}
	return s.inFlight
}

// arrive takes capacity for bytes of the request's body.
func (x *admitted) arrive(bytes int64) bool {
	s := &x.shares
	if !x.api.arriving.take(bytes, false, s.workspace.bytes(), s.address.bytes()) {
		x.api.counters.noBody.Add(1)
		return false
	}
	s.arriving += bytes
	return true
}

// arrived returns the capacity of a body that was read.
func (x *admitted) arrived() {
	if s := &x.shares; s.arriving > 0 {
		x.api.arriving.give(s.arriving, s.workspace.bytes(), s.address.bytes())
		s.arriving = 0
	}
}

// leave returns everything that the request has taken. It can have taken nothing.
func (x *admitted) leave() {
	x.arrived()
	s := &x.shares
	if s.inFlight {
		x.api.slots.give(1, s.workspace.slots(), s.address.slots())
	}
	if s.client.IsValid() {
		x.api.clients.release(s.client)
	}
	*s = shares{}
	if b := &x.bodyShare; b.size > 0 {
		x.api.bodies.give(b.who, b.size)
		b.size = 0
	}
}

func (h *holder) slots() *atomic.Int64 {
	if h == nil {
		return nil
	}
	return &h.inFlight
}

func (h *holder) bytes() *atomic.Int64 {
	if h == nil {
		return nil
	}
	return &h.arriving
}

type peerKey struct{}

// peer returns the holder of the connection's address; nil for a proxy's or an unknown one.
func (x *received) peer() *holder {
	if x.conn != nil {
		return x.conn.peer
	}
	h, _ := x.ctx.parent.Value(peerKey{}).(*holder)
	return h
}

// peerBehind is peer for a connection with TLS.
func peerBehind(nc net.Conn) *holder {
	if secure, ok := nc.(*tls.Conn); ok {
		if c, ok := secure.NetConn().(*conn); ok {
			return c.peer
		}
	}
	return nil
}
