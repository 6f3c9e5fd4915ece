package api

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// conn is a connection that we write to directly: HTTP/1 without TLS. It inserts the common headers after the status line
// that net/http writes.
type conn struct {
	net.Conn
	once    sync.Once
	release func()
	peer    *holder // of the connection's address; nil for a proxy

	// The following is only used by the goroutine that serves the connection, one request at a time.

	// headers are waiting until the next status line. They are set when the status is decided, so no interim response can
	// come in between, and net/http starts every response with an empty buffer, so the status line comes first and whole.
	waiting bool
	headers headers
}

// Close releases the connection's slot.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// CloseWrite lets net/http finish a response to a client that is still sending: closing at once would reset the connection,
// and the client would lose the response.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

var statusLine = []byte("HTTP/1.")

// heads are buffers for a first write with its headers.
var heads = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Write writes p, with the waiting headers after its status line.
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

// connContext is the http.Server.ConnContext that lets requests find their connection.
func connContext(ctx context.Context, nc net.Conn) context.Context {
	if c, ok := nc.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	if peer := peerBehind(nc); peer != nil {
		return context.WithValue(ctx, peerKey{}, peer)
	}
	return ctx
}

// connOf returns the connection of a request, or nil if we cannot write to it directly.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
