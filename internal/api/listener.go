package api

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Listener accepts while it has slots; a connection holds one until it is closed.
type Listener struct {
	net.Listener
	slots   chan struct{}
	done    chan struct{}
	once    sync.Once
	retired atomic.Bool
	queued  chan net.Conn // accepted while it retired; each has its slot
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
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
	return &conn{Conn: accepted, release: func() { <-l.slots }}, nil
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	if l.retired.Load() {
		return nil // it is closed
	}
	return l.Listener.Close()
}

// Retire stops accepting without telling the server, and waits until all connections are closed or ctx ends.
//
// A server that shuts down drops every request that it had not begun to answer, also on connections it has accepted.
// So where connections can wait for another process, this one first takes no more of them, and answers what it has.
func (l *Listener) Retire(ctx context.Context) error {
	l.retired.Store(true)
	l.empty()
	if err := l.Listener.Close(); err != nil {
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

// empty accepts what waits in the system's queue, where clients may have sent requests: a listener that is closed resets it.
func (l *Listener) empty() {
	tcp, ok := l.Listener.(*net.TCPListener)
	if !ok {
		return
	}
	eachQueued(tcp, func(accepted net.Conn) {
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
