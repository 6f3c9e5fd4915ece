package api

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Listener limits connections: each holds a slot until it is closed. It closes a connection beyond its address's share at
// once.
type Listener struct {
	net.Listener
	slots   chan struct{}
	proxies []netip.Prefix // whose connections belong to many clients
	peers   addressHolders
	done    chan struct{}
	once    sync.Once
	retired atomic.Bool
	refused atomic.Int64
	queued  chan net.Conn // accepted during Retire; each has its slot
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.next()
		if err != nil {
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
	}
}

// admit wraps an accepted connection; nil if its address has used its share.
func (l *Listener) admit(accepted net.Conn) net.Conn {
	at, err := netip.ParseAddrPort(accepted.RemoteAddr().String())
	if err != nil || within(at.Addr().Unmap(), l.proxies) {
		return &conn{Conn: accepted, release: func() { <-l.slots }}
	}
	from := networkOf(at.Addr())
	peer := l.peers.acquire(from)
	c := &conn{Conn: accepted, peer: peer, release: func() {
		peer.connections.Add(-1)
		l.peers.release(from)
		<-l.slots
	}}
	if !fair(int64(cap(l.slots)), int64(len(l.slots)), peer.connections.Add(1)) {
		l.refused.Add(1)
		c.Close()
		return nil
	}
	return c
}

// next accepts a connection after taking a slot for it.
func (l *Listener) next() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	accepted, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		if !l.retired.Load() {
			return nil, err
		}
		select {
		case accepted = <-l.queued:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	return accepted, nil
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	if l.retired.Load() {
		return nil // it is closed
	}
	return l.Listener.Close()
}

// Retire stops accepting without shutting down the server, and waits until all connections are closed or ctx ends.
//
// A server that shuts down drops requests that it has not begun to serve, also on accepted connections. So if another
// process can take new connections, Retire runs first and the open ones are served.
func (l *Listener) Retire(ctx context.Context) error {
	l.retired.Store(true)
	if err := l.closeEmptied(); err != nil {
		return err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(l.slots) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// closeEmptied closes the socket after accepting the connections in the system's queue. Clients can have sent requests on
// them.
func (l *Listener) closeEmptied() error {
	tcp, ok := l.Listener.(*net.TCPListener)
	if !ok {
		return l.Listener.Close()
	}
	return closeEmptied(tcp, func(accepted net.Conn) {
		select {
		case l.slots <- struct{}{}:
		default:
			accepted.Close()
			return
		}
		select {
		case l.queued <- accepted:
		default:
			<-l.slots
			accepted.Close()
		}
	})
}
