package api

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// conn is a connection whose bytes are ours to write: HTTP/1 without TLS. It puts the headers that every answer has
// behind the status line of the answer that net/http writes next.
type conn struct {
	net.Conn
	once    sync.Once
	release func()
	peer    *holder // of the address it comes from; nil for a proxy's

	// What follows is used by the goroutine that serves the connection alone, one request after the other.

	// While they are waiting, the headers go out behind the next status line. That begins when the status is decided, so
	// no interim answer can come before it, and net/http begins every answer with an empty buffer: the status line is
	// whole, and first in its write.
	waiting bool
	headers headers
}

// Close gives the connection's slot back.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// CloseWrite lets net/http end an answer before it lets go of a client that still sends: closing at once would reset the
// connection, and with it take the answer away.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

var statusLine = []byte("HTTP/1.")

// heads are buffers for a first write with its headers.
var heads = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Write writes p, behind whose status line the waiting headers go.
func (c *conn) Write(p []byte) (int, error) {
	if !c.waiting || !bytes.HasPrefix(p, statusLine) {
		return c.Conn.Write(p)
	}
	end := bytes.IndexByte(p, '\n') + 1
	head := heads.Get().(*bytes.Buffer)
	defer heads.Put(head)
	head.Reset()
	head.Write(p[:end])
	head.Write(c.headers)
	head.Write(p[end:])
	n, err := c.Conn.Write(head.Bytes())
	if n > end {
		n = max(end, n-len(c.headers)) // the caller counts its own bytes
	}
	c.waiting = false
	return n, err
}

type connKey struct{}

// connContext lets requests find their connection, for http.Server.ConnContext.
func connContext(ctx context.Context, nc net.Conn) context.Context {
	if c, ok := nc.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	if peer := peerBehind(nc); peer != nil {
		return context.WithValue(ctx, peerKey{}, peer)
	}
	return ctx
}

// connOf is the connection of a request; nil where it is not ours to write to.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
