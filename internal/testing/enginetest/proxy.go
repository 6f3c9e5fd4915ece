package enginetest

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and can cut their connections.
type Proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   *cut
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

// cut describes when to cut a connection.
type cut struct {
	text    []byte
	forward bool // only after the server's response
	done    chan struct{}
}

// StartProxy starts a proxy for a server at an address or a Unix socket. It ends with the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Drop()
		p.all.Wait()
	})
	return p
}

// Socket returns the path of the server's Unix socket.
func (s *PostgresServer) Socket() string {
	return filepath.Join(s.dir, ".s.PGSQL."+strconv.Itoa(cmp.Or(s.port, 5432)))
}

// Address returns the proxy's address.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// CutAfter cuts the next connection that sends text, after the server's response: the request has an effect that the client
// does not learn of. The channel is closed then.
func (p *Proxy) CutAfter(text string) <-chan struct{} { return p.cutAt(text, true) }

// CutBefore cuts the next connection that sends text, before the server receives it.
func (p *Proxy) CutBefore(text string) <-chan struct{} { return p.cutAt(text, false) }

func (p *Proxy) cutAt(text string, forward bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = &cut{text: []byte(text), forward: forward, done: make(chan struct{})}
	return p.cut.done
}

// Drop closes all connections.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		network := "tcp"
		if filepath.IsAbs(p.target) {
			network = "unix"
		}
		server, err := net.Dial(network, p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		w := &way{proxy: p, client: client, server: server}
		p.all.Go(w.up)
		p.all.Go(w.down)
	}
}

// way is a connection through the proxy.
type way struct {
	proxy          *Proxy
	client, server net.Conn
	mu             sync.Mutex
	cut            *cut // the next answer is not passed on
}

func (w *way) close() {
	w.client.Close()
	w.server.Close()
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	delete(w.proxy.conns, w.client)
	delete(w.proxy.conns, w.server)
}

func (w *way) up() {
	defer w.close()
	w.copy(w.server, w.client, func(b []byte) bool {
		w.proxy.mu.Lock()
		defer w.proxy.mu.Unlock()
		c := w.proxy.cut
		if c == nil || !bytes.Contains(b, c.text) {
			return true
		}
		w.proxy.cut = nil
		if !c.forward {
			close(c.done)
			return false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cut = c
		return true
	})
}

func (w *way) down() {
	defer w.close()
	w.copy(w.client, w.server, func([]byte) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut == nil {
			return true
		}
		close(w.cut.done)
		return false
	})
}

// copy forwards data until pass returns false.
func (w *way) copy(to io.Writer, from io.Reader, pass func([]byte) bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil || !pass(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
