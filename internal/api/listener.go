package api

import (
	"context"
	"net"
	"sync"
	"time"
)

// Listener accepts while it has slots; a connection holds one until it is closed, and so does who waits for one.
type Listener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	accepted, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: accepted, release: func() { <-l.slots }}, nil
}

func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Drain waits, once l is closed, until all its connections are, too, or ctx ends. http.Server.Shutdown does not do for
// that: it knows nothing of a connection that was accepted in the moment before.
func (l *Listener) Drain(ctx context.Context) error {
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
