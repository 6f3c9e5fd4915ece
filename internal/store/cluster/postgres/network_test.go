package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// network connects one process to a database. It can be cut, which closes connections and prevents new ones. It can be
// silent, which keeps connections but delivers nothing until it resumes.
type network struct {
	config *pgx.ConnConfig
	ended  <-chan struct{}

	mu    sync.Mutex
	isCut bool
	flows chan struct{} // closed unless the network is silent
	conns map[net.Conn]bool
}

var errCut = errors.New("the network is cut")

// newNetwork is a network to the database that connect connects to.
func newNetwork(t *testing.T, connect func(ctx context.Context) (*pgx.Conn, error)) *network {
	t.Helper()
	conn, err := connect(t.Context())
	noError(t, err)
	defer conn.Close(t.Context())
	n := &network{config: conn.Config(), ended: t.Context().Done(), flows: make(chan struct{}), conns: map[net.Conn]bool{}}
	n.config.DialFunc = n.dial
	close(n.flows)
	return n
}

// connect opens a connection through the network.
func (n *network) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, n.config)
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
	for c := range n.conns {
		c.Close()
	}
	clear(n.conns)
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = false
}

func (n *network) silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.flows = make(chan struct{})
}

func (n *network) unsilence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.flows)
}

// pass waits while the network is silent, until done.
func (n *network) pass(done <-chan struct{}) bool {
	n.mu.Lock()
	flows := n.flows
	n.mu.Unlock()
	select {
	case <-flows:
		return true
	case <-done:
	case <-n.ended:
	}
	return false
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if !n.pass(ctx.Done()) {
		return nil, cmp.Or(context.Cause(ctx), errCut) // without a cause, the test has ended
	}
	server, err := new(net.Dialer).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	client, near := net.Pipe()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut {
		server.Close()
		return nil, errCut
	}
	n.conns[server], n.conns[near] = true, true
	go n.carry(near, server)
	go n.carry(server, near)
	return client, nil
}

// carry copies data from one end to the other, until one of them is closed.
func (n *network) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		count, err := from.Read(buffer)
		if err != nil || !n.pass(nil) {
			return
		}
		if _, err := to.Write(buffer[:count]); err != nil {
			return
		}
	}
}
